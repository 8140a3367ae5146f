"""Training on the two paths: the same network, and every part of an epoch in the tables."""

from pathlib import Path

import pytest
import torch

from gnnlab.bench import gcn
from gnnlab.bench.gcn import Parts, Training, paths
from gnnlab.data import Data
from gnnlab.datasets import KarateClub
from gnnlab.sparse import SparseTensor
from tests.io.planetoid_files import write_planetoid

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state:UserWarning"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning"),
]


@pytest.fixture
def club() -> Data:
    graph = KarateClub()[0]
    graph.val_mask = torch.arange(34) % 2 == 0
    graph.test_mask = ~graph.val_mask
    return graph


def test_all_paths_train_the_same_network(club: Data) -> None:
    ways = paths(club)
    assert list(ways)[:2] == ["gnnlab, adj_t", "gnnlab, edge_index"]
    assert isinstance(ways["gnnlab, adj_t"][0], SparseTensor)
    outs = []
    for edges, conv in ways.values():
        training = Training(club, edges, conv)
        for _ in range(5):
            training.epoch()
        outs.append(training.model.eval()(club.x, edges))
    for out in outs[1:]:
        torch.testing.assert_close(out, outs[0], rtol=1e-4, atol=1e-5)


def test_training_learns_and_repeats(club: Data) -> None:
    edges = club.edge_index
    first, again, other = (Training(club, edges, seed=seed).run(60) for seed in (1, 1, 2))
    assert first == again
    assert min(first, other) > 0.6


def test_the_tables_have_every_path_and_part(club: Data) -> None:
    names = list(paths(club))
    found = gcn.accuracy(club, names[:2], range(2), epochs=3)
    assert [row[0] for row in found.table()[1:]] == names[:2]
    assert list(gcn.epoch(club, repeat=1).timings) == names
    parts = gcn.parts(club, repeat=1)
    assert [row[0] for row in parts.table()[1:]] == ["dropout", "products with weights", "aggregation", "an epoch"]


def test_a_share_is_a_part_of_the_whole() -> None:
    parts = Parts({"a": 2.0, "b": 4.0}, {"a": {"one": 0.5}, "b": {"one": 3.0}})
    assert (parts.share("a", "one"), parts.share("b", "one")) == (0.25, 0.75)
    assert parts.table()[1] == ("one", "500.00 ms (25%)", "3.00 s (75%)")


def test_packages_hear_in_both_directions() -> None:
    graph = gcn.packages()
    assert graph.num_edges == 2 * 313_917
    half = graph.num_edges // 2
    assert torch.equal(graph.edge_index[:, half:], graph.edge_index[:, :half].flip(0))


def test_cora_is_looked_for_but_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GNNLAB_PLANETOID", raising=False)
    assert gcn.cora(tmp_path) is None
    assert not list(tmp_path.iterdir())
    write_planetoid(tmp_path / "Cora" / "raw", "cora")
    graph = gcn.cora(tmp_path)
    assert graph is not None
    sums = graph.x.sum(dim=1)
    torch.testing.assert_close(sums[sums > 0], torch.ones(int((sums > 0).sum())))
    monkeypatch.setenv("GNNLAB_PLANETOID", str(tmp_path / "Cora" / "raw"))
    elsewhere = tmp_path / "empty"
    assert torch.equal(gcn.cora(elsewhere).x, graph.x)
    assert not elsewhere.exists()


def test_the_command_says_what_it_skips(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, club: Data
) -> None:
    monkeypatch.delenv("GNNLAB_PLANETOID", raising=False)
    monkeypatch.setattr(gcn, "packages", lambda: club)
    assert gcn.main(["--root", str(tmp_path), "--repeat", "1"]) == 0
    out = capsys.readouterr().out
    assert "Cora, 16 hidden: skipped" in out
    assert "aggregation" in out


def test_the_first_packages_keep_the_edges_between_them() -> None:
    whole, some = gcn.packages(), gcn.packages(500)
    assert some.num_nodes == 500
    assert some.num_edges == int((whole.edge_index < 500).all(dim=0).sum())
