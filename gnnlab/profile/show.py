"""How a measurement shows itself: sizes and times for people, and a table in text and in HTML."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape


def size(nbytes: float) -> str:
    """Bytes in the binary unit that reads best.

    >>> size(512), size(1536), size(-3 * 2**30)
    ('512 B', '1.50 KiB', '-3.00 GiB')
    """
    value = float(nbytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.2f} {unit}"
        value /= 1024
    return f"{value:.2f} TiB"


def duration(seconds: float) -> str:
    """Seconds in the unit that reads best.

    >>> duration(2.5), duration(0.0125), duration(3e-6), duration(4.2e-8)
    ('2.50 s', '12.50 ms', '3.00 us', '42.00 ns')
    """
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(seconds) >= scale:
            return f"{seconds / scale:.2f} {unit}"
    return f"{seconds / 1e-9:.2f} ns"


def text_table(rows: Sequence[Sequence[str]]) -> str:
    """Lay `rows` out in columns; the first row is the header, the first column is set left.

    >>> print(text_table([("name", "bytes"), ("x", "40")]))
    name  bytes
    -----------
    x        40
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


class Shown(ABC):
    """A record that prints as a table, and shows as one in a notebook."""

    @abstractmethod
    def table(self) -> list[tuple[str, ...]]:
        """The rows to show, the header first."""

    def note(self) -> str:
        """A line or more of text under the table; empty for none."""
        return ""

    def __str__(self) -> str:
        return "\n".join(filter(None, [text_table(self.table()), self.note()]))

    def _repr_html_(self) -> str:
        header, *rows = self.table()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        note = escape(self.note()).replace("\n", "<br>")
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            + (f"<p>{note}</p>" if note else "")
        )  # fmt: skip
