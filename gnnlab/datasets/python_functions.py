"""One graph per function of the running interpreter's own standard library."""

import ast
import os
import platform
import re
import sysconfig
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from gnnlab.data import Data, InMemoryDataset

_SYNTAX = """
FunctionDef AsyncFunctionDef ClassDef Return Delete Assign TypeAlias AugAssign AnnAssign
For AsyncFor While If With AsyncWith Match Raise Try TryStar Assert Import ImportFrom
Global Nonlocal Expr Pass Break Continue
BoolOp NamedExpr BinOp UnaryOp Lambda IfExp Dict Set ListComp SetComp DictComp GeneratorExp
Await Yield YieldFrom Compare Call FormattedValue Interpolation JoinedStr TemplateStr
Attribute Subscript Starred Name List Tuple Slice
Load Store Del And Or Add Sub Mult MatMult Div Mod Pow LShift RShift BitOr BitXor BitAnd
FloorDiv Invert Not UAdd USub Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn
comprehension ExceptHandler arguments arg keyword alias withitem match_case
MatchValue MatchSingleton MatchSequence MatchMapping MatchClass MatchStar MatchAs MatchOr
TypeVar ParamSpec TypeVarTuple
str bytes int float complex bool NoneType ellipsis
"""
NODE_TYPES = ("other", *_SYNTAX.split())
"""Meaning of ``x[:, 0]``: a class of the module `ast`, or the Python type of a constant."""

EDGE_TYPES = ("child", "next_token")
"""Meaning of ``edge_type``."""

_FREQUENT = """
init get set is repr decode encode add read close create parse find load check write make
format getregentry handle call str run start do enter exit open visit remove eq iter reduce
reset new end getitem copy transform assert test clear main print del select winfo hash update
"""
WORDS = ("other", *_FREQUENT.split())
"""Meaning of ``y``: the most frequent first words in CPython 3.11's library, else ``other``."""

NO_NAME, OWN_NAME, FIRST_BUCKET, NUM_BUCKETS = 0, 1, 2, 4096
"""Values of ``x[:, 1]``: no identifier, the hidden one, then one of `NUM_BUCKETS` hash buckets."""

_TYPE_ID = {name: index for index, name in enumerate(NODE_TYPES)}
_WORD_ID = {word: index for index, word in enumerate(WORDS)}
_FIRST_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_NAME_FIELDS = ("name", "id", "attr", "arg", "module", "rest")
_TOKENS = (ast.Name, ast.Constant, ast.arg, ast.alias)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SKIPPED_FOLDERS = {
    'test', 'tests', 'idle_test', 'site-packages', 'dist-packages', '__pycache__',
}  # fmt: skip


class _FlatTree(NamedTuple):
    """The syntax tree of one file in depth-first order, so that a subtree is one slice."""

    kind: np.ndarray  # [n] int64, index into NODE_TYPES
    symbol: np.ndarray  # [n] int64, index into names
    depth: np.ndarray  # [n] int64
    parent: np.ndarray  # [n] int64, -1 for the module
    tokens: np.ndarray  # [t] int64, the nodes that carry a token, in source order
    names: list[str]  # the file's identifiers; the first is '', no identifier
    functions: dict[int, int]  # slice begin -> slice end of each function, outer ones first


def first_word(name: str) -> str:
    """The first word of an identifier in lower case, split at underscores and capitals.

    >>> first_word("__init__"), first_word("HTTPServer"), first_word("_")
    ('init', 'http', '')
    """
    match = _FIRST_WORD.search(name)
    return match.group().lower() if match else ""


def identifier_bucket(name: str) -> int:
    """The value that an identifier has in ``x[:, 1]``: CRC-32 modulo `NUM_BUCKETS`, shifted.

    The same on every machine and run. Two identifiers may share a bucket.
    """
    return FIRST_BUCKET + zlib.crc32(name.encode()) % NUM_BUCKETS


