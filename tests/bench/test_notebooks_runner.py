"""The notebook runner, on notebooks of a few lines."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from gnnlab.bench import __main__ as bench
from gnnlab.bench.notebooks import (
    at_size,
    execute,
    find_notebooks,
    main,
    missing_modules,
    quick_copy,
    read_notebook,
    write_notebook,
)
from gnnlab.bench.report import facts


def make_notebook(*cells: str, quick: dict | None = None, requires: list | None = None):
    """A notebook with a title, a parameters cell `N = 1000`, and the given code cells."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    notebook.metadata.gnnlab = {"quick": quick or {}, "requires": requires or []}
    parameters = nbformat.v4.new_code_cell("N = 1000", id="parameters")
    parameters.metadata.tags = ["parameters"]
    notebook.cells = [nbformat.v4.new_markdown_cell("# Count & <tell>", id="title"), parameters]
    notebook.cells += [nbformat.v4.new_code_cell(source, id=f"cell-{number}") for number, source in enumerate(cells)]
    return notebook


def save(folder: Path, name: str, *cells: str, **metadata) -> Path:
    path = folder / f"{name}.ipynb"
    nbformat.write(make_notebook(*cells, **metadata), path)
    return path


def printed(notebook: NotebookNode) -> str:
    return "".join(
        output.get("text", "") for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
    )


def test_the_quick_size_is_put_in_after_the_parameters_and_only_in_the_copy():
    notebook = make_notebook("print(N)", quick={"N": 5})
    quick = at_size(notebook, "quick")
    assert [cell.id for cell in quick.cells] == [
        "title",
        "parameters",
        "injected-parameters",
        "cell-0",
    ]
    assert quick.cells[2].source.endswith("N = 5")
    assert len(notebook.cells) == 3
    assert at_size(notebook, "full") == notebook


def test_quick_values_are_written_as_python():
    notebook = make_notebook(quick={"N": None})
    notebook.cells[1].source = "N: int = 1\nFLAG, LIST = True, []\nNAME = 'a'"
    notebook.metadata.gnnlab.quick = {"N": None, "NAME": "it's"}
    source = at_size(notebook, "quick").cells[2].source
    values: dict = {}
    exec(source, values)
    assert values["N"] is None
    assert values["NAME"] == "it's"


def test_a_quick_value_for_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="assigns no M"):
        at_size(make_notebook(quick={"M": 5}), "full")


@pytest.mark.parametrize("count", [0, 2])
def test_there_must_be_one_parameters_cell(count):
    notebook = make_notebook()
    notebook.cells = [notebook.cells[0]] + [notebook.cells[1]] * count
    with pytest.raises(ValueError, match=f"one code cell tagged 'parameters', found {count}"):
        at_size(notebook, "quick")


def test_find_notebooks_by_the_beginning_of_the_name(tmp_path):
    for name in ("02_b", "01_a", "10_c"):
        save(tmp_path, name)
    assert [path.stem for path in find_notebooks(tmp_path)] == ["01_a", "02_b", "10_c"]
    assert [path.stem for path in find_notebooks(tmp_path, ["02", "10"])] == ["02_b", "10_c"]
    with pytest.raises(FileNotFoundError, match="'2' begins no name"):
        find_notebooks(tmp_path, ["2"])
    with pytest.raises(FileNotFoundError, match="found none"):
        find_notebooks(tmp_path / "nowhere")


def test_missing_modules_are_named():
    notebook = make_notebook(requires=["numpy", "no_such_module"])
    assert missing_modules(notebook) == ["no_such_module"]


def test_a_run_prints_a_line_for_each_and_writes_a_report_but_leaves_the_files(tmp_path, capfd):
    folder, report = tmp_path / "notebooks", tmp_path / "report"
    folder.mkdir()
    paths = [
        save(folder, "01_fine", "print('N is', N)", quick={"N": 5}),
        save(folder, "02_wrong", "raise KeyError('first\\nsecond')", "print('not reached')"),
        save(folder, "03_needs", requires=["no_such_module"]),
        save(folder, "04_mistaken", quick={"M": 1}),
    ]
    before = [path.read_bytes() for path in paths]

    assert main(["--folder", str(folder), "--report", str(report)]) == 1

    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith("ok  01_fine  ")
    assert lines[1].startswith("FAILED  02_wrong: KeyError: ")
    assert lines[2] == "skipped  03_needs: needs no_such_module"
    assert lines[3].startswith("FAILED  04_mistaken: ValueError: ")
    assert lines[4:] == [f"report  {report / 'index.html'}"]
    assert [path.read_bytes() for path in paths] == before

    index = (report / "index.html").read_text()
    assert '<a href="01_fine.html">01_fine</a>' in index
    assert "Count &amp; &lt;tell&gt;" in index
    assert "03_needs.html" not in index
    assert "N is 5" in (report / "01_fine.html").read_text()
    wrong = (report / "02_wrong.html").read_text()
    assert "KeyError" in wrong
    assert {path.name for path in report.iterdir()} == {
        "index.html",
        "01_fine.html",
        "02_wrong.html",
        "04_mistaken.html",
    }


