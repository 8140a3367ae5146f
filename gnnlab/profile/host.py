"""What a measurement was made on."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil
import torch

from gnnlab.profile.show import Shown, size

_PACKAGES = ("torch", "numpy", "numba", "triton", "gnnlab", "torch_geometric", "torch_sparse")

# Where Linux tells a container its limit: a number of bytes, or "max" for none.
_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")


@dataclass(frozen=True)
class Machine(Shown):
    """The kind of machine and the versions of what runs on it; nothing that tells whose it is.

    `cores` are those this process may use, `threads` those torch uses, `memory` the bytes it may
    use (the container's limit if that is lower), `accelerator` its name or an empty text, `system`
    the kernel and its major version, `versions` by package, those that are installed.
    """

    cpu: str
    cores: int
    threads: int
    memory: int
    accelerator: str
    system: str
    versions: dict[str, str]

    def table(self) -> list[tuple[str, ...]]:
        return [
            ("machine", ""),
            ("CPU", self.cpu),
            ("cores", str(self.cores)),
            ("torch threads", str(self.threads)),
            ("memory", size(self.memory)),
            ("accelerator", self.accelerator or "none"),
            ("system", self.system),
            *self.versions.items(),
        ]


def machine() -> Machine:
    """Describe the machine: see `Machine`. Imports no package in order to tell its version."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return Machine(
        cpu=_cpu(),
        cores=_cores(),
        threads=torch.get_num_threads(),
        memory=_memory(),
        accelerator=torch.cuda.get_device_name() if torch.cuda.is_available() else "",
        system=f"{platform.system()} {platform.release().split('.')[0]}",
        versions=versions,
    )


def _cpu() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> int:
    total = psutil.virtual_memory().total
    text = _MEMORY_LIMIT.read_text().strip() if _MEMORY_LIMIT.exists() else "max"
    return total if text == "max" else min(total, int(text))
