"""The report that a person opens: `index.html`, and beside it each executed notebook as a page."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Literal

from nbconvert import HTMLExporter
from nbformat import NotebookNode

from gnnlab.profile import machine


@dataclass(frozen=True)
class Result:
    """How the execution of one notebook ended; `str(result)` is its one line.

    Attributes:
        name: The file's name without its ending.
        status: `ok`, `skipped` or `FAILED`.
        seconds: Wall time, the start of the kernel included.
        note: Why it was skipped, or the line that says what failed; empty if `ok`.
        notebook: The notebook with its outputs, up to the error if there was one.
    """

    name: str
    status: Literal["ok", "skipped", "FAILED"]
    seconds: float
    note: str
    notebook: NotebookNode

    def __str__(self) -> str:
        if self.status == "ok":
            return f"ok  {self.name}  {self.seconds:.1f} s"
        return f"{self.status}  {self.name}: {self.note}"


def facts() -> list[tuple[str, ...]]:
    """What a reader needs to judge a figure: date, commit, machine and versions."""
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return [("date", date), ("commit", _commit()), *machine().table()[1:]]


def _commit() -> str:
    """The commit of the checkout that this file is in, marked `-dirty` if files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return "not a git checkout"
    return done.stdout.strip()


def title_of(notebook: NotebookNode) -> str:
    """The notebook's first heading, or an empty string."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = re.search(r"^# +(.+)$", cell.source, re.MULTILINE)
            if heading:
                return heading.group(1).strip()
    return ""


def write_report(results: Sequence[Result], folder: Path, size: str) -> Path:
    """Write `folder/index.html` and one page for each executed notebook; return the index.

    Args:
        results: What to report on, in this order.
        folder: Made if it is missing. Pages of the same names are replaced, others stay.
        size: The size the notebooks ran at, as a word for the reader.
    """
    folder.mkdir(parents=True, exist_ok=True)
    exporter = HTMLExporter()
    rows = []
    for result in results:
        link = escape(result.name)
        if result.status != "skipped":
            page, _ = exporter.from_notebook_node(result.notebook, resources={"metadata": {"name": result.name}})
            (folder / f"{result.name}.html").write_text(page, encoding="utf-8")
            link = f'<a href="{link}.html">{link}</a>'
        seconds = f"{result.seconds:.1f} s" if result.status != "skipped" else ""
        rows.append(
            f'<tr class="{result.status}"><td>{link}<br><small>{escape(title_of(result.notebook))}'
            f"</small></td><td>{result.status}</td><td>{seconds}</td>"
            f"<td>{escape(result.note)}</td></tr>"
        )
    known = [f"<tr><th>{escape(name)}</th><td>{escape(fact)}</td></tr>" for name, fact in facts()]
    index = folder / "index.html"
    index.write_text(
        PAGE.format(size=escape(size), rows="\n".join(rows), facts="\n".join(known)),
        encoding="utf-8",
    )
    return index


PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>gnnlab: the notebooks, executed</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; margin-bottom: 2rem; }}
th, td {{ text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; }}
tr {{ border-bottom: 1px solid #8884; }}
tr.ok td:nth-child(2) {{ color: #1a7f37; }}
tr.FAILED td:nth-child(2) {{ color: #cf222e; font-weight: bold; }}
small, tr.skipped td {{ color: #888; }}
td:nth-child(3) {{ white-space: nowrap; }}
</style>
<h1>gnnlab: the notebooks, executed</h1>
<p>Run at the {size} size on the machine below. Each name opens the notebook with what it printed
and plotted here.</p>
<table>
<tr><th>notebook</th><th>result</th><th>time</th><th></th></tr>
{rows}
</table>
<h2>Machine and versions</h2>
<table>
{facts}
</table>
</html>
"""
