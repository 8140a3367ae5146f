"""Memory and time of objects, datasets, callables and processes, PyG's as well as ours."""

from gnnlab.profile.estimate import CollateEstimate, estimate_collate
from gnnlab.profile.fresh import Peak, peak
from gnnlab.profile.host import Machine, machine
from gnnlab.profile.memory import Footprint, Ledger, footprint, nbytes
from gnnlab.profile.owners import Report, report
from gnnlab.profile.processes import Pss, pss
from gnnlab.profile.repeats import Determinism, Spread, determinism
from gnnlab.profile.sizes import (
    count_parameters,
    get_cpu_memory_from_gc,
    get_data_size,
    get_gpu_memory_from_gc,
    get_gpu_memory_from_nvidia_smi,
    get_model_size,
)
from gnnlab.profile.timers import (
    Comparison,
    Timing,
    bandwidth,
    benchmark,
    compare,
    measure,
    timeit,
)

__all__ = [
    "CollateEstimate",
    "Comparison",
    "Determinism",
    "Footprint",
    "Ledger",
    "Machine",
    "Peak",
    "Pss",
    "Report",
    "Spread",
    "Timing",
    "bandwidth",
    "benchmark",
    "compare",
    "count_parameters",
    "determinism",
    "estimate_collate",
    "footprint",
    "get_cpu_memory_from_gc",
    "get_data_size",
    "get_gpu_memory_from_gc",
    "get_gpu_memory_from_nvidia_smi",
    "get_model_size",
    "machine",
    "measure",
    "nbytes",
    "peak",
    "pss",
    "report",
    "timeit",
]
