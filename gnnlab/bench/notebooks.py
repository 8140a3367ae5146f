"""Execute the notebooks headless, at their quick or their full size.

A notebook brings along:

- one code cell tagged `parameters` (papermill's convention) that assigns plain names; as committed
  they hold the full size;
- `metadata.gnnlab.quick`, a dictionary that gives some of these names their quick values;
- `metadata.gnnlab.requires`, a list of modules without which the notebook is skipped.

The quick size is one more cell after the parameters, put in when the notebook is executed and never
saved: a notebook's text does not ask which size it runs at.
"""

import argparse
import ast
import time
from collections.abc import Iterable
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from gnnlab.bench.report import Result, write_report

Size = Literal["quick", "full"]

CELL_TIMEOUT = {"quick": 300, "full": 3600}
"""Seconds that one cell may take."""


def find_notebooks(folder: Path, only: Iterable[str] = ()) -> list[Path]:
    """The notebooks in `folder`, in order of their names.

    Args:
        folder: Where to look; folders inside it are not entered.
        only: Beginnings of names, such as `02`; nothing means all.

    Raises:
        FileNotFoundError: There is none, or one of `only` fits none.
    """
    paths = sorted(folder.glob("*.ipynb"))
    names = ", ".join(path.stem for path in paths) or "no notebooks"
    prefixes = tuple(only)
    for prefix in prefixes:
        if not any(path.stem.startswith(prefix) for path in paths):
            raise FileNotFoundError(f"only: {prefix!r} begins no name in {folder}; found {names}")
    if not paths:
        raise FileNotFoundError(f"folder: expected notebooks (*.ipynb) in {folder}; found none")
    return [path for path in paths if not prefixes or path.stem.startswith(prefixes)]


def read_notebook(path: Path) -> NotebookNode:
    """The notebook at `path`, without any outputs it was saved with."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def missing_modules(notebook: NotebookNode) -> list[str]:
    """Those of `metadata.gnnlab.requires` that are not installed."""
    requires: list[str] = notebook.metadata.get("gnnlab", {}).get("requires", [])
    return [name for name in requires if find_spec(name) is None]


def at_size(notebook: NotebookNode, size: Size) -> NotebookNode:
    """A copy of `notebook` that runs at `size`; the full size is the notebook as it is.

    Raises:
        ValueError: There isn't exactly one code cell tagged `parameters`, or a quick value is given
            for a name which that cell does not assign.
    """
    notebook = deepcopy(notebook)
    tagged = [
        position
        for position, cell in enumerate(notebook.cells)
        if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", [])
    ]
    if len(tagged) != 1:
        raise ValueError(f"expected one code cell tagged 'parameters', found {len(tagged)}")
    quick: dict[str, Any] = notebook.metadata.get("gnnlab", {}).get("quick", {})
    assigned = _assigned_names(notebook.cells[tagged[0]].source)
    for name in quick:
        if name not in assigned:
            names = ", ".join(sorted(assigned)) or "nothing"
            raise ValueError(f"metadata.gnnlab.quick: the parameters cell assigns no {name} ({names})")
    if size == "quick" and quick:
        lines = ["# The quick size, put in by the runner."]
        lines += [f"{name} = {value!r}" for name, value in quick.items()]
        cell = nbformat.v4.new_code_cell("\n".join(lines), id="injected-parameters")
        cell.metadata.tags = ["injected-parameters"]
        notebook.cells.insert(tagged[0] + 1, cell)
    return notebook


def _assigned_names(source: str) -> set[str]:
    """The names that `source` assigns outside of functions and classes."""
    targets = [
        target
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def quick_copy(path: Path, folder: Path) -> Path:
    """Write the notebook at its quick size, without outputs, into `folder`; return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / path.name
    nbformat.write(at_size(read_notebook(path), "quick"), copy)
    return copy


def execute(path: Path, size: Size) -> Result:
    """Execute the notebook at `path` in a fresh kernel, in its own folder; the file stays as it is.

    Whatever goes wrong in the notebook is part of the result.
    """
    notebook = read_notebook(path)
    start = time.perf_counter()
    status: Literal["ok", "skipped", "FAILED"] = "ok"
    note = ""
    if missing := missing_modules(notebook):
        status, note = "skipped", f"needs {', '.join(missing)}"
    else:
        try:
            notebook = at_size(notebook, size)
            NotebookClient(
                notebook,
                timeout=CELL_TIMEOUT[size],
                resources={"metadata": {"path": str(path.parent)}},
                record_timing=False,
                store_widget_state=False,
                coalesce_streams=True,
                extra_arguments=["--log-level=ERROR"],  # no advice on how kernels are reached
            ).execute()
        except CellExecutionError as error:
            status, note = "FAILED", f"{error.ename}: {error.evalue}"
        except (CellTimeoutError, DeadKernelError, SyntaxError, ValueError) as error:
            status, note = "FAILED", f"{type(error).__name__}: {error}"
    first_line = note.strip().partition("\n")[0]
    return Result(path.stem, status, time.perf_counter() - start, first_line, notebook)


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    """Write `notebook` with its outputs, less what differs from run to run for no reason.

    That is: when each cell ran, the state of widgets, the exact version of the language.
    """
    notebook = deepcopy(notebook)
    notebook.metadata.pop("widgets", None)
    notebook.metadata.language_info = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    nbformat.write(notebook, path)


def main(argv: list[str]) -> int:
    """Execute notebooks, print one line for each, and return 1 if one failed."""
    parser = argparse.ArgumentParser(
        prog="python -m gnnlab.bench notebooks", description="Execute the notebooks headless."
    )
    parser.add_argument("--folder", type=Path, default=Path("notebooks"), help="where they are")
    parser.add_argument("--size", choices=["quick", "full"], default="quick")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="beginnings of names, such as 02")
    parser.add_argument("--write", action="store_true", help="put the outputs into the files; needs --size full")
    parser.add_argument("--report", type=Path, metavar="DIR", help="write DIR/index.html")
    options = parser.parse_args(argv)
    if options.write and options.size != "full":
        parser.error("--write: expected --size full, as the committed outputs are of that size")
    try:
        paths = find_notebooks(options.folder, options.only)
    except FileNotFoundError as error:
        parser.error(str(error))

    results = []
    for path in paths:
        result = execute(path, options.size)
        print(result, flush=True)
        if options.write and result.status == "ok":
            write_notebook(result.notebook, path)
        results.append(result)
    if options.report:
        print(f"report  {write_report(results, options.report, options.size)}")
    return int(any(result.status == "FAILED" for result in results))
