"""How large the graphs of a dataset are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, Self

import torch
from torch import Tensor

from gnnlab.typing import EdgeType, NodeType

#: From this many graphs on, counting them shows its progress.
LONG = 10_000


@dataclass
class Stats:
    """What a list of numbers looks like (`torch_geometric.data.summary.Stats`).

    Attributes:
        mean: the mean.
        std: the standard deviation (of a sample, so NaN for a single number).
        min: the least number.
        quantile25: the first quartile.
        median: the median, of two in the middle the lower one.
        quantile75: the third quartile.
        max: the largest number.
    """

    mean: float
    std: float
    min: float
    quantile25: float
    median: float
    quantile75: float
    max: float

    @classmethod
    def from_data(cls, data: list[int] | list[float] | Tensor) -> Self:
        """The statistics of `data`, one number or more.

        Raises:
            ValueError: if there is no number.
        """
        values = torch.as_tensor(data, dtype=torch.float64).flatten()
        if values.numel() == 0:
            raise ValueError("there are no numbers to summarise")
        ordered = values.sort().values
        return cls(
            mean=values.mean().item(),
            std=values.std().item() if values.numel() > 1 else float("nan"),
            min=ordered[0].item(),
            quantile25=_quantile(ordered, 0.25),
            median=ordered[(values.numel() - 1) // 2].item(),
            quantile75=_quantile(ordered, 0.75),
            max=ordered[-1].item(),
        )


@dataclass(repr=False)
class Summary:
    """How large the graphs of a dataset are (`torch_geometric.data.summary.Summary`).

    Attributes:
        name: the dataset's name.
        num_graphs: the number of graphs.
        num_nodes: nodes a graph.
        num_edges: edges a graph.
        num_nodes_per_type: by node type, nodes a graph (of the graphs with that type); `None` for
            homogeneous graphs.
        num_edges_per_type: the same for edges.
    """

    name: str
    num_graphs: int
    num_nodes: Stats
    num_edges: Stats
    num_nodes_per_type: dict[NodeType, Stats] | None = None
    num_edges_per_type: dict[EdgeType, Stats] | None = None

    @classmethod
    def from_dataset(cls, dataset: Any, progress_bar: bool | None = None, per_type: bool = True) -> Self:
        """Count the nodes and edges of all graphs of `dataset`.

        Args:
            dataset: a dataset or another sequence of graphs.
            progress_bar: show a progress bar; by default from 10,000 graphs on.
            per_type: count by type too, where graphs are heterogeneous.

        Raises:
            ValueError: if there is no graph.
        """
        return cls.from_data_list(dataset, type(dataset).__name__, progress_bar, per_type)

    @classmethod
    def from_data_list(
        cls,
        data_list: Sequence[Any],
        name: str = "",
        progress_bar: bool | None = None,
        per_type: bool = True,
    ) -> Self:
        """Count the nodes and edges of all graphs in `data_list`; arguments as for `from_dataset`.

        Raises:
            ValueError: if there is no graph.
        """
        if len(data_list) == 0:
            raise ValueError("there are no graphs to summarise")
        graphs: Iterable[Any] = data_list
        if progress_bar or (progress_bar is None and len(data_list) >= LONG):
            from tqdm.auto import tqdm

            graphs = tqdm(data_list)

        num_nodes, num_edges = [], []
        by_node_type: dict[NodeType, list[int]] = {}
        by_edge_type: dict[EdgeType, list[int]] = {}
        for graph in graphs:
            num_nodes.append(graph.num_nodes)
            num_edges.append(graph.num_edges)
            if per_type and hasattr(type(graph), "node_types"):
                for node_type, store in graph.node_items():
                    by_node_type.setdefault(node_type, []).append(store.num_nodes)
                for edge_type, store in graph.edge_items():
                    by_edge_type.setdefault(edge_type, []).append(store.num_edges)
        return cls(
            name=name,
            num_graphs=len(data_list),
            num_nodes=Stats.from_data(num_nodes),
            num_edges=Stats.from_data(num_edges),
            num_nodes_per_type=_stats_by_type(by_node_type),
            num_edges_per_type=_stats_by_type(by_edge_type),
        )

    def format(self, fmt: str = "psql") -> str:
        """The summary as tables.

        Args:
            fmt: 'psql' for framed tables, 'github' for Markdown, or any other format of the package
                tabulate.

        Raises:
            ImportError: if the format needs tabulate and it is not installed.
        """
        parts = [f"{self.name} (#graphs={self.num_graphs}):"]
        parts.append(_table({"#nodes": self.num_nodes, "#edges": self.num_edges}, fmt))
        if self.num_nodes_per_type is not None:
            parts.append("Number of nodes per node type:")
            parts.append(_table(self.num_nodes_per_type, fmt))
        if self.num_edges_per_type is not None:
            parts.append("Number of edges per edge type:")
            types = {f"({', '.join(key)})": stats for key, stats in self.num_edges_per_type.items()}
            parts.append(_table(types, fmt))
        return "\n".join(parts)

    def __repr__(self) -> str:
        return self.format()


def _quantile(ordered: Tensor, share: float) -> float:
    """The value below which `share` of the `ordered` numbers lie, between two of them on a line."""
    at = share * (ordered.numel() - 1)
    low = int(at)
    high = min(low + 1, ordered.numel() - 1)
    return torch.lerp(ordered[low], ordered[high], at - low).item()


def _stats_by_type(counts: dict[Any, list[int]]) -> dict[Any, Stats] | None:
    return {key: Stats.from_data(values) for key, values in counts.items()} or None


def _table(columns: dict[str, Stats], fmt: str) -> str:
    names = [field.name for field in fields(Stats)]
    if fmt not in ("psql", "github"):
        return _other_table(names, columns, fmt)
    cells = [names]
    for title, stats in columns.items():
        cells.append(_aligned([getattr(stats, name) for name in names], title))
    header = ["".ljust(len(max(names, key=len)))]
    header += [title.rjust(len(cells[at + 1][0])) for at, title in enumerate(columns)]
    cells[0] = [name.ljust(len(header[0])) for name in names]
    lines = [f"| {' | '.join(row)} |" for row in [header, *zip(*cells, strict=True)]]
    rule = ["-" * (len(title) + 2) for title in header]
    if fmt == "github":
        return "\n".join([lines[0], f"|{'|'.join(rule)}|", *lines[1:]])
    edge = f"+{'+'.join(rule)}+"
    return "\n".join([edge, lines[0], f"|{'+'.join(rule)}|", *lines[1:], edge])


def _other_table(names: list[str], columns: dict[str, Stats], fmt: str) -> str:
    try:
        tabulate = import_module("tabulate").tabulate
    except ImportError as error:
        raise ImportError(f"format '{fmt}' needs the package tabulate; 'psql' and 'github' do without") from error
    rows = [[name, *(round(getattr(x, name), 1) for x in columns.values())] for name in names]
    return str(tabulate(rows, headers=["", *columns], tablefmt=fmt))


def _aligned(values: list[float], title: str) -> list[str]:
    """Numbers with at most one decimal, points below each other, right-aligned below `title`."""
    texts = [f"{value:.1f}".removesuffix(".0") for value in values]
    tails = [len(text) - (text.find(".") if "." in text else len(text)) for text in texts]
    padded = [text + " " * (max(tails) - tail) for text, tail in zip(texts, tails, strict=True)]
    width = max(len(title) + 2, *map(len, padded))
    return [text.rjust(width) for text in padded]
