"""Made-up graphs of any shape, for trying things out."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor

from gnnlab.data import Data, HeteroData, InMemoryDataset


class FakeDataset(InMemoryDataset):
    """Random graphs with features and labels. PyG's `torch_geometric.datasets.FakeDataset`.

    Sizes are drawn evenly from three to five quarters of their averages. Edges are drawn evenly,
    without self-loops or repeats, and sorted. Node features are normal with the label as their
    mean: a label can be learned.

    Args:
        num_graphs: number of graphs.
        avg_num_nodes: average number of nodes in a graph.
        avg_degree: number of edges drawn for each node, at least 1; with `is_undirected` each
            counts in both directions.
        num_channels: number of node features; 0 for none.
        edge_dim: number of edge features; 0 for none.
        num_classes: number of classes; 0 for no labels.
        task: `'node'` for labels of nodes, `'graph'` for labels of graphs, `'auto'` for `'graph'`
            if there are several graphs and `'node'` if there is one.
        is_undirected: whether every edge is there in both directions, with the same features.
        transform: applied to a graph at every access.
        pre_transform: applied to every graph once (PyG ignores it).
        seed: what the random numbers depend on; by default they come from torch's global generator.
        **kwargs: more attributes of a graph, by name the shape of each (`global_features=5`),
            normally distributed.

    Raises:
        ValueError: if `task` is none of the three.

    A graph holds `y: [num_nodes] int64` or `[1] int64`, `edge_index: [2, num_edges] int64`,
    `x: [num_nodes, num_channels] float32` (or else `num_nodes`), and, evenly from 0 to 1,
    `edge_attr: [num_edges, edge_dim] float32`, which is `edge_weight: [num_edges]` if `edge_dim`
    is 1.
    """

    def __init__(
        self,
        num_graphs: int = 1,
        avg_num_nodes: int = 1000,
        avg_degree: float = 10.0,
        num_channels: int = 64,
        edge_dim: int = 0,
        num_classes: int = 10,
        task: str = "auto",
        is_undirected: bool = True,
        transform: Callable[[Data], Any] | None = None,
        pre_transform: Callable[[Data], Any] | None = None,
        *,
        seed: int | None = None,
        **kwargs: int | tuple[int, ...],
    ) -> None:
        super().__init__(None, transform, pre_transform)
        level = _level(task, num_graphs)
        generator = _generator(seed)

        def make() -> Data:
            data = Data()
            num_nodes = _vary(avg_num_nodes, generator)
            if num_classes > 0:
                count = num_nodes if level == "node" else 1
                data.y = torch.randint(num_classes, (count,), generator=generator)
            edge_index = _random_edges(num_nodes, num_nodes, avg_degree, generator)
            edge_index = edge_index[:, edge_index[0] != edge_index[1]]
            if is_undirected:
                edge_index = torch.cat([edge_index, edge_index.flip(0)], dim=1)
            data.edge_index = _unique_edges(edge_index, num_nodes)
            if num_channels > 0:
                data.x = torch.randn(num_nodes, num_channels, generator=generator)
                if num_classes > 0:
                    data.x += data.y.unsqueeze(1)
            else:
                data.num_nodes = num_nodes
            if edge_dim > 0:
                _add_edge_features(data, edge_dim, is_undirected, generator)
            for key, shape in kwargs.items():
                data[key] = torch.randn(shape, generator=generator)
            return data

        graphs = [make() for _ in range(num_graphs)]
        self.data, self.slices = self.collate(graphs if pre_transform is None else [pre_transform(g) for g in graphs])


class FakeHeteroDataset(InMemoryDataset):
    """Random graphs with several types of nodes and edges.

    PyG's `torch_geometric.datasets.FakeHeteroDataset`.

    Node types are `'v0'`, `'v1'`, …; edge types `('v0', 'e0', 'v2')`, …, join pairs of them drawn
    at random, no pair a second time (as `'e1'`) before all are used. Each node type has its own
    number of features. Labels are drawn by themselves, not related to features.

    Args:
        num_graphs: number of graphs.
        num_node_types: number of node types.
        num_edge_types: number of edge types.
        avg_num_nodes: average number of nodes of each type in a graph.
        avg_degree: number of edges of each type drawn for each of its source nodes, at least 1.
        avg_num_channels: average number of node features; 0 for none.
        edge_dim: number of edge features; 0 for none.
        num_classes: number of classes; 0 for no labels.
        task: `'node'` for labels of the nodes of type `'v0'`, `'graph'` for labels of graphs,
            `'auto'` for `'graph'` if there are several graphs and `'node'` if there is one.
        transform: applied to a graph at every access.
        pre_transform: applied to every graph once (PyG ignores it).
        seed: what the random numbers depend on; by default they come from torch's global generator.
        **kwargs: more attributes of a graph, by name the shape of each (`global_features=5`),
            normally distributed.

    Raises:
        ValueError: if `task` is none of the three.

    Names, shapes and dtypes in a graph are those of `FakeDataset`, by type.
    """

    def __init__(
        self,
        num_graphs: int = 1,
        num_node_types: int = 3,
        num_edge_types: int = 6,
        avg_num_nodes: int = 1000,
        avg_degree: float = 10.0,
        avg_num_channels: int = 64,
        edge_dim: int = 0,
        num_classes: int = 10,
        task: str = "auto",
        transform: Callable[[HeteroData], Any] | None = None,
        pre_transform: Callable[[HeteroData], Any] | None = None,
        *,
        seed: int | None = None,
        **kwargs: int | tuple[int, ...],
    ) -> None:
        super().__init__(None, transform, pre_transform)
        level = _level(task, num_graphs)
        generator = _generator(seed)
        node_types = [f"v{i}" for i in range(num_node_types)]
        pairs = torch.cartesian_prod(torch.arange(num_node_types), torch.arange(num_node_types))
        pairs = pairs[torch.randperm(len(pairs), generator=generator)]
        edge_types = []
        for i in range(num_edge_types):
            source, target = pairs[i % len(pairs)].tolist()
            edge_types.append((node_types[source], f"e{i // len(pairs)}", node_types[target]))
        num_channels = [_vary(avg_num_channels, generator) if avg_num_channels > 0 else 0 for _ in node_types]

        def make() -> HeteroData:
            data = HeteroData()
            for node_type, channels in zip(node_types, num_channels, strict=True):
                num_nodes = _vary(avg_num_nodes, generator)
                if channels > 0:
                    data[node_type].x = torch.randn(num_nodes, channels, generator=generator)
                else:
                    data[node_type].num_nodes = num_nodes
            for edge_type in edge_types:
                num_source, num_target = data[edge_type[0]].num_nodes, data[edge_type[2]].num_nodes
                edges = _random_edges(num_source, num_target, avg_degree, generator)
                data[edge_type].edge_index = _unique_edges(edges, num_target)
                if edge_dim > 0:
                    _add_edge_features(data[edge_type], edge_dim, False, generator)
            if num_classes > 0:
                labelled, count = (data["v0"], data["v0"].num_nodes) if level == "node" else (data, 1)
                labelled.y = torch.randint(num_classes, (count,), generator=generator)
            for key, shape in kwargs.items():
                data[key] = torch.randn(shape, generator=generator)
            return data

        graphs = [make() for _ in range(num_graphs)]
        self.data, self.slices = self.collate(graphs if pre_transform is None else [pre_transform(g) for g in graphs])


def _level(task: str, num_graphs: int) -> str:
    """What is labelled: `'node'` or `'graph'`."""
    if task not in ("node", "graph", "auto"):
        raise ValueError(f"task: expected 'node', 'graph' or 'auto', found {task!r}")
    if task == "auto":
        return "graph" if num_graphs > 1 else "node"
    return task


def _generator(seed: int | None) -> Generator:
    return torch.default_generator if seed is None else torch.Generator().manual_seed(seed)


def _vary(average: int, generator: Generator) -> int:
    """A number from three to five quarters of `average`, at least 1."""
    low = max(3 * average // 4, 1)
    high = max(5 * average // 4, low)
    return int(torch.randint(low, high + 1, (), generator=generator))


def _random_edges(num_source: int, num_target: int, avg_degree: float, generator: Generator) -> Tensor:
    """Edges drawn evenly, [2, num_source * avg_degree]."""
    count = int(num_source * max(avg_degree, 1))
    source = torch.randint(num_source, (count,), generator=generator)
    target = torch.randint(num_target, (count,), generator=generator)
    return torch.stack([source, target])


def _unique_edges(edge_index: Tensor, num_target: int) -> Tensor:
    """The edges sorted by source and then by target, each once."""
    key = (edge_index[0] * num_target + edge_index[1]).unique()
    return torch.stack([key // num_target, key % num_target])


def _add_edge_features(store: Any, edge_dim: int, is_undirected: bool, generator: Generator) -> None:
    """Set `edge_attr`, or `edge_weight` if `edge_dim` is 1; alike both ways if `is_undirected`."""
    edge_index = store.edge_index
    if is_undirected:
        _, edge = edge_index.sort(dim=0).values.unique(dim=1, return_inverse=True)
    else:
        edge = torch.arange(edge_index.size(1))
    num_drawn = int(edge.max()) + 1 if edge.numel() > 0 else 0
    features = torch.rand(num_drawn, edge_dim, generator=generator)[edge]
    if edge_dim > 1:
        store.edge_attr = features
    else:
        store.edge_weight = features.squeeze(1)
