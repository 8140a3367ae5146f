"""The power-law graph: exact size, simple, skewed as promised, the same from any chunk order."""

import hashlib
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnnlab.datasets import PowerLaw
from gnnlab.datasets import power_law as module
from gnnlab.datasets.power_law import PowerLawSizes, power_law_chunk


def test_power_law() -> None:
    dataset = PowerLaw(3000, 20000)
    assert repr(dataset) == "PowerLaw()"
    data = dataset[0]
    assert {key: (list(value.shape), value.dtype) for key, value in data.to_dict().items()} == {
        "edge_index": ([2, 20000], torch.int64),
        "x": ([3000, 32], torch.float32),
        "y": ([3000], torch.int64),
    }
    assert data.num_nodes == 3000
    assert dataset.num_classes == 10


@settings(max_examples=60)
@given(
    num_nodes=st.integers(1, 400),
    share=st.floats(0, 1),
    num_classes=st.integers(0, 5),
    seed=st.integers(0, 2**64 - 1),
)
def test_power_law_is_a_simple_graph_of_the_size_asked_for(
    num_nodes: int, share: float, num_classes: int, seed: int
) -> None:
    largest = num_nodes // 2 * math.isqrt(num_nodes)
    num_edges = int(share * largest)
    data = PowerLaw(num_nodes, num_edges, 2, num_classes, seed)[0]
    assert data.num_nodes == num_nodes
    source, target = data.edge_index
    assert data.edge_index.shape == (2, num_edges)
    if num_edges > 0:
        assert data.edge_index.min() >= 0
        assert data.edge_index.max() < num_nodes
    assert not (source == target).any()
    key = target * num_nodes + source
    assert (key.diff() > 0).all()  # sorted by target, then source, and none twice


def test_power_law_in_degrees_follow_the_law() -> None:
    num_nodes, num_edges = 10_000, 80_000
    data = PowerLaw(num_nodes, num_edges, num_features=0, seed=3)[0]
    degrees = data.edge_index[1].bincount(minlength=num_nodes).sort(descending=True).values
    assert degrees[0] == num_edges / math.sqrt(num_nodes)
    for share in (0.01, 0.1, 0.5):
        count = int(share * num_nodes)
        found = int(degrees[:count].sum()) / num_edges
        assert found == pytest.approx(math.sqrt(share), abs=0.002)
    # Twice the degree, a quarter as many nodes of at least that degree.
    more = [int((degrees >= degree).sum()) for degree in (10, 20, 40)]
    assert more[0] / more[1] == pytest.approx(4, rel=0.1)
    assert more[1] / more[2] == pytest.approx(4, rel=0.1)


def test_power_law_sources_have_the_same_skew() -> None:
    num_nodes, num_edges = 10_000, 80_000
    data = PowerLaw(num_nodes, num_edges, num_features=0, seed=3)[0]
    in_degrees = data.edge_index[1].bincount(minlength=num_nodes)
    out_degrees = data.edge_index[0].bincount(minlength=num_nodes)
    hubs = in_degrees.argsort(descending=True)[:100]
    assert int(out_degrees[hubs].sum()) / num_edges == pytest.approx(0.1, abs=0.01)


