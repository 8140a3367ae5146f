"""Whether a matrix is the transposed adjacency is remembered where it stays true, and turned around with it."""

import copy
import io
import pickle

import pytest
import torch

from gnnlab import sparse
from gnnlab.sparse import SparseTensor

ids = torch.tensor


def example(is_transposed: bool | None = True) -> SparseTensor:
    """[3, 3], with values."""
    value = ids([1.0, 2.0, 3.0])
    return SparseTensor(row=ids([0, 1, 2]), col=ids([1, 2, 2]), value=value, is_transposed=is_transposed)


KEEP = {
    "itself": lambda a: a,
    "values": lambda a: a.set_value(None).fill_value(2.0).double(),
    "in place": lambda a: a.copy().set_value_(None).fill_value_(1.0),
    "copies": lambda a: copy.deepcopy(copy.copy(a).clone()).to("cpu", copy=True).detach(),
    "another device": lambda a: a.to("meta"),
    "pickle": lambda a: pickle.loads(pickle.dumps(a)),
    "parts": lambda a: sparse.compact(a),
    "rows": lambda a: a[[2, 0]].narrow(0, 0, 1),
    "columns": lambda a: a[:, ids([True, False, True])][:, 0:1],
    "entries": lambda a: a.masked_select_nnz(ids([True, False, True])).index_select_nnz(ids([0])),
    "diagonal": lambda a: a.set_diag().fill_diag(2.0).remove_diag(),
    "duplicates": lambda a: sparse.cat([a, a], 1).coalesce(),
    "size": lambda a: a.sparse_resize((4, 5)),
    "joined": lambda a: sparse.narrow(sparse.cat([a, a], (0, 1)), (0, 1), (3, 3), (3, 3)),
    "permuted": lambda a: a.permute(ids([2, 1, 0])),
    "turned twice": lambda a: a.t().t(),
    "by row": lambda a: a.mul(torch.ones(3, 1)).add_(torch.ones(1, 3)),
    "by entry": lambda a: a.mul_nnz(torch.ones(3)),
    "added": lambda a: a + a,
    "multiplied": lambda a: a * a,
    "two hops": lambda a: a @ a,
    "sampled": lambda a: a.sample_adj(ids([1, 0]), 2)[0],
    "subgraph": lambda a: a.saint_subgraph(ids([1, 2]))[0],
}


@pytest.mark.parametrize("call", KEEP)
@pytest.mark.parametrize("mark", [True, False, None])
def test_it_is_kept_where_it_stays_true(call, mark):
    assert KEEP[call](example(mark)).is_transposed is mark


def test_the_transpose_turns_it_around():
    assert example(True).t().is_transposed is False
    assert example(False).t().is_transposed is True
    assert example(None).t().is_transposed is None


def test_nobody_knows_where_it_was_not_said_or_parts_differ():
    assert SparseTensor.eye(2).is_transposed is None
    assert example().to_symmetric().is_transposed is None
    assert example().sparse_reshape(1, 9).is_transposed is None
    for other in [example(False), example(None)]:
        assert sparse.cat([example(), other], 0).is_transposed is None
        assert (example() + other).is_transposed is None
        assert (example() * other).is_transposed is None
        assert (example() @ other).is_transposed is None


def test_a_matrix_of_long_products_keeps_it_too(monkeypatch):
    monkeypatch.setattr("gnnlab.sparse.spspmm._WORTH_KERNELS", 0, raising=True)
    assert (example() @ example()).is_transposed is True


def test_it_comes_back_from_files_and_from_those_that_lack_it():
    file = io.BytesIO()
    torch.save(example(), file)
    file.seek(0)
    assert torch.load(file, weights_only=True).is_transposed is True
    old = SparseTensor.__new__(SparseTensor)
    old.__dict__.update(storage=example().storage)  # what a pickle made before there was a mark restores
    assert old.is_transposed is None
    description, parts = sparse.to_parts(example())
    del description["is_transposed"]
    assert sparse.from_parts(description, parts).is_transposed is None


def test_it_does_not_count_as_a_difference():
    assert example(True) == example(False)
