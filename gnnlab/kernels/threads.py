"""Running parts of one job side by side, in threads that outlive the job."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

_pools: dict[int, ThreadPoolExecutor] = {}

# A forked process has no threads: a pool that it inherited would wait for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)


def run(parts: Sequence[Callable[[], None]], threads: int) -> None:
    """Call every part, `threads` of them at a time, the first of them in this thread; the pool is made at the first
    call and kept.

    The parts must not depend on each other, and run side by side as far as they let go of the GIL. With one thread,
    which is what torch has inside a loader's worker, they are called one after another.

    Raises:
        Exception: the first error of a part, once all have ended.
    """
    if threads <= 1 or len(parts) <= 1:
        for part in parts:
            part()
        return
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads - 1, thread_name_prefix="gnnlab")
    futures = [_pools[threads].submit(part) for part in parts[1:]]
    try:
        parts[0]()
    finally:
        errors = [error for future in futures if (error := future.exception()) is not None]
    if errors:
        raise errors[0]
