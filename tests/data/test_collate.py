"""Joining and taking apart are inverse, by list, by stream and by batch, for graphs of every make."""

import warnings
from typing import ClassVar

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnnlab.data import Batch, Data, HeteroData, InMemoryDataset, Rule, stream
from gnnlab.data.collate import collate
from gnnlab.data.separate import separate
from gnnlab.data.testing import assert_equal
from tests.strategies import SPARSE_KINDS, graph_lists

SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=60)


class Held(InMemoryDataset):
    def __init__(self, graphs):
        super().__init__(None)
        self.data, self.slices = self.collate(graphs)


def any_graphs(**kwargs):
    return st.one_of(
        graph_lists(**kwargs),
        graph_lists(hetero=True, missing_types=True, **kwargs),
    )


def has_attributes(graphs):
    return any(len(store) for graph in graphs for store in graph.stores)


@SLOW
@given(any_graphs(optional=True, sparse=SPARSE_KINDS, requires_grad=True))
def test_a_dataset_gives_back_what_was_put_in(graphs):
    if len(graphs) > 1 and not has_attributes(graphs):
        with pytest.raises(ValueError, match="without any attribute"):
            Held(graphs)
        return
    dataset = Held(graphs)
    for graph, found in zip(graphs, dataset, strict=True):
        assert_equal(found, graph, normalised=True)


@SLOW
@given(any_graphs(optional=True, sparse=SPARSE_KINDS, requires_grad=True), st.integers(1, 4))
def test_a_stream_gives_the_block_of_the_list(graphs, portion):
    if len(graphs) < 2 or not has_attributes(graphs):
        return
    listed = Held(graphs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "_CHUNK_GRAPHS", portion)
        streamed = Held(iter(graphs))
    for graph, found in zip(listed, streamed, strict=True):
        assert_equal(found, graph)


@SLOW
@given(any_graphs(sparse=SPARSE_KINDS, requires_grad=True))
def test_a_batch_gives_back_what_was_put_in(graphs):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Unable to accurately infer 'num_nodes'")
        batch = Batch.from_data_list(graphs)
    assert batch.num_graphs == len(graphs)
    for graph, found in zip(graphs, batch.to_data_list(), strict=True):
        assert_equal(found, graph, normalised=True)


