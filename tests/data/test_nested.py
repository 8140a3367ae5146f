"""Walking through nested values, and copying no more of them than they show."""

import copy
import pickle
from collections import namedtuple
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from gnnlab.data.nested import compact, deep_copy, map_tensors
from gnnlab.typing import SparseTensor
from tests.data.side_by_side import ids, plain

#: torch says so once a process, of CSR and the like.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse .* support is in beta:UserWarning")

Pair = namedtuple("Pair", ["first", "second"])


def nested(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(
            st.lists(inner, max_size=3),
            st.tuples(inner, inner),
            st.builds(Pair, inner, inner),
            st.dictionaries(st.text(max_size=2), inner, max_size=3),
        )

    return st.recursive(leaf, containers, max_leaves=8)


LEAVES = st.one_of(st.none(), st.integers(), st.text(max_size=3), st.builds(torch.ones, st.integers(0, 3)))


def tensors(value: Any) -> list[Tensor]:
    found: list[Tensor] = []
    map_tensors(value, found.append)
    return found


@given(nested(LEAVES))
def test_containers_are_rebuilt_and_all_else_stays(value: Any) -> None:
    doubled = map_tensors(value, lambda x: x * 2)
    assert plain(map_tensors(doubled, lambda x: x / 2)) == plain(value)
    assert type(doubled) is type(value)
    assert len(tensors(value)) == len(tensors(doubled))
    assert all(bool((x == 2).all()) for x in tensors(doubled))


@given(nested(LEAVES))
def test_deep_copies_are_equal_and_share_nothing(value: Any) -> None:
    twin = deep_copy(value, {})
    assert plain(twin) == plain(value)
    originals = {x.data_ptr() for x in tensors(value) if x.numel()}
    assert originals.isdisjoint(x.data_ptr() for x in tensors(twin))


def test_packed_sequences_keep_their_batch_sizes() -> None:
    packed = pack_sequence([torch.ones(1), torch.ones(2)], enforce_sorted=False)
    moved = map_tensors({"p": packed}, lambda x: x.to("meta"))["p"]
    assert isinstance(moved, PackedSequence)
    assert moved.data.device.type == moved.sorted_indices.device.type == "meta"
    assert moved.batch_sizes.device.type == "cpu"
    assert map_tensors(pack_sequence([torch.ones(2)]), torch.clone).sorted_indices is None


VIEWS = ["dense", "transposed", "empty", "ours", "coo", "csr", "csc", "bsr", "meta", "tracked"]


def views() -> dict[str, Any]:
    row, col, value = torch.arange(1000)[:2], torch.arange(1000)[1:3], torch.ones(1000)[:2]
    return {
        "dense": torch.ones(1000, 2)[:2],
        "transposed": torch.ones(3, 2).t(),
        "empty": torch.ones(1000)[:0],
        "ours": SparseTensor(row=row, col=col, value=value, sparse_sizes=(3, 3)),
        "coo": torch.sparse_coo_tensor(torch.stack([row, col]), value, (3, 3), check_invariants=True),
        "csr": torch.eye(3).to_sparse_csr(),
        "csc": torch.eye(3).to_sparse_csc(),
        "bsr": torch.eye(4).to_sparse_bsr((2, 2)),
        "meta": torch.ones(3, device="meta"),
        "tracked": torch.ones(1000, requires_grad=True)[:2].detach().requires_grad_(),
    }


@pytest.mark.parametrize("name", VIEWS)
def test_no_more_is_copied_than_is_shown(name: str) -> None:
    value = views()[name]
    for twin in (compact(value), deep_copy(value, {})):
        assert type(twin) is type(value)
        assert len(pickle.dumps(twin)) < 2048
        if name != "meta":
            assert torch.equal(twin.to_dense(), value.to_dense())
        if isinstance(value, Tensor):
            assert twin.layout == value.layout
            assert twin.requires_grad == value.requires_grad
    if isinstance(value, Tensor) and value.layout == torch.strided and name != "meta":
        assert deep_copy(value, {}).data_ptr() != value.data_ptr() or value.numel() == 0
        assert compact(value).untyped_storage().nbytes() == value.numel() * value.element_size()


@pytest.mark.parametrize("name", VIEWS)
def test_what_appears_twice_stays_one(name: str) -> None:
    value = views()[name]
    for twin in (compact([value, {"a": value}]), deep_copy([value, {"a": value}], {})):
        assert twin[0] is twin[1]["a"]
    memo: dict[int, Any] = {}
    assert deep_copy([value], memo)[0] is deep_copy((value,), memo)[0]


def test_what_is_no_view_is_not_copied_by_compact() -> None:
    value = torch.ones(3)
    assert compact([value])[0] is value


def test_deep_copies_go_through_copy_deepcopy() -> None:
    parameter = torch.nn.Parameter(torch.ones(2))
    assert isinstance(deep_copy(parameter, {}), torch.nn.Parameter)
    computed = parameter * 2
    with pytest.raises(RuntimeError, match="deepcopy protocol"):
        deep_copy([computed], {})  # as copy.deepcopy does
    with pytest.raises(RuntimeError, match="deepcopy protocol"):
        copy.deepcopy(computed)


def test_a_slip_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        map_tensors([ids(1)], lambda x: 1 / 0)
