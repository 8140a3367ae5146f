"""Summaries of datasets, held against PyG and NumPy."""

import sys
from dataclasses import asdict
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnlab.data import Data, HeteroData
from gnnlab.data.summary import Stats, Summary
from tests.tiny import no_edges, path, star, two_types


def pyg_summary() -> Any:
    return pytest.importorskip("torch_geometric.data.summary", reason="compares with torch_geometric")


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20))
def test_stats_are_those_of_numpy(numbers: list[int]) -> None:
    found = Stats.from_data(numbers)
    ordered = sorted(numbers)
    assert found.mean == pytest.approx(np.mean(numbers))
    assert (found.min, found.max) == (ordered[0], ordered[-1])
    assert found.median == ordered[(len(numbers) - 1) // 2]
    assert found.quantile25 == pytest.approx(np.quantile(numbers, 0.25))
    assert found.quantile75 == pytest.approx(np.quantile(numbers, 0.75))
    if len(numbers) > 1:
        assert found.std == pytest.approx(np.std(numbers, ddof=1))
    else:
        assert np.isnan(found.std)


@pytest.mark.parametrize("numbers", [[1, 2, 3], [4, 1, 2, 9], [0.5, 1.5], torch.tensor([3, 7, 2])])
def test_stats_are_those_of_pyg(numbers: Any) -> None:
    expected = asdict(pyg_summary().Stats.from_data(numbers))
    assert asdict(Stats.from_data(numbers)) == pytest.approx(expected)


def test_no_numbers_and_no_graphs_are_refused() -> None:
    with pytest.raises(ValueError, match="no numbers to summarise"):
        Stats.from_data([])
    with pytest.raises(ValueError, match="no graphs to summarise"):
        Summary.from_data_list([])


class Graphs(list[Any]):
    """A sequence of graphs that passes for a dataset."""


def mixed(cls: Any) -> list[Any]:
    """Three graphs, in one of which a node type is missing."""
    second, third = cls(), cls()
    second["paper"].x = torch.ones(9, 2)
    second["paper", "cites", "paper"].edge_index = torch.tensor([[0, 1], [1, 2]])
    third["author"].x, third["paper"].x = torch.ones(4, 1), torch.ones(1, 2)
    third["author", "writes", "paper"].edge_index = torch.tensor([[0, 3], [0, 0]])
    return [cls.from_dict(two_types().to_dict()), second, third]


def test_summaries_are_those_of_pyg() -> None:
    graphs = Graphs([path(), star(), no_edges(), path(), star()])
    ours = Summary.from_dataset(graphs)
    theirs = pyg_summary().Summary.from_dataset(graphs, progress_bar=False)
    assert asdict(ours) == approx(asdict(theirs))
    assert (ours.name, ours.num_graphs, ours.num_nodes_per_type) == ("Graphs", 5, None)


def test_summaries_by_type_are_those_of_pyg() -> None:
    pyg = pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")
    ours, theirs = Graphs(mixed(HeteroData)), Graphs(mixed(pyg.HeteroData))
    found = Summary.from_dataset(ours)
    assert asdict(found) == approx(asdict(pyg_summary().Summary.from_dataset(theirs, progress_bar=False)))
    assert found.num_nodes_per_type is not None
    assert found.num_nodes_per_type["author"].mean == 3
    plain = Summary.from_dataset(ours, per_type=False)
    assert plain.num_nodes_per_type is plain.num_edges_per_type is None


def approx(values: dict[str, Any]) -> dict[str, Any]:
    """`values` with their numbers compared up to rounding."""
    out: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            out[key] = approx(value)
        else:
            is_float = isinstance(value, float)
            out[key] = pytest.approx(value, nan_ok=True, rel=1e-5) if is_float else value
    return out


HOMOGENEOUS = """\
Graphs (#graphs=3):
+------------+----------+----------+
|            |   #nodes |   #edges |
|------------+----------+----------|
| mean       |      3.7 |      2.7 |
| std        |      1.2 |      2.3 |
| min        |      3   |      0   |
| quantile25 |      3   |      2   |
| median     |      3   |      4   |
| quantile75 |      4   |      4   |
| max        |      5   |      4   |
+------------+----------+----------+"""

BY_TYPE = """\
tiny (#graphs=1):
|            |   #nodes |   #edges |
|------------|----------|----------|
| mean       |        5 |        4 |
| std        |      nan |      nan |
| min        |        5 |        4 |
| quantile25 |        5 |        4 |
| median     |        5 |        4 |
| quantile75 |        5 |        4 |
| max        |        5 |        4 |
Number of nodes per node type:
|            |   paper |   author |
|------------|---------|----------|
| mean       |       3 |        2 |
| std        |     nan |      nan |
| min        |       3 |        2 |
| quantile25 |       3 |        2 |
| median     |       3 |        2 |
| quantile75 |       3 |        2 |
| max        |       3 |        2 |
Number of edges per edge type:
|            |   (author, writes, paper) |   (paper, cites, paper) |
|------------|---------------------------|-------------------------|
| mean       |                         3 |                       1 |
| std        |                       nan |                     nan |
| min        |                         3 |                       1 |
| quantile25 |                         3 |                       1 |
| median     |                         3 |                       1 |
| quantile75 |                         3 |                       1 |
| max        |                         3 |                       1 |"""


def test_tables() -> None:
    summary = Summary.from_dataset(Graphs([path(), star(), no_edges()]))
    assert str(summary) == repr(summary) == summary.format() == HOMOGENEOUS
    assert Summary.from_data_list([two_types()], "tiny").format("github") == BY_TYPE


def test_tables_look_as_in_pyg() -> None:
    pytest.importorskip("tabulate", reason="PyG's tables need tabulate")
    graphs = Graphs([path(), star(), no_edges(), Data(num_nodes=1234)])
    ours, theirs = Summary.from_dataset(graphs), pyg_summary().Summary.from_dataset(graphs)
    for fmt in ("psql", "github", "simple"):
        assert ours.format(fmt) == theirs.format(fmt)
    ours = Summary.from_data_list(mixed(HeteroData))
    pyg = pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")
    expected = pyg_summary().Summary.from_dataset(Graphs(mixed(pyg.HeteroData))).format()
    assert ours.format().splitlines()[1:] == expected.splitlines()[1:]


def test_other_formats_need_tabulate(monkeypatch: pytest.MonkeyPatch) -> None:
    summary = Summary.from_data_list([path()])
    monkeypatch.setitem(sys.modules, "tabulate", None)
    with pytest.raises(ImportError, match="format 'html' needs the package tabulate"):
        summary.format("html")

    def tabulate(rows: Any, headers: Any, tablefmt: str) -> str:
        return f"{tablefmt}: {headers} {rows[0]}"

    stand_in = ModuleType("tabulate")
    stand_in.tabulate = tabulate  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tabulate", stand_in)
    assert summary.format("html") == (" (#graphs=1):\nhtml: ['', '#nodes', '#edges'] ['mean', 3.0, 4.0]")


def test_a_progress_bar_shows_where_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    Summary.from_dataset([path()])
    assert capsys.readouterr().err == ""
    Summary.from_dataset([path()], progress_bar=True)
    assert "1/1" in capsys.readouterr().err
