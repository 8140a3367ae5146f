"""What `watch` sees of caches, ours and PyG's, on small sets."""

import pytest
import torch

from gnnlab.bench import cache_growth
from gnnlab.bench.cache_growth import Epochs, fresh, functions, in_workers, loaders, note_cache, twins, watch
from gnnlab.data import InMemoryDataset
from gnnlab.data.testing import assert_equal
from gnnlab.profile import nbytes


@pytest.fixture(scope="module")
def dataset():
    return functions(30)


def test_fresh_datasets_share_the_block_and_nothing_else(dataset):
    dataset[0]
    other = fresh(dataset, cache=None, transform=lambda graph: graph)
    assert other._data is dataset._data
    assert other.slices is dataset.slices
    assert other.cache is None
    assert other.transform is not None
    assert other.cache_info().graphs == 0


def test_watching_takes_the_cache_from_nothing_to_all(dataset):
    moments = list(watch(fresh(dataset), epochs=2, points=3))
    assert [moment.read for moment in moments] == [0, 10, 20, 30, 40, 50, 60]
    assert [moment.cached for moment in moments] == [0, 10, 20, 30, 30, 30, 30]
    assert moments[0].views == 0
    assert moments[3].views == moments[6].views == nbytes(dataset._data)
    assert moments[0].held < moments[1].held < moments[2].held < moments[3].held
    assert {moment.pickled for moment in moments} == {0}


def test_our_pickle_stays_as_it_is(dataset):
    moments = list(watch(fresh(dataset), epochs=2, pickles=True))
    assert len({moment.pickled for moment in moments}) == 1
    assert moments[0].pickled > nbytes(dataset._data)


def test_the_twin_in_pyg_pickles_the_block_once_for_each_cached_graph(dataset):
    pytest.importorskip("torch_geometric", reason="compares with PyG")
    ours, theirs = (list(watch(twin, epochs=1, pickles=True)) for twin in twins(dataset).values())
    assert [moment.cached for moment in ours] == [moment.cached for moment in theirs] == [0, 30]
    assert ours[1].views == theirs[1].views
    assert theirs[1].pickled - theirs[0].pickled > 30 * nbytes(dataset._data)


def test_no_pyg_no_twin(dataset, monkeypatch):
    monkeypatch.setattr(cache_growth, "peer", lambda: None)
    assert list(twins(dataset)) == ["gnnlab"]
    assert list(loaders(dataset)) == ["gnnlab", "gnnlab, vectorised=False"]


def test_loaders_give_the_same_batches_and_only_graph_by_graph_fills_a_cache(dataset):
    found = loaders(dataset, batch_size=7)
    ours, by_graph = (list(found[name]) for name in ("gnnlab", "gnnlab, vectorised=False"))
    assert_equal(ours, by_graph)
    assert found["gnnlab"].dataset.cache_info().graphs == 0
    assert found["gnnlab, vectorised=False"].dataset.cache_info().graphs == 30


def test_the_loader_of_pyg_gives_the_same_batches(dataset):
    pytest.importorskip("torch_geometric", reason="compares with PyG")
    found = loaders(dataset, batch_size=7)
    for mine, other in zip(found["gnnlab"], found["PyG"], strict=True):
        assert all(torch.equal(other[name], mine[name]) for name in mine.keys())  # noqa: SIM118
    assert sum(graph is not None for graph in found["PyG"].dataset._data_list) == 30


@pytest.mark.parametrize("persistent", [False, True])
def test_caches_of_workers_end_with_them(dataset, persistent):
    noting = fresh(functions(40), transform=note_cache)
    found = in_workers(noting, num_workers=2, epochs=2, persistent_workers=persistent)
    assert found.workers[0] == [(1, 20), (1, 20)]
    assert found.workers[1] == [(20, 20) if persistent else (1, 20)] * 2
    assert found.main == [0, 0]
    assert found.table()[1] == ("epoch 1", "1 .. 20", "1 .. 20", "0")


def test_epochs_show_and_plot_every_moment(dataset):
    moments = list(watch(fresh(dataset), epochs=2, pickles=True))
    epochs = Epochs({"ours": moments})
    header, *rows = epochs.table()
    assert [row[0] for row in rows] == ["ours, at first", "ours, epoch 1", "ours, epoch 2"]
    assert [row[1] for row in rows] == ["0", "30", "30"]
    assert all(len(row) == len(header) for row in rows)

    axes = pytest.importorskip("matplotlib.figure").Figure().subplots()
    epochs.plot(axes)
    (line,) = axes.lines
    assert line.get_xdata().tolist() == [0, 30, 60]
    assert line.get_ydata().tolist() == [moment.held / 2**20 for moment in moments]


def test_the_experiment_prints_both_sets_and_what_stays_resident(capsys):
    assert cache_growth.main(["--graphs", "200", "--pickled", "20", "--epochs", "2"]) == 0
    printed = capsys.readouterr().out
    assert "200 graphs\n" in printed
    assert "20 graphs\n" in printed
    assert printed.count("gnnlab, epoch 2") == 2
    assert "cache='all'" in printed
    assert "cache=None" in printed


def test_functions_are_an_in_memory_dataset(dataset):
    assert type(dataset) is InMemoryDataset
    assert len(dataset) == 30
