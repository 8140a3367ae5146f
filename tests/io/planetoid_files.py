"""Small citation graphs in Planetoid's files, byte by byte as Python 2 and NumPy 1 wrote them."""

import struct
from pathlib import Path

import numpy as np

ENDINGS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def string(value: bytes) -> bytes:
    return b"T" + struct.pack("<I", len(value)) + value


def array(values: np.ndarray) -> bytes:
    """What puts an array on the unpickler's stack."""
    code = values.dtype.str[1:].encode()
    return (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        + b"(K\x01("
        + b"".join(map(number, values.shape))
        + b"tcnumpy\ndtype\n"
        + string(code)
        + b"K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
        + string(values.tobytes())
        + b"tb"
    )


def sparse(values: np.ndarray) -> bytes:
    """The same of a `csr_matrix`."""
    rows, columns = values.nonzero()
    starts = np.concatenate([[0], np.bincount(rows, minlength=len(values)).cumsum()])
    return (
        b"cscipy.sparse.csr\ncsr_matrix\n)\x81}(U\x06_shape"
        + b"".join(map(number, values.shape))
        + b"\x86U\x04data"
        + array(values[rows, columns])
        + b"U\x07indices"
        + array(columns.astype("i4"))
        + b"U\x06indptr"
        + array(starts.astype("i4"))
        + b"U\x08maxprintK2ub"
    )


def lists(neighbors: dict[int, list[int]]) -> bytes:
    """The same of a `defaultdict` of lists."""
    items = (number(node) + b"](" + b"".join(map(number, others)) + b"e" for node, others in neighbors.items())
    return b"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(" + b"".join(items) + b"u"


def pickled(content: bytes) -> bytes:
    """A whole pickle."""
    return b"\x80\x02" + content + b"."


def write_planetoid(folder: Path, name: str, *, num_train: int = 6, num_others: int = 504, num_test: int = 10) -> None:
    """Write a random graph of 3 classes in which one test node isn't described, as in CiteSeer.

    The nodes: `num_train` to train, `num_others` more that aren't for testing, `num_test`.
    """
    rng = np.random.default_rng(0)
    num_all = num_train + num_others
    features = (rng.random((num_all + num_test, 5)) < 0.4).astype("f4")
    labels = np.eye(3, dtype="i4")[rng.integers(3, size=num_all + num_test)]
    test_index = num_all + rng.permutation(num_test)
    test_index = test_index[test_index != num_all + num_test - 2]
    neighbors: dict[int, list[int]] = {node: [] for node in range(num_all + num_test)}
    for target, source in rng.integers(num_all + num_test, size=(1500, 2)).tolist():
        neighbors[target].append(source)
    contents = {
        "x": sparse(features[:num_train]),
        "tx": sparse(features[test_index]),
        "allx": sparse(features[:num_all]),
        "y": array(labels[:num_train]),
        "ty": array(labels[test_index]),
        "ally": array(labels[:num_all]),
        "graph": lists(neighbors),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for ending, content in contents.items():
        (folder / f"ind.{name}.{ending}").write_bytes(pickled(content))
    (folder / f"ind.{name}.test.index").write_text("".join(f"{node}\n" for node in test_index))
