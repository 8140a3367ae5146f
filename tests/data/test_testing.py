"""The comparison that other tests rely on: it must see every difference and name it."""

import copy
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnlab.data import Batch, Data, HeteroData
from gnnlab.data.testing import assert_equal, equal
from gnnlab.sparse import SparseTensor, from_parts
from tests.strategies import DTYPES, SPARSE_KINDS, graph_lists
from tests.tiny import path, two_types

Pair = namedtuple("Pair", "a b")
nan = float("nan")


def coo(row: int, value: float, sizes: tuple[int, int] = (2, 3), **flags: bool) -> Any:
    parts = {"indices": torch.tensor([[row], [2]]), "values": torch.tensor([value])}
    return from_parts({"kind": "coo", "sizes": list(sizes), "is_coalesced": True, **flags}, parts)


def csr(value: float) -> Any:
    parts = {"ptr": torch.tensor([0, 1, 1]), "index": torch.tensor([2]), "values": torch.tensor([value])}
    return from_parts({"kind": "csr", "sizes": [2, 3]}, parts)


def ours(row: int, value: float | None = None) -> SparseTensor:
    values = None if value is None else torch.tensor([value])
    ids = torch.tensor([row]), torch.tensor([2])
    return SparseTensor(row=ids[0], col=ids[1], value=values, sparse_sizes=(2, 3))


@given(
    st.one_of(
        graph_lists(sparse=SPARSE_KINDS, requires_grad=True, optional=True),
        graph_lists(hetero=True, sparse=SPARSE_KINDS, missing_types=True),
    )
)
def test_any_graph_equals_its_copy(graphs: list[Any]) -> None:
    assert_equal([graph.clone() for graph in graphs], graphs)
    assert_equal(graphs, graphs, normalised=True)
    assert equal(graphs, list(map(copy.copy, graphs)))


SAME: list[tuple[Any, Any]] = [
    (torch.tensor([nan, 1.0]), torch.tensor([nan, 1.0])),
    (torch.tensor([complex(nan, 1)]), torch.tensor([complex(nan, 1)])),
    (torch.empty(0, 3), torch.empty(0, 3)),
    (torch.arange(6).view(2, 3).t(), torch.arange(6).view(2, 3).t().contiguous()),
    (np.array([nan, 1.0]), np.array([nan, 1.0])),
    (np.array(["a", "b"]), np.array(["a", "b"])),
    (nan, nan),
    ("text", "text"),
    ({"a": 1, "b": [torch.ones(1)]}, {"b": [torch.ones(1)], "a": 1}),
    (Pair(1, torch.ones(1)), Pair(1, torch.ones(1))),
    (coo(0, nan), coo(0, nan)),
    (coo(0, 1.0), coo(0, 1.0, is_coalesced=False)),
    (csr(1.0), csr(1.0)),
    (ours(1), ours(1)),
    (path(), path()),
]


@pytest.mark.parametrize(("found", "expected"), SAME)
def test_the_same(found: Any, expected: Any) -> None:
    assert_equal(Data(y=found), Data(y=expected))
    assert equal(Data(y=found), Data(y=expected))


DIFFERENT: list[tuple[Any, Any, str]] = [
    (torch.ones(2), torch.zeros(2), r"expected the value 0.0 at \[0\], found 1.0"),
    (torch.ones(2, 2), torch.tensor([[1.0, 1.0], [1.0, 3.0]]), r"the value 3.0 at \[1, 1\], found 1.0"),
    (torch.ones(1), torch.tensor([nan]), r"the value nan at \[0\], found 1.0"),
    (torch.tensor(1), torch.tensor(2), r"the value 2 at \[\], found 1"),
    (torch.tensor([1 + 2j]), torch.tensor([1 + 3j]), r"the value 3.0 at \[0, 1\], found 2.0"),
    (torch.tensor([complex(nan, 1)]), torch.tensor([complex(nan, 2)]), "the value 2.0"),
    (torch.ones(2), torch.ones(2).double(), "expected dtype torch.float64, found torch.float32"),
    (torch.ones(2), torch.ones(2, 1), r"expected shape \[2, 1\], found \[2\]"),
    (torch.ones(2), torch.ones(2, device="meta"), "expected device meta, found cpu"),
    (torch.ones(2), torch.ones(2, requires_grad=True), "expected requires_grad True, found False"),
    (torch.ones(1), 1.0, "expected a float, found a Tensor"),
    (torch.nn.Parameter(torch.ones(1)), torch.ones(1), "expected a Tensor, found a Parameter"),
    (1, True, "expected a bool, found a int"),
    (1, 2, "expected 2, found 1"),
    ("a", "b", "expected 'b', found 'a'"),
    ([1], (1,), "expected a tuple, found a list"),
    ([1], [1, 2], "expected 2 items, found 1"),
    ([1, 3], [1, 2], r"attribute 'y'\[1\]: expected 2, found 3"),
    ({"a": 1}, {"b": 1}, r"expected the keys \['b'\], found \['a'\]"),
    ({"a": {"b": [1]}}, {"a": {"b": [2]}}, r"attribute 'y'\['a'\]\['b'\]\[0\]: expected 2, found 1"),
    (np.ones(2), np.zeros(2), r"expected the value 0.0 at \[0\], found 1.0"),
    (np.array(1.0), np.array(2.0), "expected the value 2.0"),
    (np.ones(2), np.ones(2, dtype=np.float32), "expected dtype float32, found float64"),
    (np.ones(2), np.ones((2, 1)), r"expected shape \(2, 1\), found \(2,\)"),
    (coo(0, 1.0), torch.ones(2, 3), "expected layout torch.strided, found torch.sparse_coo"),
    (torch.ones(2, 3), coo(0, 1.0), "expected layout torch.sparse_coo, found torch.strided"),
    (coo(0, 1.0), csr(1.0), "expected the kind csr, found coo"),
    (coo(0, 1.0), coo(0, 1.0, (4, 3)), r"expected the sizes \(4, 3\), found \(2, 3\)"),
    (coo(0, 1.0), coo(1, 1.0), "indices: expected the value 1"),
    (coo(0, 1.0), coo(0, 2.0), "values: expected the value 2.0"),
    (coo(0, 1.0), coo(0, 1.0).requires_grad_(), "values: expected requires_grad True, found False"),
    (csr(1.0), csr(2.0), "values: expected the value 2.0"),
    (ours(0), ours(1), "row: expected the value 1"),
    (ours(0), ours(0, 1.0), r"expected the parts \['col', 'row', 'value'\], found \['col', 'row'\]"),
    (ours(0, 1.0), ours(0, 2.0), "value: expected the value 2.0"),
    (path(), two_types(), "expected a HeteroData, found a Data"),
    (path(), path().subgraph([0]), "attribute 'y', attribute 'x': expected shape"),
]


