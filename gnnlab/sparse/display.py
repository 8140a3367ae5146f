"""How a matrix prints, as text and in a notebook."""

from __future__ import annotations

from html import escape
from textwrap import indent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor


def to_text(src: SparseTensor) -> str:
    """The entries and sizes, laid out as torch_sparse does."""
    row, col, value = src.copy().coo()  # of a copy: printing leaves nothing in the cache
    lines = [f"row={_hang(row)}", f"col={_hang(col)}"]
    if value is not None:
        lines.append(f"val={_hang(value)}")
    sizes = tuple(src.sizes())
    lines.append(f"size={sizes}, nnz={src.nnz()}, density={100 * src.density():.2f}%")
    name = type(src).__name__
    text = indent(",\n".join(lines), " " * (len(name) + 1))
    return f"{name}({text.lstrip()})"


def _hang(part: object) -> str:
    return indent(repr(part), " " * 6).lstrip()


def to_html(src: SparseTensor) -> str:
    """A table of what is held: each part with its shape, dtype, bytes and device, and whether it is given or cached."""
    cached = src.cache_info()
    rows = [
        (
            key,
            list(part.shape),
            str(part.dtype).removeprefix("torch."),
            f"{part.nbytes:,}",
            part.device,
            "cached" if key in cached else "given",
        )
        for key, part in src.storage.tensors().items()
    ]
    head = _html_row("th", ("part", "shape", "dtype", "bytes", "device", "held"))
    body = "".join(_html_row("td", row) for row in rows)
    size = " x ".join(str(size) for size in src.sizes())
    title = f"<b>{escape(type(src).__name__)}</b> {size}, {src.nnz():,} entries"
    return f"<div>{title}<table><thead>{head}</thead><tbody>{body}</tbody></table></div>"


def _html_row(tag: str, cells: tuple[object, ...]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"
