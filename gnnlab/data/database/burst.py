"""Reads of SQLite that follow one another quickly, in one transaction."""

import sqlite3
import threading
import time
from typing import Any

#: Seconds: how close two reads must be for a burst to begin, after how long without one it ends, and how long it may
#: last at the most.
CLOSE, IDLE, LONGEST = 0.002, 0.05, 0.1


class Burst:
    """Keeps a transaction open between reads that come close together.

    A read by itself locks the file, looks whether it has changed, and unlocks it, which takes longer than to find the
    row. In a transaction that is done once. As long as it lasts, a writer waits; so it ends after `IDLE` seconds
    without a read, by a thread that is there only during a burst, and after `LONGEST` seconds in any case.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._is_open = False
        self._began = self._last = 0.0

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
