"""PythonFunctions against the syntax trees, walked again and more plainly than the set does it."""

import ast
import warnings
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

import pytest
import torch

from gnnlab.data import Data
from gnnlab.datasets import PythonFunctions, iter_python_functions
from gnnlab.datasets.python_functions import (
    EDGE_TYPES,
    FIRST_BUCKET,
    NO_NAME,
    NODE_TYPES,
    NUM_BUCKETS,
    OWN_NAME,
    WORDS,
    first_word,
    functions_of_source,
    identifier_bucket,
    source_files,
)

SOURCE = """
@cached
def get_item(self, key: str = 'a'):
    return self.get_item(key)[+1]
"""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_in_order(tree: ast.AST) -> Iterator[Function]:
    for node in depth_first(tree):
        if isinstance(node, Function):
            yield node


def depth_first(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from depth_first(child)


def type_name(node: ast.AST) -> str:
    return type(node.value if isinstance(node, ast.Constant) else node).__name__


def identifier(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
            return name
        case ast.keyword(arg=name) | ast.alias(name=name) | ast.ImportFrom(module=name):
            return name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
            return name
        case ast.MatchMapping(rest=name):
            return name
    return None


def place(node: ast.AST) -> tuple[int, int] | None:
    """Where the node's token stands in the source; None for a node that is no token."""
    match node:
        case ast.Attribute():
            return node.end_lineno, node.end_col_offset - 1
        case ast.Name() | ast.Constant() | ast.arg() | ast.alias():
            return node.lineno, node.col_offset
    return None


def some_sources() -> list[bytes]:
    return [path.read_bytes() for path in source_files()[::25]]


def parse(source: str | bytes) -> ast.AST:
    with warnings.catch_warnings(action="ignore"):
        return ast.parse(source)


def edges_of(graph: Data, name: str) -> list[list[int]]:
    return graph.edge_index[:, graph.edge_type == EDGE_TYPES.index(name)].T.tolist()


def test_one_function_by_hand() -> None:
    (graph,) = functions_of_source(SOURCE)
    own, none = OWN_NAME, NO_NAME
    self, key, str_ = (identifier_bucket(name) for name in ("self", "key", "str"))
    expected = [
        ("FunctionDef", own, 0),
        ("arguments", none, 1),
        ("arg", self, 2),
        ("arg", key, 2),
        ("Name", str_, 3),
        ("Load", none, 4),
        ("str", none, 2),
        ("Return", none, 1),
        ("Subscript", none, 2),
        ("Call", none, 3),
        ("Attribute", own, 4),
        ("Name", self, 5),
        ("Load", none, 6),
        ("Load", none, 5),
        ("Name", key, 4),
        ("Load", none, 5),
        ("UnaryOp", none, 3),
        ("UAdd", none, 4),
        ("int", none, 4),
        ("Load", none, 3),
        ("Name", identifier_bucket("cached"), 1),
        ("Load", none, 2),
    ]
    assert [(NODE_TYPES[kind], name, depth) for kind, name, depth in graph.x.tolist()] == expected
    assert WORDS[graph.y] == "get"

    parents = [0, 1, 1, 3, 4, 1, 0, 7, 8, 9, 10, 11, 10, 9, 14, 8, 16, 16, 8, 0, 20]
    assert edges_of(graph, "child") == [[p, child] for child, p in enumerate(parents, start=1)]
    # cached, self, key, str, 'a', self, .get_item, key, 1
    tokens = [20, 2, 3, 4, 6, 11, 10, 14, 18]
    assert edges_of(graph, "next_token") == [list(pair) for pair in pairwise(tokens)]
    assert [graph[key].dtype for key in ("x", "edge_index", "edge_type", "y")] == [torch.int64] * 4
    assert graph.validate()


def test_nodes_and_edges_are_those_of_the_syntax_tree() -> None:
    compared = 0
    for source in some_sources():
        functions = list(functions_in_order(parse(source)))
        for function, graph in zip(functions, functions_of_source(source), strict=True):
            nodes = list(depth_first(function))
            number = {id(node): index for index, node in enumerate(nodes)}
            kinds, _, depths = graph.x.T.tolist()
            assert [NODE_TYPES[kind] for kind in kinds] == [type_name(node) for node in nodes]

            # Contexts such as Load are shared objects: their numbers say nothing.
            child = edges_of(graph, "child")
            assert [target for _, target in child] == list(range(1, len(nodes)))
            for parent, target in child:
                assert depths[target] == depths[parent] + 1
                assert nodes[target] in ast.iter_child_nodes(nodes[parent])

            tokens = [node for node in nodes if place(node) is not None]
            tokens.sort(key=place)
            pairs = [[number[id(a)], number[id(b)]] for a, b in pairwise(tokens)]
            assert edges_of(graph, "next_token") == pairs
            compared += 1
    assert compared > 100


def test_a_functions_name_is_nowhere_in_its_graph() -> None:
    hidden = 0
    for source in some_sources():
        functions = functions_in_order(parse(source))
        for function, graph in zip(functions, functions_of_source(source), strict=True):
            names = [identifier(node) for node in depth_first(function)]
            for name, code in zip(names, graph.x[:, 1].tolist(), strict=True):
                if name == function.name:
                    assert code == OWN_NAME
                else:
                    assert code == (identifier_bucket(name) if name else NO_NAME)
            hidden += names[1:].count(function.name)

            word = first_word(function.name)
            assert WORDS[graph.y] == (word if word in WORDS else "other")
    assert hidden > 10


def test_a_name_is_hidden_wherever_it_stands() -> None:
    source = """
def walk(walk, *, top):
    from walk import walk as w
    class walk: pass
    try: walk(walk=walk.walk)
    except walk as walk: "walk"
    match top:
        case {**walk}: pass
        case [*walk]: pass
        case walk: pass
    def walk(): pass
"""
    outer, inner = functions_of_source(source)
    shown = set(outer.x[:, 1].tolist()) - {NO_NAME, OWN_NAME}
    assert shown == {identifier_bucket("top")}
    assert inner.x[:, 1].tolist() == [OWN_NAME, NO_NAME, NO_NAME]
    assert set(outer.keys()) == {"x", "edge_index", "edge_type", "y"}


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("get_value", "get"),
        ("__init__", "init"),
        ("_getValue", "get"),
        ("HTTPServer", "http"),
        ("do_GET", "do"),
        ("X509", "x"),
        ("utf8_decode", "utf"),
        ("_2to3", "2"),
        ("über_all", "über"),
        ("__", ""),
    ],
)
def test_first_word(name: str, word: str) -> None:
    assert first_word(name) == word


