"""The tables that notebooks show, read back cell by cell."""

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnlab.data import Batch, Data, Dataset, InMemoryDataset, TemporalData
from gnnlab.data.html import describe, nbytes, readable
from gnnlab.sparse import SparseTensor, from_parts
from tests.strategies import SPARSE_KINDS, graph_lists
from tests.tiny import no_edges, path, star, two_types


class Reader(HTMLParser):
    """The title, the rows of cells and the text below of a table."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"div", "b", "p", "table", "thead", "tbody", "tr", "th", "td"}
        assert {name for name, _ in attrs} <= {"style", "colspan"}
        assert all("color" not in (value or "") and "url" not in (value or "") for _, value in attrs)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        else:
            self.texts.append(data)


def read(shown: Any) -> Reader:
    return Reader(shown._repr_html_())


def test_a_graph() -> None:
    shown = read(path())
    assert shown.texts == ["Data"]
    assert shown.rows == [
        ["attribute", "shape", "dtype", "bytes", "device"],
        ["x", "[3, 2]", "float32", "24 B", "cpu"],
        ["edge_index", "[2, 4]", "int64", "64 B", "cpu"],
        ["edge_attr", "[4, 1]", "float32", "16 B", "cpu"],
        ["y", "[3]", "int64", "24 B", "cpu"],
        ["total", "", "", "128 B", ""],
    ]


def test_a_graph_of_several_types() -> None:
    data = two_types()
    data.year = 2024
    assert read(data).rows[1:] == [
        ["year", "2024", "int", "", ""],
        ["paper"],
        ["x", "[3, 2]", "float32", "24 B", "cpu"],
        ["y", "[3]", "int64", "24 B", "cpu"],
        ["author"],
        ["x", "[2, 1]", "float32", "8 B", "cpu"],
        ["(author, writes, paper)"],
        ["edge_index", "[2, 3]", "int64", "48 B", "cpu"],
        ["edge_attr", "[3, 1]", "float32", "12 B", "cpu"],
        ["(paper, cites, paper)"],
        ["edge_index", "[2, 1]", "int64", "16 B", "cpu"],
        ["total", "", "", "132 B", ""],
    ]


def test_titles_of_other_graphs() -> None:
    assert read(Batch.from_data_list([path(), star()])).texts == ["DataBatch of 2 graphs"]
    assert read(Batch.from_data_list([two_types()])).texts == ["HeteroDataBatch of 1 graph"]
    assert read(TemporalData(src=torch.arange(3))).texts == ["TemporalData"]
    assert read(Data()).rows[1:] == [["total", "", "", "0 B", ""]]
    assert read(Data(num_graphs="many")).texts == ["Data"]


@pytest.mark.parametrize(
    ("value", "cells"),
    [
        (torch.tensor(1.5), ["[]", "float32", "4 B", "cpu"]),
        (torch.ones(2, 3, dtype=torch.bfloat16), ["[2, 3]", "bfloat16", "12 B", "cpu"]),
        (torch.ones(2, device="meta"), ["[2]", "float32", "8 B", "meta"]),
        (torch.ones(8, 128), ["[8, 128]", "float32", "4.0 KiB", "cpu"]),
        (torch.ones(100)[:2], ["[2]", "float32", "8 B", "cpu"]),
        (np.ones((2, 3)), ["[2, 3]", "float64", "48 B", "cpu"]),
        (0.5, ["0.5", "float", "", ""]),
        (True, ["True", "bool", "", ""]),
        ("<b>&\"'", ["'<b>&\"''", "str", "", ""]),
        ("x" * 100, ["'" + "x" * 58 + "…", "str", "", ""]),
        (["a", "b"], ["[2]", "list of str", "", ""]),
        ([torch.ones(2), "a"], ["[2]", "list of Tensor, str", "8 B", ""]),
        ((1, 2.0), ["[2]", "tuple of float, int", "", ""]),
        ([], ["[0]", "list", "", ""]),
        ({}, ["{}", "dict", "", ""]),
        (
            SparseTensor(row=torch.tensor([0]), col=torch.tensor([1]), sparse_sizes=(2, 3)),
            ["[2, 3]", "float32, SparseTensor", "16 B", "cpu"],
        ),
        (
            from_parts(
                {"kind": "csr", "sizes": [1, 3]},
                {"ptr": torch.tensor([0, 1]), "index": torch.tensor([2]), "values": torch.ones(1)},
            ),
            ["[1, 3]", "float32, sparse_csr", "28 B", "cpu"],
        ),
    ],
)
def test_values(value: Any, cells: list[str]) -> None:
    assert read(Data(y=value)).rows[1] == ["y", *cells]


def test_dictionaries_show_their_entries() -> None:
    data = Data(meta={"size": torch.ones(3), "deep": {("a", 1): "cm"}})
    assert read(data).rows[1:3] == [
        ["meta['size']", "[3]", "float32", "12 B", "cpu"],
        ["meta['deep'][('a', 1)]", "'cm'", "str", "", ""],
    ]


def test_names_are_escaped() -> None:
    html = Data(**{"<script>": 1})._repr_html_()
    assert "<script>" not in html
    assert Reader(html).rows[1][0] == "<script>"


@given(
    st.one_of(
        graph_lists(sparse=SPARSE_KINDS),
        graph_lists(hetero=True, sparse=SPARSE_KINDS, missing_types=True),
    )
)
def test_any_graph_shows_all_its_attributes(graphs: list[Any]) -> None:
    for data in graphs:
        rows = read(data).rows
        names = [row[0].split("[")[0] for row in rows]
        assert all(name in names for store in data.stores for name in store)
        assert rows[-1][3] == readable(sum(nbytes(value) for store in data.stores for value in store.values()))


def test_sizes_in_words() -> None:
    sizes = [0, 1023, 1024, 1536, 2**20, 3 * 2**30, 2**40, 2**50]
    words = ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "1.0 MiB", "3.0 GiB", "1.0 TiB", "1024.0 TiB"]
    assert list(map(readable, sizes)) == words
    assert nbytes([torch.ones(2), {"a": (np.ones(1), "text")}, 3]) == 16
    assert [row[0] for row in describe("a", {"b": {}})] == ["a['b']"]


# Datasets ----------------------------------------------------------------------------------------


class Graphs(InMemoryDataset):
    def __init__(self, graphs: list[Any]) -> None:
        super().__init__()
        self._data, self.slices = self.collate(graphs)


class Paths(Dataset):
    def len(self) -> int:
        return 3

    def get(self, idx: int) -> Data:
        return path()


def test_a_dataset_in_memory() -> None:
    dataset = Graphs([path(), star(), no_edges()])
    shown = read(dataset)
    assert shown.texts == ["Graphs: 3 graphs", "cache: 0 graphs held in 0 B; 0 hits, 0 misses"]
    assert shown.rows == [
        ["attribute", "shape", "dtype", "bytes", "device"],
        ["x", "[11, 2]", "float32", "88 B", "cpu"],
        ["edge_index", "[2, 8]", "int64", "128 B", "cpu"],
        ["edge_attr", "[8, 1]", "float32", "32 B", "cpu"],
        ["y", "[5]", "int64", "40 B", "cpu"],
        ["slices", "", "", "128 B", ""],
        ["total", "", "", "416 B", ""],
    ]


def test_what_the_cache_holds() -> None:
    dataset = Graphs([path(), star(), no_edges()])
    for at in (0, 1, 1):
        dataset[at]
    info = dataset.cache_info()
    assert read(dataset).texts[1] == (
        f"cache: 2 graphs held in {readable(info.bytes)}; "
        f"{readable(info.own_bytes)} of it tensors of their own, the rest Python objects; "
        f"beside {readable(info.view_bytes)} of views of the block; 1 hit, 2 misses"
    )


def test_showing_a_dataset_reads_no_graph() -> None:
    dataset = Graphs([path(), star()])
    before = dataset.cache_info()
    read(dataset)
    assert dataset.cache_info() == before


def test_other_datasets() -> None:
    assert read(Graphs([path(), star()])[:1]).texts[0] == "Graphs: 1 graph selected of 2"
    types = [row[0] for row in read(Graphs([two_types(), two_types()])).rows]
    assert types[1:4] == ["paper x", "paper y", "author x"]
    single = read(Graphs([path()]))
    assert single.rows[-1] == ["total", "", "", "128 B", ""]
    assert "slices" not in [row[0] for row in single.rows]
    assert single.texts[1].startswith("cache: 0 graphs held in 0 B; 0 hits, 0 misses; a dataset of one graph")
    plain = read(Paths())
    assert (plain.texts, plain.rows) == (["Paths: 3 graphs"], [])