def test_full_size_is_the_notebook_as_it_is_and_runs_in_its_own_folder(tmp_path):
    (tmp_path / "beside.txt").write_text("found")
    path = save(tmp_path, "01_a", "print(N, open('beside.txt').read())", quick={"N": 5})
    result = execute(path, "full")
    assert result.status == "ok"
    assert printed(result.notebook) == "1000 found\n"


def test_writing_twice_gives_the_same_file(tmp_path):
    path = save(tmp_path, "01_a", "print(N)", "N + 1")
    assert main(["--folder", str(tmp_path), "--size", "full", "--write"]) == 0
    first = path.read_bytes()
    assert main(["--folder", str(tmp_path), "--size", "full", "--write"]) == 0
    assert path.read_bytes() == first
    assert printed(nbformat.read(path, as_version=4)) == "1000\n"


def test_a_failed_notebook_is_not_written(tmp_path):
    path = save(tmp_path, "01_a", "print(N)", "N / 0")
    before = path.read_bytes()
    assert main(["--folder", str(tmp_path), "--size", "full", "--write"]) == 1
    assert path.read_bytes() == before


def test_write_drops_what_differs_from_run_to_run(tmp_path):
    notebook = make_notebook("1")
    notebook.metadata.widgets = {"state": {}}
    notebook.metadata.language_info = {"name": "python", "version": "3.11.7"}
    notebook.cells[2].metadata.execution = {"iopub.status.busy": "2020-01-01T00:00:00Z"}
    write_notebook(notebook, tmp_path / "a.ipynb")
    written = nbformat.read(tmp_path / "a.ipynb", as_version=4)
    assert "widgets" not in written.metadata
    assert written.metadata.language_info == {"name": "python"}
    assert written.cells[2].metadata == {}
    assert "execution" in notebook.cells[2].metadata


def test_write_is_refused_at_the_quick_size(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--folder", str(tmp_path), "--write"])
    assert "expected --size full" in capsys.readouterr().err


def test_a_quick_copy_has_the_quick_values_and_no_outputs(tmp_path):
    notebook = make_notebook("print(N)", quick={"N": 5})
    notebook.cells[2].outputs = [nbformat.v4.new_output("stream", text="1000\n")]
    path = tmp_path / "01_a.ipynb"
    nbformat.write(notebook, path)
    copy = quick_copy(path, tmp_path / "quick")
    assert copy == tmp_path / "quick" / "01_a.ipynb"
    assert printed(read_notebook(copy)) == ""
    assert any(cell.source.endswith("N = 5") for cell in read_notebook(copy).cells)


def test_nbmake_runs_quick_copies_and_writes_nothing_back(tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    shutil.copy(Path(__file__).parents[2] / "notebooks" / "conftest.py", folder)
    paths = [
        save(folder, "01_quick", "assert N == 5", quick={"N": 5}),
        save(folder, "02_needs", requires=["no_such_module"]),
        save(folder, "03_wrong", "raise KeyError"),
    ]
    before = [path.read_bytes() for path in paths]
    command = [sys.executable, "-m", "pytest", "--nbmake", "-rs", "notebooks"]
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed, 1 skipped" in done.stdout
    assert "needs no_such_module" in done.stdout
    one = subprocess.run(
        [*command[:-1], "notebooks/01_quick.ipynb"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert "1 passed" in one.stdout
    assert [path.read_bytes() for path in paths] == before


def test_the_report_names_what_a_figure_depends_on():
    known = dict(facts())
    assert {"date", "commit", "CPU", "cores", "memory", "python", "gnnlab", "torch"} <= known.keys()
    assert all(known.values())


def test_the_command_lists_what_it_knows_and_refuses_what_it_does_not(capsys):
    assert bench.main([]) == 0
    assert "notebooks" in capsys.readouterr().out
    assert bench.main(["no_such_experiment"]) == 2
    assert "found 'no_such_experiment'" in capsys.readouterr().err
