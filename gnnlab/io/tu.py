"""Reading graph sets in the text format of "TUDataset" (Morris et al., 2020)."""

import os

import numpy as np
import torch
from numpy.typing import DTypeLike
from torch import Tensor

from gnnlab.data.data import Data


def read_tu_data(folder: str, prefix: str) -> tuple[Data, dict[str, Tensor], dict[str, int]]:
    """Read one graph set: `<prefix>_A.txt`, `<prefix>_graph_indicator.txt` and what else there is.

    Node and edge labels (whole numbers) become one-hot columns, one for every value from the
    smallest to the largest, behind the columns of the attributes (real numbers). Self-loops are
    left out; of repeated edges one is kept, with the sum of their features. Edges are sorted by
    source, then target.

    Args:
        folder: where the files are.
        prefix: the name of the graph set.

    Returns:
        All graphs joined, as `InMemoryDataset.collate` gives them: `x: [num_nodes, *] float32`
        (where there is none, `num_nodes`), `edge_index: [2, num_edges] int64` with node ids that
        begin at 0 in each graph, `edge_attr: [num_edges, *] float32`, and `y: [num_graphs]` (or
        `[num_graphs, num_targets]`), float32 from the graph attributes, else int64 from the graph
        labels, which become class numbers from 0.

        Then the slices: for every attribute `[num_graphs + 1] int64`, where each graph's part
        begins. Then how many columns are what: `num_node_attributes`, `num_node_labels`,
        `num_edge_attributes`, `num_edge_labels`.

    Raises:
        FileNotFoundError: if one of the two files that must be there is missing.
        ValueError: if a file can't be parsed, or the files do not fit together.

    Source: PyG's `torch_geometric.io.read_tu_data`.
    """
    edges = _read(folder, prefix, "A", np.int64).reshape(-1, 2) - 1
    graph_of = _read(folder, prefix, "graph_indicator", np.int64).reshape(-1) - 1
    _check(prefix, edges, graph_of)

    node_attributes, node_labels = _columns(folder, prefix, "node", len(graph_of))
    edge_attributes, edge_labels = _columns(folder, prefix, "edge", len(edges))
    edges, edge_attr = _coalesce(edges, np.hstack([edge_attributes, edge_labels]), len(graph_of))

    node_slices = _slices(graph_of)
    edge_slices = _slices(graph_of[edges[:, 0]], len(node_slices) - 1)
    edge_index = edges - node_slices[graph_of[edges]]

    data = Data(edge_index=torch.from_numpy(np.ascontiguousarray(edge_index.T)))
    slices = {"edge_index": torch.from_numpy(edge_slices)}
    if node_attributes.size or node_labels.size:
        data.x = torch.from_numpy(np.hstack([node_attributes, node_labels]))
        slices["x"] = torch.from_numpy(node_slices)
    else:
        data.num_nodes = len(graph_of)
        slices["num_nodes"] = torch.from_numpy(node_slices)
    if edge_attr.size:
        data.edge_attr = torch.from_numpy(edge_attr)
        slices["edge_attr"] = torch.from_numpy(edge_slices)
    y = _targets(folder, prefix)
    if y is not None:
        if len(y) != len(node_slices) - 1:
            raise ValueError(
                f"{prefix}: expected {len(node_slices) - 1} lines of graph labels or attributes, found {len(y)}"
            )
        data.y = torch.from_numpy(y)
        slices["y"] = torch.arange(len(y) + 1)

    sizes = {
        "num_node_attributes": node_attributes.shape[1],
        "num_node_labels": node_labels.shape[1],
        "num_edge_attributes": edge_attributes.shape[1],
        "num_edge_labels": edge_labels.shape[1],
    }
    return data, slices, sizes


def _path(folder: str, prefix: str, name: str) -> str:
    return os.path.join(folder, f"{prefix}_{name}.txt")


def _read(folder: str, prefix: str, name: str, dtype: DTypeLike) -> np.ndarray:
    """The numbers of one file, [num_lines, num_columns]."""
    path = _path(folder, prefix, name)
    try:
        return np.loadtxt(path, dtype=dtype, delimiter=",", ndmin=2)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _columns(folder: str, prefix: str, level: str, num_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Attributes and one-hot labels of nodes or edges, both `[num_rows, *] float32`.

    Without columns where there is no file.
    """
    attributes = labels = np.empty((num_rows, 0), dtype=np.float32)
    if os.path.exists(_path(folder, prefix, f"{level}_attributes")):
        attributes = _read(folder, prefix, f"{level}_attributes", np.float32)
    if os.path.exists(_path(folder, prefix, f"{level}_labels")):
        values = _read(folder, prefix, f"{level}_labels", np.int64)
        labels = np.hstack([_one_hot(column - column.min()) for column in values.T])
    for kind, rows in (("attributes", attributes), ("labels", labels)):
        if len(rows) != num_rows:
            raise ValueError(f"{prefix}: expected {num_rows} lines of {level} {kind}, found {len(rows)}")
    return attributes, labels


def _one_hot(values: np.ndarray) -> np.ndarray:
    return np.eye(values.max() + 1, dtype=np.float32)[values]


def _targets(folder: str, prefix: str) -> np.ndarray | None:
    if os.path.exists(_path(folder, prefix, "graph_attributes")):
        y = _read(folder, prefix, "graph_attributes", np.float32)
    elif os.path.exists(_path(folder, prefix, "graph_labels")):
        labels = _read(folder, prefix, "graph_labels", np.int64)
        y = np.stack([np.unique(column, return_inverse=True)[1] for column in labels.T], axis=1)
    else:
        return None
    return y[:, 0] if y.shape[1] == 1 else y


def _check(prefix: str, edges: np.ndarray, graph_of: np.ndarray) -> None:
    if (np.diff(graph_of, prepend=0) < 0).any():
        raise ValueError(f"{prefix}: expected graph_indicator to number the graphs from 1 and never to fall")
    if edges.size and (edges.min() < 0 or edges.max() >= len(graph_of)):
        raise ValueError(
            f"{prefix}: expected node numbers from 1 to {len(graph_of)} in A, "
            f"found {edges.min() + 1} to {edges.max() + 1}"
        )
    across = np.flatnonzero(graph_of[edges[:, 0]] != graph_of[edges[:, 1]])
    if len(across):
        raise ValueError(f"{prefix}: expected every edge to stay in its graph, line {across[0] + 1} of A joins two")


def _coalesce(edges: np.ndarray, attr: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Sorted edges [num_edges, 2], each once, no self-loops; `attr` is summed over repeats."""
    apart = edges[:, 0] != edges[:, 1]
    edges, attr = edges[apart], attr[apart]
    keys, inverse = np.unique(edges[:, 0] * num_nodes + edges[:, 1], return_inverse=True)
    total = np.zeros((len(keys), attr.shape[1]), dtype=attr.dtype)
    np.add.at(total, inverse, attr)
    return np.stack([keys // num_nodes, keys % num_nodes], axis=1), total


def _slices(graph_of: np.ndarray, num_graphs: int = 0) -> np.ndarray:
    """Where each graph's part begins and the last ends, [num_graphs + 1]."""
    return np.concatenate([[0], np.bincount(graph_of, minlength=num_graphs).cumsum()])
