"""`pytest --nbmake notebooks/` runs each notebook at its quick size and writes nothing back.

What is executed is a copy in `build/quick/`, so a cell that fails is shown from there.
"""

from pathlib import Path

import pytest

from gnnlab.bench.notebooks import missing_modules, quick_copy, read_notebook


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Point every notebook's item at its quick copy, or skip it where a module is missing."""
    for item in items:
        if getattr(item, "nbmake", False):
            missing = missing_modules(read_notebook(item.path))
            if missing:
                item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(missing)}"))
            item.filename = str(quick_copy(Path(item.path), config.rootpath / "build" / "quick"))  # type: ignore[attr-defined]