def source_files(*, site_packages: bool = False) -> list[Path]:
    """The standard library's Python files, in a fixed order and without its tests.

    Args:
        site_packages: Append the files of the interpreter's installed packages.
    """
    keys = ("stdlib", "purelib", "platlib") if site_packages else ("stdlib",)
    roots = dict.fromkeys(sysconfig.get_path(key) for key in keys)
    files = []
    for root in roots:
        for folder, subfolders, names in os.walk(root):
            subfolders[:] = sorted(set(subfolders) - _SKIPPED_FOLDERS)
            files += [Path(folder, name) for name in sorted(names) if name.endswith(".py")]
    return [file for file in files if file.is_file()]


def functions_of_source(source: str | bytes) -> Iterator[Data]:
    """The graphs of all functions in one piece of source code, as in `PythonFunctions`.

    Outer functions come before inner ones. Raises `SyntaxError` if the source does not parse.
    """
    return _graphs(_flatten(_parse(source)))


def iter_python_functions(*, site_packages: bool = False, limit: int | None = None) -> Iterator[Data]:
    """Yields the graphs of `PythonFunctions` one by one, each built when it is asked for.

    At any time only one file's syntax tree is held, so a set of any size streams through
    ``InMemoryDataset.collate``, ``save`` or an on-disk set.

    Args:
        site_packages: Go on with the interpreter's installed packages.
        limit: Stop after this many graphs.
    """
    return islice(_all_functions(site_packages), limit)


class PythonFunctions(InMemoryDataset):
    """One graph per function of the running interpreter's own standard library.

    About 16,500 graphs with 1.1 million nodes and 1.5 million edges, built in seconds from the
    files that Python came with: nothing is downloaded. Tests are left out. Functions inside
    functions are part of the outer graph and have a graph of their own. The task is to predict
    the first word of a function's name from its body.

    Each graph has

    - ``x``: [num_nodes, 3] int64, one row per syntax-tree node, depth first. Columns: the node's
      type (index into `NODE_TYPES`), its identifier, and its depth below the function. The
      identifier is `NO_NAME` for nodes without one, `OWN_NAME` wherever the function's own name
      stands (its definition, a recursive call, an attribute of that name), and else
      `identifier_bucket` of the name. Of strings and numbers only the type is kept.
    - ``edge_index``: [2, num_edges] int64. First the tree's edges from parent to child, then edges
      from each token (name, constant, argument, attribute) to the next one in the source.
    - ``edge_type``: [num_edges] int64, index into `EDGE_TYPES`.
    - ``y``: [1] int64, index into `WORDS`.

    Numbers mean the same for every interpreter, but which functions there are depends on its
    version. The library repeats itself (the codecs' `getregentry`), so that a random split into
    training and test graphs flatters a model.

    Args:
        root: Folder for the processed file. Without one the set is built in memory, in seconds,
            and nothing is written.
        transform: Applied to each graph at access.
        pre_transform: Applied to each graph before it is stored.
        pre_filter: Keeps the graphs for which it answers true; called before `pre_transform`.
        force_reload: Process again although the processed file is there.
        site_packages: Go on with the interpreter's installed packages.
        limit: Stop after this many functions.
        options: `log`, `on_change` and `cache`, as for `InMemoryDataset`.
    """

    words = WORDS

    def __init__(
        self,
        root: str | None = None,
        transform: Callable[[Any], Any] | None = None,
        pre_transform: Callable[[Any], Any] | None = None,
        pre_filter: Callable[[Any], bool] | None = None,
        force_reload: bool = False,
        *,
        site_packages: bool = False,
        limit: int | None = None,
        **options: Any,
    ) -> None:
        self.site_packages = site_packages
        self.limit = limit
        self._on_disk = root is not None
        super().__init__(root, transform, pre_transform, pre_filter, force_reload=force_reload, **options)
        if root is None:
            self.data, self.slices = self.collate(self._kept_graphs())
        else:
            self.load(self.processed_paths[0])

    @property
    def has_process(self) -> bool:
        return self._on_disk

    @property
    def raw_file_names(self) -> list[str]:
        return []

    @property
    def processed_file_names(self) -> str:
        return "graphs.pt"

    def fingerprint(self) -> dict[str, Any]:
        return super().fingerprint() | {"python": platform.python_version()}

    @property
    def num_classes(self) -> int:
        return len(WORDS)

    def process(self) -> None:
        self.save(self._kept_graphs(), self.processed_paths[0])

    def _kept_graphs(self) -> Iterator[Data]:
        for graph in iter_python_functions(site_packages=self.site_packages, limit=self.limit):
            if self.pre_filter is None or self.pre_filter(graph):
                yield graph if self.pre_transform is None else self.pre_transform(graph)


