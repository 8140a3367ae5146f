import random

import numpy as np
import pytest
import torch

from gnnlab.profile import estimate_collate, footprint, nbytes, peak
from gnnlab.profile.estimate import leaves


def graphs_of(package, n, seed=0):
    """Random graphs of 10 to 30 nodes with an attribute of every common kind."""
    rng = random.Random(seed)
    for _ in range(n):
        nodes = rng.randint(10, 30)
        yield package.Data(
            x=torch.zeros(nodes, 16),
            edge_index=torch.zeros(2, 4 * nodes, dtype=torch.long),
            edge_attr=torch.zeros(4 * nodes, 4),
            y=1,
            weight=0.5,
            level=torch.tensor(3),
            name=f"graph of {nodes}",
            nested={"a": torch.zeros(nodes), "b": [torch.zeros(2), torch.zeros(3)]},
        )


def block_of(make_dataset, graphs):
    dataset = make_dataset(list(graphs))
    return dataset._data, dataset.slices


def test_a_sample_of_all_graphs_is_exact(package, make_dataset):
    graphs = list(graphs_of(package, 50))
    block, slices = block_of(make_dataset, graphs)
    found = estimate_collate(graphs, 50)
    assert sum(found.attributes.values()) == nbytes(block.to_dict())
    assert found.slices == nbytes(slices)
    by_name = {name: nbytes(value) for name, value in leaves(block.to_dict())}
    assert found.attributes == {name: size for name, size in by_name.items() if size}
    names = footprint(block.name)
    assert found.objects == pytest.approx(names.objects, rel=0.1)


def test_another_sample_is_within_a_few_percent_and_its_own_error(package, make_dataset):
    found = estimate_collate(graphs_of(package, 300, seed=1), 3000)
    block, slices = block_of(make_dataset, graphs_of(package, 3000, seed=2))
    actual = nbytes([block.to_dict(), slices]) + found.objects
    assert found.total == pytest.approx(actual, rel=0.04)
    assert abs(found.total - actual) <= 1.5 * found.error
    assert found.error < 0.1 * found.total


def test_it_grows_with_n(package):
    small, large = (estimate_collate(graphs_of(package, 20), n) for n in (100, 1000))
    assert large.attributes["x"] == 10 * small.attributes["x"]
    assert large.peak > large.total > small.total


def test_types_and_the_graphs_own_attributes(package):
    graph = package.HeteroData()
    graph["a"].x = torch.zeros(2, 3)
    graph["b"].num_nodes = 5
    graph["a", "to", "b"].edge_index = torch.zeros(2, 4, dtype=torch.long)
    graph.y = 1
    found = estimate_collate([graph], 10)
    assert found.attributes == {"y": 80, "a.x": 240, "(a, to, b).edge_index": 640}
    assert found.slices == 4 * 11 * 8
    assert found.error == float("inf")


def test_sparse_matrices_count_by_their_parts(package):
    graph = package.Data(adj=torch.eye(10).to_sparse())
    assert estimate_collate([graph], 5).attributes == {"adj": 5 * 10 * (2 * 8 + 4)}


def test_an_attribute_that_some_graphs_have_counts_by_its_share(package):
    graphs = [package.Data(x=torch.zeros(4)), package.Data(x=torch.zeros(4), z=torch.zeros(2))]
    assert estimate_collate(graphs, 10).attributes == {"x": 160, "z": 40}


def test_arrays_stay_objects(package):
    found = estimate_collate([package.Data(x=torch.zeros(4), array=np.zeros(100))], 10)
    assert found.attributes == {"x": 160}
    assert found.objects > 8000


def test_a_dataset_is_read_without_its_transform_and_leaves_no_cache(package, make_dataset):
    graphs = list(graphs_of(package, 20))
    dataset = make_dataset(graphs, transform=lambda graph: pytest.fail("no transform is due"))
    assert estimate_collate(dataset, 20).attributes == estimate_collate(graphs, 20).attributes
    assert dataset._data_list is None or not any(dataset._data_list)
    few = estimate_collate(dataset[:5], 5)
    assert few.attributes == estimate_collate(graphs[:5], 5).attributes


def test_an_iterator_is_enough_and_none_is_too_few(package):
    assert estimate_collate(graphs_of(package, 3), 1).sample == 3
    with pytest.raises(ValueError, match="at least one graph"):
        estimate_collate([], 10)
    with pytest.raises(ValueError, match="n is a number"):
        estimate_collate(graphs_of(package, 1), -1)


def test_it_shows_itself(package):
    text = str(estimate_collate(graphs_of(package, 10), 1_000_000))
    assert text.startswith("collating 1,000,000 graphs")
    assert "edge_attr" in text
    assert "from a sample of 10 graphs" in text


STREAM = """
import torch
from gnnlab.data import Data, InMemoryDataset

def graphs(n):
    for i in range(n):
        nodes = 100 + 10 * (i % 21)
        edges = torch.zeros(2, 4 * nodes, dtype=torch.long)
        yield Data(x=torch.zeros(nodes, 16), edge_index=edges, edge_attr=torch.zeros(4 * nodes, 4))

def stream(n):
    return InMemoryDataset.collate(graphs(n))

def from_list(n):
    return InMemoryDataset.collate(list(graphs(n)))

stream(2), from_list(2)
"""


def test_the_peaks_are_those_of_a_fresh_process():
    namespace = {}
    exec(STREAM, namespace)
    found = estimate_collate(namespace["graphs"](42), 2100)
    actual = peak("stream", 2100, setup=STREAM).peak
    assert found.total < actual < found.peak * 1.1
    assert peak("from_list", 2100, setup=STREAM).peak == pytest.approx(found.peak_from_list, rel=0.1)