def test_power_law_hubs_are_spread_over_the_ids() -> None:
    data = PowerLaw(10_000, 80_000, num_features=0, seed=3)[0]
    hubs = data.edge_index[1].bincount(minlength=10_000).argsort(descending=True)[:100]
    assert ((hubs // 1000).bincount(minlength=10) >= 5).all()


def test_power_law_classes_show_in_edges_and_features() -> None:
    data = PowerLaw(10_000, 80_000, num_features=16, num_classes=4, seed=3)[0]
    assert data.y.bincount().tolist() == [2500] * 4
    source, target = data.edge_index
    same = (data.y[source] == data.y[target]).float().mean()
    assert same == pytest.approx(0.5 + 0.5 / 4, abs=0.01)
    centres = torch.stack([data.x[data.y == label].mean(dim=0) for label in range(4)])
    rest = data.x - centres[data.y]
    assert rest.var() == pytest.approx(1, abs=0.01)
    nearest = torch.cdist(data.x, centres).argmin(dim=1)
    assert (nearest == data.y).float().mean() > 0.8


def test_power_law_without_features_or_classes() -> None:
    data = PowerLaw(100, 200, num_features=0, num_classes=0)[0]
    assert set(data.keys()) == {"edge_index", "num_nodes"}
    assert data.num_nodes == 100


def test_power_law_chunks_do_not_depend_on_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK_NODES", 64)
    sizes = PowerLawSizes(1000, 5000, num_features=3)
    assert (sizes.chunk_nodes, sizes.num_chunks) == (64, 16)
    data = PowerLaw(1000, 5000, num_features=3, seed=9)[0]
    for number in (15, 0, 7):
        chunk = power_law_chunk(sizes, number, seed=9)
        nodes = slice(chunk.start, chunk.start + len(chunk.y))
        assert chunk.start == 64 * number
        assert torch.equal(data.x[nodes], torch.from_numpy(chunk.x))
        assert torch.equal(data.y[nodes], torch.from_numpy(chunk.y))
        inside = (data.edge_index[1] >= nodes.start) & (data.edge_index[1] < nodes.stop)
        source, target = data.edge_index[:, inside]
        assert torch.equal(source, torch.from_numpy(chunk.source))
        degrees = (target - nodes.start).bincount(minlength=len(chunk.y))
        assert torch.equal(degrees, torch.from_numpy(chunk.in_degree))


def test_power_law_chunks_are_of_bounded_size() -> None:
    for num_nodes, num_edges in ((111_000_000, 1_600_000_000), (10**6, 0), (10**4, 490_000)):
        sizes = PowerLawSizes(num_nodes, num_edges)
        assert sizes.chunk_nodes <= 2**16
        assert sizes.chunk_nodes * num_edges <= 2**20 * num_nodes
        assert sizes.chunk_nodes * sizes.num_chunks >= num_nodes


def test_power_law_of_papers100m_size_can_be_made_in_part() -> None:
    sizes = PowerLawSizes(111_059_956, 1_615_685_872, num_features=4, num_classes=172)
    chunk = power_law_chunk(sizes, sizes.num_chunks - 1, seed=1)
    assert chunk.start + len(chunk.y) == sizes.num_nodes
    assert len(chunk.source) == chunk.in_degree.sum()
    assert chunk.source.min() >= 0
    assert chunk.source.max() < sizes.num_nodes
    assert chunk.in_degree.min() >= 7


def test_power_law_is_the_same_everywhere() -> None:
    """Values written down once, so that another machine or version that differs is noticed."""
    data = PowerLaw(50, 100, num_features=2, num_classes=3, seed=7)[0]
    assert data.edge_index[:, :12].tolist() == [
        [5, 12, 35, 48, 7, 1, 31, 46, 7, 37, 42, 41],
        [0, 0, 0, 0, 1, 2, 3, 3, 4, 5, 5, 6],
    ]
    assert data.y[:10].tolist() == [0, 0, 0, 1, 1, 2, 2, 0, 0, 0]
    assert data.x[:2].tolist() == [
        [float.fromhex("-0x1.0626aep-1"), float.fromhex("0x1.06ae38p+1")],
        [float.fromhex("-0x1.5beadap-2"), float.fromhex("0x1.92c77cp-2")],
    ]
    digest = hashlib.sha256(data.edge_index.numpy().astype("<i8").tobytes()).hexdigest()
    assert digest[:16] == "8dc440ed6a1258ea"


def test_power_law_depends_on_the_seed() -> None:
    one, other = (PowerLaw(100, 300, seed=seed)[0] for seed in (1, 2))
    assert not torch.equal(one.edge_index, other.edge_index)
    assert not torch.equal(one.x, other.x)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0), "0 < num_nodes"),
        ((2**31, 0), "num_nodes < 2"),
        ((10, -1), "nothing negative"),
        ((10, 5, -1), "nothing negative"),
        ((10, 5, 1, -1), "nothing negative"),
        ((100, 501), "largest in-degree would be 51"),
        ((10, 5, 1, 1, -1), "seed: expected"),
        ((10, 5, 1, 1, 2**64), "seed: expected"),
    ],
)
def test_power_law_refuses(arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PowerLaw(*arguments)


def test_power_law_chunk_is_typed() -> None:
    chunk = power_law_chunk(PowerLawSizes(10, 5), 0, 0)
    assert (chunk.in_degree.dtype, chunk.source.dtype) == (np.int64, np.int64)
    assert (chunk.x.dtype, chunk.y.dtype) == (np.float32, np.int64)