def _all_functions(site_packages: bool) -> Iterator[Data]:
    for path in source_files(site_packages=site_packages):
        try:
            tree = _flatten(_parse(path.read_bytes()))
        except (SyntaxError, ValueError, RecursionError):  # not meant for this interpreter
            continue
        yield from _graphs(tree)


def _parse(source: str | bytes) -> ast.Module:
    with warnings.catch_warnings():  # warnings about the code we read are not for our user
        warnings.simplefilter("ignore")
        return ast.parse(source)


def _flatten(module: ast.Module) -> _FlatTree:
    kind: list[int] = []
    symbol: list[int] = []
    depth: list[int] = []
    parent: list[int] = []
    tokens: list[int] = []
    places: list[int] = []  # of the tokens in the source
    symbols = {"": 0}
    functions: dict[int, int] = {}

    stack: list[tuple[Any, int]] = [(module, -1)]
    while stack:
        node, above = stack.pop()
        if node is None:  # every node of this function has been numbered
            functions[above] = len(kind)
            continue
        index = len(kind)
        node_type: Any = type(node)
        type_id, name_field, fields = _layout(node_type)
        kind.append(type_id)
        parent.append(above)
        depth.append(depth[above] + 1 if above >= 0 else 0)
        name = getattr(node, name_field, None) if name_field else None
        symbol.append(symbols.setdefault(name, len(symbols)) if name else 0)

        if node_type in _TOKENS:
            tokens.append(index)
            places.append(node.lineno << 32 | node.col_offset)
            if node_type is ast.Constant:
                kind[index] = _TYPE_ID.get(type(node.value).__name__, 0)
        elif node_type is ast.Attribute:  # its own token, the attribute's name, comes last
            tokens.append(index)
            places.append(node.end_lineno << 32 | node.end_col_offset - 1)
        elif node_type in _FUNCTIONS:
            functions[index] = 0
            stack.append((None, index))

        children = []
        for field in fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                children += [(item, index) for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST):
                children.append((value, index))
        stack += reversed(children)

    order = np.argsort(np.array(places, dtype=np.int64), kind="stable")
    return _FlatTree(
        kind=np.array(kind),
        symbol=np.array(symbol),
        depth=np.array(depth),
        parent=np.array(parent),
        tokens=np.array(tokens, dtype=np.int64)[order],
        names=list(symbols),
        functions=functions,
    )


@cache
def _layout(node_type: type[ast.AST]) -> tuple[int, str | None, tuple[str, ...]]:
    """The index into `NODE_TYPES`, the field that holds the node's name, all fields."""
    fields = node_type._fields
    name_field = next((field for field in _NAME_FIELDS if field in fields), None)
    return _TYPE_ID.get(node_type.__name__, 0), name_field, fields


def _graphs(tree: _FlatTree) -> Iterator[Data]:
    bucket = np.array([NO_NAME, *map(identifier_bucket, tree.names[1:])])
    for begin, end in tree.functions.items():
        symbol = tree.symbol[begin:end]
        name = np.where(symbol == symbol[0], OWN_NAME, bucket[symbol])
        depth = tree.depth[begin:end] - tree.depth[begin]
        x = np.stack([tree.kind[begin:end], name, depth], axis=1)

        tokens = tree.tokens[(tree.tokens >= begin) & (tree.tokens < end)]
        source = np.concatenate([tree.parent[begin + 1 : end], tokens[:-1]])
        target = np.concatenate([np.arange(begin + 1, end), tokens[1:]])
        edge_type = np.zeros(len(source), dtype=np.int64)
        edge_type[end - begin - 1 :] = EDGE_TYPES.index("next_token")

        yield Data(
            x=torch.from_numpy(x),
            edge_index=torch.from_numpy(np.stack([source, target]) - begin),
            edge_type=torch.from_numpy(edge_type),
            y=torch.tensor([_WORD_ID.get(first_word(tree.names[symbol[0]]), 0)]),
        )