def test_files_are_the_librarys_own_and_no_tests() -> None:
    library = source_files()
    names = {path.name for path in library}
    assert {"argparse.py", "dataclasses.py"} <= names
    assert "test_argparse.py" not in names
    assert not any("site-packages" in path.parts for path in library)
    everything = source_files(site_packages=True)
    assert everything[: len(library)] == library
    assert any(path.parts[-2:] == ("torch", "functional.py") for path in everything)


def test_every_node_type_of_this_interpreter_is_known() -> None:
    abstract_or_not_in_a_function = {
        "AugLoad", "AugStore", "Param", "Suite", "ExtSlice", "Index",  # no longer made
        "Num", "Str", "Bytes", "NameConstant", "Ellipsis", "_ast_Ellipsis",
        "Module", "Expression", "Interactive", "FunctionType", "TypeIgnore",
    }  # fmt: skip
    leaves = {
        name
        for name, kind in vars(ast).items()
        if isinstance(kind, type) and issubclass(kind, ast.AST) and not kind.__subclasses__()
    }
    assert leaves - abstract_or_not_in_a_function <= set(NODE_TYPES)
    assert len(set(NODE_TYPES)) == len(NODE_TYPES)
    assert len(set(WORDS)) == len(WORDS)


def test_source_that_does_not_parse_is_refused_and_a_file_of_it_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SyntaxError):
        functions_of_source("def f(:")
    (tmp_path / "a.py").write_text("def f(:")
    (tmp_path / "b.py").write_bytes(b"def f(): pass\0")
    (tmp_path / "c.py").write_text("def close(): return '\\d'")  # an escape that Python warns of
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "d.py").write_text("def read(): pass")
    monkeypatch.setattr("sysconfig.get_path", lambda key: str(tmp_path))
    assert [WORDS[graph.y] for graph in iter_python_functions(site_packages=True)] == ["close"]


def test_graphs_are_made_one_by_one_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    parse_one = ast.parse
    monkeypatch.setattr("ast.parse", lambda source: parsed.append(1) or parse_one(source))
    stream = iter_python_functions()
    assert not parsed
    assert next(stream).num_nodes > 1
    assert 0 < len(parsed) < 10


def same(a: Data, b: Data) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a.keys())  # noqa: SIM118


def test_the_set_in_memory_and_on_disk_holds_the_streamed_graphs(tmp_path: Path) -> None:
    streamed = list(iter_python_functions(limit=40))
    in_memory = PythonFunctions(limit=40)
    on_disk = PythonFunctions(str(tmp_path), limit=40)
    for dataset in (in_memory, on_disk, PythonFunctions(str(tmp_path), limit=40)):
        assert len(dataset) == 40
        assert all(map(same, dataset, streamed))
        assert dataset.num_classes == len(dataset.words) == 50
        assert dataset.num_node_features == 3
    assert int(in_memory._data.x[:, 1].max()) < FIRST_BUCKET + NUM_BUCKETS
    with pytest.raises(RuntimeError, match="limit"):
        PythonFunctions(str(tmp_path), limit=3)
    assert len(PythonFunctions(str(tmp_path), limit=3, force_reload=True)) == 3


def test_transforms_and_filter() -> None:
    def count(graph: Data) -> Data:
        graph.count = graph.num_nodes
        return graph

    def double(graph: Data) -> Data:
        graph.count = graph.count * 2
        return graph

    dataset = PythonFunctions(transform=double, pre_transform=count, pre_filter=lambda g: g.num_nodes < 50, limit=40)
    expected = [g.num_nodes for g in iter_python_functions(limit=40) if g.num_nodes < 50]
    assert 0 < len(expected) < 40
    assert [int(graph.count) for graph in dataset] == [2 * count for count in expected]


def test_limit_takes_the_first_graphs() -> None:
    first = list(islice(iter_python_functions(), 5))
    assert all(map(same, first, iter_python_functions(limit=5)))
    assert list(iter_python_functions(limit=0)) == []
