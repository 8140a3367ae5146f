"""`pytest --nbmake notebooks/` runs each notebook at its quick size and writes nothing back.

What is executed is a copy in `build/quick/`, so a cell that fails is shown from there.
"""

from pathlib import Path

import pytest

from gnnlab.bench.notebooks import missing_modules, quick_copy, read_notebook


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector):
    collectors = yield
    if file_path.suffix != ".ipynb":
        return collectors
    copy = quick_copy(file_path, parent.config.rootpath / "build" / "quick")
    missing = missing_modules(read_notebook(file_path))
    quick = [type(collector).from_parent(parent, path=copy) for collector in collectors]
    if missing:
        for collector in quick:
            collector.add_marker(pytest.mark.skip(reason=f"needs {', '.join(missing)}"))
    return quick
