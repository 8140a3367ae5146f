"""Samples and walks hold neighbours and nothing else, evenly, and the same for the same random numbers."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnnlab.sparse import SparseTensor, random_walk, saint_subgraph, sample, sample_adj
from gnnlab.sparse.sampling import _below, _distinct
from tests.sparse.matrices import check, dense, entries, matrices

ids = torch.tensor


def example() -> SparseTensor:
    """[6, 6]: 0 → 1, 2; 1 → 0; 2 → 0; 3 → 1, 4; 4 → 3; node 5 has no neighbours."""
    row, col = ids([0, 0, 1, 2, 3, 3, 4]), ids([1, 2, 0, 0, 1, 4, 3])
    return SparseTensor(row=row, col=col, value=torch.arange(1.0, 8.0), sparse_sizes=(6, 6))


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@st.composite
def matrices_and_nodes(draw):
    src = draw(matrices(rows=5, cols=5))
    return src, draw(st.lists(st.integers(0, 4), max_size=7))


# Walks


@given(matrices_and_nodes(), st.integers(0, 6), st.integers(0, 99))
def test_walks_go_along_entries_and_stay_where_there_is_none(case, length, seed):
    src, start = case
    walks = src.random_walk(ids(start, dtype=torch.int64), length, generator=seeded(seed))
    assert (walks.shape, walks.dtype) == ((len(start), length + 1), torch.int64)
    there = dense(src.set_value(None)) > 0
    for node, walk in zip(start, walks.tolist(), strict=True):
        assert walk[0] == node
        for here, then in pairwise(walk):
            assert there[here, then] or (here == then and not there[here].any())


def test_steps_are_chosen_evenly():
    src = SparseTensor.from_dense(ids([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]))
    ends = random_walk(src, torch.zeros(9000, dtype=torch.int64), 3, generator=seeded())[:, 3]
    assert ends.bincount().tolist() == pytest.approx([0, 3000, 3000, 3000], abs=200)


def test_the_same_random_numbers_give_the_same():
    src, nodes = SparseTensor.from_dense(torch.ones(9, 9)), torch.arange(9)
    calls = [
        lambda **g: src.random_walk(nodes, 5, **g),
        lambda **g: src.sample(4, **g),
        lambda **g: src.sample_adj(nodes, 4, **g)[0].storage.col(),
        lambda **g: src.sample_adj(nodes, 4, replace=True, **g)[0].storage.col(),
    ]
    for call in calls:
        first = call(generator=seeded(1))
        assert torch.equal(call(generator=seeded(1)), first)
        assert not torch.equal(call(generator=seeded(2)), first)
        torch.manual_seed(1)
        assert torch.equal(call(), first)
        state = torch.get_rng_state()
        call(generator=seeded(1))
        assert torch.equal(torch.get_rng_state(), state)


# Samples


@given(matrices_and_nodes(), st.integers(0, 4), st.integers(0, 99))
def test_samples_are_neighbours_and_every_row_needs_some(case, num, seed):
    src, nodes = case
    there = dense(src.set_value(None)) > 0
    alone = [node for node in nodes if not there[node].any()]
    subset = ids(nodes, dtype=torch.int64)
    if alone and num:
        with pytest.raises(ValueError, match=f"subset must hold rows with entries, found row {alone[0]} without"):
            src.sample(num, subset)
        return
    out = src.sample(num, subset, generator=seeded(seed))
    assert (out.shape, out.dtype) == ((len(nodes), num), torch.int64)
    assert all(there[node, neighbor] for node, line in zip(nodes, out.tolist(), strict=True) for neighbor in line)


def test_samples_of_all_rows_and_evenly():
    src = SparseTensor.from_dense(ids([[1, 1, 0], [0, 1, 0]]))
    out = sample(src, 8000, generator=seeded())
    assert out[0].bincount().tolist() == pytest.approx([4000, 4000], abs=200)
    assert out[1].unique().tolist() == [1]


@settings(max_examples=50)
@given(matrices_and_nodes(), st.integers(-1, 4), st.booleans(), st.integers(0, 99))
def test_sample_adj_takes_entries_of_the_rows_asked_for(case, num, replace, seed):
    src, nodes = case
    out, names = src.sample_adj(ids(nodes, dtype=torch.int64), num, replace, generator=seeded(seed))
    check(out)
    assert out.sizes() == [len(nodes), len(names), *src.sizes()[2:]]
    names = names.tolist()
    assert names[: len(nodes)] == nodes
    assert len(set(names[len(nodes) :]) - set(nodes)) == len(names) - len(nodes)
    rows = [[e[1:] for e in entries(src) if e[0] == node] for node in nodes]
    for i, row in enumerate(rows):
        got = [(names[col], value) for at, col, value in entries(out) if at == i]
        left = list(row)
        for entry in got:
            assert entry in left
            if not replace or num < 0:
                left.remove(entry)  # each once
        all_of_it = num < 0 or (len(row) <= num and not replace) or not row
        assert len(got) == (len(row) if all_of_it else num)


def test_sample_adj_numbers_nodes_as_they_come():
    out, names = sample_adj(example(), ids([3, 0]), -1)
    assert names.tolist() == [3, 0, 1, 4, 2]
    assert entries(out) == [(0, 2, 5.0), (0, 3, 6.0), (1, 2, 1.0), (1, 4, 2.0)]
    twice, names = sample_adj(example(), ids([1, 0, 1]), -1)
    assert names.tolist() == [1, 0, 1, 2]
    assert entries(twice) == [(0, 1, 3.0), (1, 2, 1.0), (1, 3, 2.0), (2, 1, 3.0)]


def test_sample_adj_chooses_every_pair_as_often():
    src = SparseTensor.from_dense(torch.ones(1, 4))
    out, names = src.sample_adj(torch.zeros(12_000, dtype=torch.int64), 2, generator=seeded())
    pairs = names[out.storage.col()].view(-1, 2).sort(dim=1).values
    assert (pairs[:, 0] * 4 + pairs[:, 1]).unique(return_counts=True)[1].tolist() == pytest.approx([2000] * 6, abs=160)


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 99))
def test_distinct_numbers_are_distinct_and_below(num, more, seed):
    stop = torch.full((3,), num + more)
    out = _distinct(stop, torch.rand(3, num, generator=seeded(seed)))
    for line in out.tolist():
        assert len(set(line)) == num
        assert all(0 <= number < num + more for number in line)
    # The largest numbers that rand can give do not reach beyond.
    high = _distinct(stop, torch.full((3, num), 1 - 2**-24))
    assert all(0 <= number < num + more for number in high.flatten().tolist())


def test_a_number_next_to_one_never_leads_out_of_the_row():
    stop = ids([1, 3, 2**24 + 3, 2**30 - 1])
    assert (_below(stop, torch.full((4,), 1 - 2**-24)) < stop).all()


# Subgraphs


@settings(max_examples=50)
@given(matrices(rows=5, cols=5), st.lists(st.integers(0, 4), unique=True))
def test_saint_subgraph_is_the_block_of_its_nodes(src, nodes):
    index = ids(nodes, dtype=torch.int64)
    out, entry = src.saint_subgraph(index)
    check(out)
    assert (dense(out) == dense(src)[nodes][:, nodes]).all()
    row, col, value = src.coo()
    assert torch.equal(index[out.storage.row()], row[entry])
    assert torch.equal(index[out.storage.col()], col[entry])
    assert value is None or torch.equal(out.storage.value(), value[entry])


def test_a_node_that_is_there_twice_is_the_column_of_its_last_place():
    out, entry = saint_subgraph(example(), ids([0, 0, 1]))
    assert entries(out) == [(0, 2, 1.0), (1, 2, 1.0), (2, 1, 3.0)]
    assert entry.tolist() == [0, 0, 2]


def test_gradients_flow_to_the_entries_taken():
    src = example().requires_grad_()
    (src.sample_adj(ids([0, 3]), -1)[0].sum() + 2 * src.saint_subgraph(ids([0, 1]))[0].sum()).backward()
    assert src.storage.value().grad.tolist() == [3.0, 1.0, 2.0, 0.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (IndexError, r"start must lie in 0 <= start < 6 \(rows\), found 9", lambda a: a.random_walk(ids([9]), 1)),
        (IndexError, "subset must lie in 0 <= subset < 6 .*found -1", lambda a: a.sample(1, ids([-1]))),
        (IndexError, "subset must lie in 0 <= subset < 6 .*found 6", lambda a: a.sample_adj(ids([6]), 1)),
        (IndexError, "node_idx must lie in 0 <= node_idx < 6 .*found 7", lambda a: a.saint_subgraph(ids([7]))),
        (TypeError, "subset must have an integer dtype, found torch.bool", lambda a: a.sample_adj(ids([True]), 1)),
        (TypeError, "start must be a tensor of integers, found list", lambda a: a.random_walk([0], 1)),
        (ValueError, r"node_idx must have shape \[n\], found \[1, 1\]", lambda a: a.saint_subgraph(ids([[0]]))),
        (ValueError, "walk_length must not be negative, found -1", lambda a: a.random_walk(ids([0]), -1)),
        (ValueError, "num_neighbors must not be negative, found -1", lambda a: a.sample(-1)),
        (ValueError, "with entries, found row 5 without", lambda a: a.sample(1)),
        (
            ValueError,
            r"random_walk needs as many rows as columns, found \(5, 6\)",
            lambda a: a[:5].random_walk(ids([0]), 1),
        ),
        (ValueError, r"saint_subgraph needs as many rows as columns", lambda a: a[:5].saint_subgraph(ids([0]))),
    ],
)
def test_what_does_not_fit_is_named(error, message, call):
    with pytest.raises(error, match=message):
        call(example())


def test_nothing_can_be_sampled_of_nothing():
    empty, none = SparseTensor.eye(0), ids([], dtype=torch.int32)
    assert empty.random_walk(none, 3).shape == (0, 4)
    assert empty.sample(3).shape == (0, 3)
    out, names = empty.sample_adj(none, 3)
    assert (out.sizes(), names.tolist()) == ([0, 0], [])
    out, entry = example().saint_subgraph(none)
    assert (out.sizes(), entry.tolist()) == ([0, 0], [])