def outcome(call):
    """What `call` returns, or the kind and text of its error."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Unable to accurately infer 'num_nodes'")
        try:
            return call()
        except (ValueError, TypeError, OverflowError) as error:
            return type(error), str(error)


@SLOW
@given(st.data())
def test_a_vectorised_batch_is_the_one_made_graph_by_graph(data):
    graphs = data.draw(any_graphs(optional=data.draw(st.booleans())))
    if len(graphs) > 1 and not has_attributes(graphs):
        return
    dataset = Held(graphs)
    index = data.draw(st.lists(st.integers(0, len(graphs) - 1), min_size=1, max_size=6))
    names = sorted({name for graph in graphs for name in graph.keys()})  # noqa: SIM118
    some = st.lists(st.sampled_from(names), max_size=2) if names else st.just([])
    followed, excluded = data.draw(some), data.draw(some)
    fast = outcome(lambda: dataset.batch(index, followed, excluded))
    slow = outcome(lambda: dataset.batch(index, followed, excluded, vectorised=False))
    if isinstance(slow, tuple):
        assert fast == slow
        return
    assert_equal(fast, slow)
    assert_equal(
        {"slices": fast._slice_dict, "incs": fast._inc_dict}, {"slices": slow._slice_dict, "incs": slow._inc_dict}
    )


def test_ids_are_shifted_past_the_graphs_before():
    graphs = [
        Data(num_nodes=n, edge_index=torch.tensor([[0], [n - 1]]), face=torch.zeros(3, 1).long()) for n in (2, 3, 4)
    ]
    batch = Batch.from_data_list(graphs)
    assert batch.edge_index.tolist() == [[0, 2, 5], [1, 4, 8]]
    assert batch.face.tolist() == [[0, 2, 5]] * 3
    assert batch.batch.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2]
    assert batch.ptr.tolist() == [0, 2, 5, 9]
    assert batch.num_nodes == 9


class Declared(Data):
    rules: ClassVar = {
        "partner": Rule(inc="num_nodes", level="node"),
        "kind": Rule(cat_dim=None),
        "weight": Rule(level="edge"),
        "whole": Rule(cat_dim=1),
    }


def test_declared_rules_hold_on_every_path():
    graphs = [
        Declared(
            num_nodes=2,
            edge_index=torch.tensor([[0, 1], [1, 0]]),
            partner=torch.tensor([1, 0]),
            kind=torch.tensor([i, i]),
            weight=torch.tensor([0.5, 0.5]),
            whole=torch.full((2, 1), i),
        )
        for i in range(3)
    ]
    assert graphs[0].is_edge_attr("weight")
    assert not graphs[0].is_node_attr("weight")
    dataset = Held(graphs)
    assert dataset.batch_path() == "vectorised"
    for batch in (dataset.batch([2, 0]), dataset.batch([2, 0], vectorised=False)):
        assert batch.partner.tolist() == [1, 0, 3, 2]
        assert batch.kind.tolist() == [[2, 2], [0, 0]]
        assert batch.whole.tolist() == [[2, 0], [2, 0]]
        for graph, i in zip(batch.to_data_list(), [2, 0], strict=True):
            assert_equal(graph, graphs[i])


def test_small_integers_that_can_not_hold_shifted_ids_are_refused():
    graphs = [Data(num_nodes=100, edge_index=torch.zeros(2, 1, dtype=torch.int8)) for _ in range(3)]
    dataset = Held(graphs)
    for vectorised in (True, False):
        assert dataset.batch([0, 1], vectorised=vectorised).edge_index.tolist() == [[0, 100], [0, 100]]
        with pytest.raises(
            OverflowError, match=r"'edge_index' is of dtype torch.int8, which can't hold the shifted id 200"
        ):
            dataset.batch([0, 1, 2], vectorised=vectorised)


def test_a_mask_is_never_shifted():
    graphs = [Data(num_nodes=2, index_mask=torch.tensor([True, False])) for _ in range(2)]
    assert Batch.from_data_list(graphs).index_mask.tolist() == [True, False] * 2


def test_gradients_flow_through_a_batch():
    graphs = [Data(x=torch.ones(n, 1, requires_grad=True)) for n in (1, 2)]
    Batch.from_data_list(graphs).x.sum().backward()
    assert all(torch.equal(graph.x.grad, torch.ones_like(graph.x)) for graph in graphs)


def test_collate_and_separate_as_functions():
    graphs = [Data(x=torch.full((n, 1), float(n)), edge_index=torch.zeros(2, 1).long()) for n in (1, 2, 3)]
    joined, slices, incs = collate(Data, graphs, add_batch=False)
    assert type(joined) is Data
    assert joined.edge_index[0].tolist() == [0, 1, 3]
    for i, graph in enumerate(graphs):
        assert_equal(separate(Data, joined, i, slices, incs), graph)
    assert separate(Data, joined, 2, slices, incs, decrement=False).edge_index[0].tolist() == [3]


def test_many_small_pieces_are_joined_to_the_bit():
    for dtype in (torch.float32, torch.int64, torch.int32, torch.int16, torch.bfloat16, torch.int8):
        values = [torch.randint(-100, 100, (2, n % 7, 3)).to(dtype) for n in range(3000)]
        graphs = [Data(flat=value[0], wide_index=value[:, :, 0].contiguous(), num_nodes=0) for value in values]
        block, _ = InMemoryDataset.collate(graphs)
        assert torch.equal(block.flat, torch.cat([value[0] for value in values]))
        assert torch.equal(block.wide_index, torch.cat([value[:, :, 0] for value in values], dim=1))
        assert block.flat.dtype == block.wide_index.dtype == dtype


def test_patterns_of_bits_survive_that_are_no_numbers():
    bits = torch.tensor([0x7FF0_0000_0000_0001, 0x7FF8_0000_0000_0002, -1, -(2**63)])
    graphs = [Data(bits_index=bits[i % 4].repeat(1000), num_nodes=0) for i in range(200)]
    block, _ = InMemoryDataset.collate(graphs)
    assert torch.equal(block.bits_index, torch.cat([graph.bits_index for graph in graphs]))


def test_hetero_stores_that_some_graphs_lack_keep_later_ids_right():
    graphs = []
    for i in range(4):
        graph = HeteroData()
        graph["a"].num_nodes = 2
        graph["b"].num_nodes = 3
        if i != 1:
            graph["a", "to", "b"].edge_index = torch.tensor([[1], [2]])
        graphs.append(graph)
    batch = Batch.from_data_list(graphs)
    assert batch["a", "to", "b"].edge_index.tolist() == [[1, 5, 7], [2, 8, 11]]
    assert ("a", "to", "b") not in batch[1].edge_types
    for graph, found in zip(graphs, batch.to_data_list(), strict=True):
        assert_equal(found, graph)


def test_a_row_that_begins_with_a_tensor_is_joined_place_by_place():
    graphs = [Data(num_nodes=1, row=(torch.ones(i + 1), f"graph {i}", i)) for i in range(3)]
    for dataset in (Held(graphs), Held(iter(graphs))):
        assert dataset.batch_path() == "vectorised"
        for batch in (dataset.batch([2, 0]), dataset.batch([2, 0], vectorised=False)):
            assert batch.row[0].tolist() == [1.0] * 4
            assert batch.row[1] == ["graph 2", "graph 0"]
            assert batch.row[2].tolist() == [2, 0]
        for graph, found in zip(graphs, dataset, strict=True):
            assert_equal(found, graph, normalised=True)


def test_a_row_that_begins_otherwise_is_kept_as_it_is():
    graphs = [Data(num_nodes=1, row=[f"graph {i}", torch.ones(i + 1)]) for i in range(2)]
    assert [row[0] for row in Batch.from_data_list(graphs).row] == ["graph 0", "graph 1"]
