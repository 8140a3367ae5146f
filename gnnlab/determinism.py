"""One context in which the same program, on the same machine, gives the same bits."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

# Where each of torch's own switches is, and where it belongs.
_SWITCHES = (
    (torch.backends.cudnn, "deterministic", True),
    (torch.backends.cudnn, "benchmark", False),
    (torch.backends.mkldnn, "deterministic", True),
)
_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
_REPEATABLE_WORKSPACES = (":4096:8", ":16:8")


@contextmanager
def deterministic(warn_only: bool = False) -> Iterator[None]:
    """Have torch and gnnlab take only operations that repeat to the bit, here and in all threads, until the exit.

    warn_only: where torch has no such form of an operation, warn and run it; otherwise that raises RuntimeError.

    It sets torch's deterministic algorithms, cuDNN's and oneDNN's switches (cuDNN then does not try out which of its
    algorithms is the fastest), and `CUBLAS_WORKSPACE_CONFIG` to ":4096:8" (24 MiB of workspace) unless it holds a value
    that repeats. At the exit, by an error too, all is as it was. It nests, and decorates functions. gnnlab's sparse
    products repeat on a CPU without it too; on a GPU they follow torch's switch.

    It cannot fix

    - random numbers: seed them (`gnnlab.seed_everything`, the `seed` of a sampler);
    - another order of the edges: a sum in another order is another sum. Sort them, or take an adjacency;
    - another number of threads where an operation splits its sum by their number, as some of torch's do on a CPU;
    - another machine, device, or version of torch, CUDA or MKL;
    - operations that torch does not know: extensions (torch-scatter, torch-sparse, pyg-lib) add in any order on a GPU;
    - cuBLAS once it has run: it reads its setting with its first product, so enter the context before;
    - processes that are spawned inside: they start with their own switches (forked ones inherit these).

    `gnnlab.profile.determinism` measures what is left. Source: torch's notes on reproducibility.

    >>> with deterministic():
    ...     torch.are_deterministic_algorithms_enabled()
    True
    """
    enabled = torch.are_deterministic_algorithms_enabled()
    warned_only = torch.is_deterministic_algorithms_warn_only_enabled()
    before = [getattr(module, name) for module, name, _ in _SWITCHES]
    workspace = os.environ.get(_WORKSPACE)
    try:
        torch.use_deterministic_algorithms(True, warn_only=warn_only)
        for module, name, value in _SWITCHES:
            setattr(module, name, value)
        if workspace not in _REPEATABLE_WORKSPACES:
            os.environ[_WORKSPACE] = _REPEATABLE_WORKSPACES[0]
        yield
    finally:
        torch.use_deterministic_algorithms(enabled, warn_only=warned_only)
        for (module, name, _), value in zip(_SWITCHES, before, strict=True):
            setattr(module, name, value)
        if workspace is None:
            os.environ.pop(_WORKSPACE, None)
        else:
            os.environ[_WORKSPACE] = workspace
