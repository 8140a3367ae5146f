"""Reading small graph sets in the TU format, by hand and beside PyG."""

from pathlib import Path

import pytest
import torch

from gnnlab.io import read_tu_data

# Three graphs: a path of 3 nodes, with one edge given twice; one node with a self-loop; 2 nodes.
FILES = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 2\n5, 6\n6, 5\n4, 4\n",
    "graph_indicator": "1\n1\n1\n2\n3\n3\n",
    "graph_labels": "-1\n1\n1\n",
    "graph_attributes": "0.5\n1.5\n2\n",
    "node_labels": "2\n4\n2\n3\n2\n4\n",
    "node_attributes": "0.5, 10\n1.5, 11\n2.5, 12\n3.5, 13\n4.5, 14\n5.5, 15\n",
    "edge_labels": "0\n0\n1\n1\n0\n1\n1\n0\n",
    "edge_attributes": "0.25\n1.25\n2.25\n3.25\n4.25\n5.25\n6.25\n7.25\n",
}

ALWAYS = ("A", "graph_indicator")

SETS = {
    "all": tuple(FILES),
    "labels": ("graph_labels", "node_labels", "edge_labels"),
    "attributes": ("graph_attributes", "node_attributes", "edge_attributes"),
    "structure": (),
    "targets": ("graph_labels",),
}


def write(folder: Path, *names: str, prefix: str = "T", **contents: str) -> str:
    """Write the named files, some with other contents, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in {**{name: FILES[name] for name in (*ALWAYS, *names)}, **contents}.items():
        (folder / f"{prefix}_{name}.txt").write_text(content)
    return str(folder)


def test_read_by_hand(tmp_path: Path) -> None:
    folder = write(tmp_path, "graph_labels", "node_labels", "edge_labels", "edge_attributes")
    data, slices, sizes = read_tu_data(folder, "T")
    assert data.edge_index.tolist() == [[0, 1, 1, 2, 0, 1], [1, 0, 2, 1, 1, 0]]
    two, three, four = [1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]
    assert data.x.tolist() == [two, four, two, three, two, four]
    # The edge from node 0 to node 1 is there twice: both lines are added up.
    assert data.edge_attr.tolist() == [
        [0.25 + 4.25, 2, 0],
        [1.25, 1, 0],
        [2.25, 0, 1],
        [3.25, 0, 1],
        [5.25, 0, 1],
        [6.25, 0, 1],
    ]
    assert data.y.tolist() == [0, 1, 1]
    assert {key: value.tolist() for key, value in slices.items()} == {
        "edge_index": [0, 4, 4, 6],
        "x": [0, 3, 4, 6],
        "edge_attr": [0, 4, 4, 6],
        "y": [0, 1, 2, 3],
    }
    assert sizes == {
        "num_node_attributes": 0,
        "num_node_labels": 3,
        "num_edge_attributes": 1,
        "num_edge_labels": 2,
    }


def test_read_without_node_features_keeps_the_number_of_nodes(tmp_path: Path) -> None:
    data, slices, _ = read_tu_data(write(tmp_path), "T")
    assert data.num_nodes == 6
    assert slices["num_nodes"].tolist() == [0, 3, 4, 6]
    assert data.keys() == ["edge_index", "num_nodes"]


@pytest.mark.parametrize("names", SETS.values(), ids=SETS.keys())
@pytest.mark.parametrize("columns", [1, 2])
def test_read_as_pyg_does(tmp_path: Path, names: tuple[str, ...], columns: int) -> None:
    pyg_io = pytest.importorskip("torch_geometric.io", reason="PyG is not installed")
    contents = {}
    for name in set(names) - {*ALWAYS, "node_attributes"} if columns == 2 else ():
        lines = FILES[name].split()
        pairs = zip(lines, reversed(lines), strict=True)
        contents[name] = "".join(f"{one}, {other}\n" for one, other in pairs)
    folder = write(tmp_path, *names, **contents)
    data, slices, sizes = read_tu_data(folder, "T")
    pyg_data, pyg_slices, pyg_sizes = pyg_io.read_tu_data(folder, "T")

    assert data.num_nodes == pyg_data.num_nodes
    for key, expected in pyg_data.to_dict().items():
        if isinstance(expected, torch.Tensor):
            assert data[key].dtype == expected.dtype
            assert torch.equal(data[key], expected), key
    assert {key: value.tolist() for key, value in slices.items() if key != "num_nodes"} == {
        key: value.tolist() for key, value in pyg_slices.items()
    }
    assert sizes == pyg_sizes


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({"graph_indicator": "2\n2\n1\n1\n1\n3\n"}, "never to fall"),
        ({"graph_indicator": "0\n1\n1\n2\n2\n2\n"}, "from 1"),
        ({"A": "1, 2\n2, 7\n"}, "node numbers from 1 to 6 in A, found 1 to 7"),
        ({"A": "1, 2\n3, 4\n"}, "line 2 of A joins two"),
        ({"node_labels": "1\n2\n"}, "expected 6 lines of node labels, found 2"),
        ({"edge_attributes": "1\n2\n"}, "expected 8 lines of edge attributes, found 2"),
        ({"graph_labels": "1\n2\n"}, "expected 3 lines of graph labels or attributes, found 2"),
        ({"graph_labels": "1\nmany\n2\n"}, r"T_graph_labels\.txt.*'many'"),
    ],
)
def test_read_refuses_files_that_do_not_fit(tmp_path: Path, contents: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_tu_data(write(tmp_path, **contents), "T")


@pytest.mark.parametrize("name", ALWAYS)
def test_read_needs_two_files(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path)
    (tmp_path / f"T_{name}.txt").unlink()
    with pytest.raises(FileNotFoundError, match=f"T_{name}"):
        read_tu_data(folder, "T")