@pytest.mark.parametrize(("found", "expected", "text"), DIFFERENT)
def test_differences_are_seen_and_named(found: Any, expected: Any, text: str) -> None:
    with pytest.raises(AssertionError, match=text) as error:
        assert_equal(Data(y=found), Data(y=expected))
    assert str(error.value).startswith("attribute 'y'")
    assert not equal(Data(y=found), Data(y=expected))
    assert not equal(Data(y=expected), Data(y=found))


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_different_entry_is_seen_in_every_dtype(dtype: torch.dtype) -> None:
    one, other = torch.zeros(3).to(dtype), torch.zeros(3).to(dtype)
    assert equal(Data(x=one), Data(x=other))
    other[2] = 1
    assert not equal(Data(x=one), Data(x=other))


def test_differences_between_graphs_are_named() -> None:
    class Molecule(Data):
        pass

    cases: list[tuple[Any, Any, str]] = [
        (path(), Molecule(**path().to_dict()), "^value: expected a Molecule, found a Data$"),
        (path(), Batch.from_data_list([path()]), "expected a DataBatch, found a Data"),
        (Data(x=1), Data(x=1, y=2), r"expected the attributes \['x', 'y'\], found \['x'\]"),
        ([path()], path(), "expected a Data, found a list"),
        ([path()], [path(), path()], "expected 2 items, found 1"),
        ([path(), Data(x=1)], [path(), Data(x=2)], "^graph 1, attribute 'x': expected 2, found 1$"),
    ]
    for found, expected, text in cases:
        with pytest.raises(AssertionError, match=text):
            assert_equal(found, expected)


def test_differences_between_types_are_named() -> None:
    changes: list[tuple[Any, str]] = [
        (lambda data: data["venue"], "expected the types .*'venue'"),
        (lambda data: data["paper", "in", "paper"], r"expected the types .*\('paper', 'in', 'paper'\)"),
        (lambda data: data["paper"].update(x=1), "^graph 0, node type 'paper', attribute 'x': expected"),
        (
            lambda data: data["cites"].update(edge_index=1),
            r"^graph 0, edge type \('paper', 'cites', 'paper'\), attribute 'edge_index': expected",
        ),
        (lambda data: data["author"].update(age=1), "node type 'author': expected the attributes"),
        (lambda data: setattr(data, "name", "tiny"), "^graph 0: expected the attributes"),
    ]
    for change, text in changes:
        expected = two_types()
        change(expected)
        with pytest.raises(AssertionError, match=text):
            assert_equal([two_types()], [expected])


def test_numbers_may_be_taken_for_tensors() -> None:
    plain = Data(a=1, b=1.5, c=True, d=torch.tensor(2), e={"f": [3]}, g="text")
    batched = Data(
        a=torch.tensor([1]),
        b=torch.tensor([1.5]),
        c=torch.tensor([True]),
        d=torch.tensor([2]),
        e={"f": [torch.tensor([3])]},
        g="text",
    )
    assert equal(plain, batched, normalised=True)
    assert equal(batched, plain, normalised=True)
    assert not equal(plain, batched)
    batched.e["f"][0][0] = 4
    assert not equal(plain, batched, normalised=True)
    assert not equal(Data(a=1), Data(a=1.0), normalised=True)


def test_comparing_leaves_nothing_behind() -> None:
    rowptr = torch.tensor([0, 1, 1])
    matrix = SparseTensor(rowptr=rowptr, col=torch.tensor([2]), sparse_sizes=(2, 3))
    before = matrix.cache_info()
    assert equal(Data(adj_t=matrix), Data(adj_t=ours(0)))
    assert matrix.cache_info() == before


def test_a_matrix_may_be_held_by_rows_or_by_row_pointers() -> None:
    data = HeteroData()
    data["a", "b"].adj_t = ours(0)
    other = HeteroData()
    other["a", "b"].adj_t = SparseTensor(rowptr=torch.tensor([0, 1, 1]), col=torch.tensor([2]), sparse_sizes=(2, 3))
    assert equal(data, other)
