"""gnnlab: learn and measure how graph neural networks get their data and do their sums.

The names below the package are those of PyTorch Geometric. Subpackages are imported when they are
first used (PEP 562), so `import gnnlab; gnnlab.data.Data` works and `import gnnlab` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gnnlab._version import __version__

if TYPE_CHECKING:
    from gnnlab.determinism import deterministic
    from gnnlab.seed import seed_everything

__all__ = ["__version__", "deterministic", "seed_everything"]

_SUBPACKAGES = (
    "bench",
    "data",
    "datasets",
    "files",
    "io",
    "kernels",
    "loader",
    "nn",
    "profile",
    "sparse",
    "transforms",
    "typing",
    "utils",
)

_FUNCTIONS = {"deterministic": "gnnlab.determinism", "seed_everything": "gnnlab.seed"}


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"gnnlab.{name}")
    if name in _FUNCTIONS:
        return getattr(import_module(_FUNCTIONS[name]), name)
    if name in ("EdgeIndex", "Index"):
        return getattr(import_module("gnnlab.typing"), name)
    raise AttributeError(f"module 'gnnlab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBPACKAGES])
