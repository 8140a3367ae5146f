"""Memory of processes, as the kernel counts it."""

import re
from dataclasses import dataclass
from pathlib import Path

import psutil

from gnnlab.profile.child import kilobytes
from gnnlab.profile.show import Shown, size
from gnnlab.profile.spans import SHARED_MEMORY


@dataclass(frozen=True)
class Pss(Shown):
    """Proportional set size in bytes: each page's size over the number of processes that map it.

    `anonymous` is heap, stacks and private memory, `file` pages of mapped files, `shmem` shared
    memory; `total` is their sum over `processes` (process ids). Resident size (RSS) counts a shared
    page once in every process, so that a sum of RSS over a `DataLoader` and its workers counts the
    dataset several times; a sum of PSS counts it once.
    """

    anonymous: int
    file: int
    shmem: int
    processes: tuple[int, ...]

    @property
    def total(self) -> int:
        """Bytes in all."""
        return self.anonymous + self.file + self.shmem

    def table(self) -> list[tuple[str, ...]]:
        return [
            ("PSS", "bytes"),
            ("anonymous", size(self.anonymous)),
            ("mapped files", size(self.file)),
            ("shared memory", size(self.shmem)),
            ("total", size(self.total)),
            ("processes", str(len(self.processes))),
        ]


def pss(pid: int | None = None, children: bool = True, *, match: str | None = None) -> Pss:
    """The proportional set size of a process tree, read from Linux's `/proc`.

    - `pid`: process at the root; default the calling one.
    - `children`: whether its descendants count too. One that ends in between is left out.
    - `match`: a regular expression; only mappings whose path it is found in count (a dataset's
      folder, `/dev/shm`). A mapping then counts as a whole by its path; private pages that were
      copied on write count with their file.

    Raises OSError where the system doesn't count PSS, PermissionError for another user's process,
    and `psutil.NoSuchProcess` if there is no process `pid`.
    """
    rollup = Path("/proc/self/smaps_rollup")
    if not rollup.exists() or "Pss_Anon:" not in rollup.read_text():
        raise OSError(
            "pss needs the Pss_Anon line of /proc/PID/smaps_rollup, which Linux has since 5.9; "
            "elsewhere psutil.Process(pid).memory_full_info().uss gives a process's own part"
        )
    root = psutil.Process(pid)
    pids = [root.pid, *(p.pid for p in (root.children(recursive=True) if children else ()))]
    counts = {}
    for each in pids:
        try:
            counts[each] = _rollup(each) if match is None else _matching(each, match)
        except (FileNotFoundError, ProcessLookupError):
            if each == root.pid:
                raise psutil.NoSuchProcess(each) from None
    anonymous, file, shmem = (sum(kind) for kind in zip(*counts.values(), strict=True))
    return Pss(anonymous, file, shmem, tuple(counts))


def _rollup(pid: int) -> tuple[int, int, int]:
    fields = kilobytes(Path(f"/proc/{pid}/smaps_rollup").read_text())
    return fields["Pss_Anon"], fields["Pss_File"], fields["Pss_Shmem"]


def _matching(pid: int, pattern: str) -> tuple[int, int, int]:
    anonymous = file = shmem = 0
    path = ""
    for line in Path(f"/proc/{pid}/smaps").read_text(errors="replace").splitlines():
        if header := re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+\s*(.*)", line):
            path = header[1]
        elif line.startswith("Pss:") and re.search(pattern, path):
            nbytes = 1024 * int(line.split()[1])
            if not path or path.startswith("["):
                anonymous += nbytes
            elif path.startswith(SHARED_MEMORY):
                shmem += nbytes
            else:
                file += nbytes
    return anonymous, file, shmem
