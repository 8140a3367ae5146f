import pytest
import torch

from gnnlab.profile import nbytes, report


@pytest.fixture
def dataset(package, make_dataset):
    """40 graphs of 5 nodes and 8 edges."""
    graphs = [
        package.Data(x=torch.zeros(5, 3), edge_index=torch.zeros(2, 8, dtype=torch.long), y=1, name="graph")
        for _ in range(40)
    ]
    return make_dataset(graphs)


def test_the_block_is_its_attributes_and_the_slices_are_apart(dataset):
    found = report(dataset)
    assert found.attributes == {"x": 2400, "edge_index": 5120, "y": 320, "name": 0}
    assert found.block.held == 2400 + 5120 + 320
    assert found.slices.held == 4 * 41 * 8
    assert (found.graphs, found.cached) == (40, 0)
    assert found.cache.tensors == 0


def test_cached_graphs_are_views_that_cost_python_objects(dataset):
    empty = report(dataset)
    graphs = [dataset[i] for i in range(10)]
    found = report(dataset)
    assert found.cached == 10
    assert found.cache.tensors >= 30
    assert found.cache.addressed == found.cache.known == nbytes([g.to_dict() for g in graphs])
    assert found.cache.held == 0
    assert found.cache.objects > 10 * 200
    assert found.cache.headers >= 30 * 500
    assert found.total > empty.total
    assert found.block == empty.block


def test_reading_the_report_caches_nothing(dataset):
    report(dataset)
    assert str(report(dataset)).endswith("0 of 40 graphs cached")


def test_a_cached_graph_with_tensors_of_its_own_is_told(dataset):
    for i in range(3):
        dataset[i]
    dataset._data_list[1].extra = torch.zeros(100)
    found = report(dataset)
    assert found.cache.held == 400
    assert found.cache.addressed == found.cache.known + 400


def test_a_released_cache_is_gone(dataset):
    empty = report(dataset).cache
    list(dataset)
    dataset._data_list = None
    assert report(dataset).cache.tensors == empty.tensors
    assert report(dataset).cached == 0


def test_the_rest_is_what_the_dataset_has_beside(dataset):
    len(dataset)  # where the graphs' parts lie is derived now, and kept
    before = report(dataset).rest.held
    dataset.weights = torch.zeros(25)
    assert report(dataset).rest.held == before + 100


def test_a_set_of_one_graph_has_no_use_for_slices(package, make_dataset):
    found = report(make_dataset([package.Data(x=torch.zeros(5, 3))]))
    assert found.slices.tensors == 0
    assert found.block.held == 60
    assert "one graph" in str(found)


def test_types_are_apart(package, make_dataset):
    graph = package.HeteroData()
    graph["a"].x = torch.zeros(2, 3)
    graph["a", "to", "b"].edge_index = torch.zeros(2, 4, dtype=torch.long)
    graph["b"].num_nodes = 5
    found = report(make_dataset([graph] * 3))
    assert found.attributes["a.x"] == 72
    assert found.attributes["(a, to, b).edge_index"] == 192


def test_memory_mapped_blocks_are_told(package, make_dataset, tmp_path):
    torch.save(torch.zeros(1000), tmp_path / "x")
    dataset = make_dataset([package.Data(x=torch.zeros(2))] * 3)
    dataset._data.x = torch.load(tmp_path / "x", mmap=True)
    found = report(dataset)
    assert found.block.mapped == 4000
    assert "mapped from files" in str(found)


def test_it_shows_itself_as_a_table(dataset):
    text = str(report(dataset))
    rows = [line.split("  ")[0] for line in text.splitlines()]
    assert rows[:3] == ["owner", "-" * len(text.splitlines()[1]), "block"]
    assert [r for r in rows if r in ("block", "slices", "cache", "rest")]
    assert "<td>slices</td>" in report(dataset)._repr_html_()


def test_what_is_no_in_memory_dataset_is_refused():
    with pytest.raises(TypeError, match="Linear"):
        report(torch.nn.Linear(2, 2))
