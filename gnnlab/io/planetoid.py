"""Reading the citation graphs Cora, CiteSeer and PubMed in Planetoid's files.

That is the form in which "Revisiting Semi-Supervised Learning with Graph Embeddings" (Yang et al.,
2016) gave them out.

The files are Python 2 pickles. A pickle can name any function and have it called, so these are read
by an unpickler that knows a few names only and answers each with a harmless stand-in or a plain
container. What a file holds calls neither NumPy nor SciPy.
"""

import os
import pickle
import re
from collections import defaultdict
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from gnnlab.data.data import Data

_NUM_VAL = 500  # nodes of the public validation split


def read_planetoid_data(folder: str, prefix: str) -> Data:
    """Read the files `ind.<prefix>.{x,tx,allx,y,ty,ally,graph,test.index}` of one citation graph.

    Self-loops and repeated edges are left out. Test nodes that the files number but don't describe
    (CiteSeer has 15) get features of zeros and class 0, and are in no split.

    Args:
        folder: where the files are.
        prefix: `cora`, `citeseer` or `pubmed`.

    Returns:
        A graph with `x: [num_nodes, num_features] float32`, `edge_index: [2, num_edges] int64`
        (both directions, sorted by target), `y: [num_nodes] int64`, and the public split:
        `train_mask`, `val_mask` and `test_mask: [num_nodes] bool`.

    Raises:
        FileNotFoundError: if a file is missing.
        pickle.UnpicklingError: if a file is damaged, or names what it has no need of.

    Source: PyG's `torch_geometric.io.read_planetoid_data`.
    """
    stem = os.path.join(folder, f"ind.{prefix}.")
    x, test_x, all_x = (_matrix(stem + name) for name in ("x", "tx", "allx"))
    test_y, all_y = (_matrix(stem + name) for name in ("ty", "ally"))
    neighbors = _neighbors(stem + "graph")
    # Row i of tx and ty describes node test_index[i].
    test_index = np.loadtxt(stem + "test.index", dtype=np.int64, ndmin=1)

    num_nodes = max(len(all_x), int(test_index.max()) + 1)
    features = np.zeros((num_nodes, x.shape[1]), dtype=np.float32)
    features[: len(all_x)] = all_x
    features[test_index] = test_x
    classes = np.zeros(num_nodes, dtype=np.int64)
    classes[: len(all_y)] = all_y.argmax(axis=1)
    classes[test_index] = test_y.argmax(axis=1)

    return Data(
        x=torch.from_numpy(features),
        edge_index=_edge_index(neighbors, num_nodes),
        y=torch.from_numpy(classes),
        train_mask=_mask(np.arange(len(x)), num_nodes),
        val_mask=_mask(np.arange(len(x), len(x) + _NUM_VAL), num_nodes),
        test_mask=_mask(test_index, num_nodes),
    )


def load_planetoid_pickle(path: str) -> Any:
    """Unpickle one of Planetoid's files: an array, a sparse matrix (made dense) or a dictionary.

    Raises:
        pickle.UnpicklingError: if the file is damaged, or names anything that is not on the list.
    """
    with open(path, "rb") as file:
        try:
            content = _PlanetoidUnpickler(file, encoding="latin1").load()
        except pickle.UnpicklingError as error:
            raise pickle.UnpicklingError(f"{path}: {error}") from error
        except (AttributeError, EOFError, LookupError, OverflowError, TypeError, ValueError) as error:
            raise pickle.UnpicklingError(f"{path}: not a Planetoid file ({error})") from error
    return content.value if isinstance(content, _Array | _SparseRows) else content


class _Dtype:
    """Stands in for `numpy.dtype`: a number type of 1, 2, 4 or 8 bytes."""

    __slots__ = ("dtype",)

    def __init__(self, code: str, *_: Any) -> None:
        if not re.fullmatch("[iuf][1248]", code):
            raise pickle.UnpicklingError(f"expected an array of plain numbers, found dtype {code!r}")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype = self.dtype.newbyteorder(state[1])


class _Array:
    """Stands in for `numpy.ndarray` and for the function that makes an empty one to be filled."""

    __slots__ = ("value",)

    def __init__(self, *_: Any) -> None:
        self.value = np.empty(0)

    def __setstate__(self, state: tuple[int, tuple[int, ...], _Dtype, bool, str | bytes]) -> None:
        _, shape, dtype, is_fortran, content = state
        raw = content.encode("latin1") if isinstance(content, str) else content
        flat = np.frombuffer(raw, dtype.dtype)
        self.value = flat.reshape(shape, order="F" if is_fortran else "C")


class _SparseRows:
    """Stands in for SciPy's `csr_matrix`; becomes a dense array at once."""

    __slots__ = ("value",)

    def __init__(self, *_: Any) -> None:
        self.value = np.empty((0, 0))

    def __setstate__(self, state: dict[str, Any]) -> None:
        data, columns, starts = (state[name].value for name in ("data", "indices", "indptr"))
        rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self.value = np.zeros(state["_shape"], dtype=data.dtype)
        np.add.at(self.value, (rows, columns), data)


class _PlanetoidUnpickler(pickle.Unpickler):
    """Answers only the names below.

    Each answer is a class of ours with slots and a `__setstate__`, or a built-in one: nothing that
    the file could change.
    """

    NAMES: ClassVar = {
        ("numpy", "dtype"): _Dtype,
        ("numpy", "ndarray"): _Array,
        ("numpy.core.multiarray", "_reconstruct"): _Array,
        ("numpy._core.multiarray", "_reconstruct"): _Array,
        ("scipy.sparse.csr", "csr_matrix"): _SparseRows,
        ("scipy.sparse._csr", "csr_matrix"): _SparseRows,
        ("collections", "defaultdict"): defaultdict,
        ("builtins", "list"): list,
    }

    def find_class(self, module: str, name: str) -> Any:
        if module == "__builtin__":  # what Python 2 calls it
            module = "builtins"
        if (module, name) not in self.NAMES:
            raise pickle.UnpicklingError(f"refused the name {module}.{name}")
        return self.NAMES[module, name]


def _matrix(path: str) -> np.ndarray:
    content = load_planetoid_pickle(path)
    if not isinstance(content, np.ndarray) or content.ndim != 2:
        raise pickle.UnpicklingError(f"{path}: expected a matrix, found {type(content).__name__}")
    return content


def _neighbors(path: str) -> dict[int, list[int]]:
    content = load_planetoid_pickle(path)
    if not isinstance(content, dict):
        raise pickle.UnpicklingError(f"{path}: expected a dictionary, found {type(content).__name__}")
    return content


def _mask(index: np.ndarray, num_nodes: int) -> Tensor:
    mask = torch.zeros(num_nodes, dtype=torch.bool)
    mask[torch.from_numpy(index)] = True
    return mask


def _edge_index(neighbors: dict[int, list[int]], num_nodes: int) -> Tensor:
    """The edges of `{source: [targets]}`, [2, num_edges]: sorted by target, each once, no loops."""
    counts = [len(targets) for targets in neighbors.values()]
    source = np.repeat(np.fromiter(neighbors, dtype=np.int64), counts)
    target = np.fromiter(chain.from_iterable(neighbors.values()), dtype=np.int64)
    apart = source != target
    key = np.unique(target[apart] * num_nodes + source[apart])
    return torch.from_numpy(np.stack([key % num_nodes, key // num_nodes]))
