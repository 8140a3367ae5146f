"""How graphs and datasets show in Jupyter: small tables of attributes, shapes and bytes.

Colours are left to the theme, so that a table reads well on a light and on a dark page.
"""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import numpy as np
from torch import Tensor

from gnnlab.data.text import short
from gnnlab.sparse import is_sparse, sizes, to_parts

COLUMNS = ("attribute", "shape", "dtype", "bytes", "device")

#: Set left: names; everything else is set right, so that sizes line up.
_LEFT = "text-align:left"
_RIGHT = "text-align:right;white-space:nowrap"

#: Longest text of a value that is shown whole.
LONGEST = 60


def graph_html(data: Any) -> str:
    """A graph as an HTML table: for each storage its attributes with shape, dtype, bytes, device.

    Args:
        data: a `Data`, `HeteroData`, `Batch` or `TemporalData`.
    """
    stores = {store._key: store for store in data.stores}
    rows, total = [], 0
    for key, store in stores.items():
        if key is not None:
            rows.append(_band(short_type(key)))
        for name, value in store.items():
            rows.extend(_row(cells) for cells in describe(name, value))
            total += nbytes(value)
    rows.append(_row(("total", "", "", readable(total), ""), bold=True))
    title = type(data).__name__
    num_graphs = getattr(data, "_num_graphs", None)
    if num_graphs is not None:
        title += f" of {_count(num_graphs, 'graph')}"
    return _table(title, COLUMNS, rows)


def dataset_html(dataset: Any) -> str:
    """A dataset as an HTML table: its number of graphs, the bytes of every attribute of the block
    that holds them, and what its cache did and holds.

    Args:
        dataset: a `Dataset`; block and cache are shown where it has them (`InMemoryDataset`).
    """
    title = f"{type(dataset).__name__}: {_count(len(dataset), 'graph')}"
    if len(dataset) != dataset.len():
        title += f" selected of {dataset.len():,}"
    rows = []
    block = getattr(dataset, "_data", None)
    if block is not None:
        total = 0
        for store in block.stores:
            for name, value in store.items():
                path = name if store._key is None else f"{short_type(store._key)} {name}"
                rows.append(_row((path, *_in_short(value))))
                total += nbytes(value)
        slices = getattr(dataset, "slices", None)
        if slices is not None:
            rows.append(_row(("slices", "", "", readable(nbytes(slices)), "")))
        total += nbytes(slices)
        rows.append(_row(("total", "", "", readable(total), ""), bold=True))
    out = _table(title, COLUMNS, rows)
    if hasattr(dataset, "cache_info"):
        out += f"<p>{escape(_cache_line(dataset.cache_info()))}</p>"
    return f"<div>{out}</div>"


def describe(name: str, value: Any) -> Iterator[tuple[str, ...]]:
    """A value as rows of the table; a dictionary gives one row for each of its entries.

    >>> list(describe("size", {"width": np.zeros(3), "unit": "cm"}))
    [("size['width']", '[3]', 'float64', '24 B', 'cpu'), ("size['unit']", "'cm'", 'str', '', '')]
    """
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from describe(f"{name}[{key!r}]", item)
    else:
        yield name, *_in_short(value)


def nbytes(value: Any) -> int:
    """Bytes of the numbers in a value, however nested; strings and Python numbers count nothing."""
    if is_sparse(value):
        return sum(nbytes(part) for part in to_parts(value)[1].values())
    if isinstance(value, (Tensor, np.ndarray)):
        return int(value.nbytes)
    if isinstance(value, Mapping):
        return sum(nbytes(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return sum(nbytes(item) for item in value)
    return 0


def readable(size: int) -> str:
    """A number of bytes in the unit that reads best.

    >>> readable(832), readable(1536)
    ('832 B', '1.5 KiB')
    """
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def short_type(key: Any) -> str:
    """A node or edge type as text: `paper` or `(author, writes, paper)`."""
    return f"({', '.join(key)})" if isinstance(key, tuple) else str(key)


def _in_short(value: Any) -> tuple[str, str, str, str]:
    """Shape, dtype, bytes and device of a value."""
    if is_sparse(value):
        parts = to_parts(value)[1]
        layout = str(value.layout).removeprefix("torch.") if isinstance(value, Tensor) else ""
        kind = layout or type(value).__name__
        dtype = f"{_dtype(value.dtype if isinstance(value, Tensor) else value.dtype())}, {kind}"
        device = next(iter(parts.values())).device
        return str(list(sizes(value))), dtype, readable(nbytes(value)), str(device)
    if isinstance(value, Tensor):
        shape = str(list(value.shape))
        return shape, _dtype(value.dtype), readable(nbytes(value)), str(value.device)
    if isinstance(value, np.ndarray):
        return str(list(value.shape)), str(value.dtype), readable(nbytes(value)), "cpu"
    text = short(value)
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    kinds = ""
    if isinstance(value, (list, tuple)) and value:
        kinds = " of " + ", ".join(sorted({type(item).__name__ for item in value}))
    size = nbytes(value)
    return text, type(value).__name__ + kinds, readable(size) if size else "", ""


def _dtype(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _cache_line(info: Any) -> str:
    parts = [f"cache: {_count(info.graphs, 'graph')} held in {readable(info.bytes)}"]
    if info.graphs:
        parts.append(f"{readable(info.own_bytes)} of it tensors of their own, the rest Python objects")
        parts.append(f"beside {readable(info.view_bytes)} of views of the block")
    parts.append(f"{_count(info.hits, 'hit')}, {_count(info.misses, 'miss', 'misses')}")
    return "; ".join([*parts, *filter(None, [info.note])])


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _table(title: str, columns: tuple[str, ...], rows: list[str]) -> str:
    head = _row(columns, tag="th")
    body = f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody>" if rows else ""
    table = f'<table style="margin-left:0">{body}</table>' if rows else ""
    return f"<div><b>{escape(title)}</b>{table}</div>"


def _row(cells: tuple[str, ...], tag: str = "td", bold: bool = False) -> str:
    weight = ";font-weight:bold" if bold else ""
    return (
        "<tr>"
        + "".join(
            f'<{tag} style="{_RIGHT if at else _LEFT}{weight}">{escape(cell)}</{tag}>' for at, cell in enumerate(cells)
        )
        + "</tr>"
    )


def _band(title: str) -> str:
    style = f"{_LEFT};font-style:italic"
    return f'<tr><td colspan="{len(COLUMNS)}" style="{style}">{escape(title)}</td></tr>'
