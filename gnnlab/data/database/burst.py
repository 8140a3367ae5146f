"""Reads of SQLite that follow one another quickly, in one transaction."""

import os
import sqlite3
import threading
import time
import weakref
from typing import Any

#: Seconds: how close two reads must be for a burst to begin, after how long without one it ends, and how long it may
#: last at the most.
CLOSE, IDLE, LONGEST = 0.002, 0.05, 0.1


_ALL: "weakref.WeakSet[Burst]" = weakref.WeakSet()


class Burst:
    """Keeps a transaction open between reads that come close together.

    A read by itself locks the file, looks whether it has changed, and unlocks it, which takes longer than to find the
    row. In a transaction that is done once. As long as it lasts, a writer waits; so it ends after `IDLE` seconds
    without a read, by a thread that is there only during a burst, and after `LONGEST` seconds in any case.

    None is going on while the process forks: SQLite's own book of locks is copied to the child, in which nobody would
    ever unlock what was locked just then.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lock = threading.RLock()  # a writer that commits because the process forks ends its own burst
        self._is_open = False
        self._began = self._last = 0.0
        _ALL.add(self)

    def fetchone(self, query: str, arguments: tuple[Any, ...]) -> Any:
        """The first row of a query."""
        with self._lock:
            self._prepare()
            return self._connection.execute(query, arguments).fetchone()

    def fetchall(self, query: str, arguments: tuple[Any, ...]) -> list[Any]:
        """All rows of a query."""
        with self._lock:
            return self._connection.execute(query, arguments).fetchall()

    def end(self) -> None:
        """End the burst, if there is one."""
        with self._lock:
            self._commit()

    def _prepare(self) -> None:
        now = time.monotonic()
        if self._is_open:
            if now - self._began > LONGEST:
                self._commit()
        elif now - self._last < CLOSE:
            self._connection.execute("BEGIN")
            self._is_open, self._began = True, now
            threading.Thread(target=self._watch, name="gnnlab-sqlite-burst", daemon=True).start()
        self._last = now

    def _commit(self) -> None:
        if self._is_open:
            self._is_open = False
            self._connection.execute("COMMIT")

    def _watch(self) -> None:
        began = self._began
        while True:
            time.sleep(IDLE)
            with self._lock:
                if not self._is_open or self._began != began:
                    return
                if time.monotonic() - self._last >= IDLE:
                    self._commit()
                    return

    def pause(self) -> None:
        """End the burst and let no read begin, until `resume`."""
        self._lock.acquire()
        self._commit()

    def resume(self) -> None:
        """Let reads begin again."""
        self._lock.release()


_PAUSED: list[Burst] = []


def _pause_all() -> None:
    _PAUSED.extend(_ALL)
    for burst in _PAUSED:
        burst.pause()


def _resume_all() -> None:
    while _PAUSED:
        _PAUSED.pop().resume()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_pause_all, after_in_parent=_resume_all, after_in_child=_resume_all)
