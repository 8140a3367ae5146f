"""Sizes under PyG's names (`torch_geometric.profile`)."""

import gc
import io
import shutil
import subprocess
from typing import Any

import torch
from torch import Tensor

from gnnlab.profile.memory import nbytes, nbytes_of_tensors

_MIB_IN_MB = 1.048576


def count_parameters(model: torch.nn.Module) -> int:
    """Number of parameters of `model` that require gradients."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def get_model_size(model: torch.nn.Module) -> int:
    """Bytes of the file that `torch.save(model.state_dict(), path)` writes."""
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    return len(file.getvalue())


def get_data_size(data: Any) -> int:
    """Bytes that the attributes of a `Data`, `HeteroData` or batch address, each counted once.

    PyG counts a tensor twice if one view starts inside another; here each byte counts once. NumPy
    arrays count too.
    """
    return nbytes(data.to_dict())


def get_cpu_memory_from_gc() -> int:
    """Bytes, each counted once, of the CPU tensors that Python's garbage collector knows of."""
    return nbytes_of_tensors(t for t in _live_tensors() if t.device.type == "cpu")


def get_gpu_memory_from_gc(device: int = 0) -> int:
    """Bytes, each counted once, of the tensors on a GPU that the garbage collector knows of.

    Raises RuntimeError where torch sees no such GPU.
    """
    if device >= torch.cuda.device_count():
        raise RuntimeError(f"device={device} needs GPU {device}; torch sees {torch.cuda.device_count()} GPUs")
    on = torch.device("cuda", device)
    return nbytes_of_tensors(t for t in _live_tensors() if t.device == on)


def get_gpu_memory_from_nvidia_smi(device: int = 0, digits: int = 2) -> tuple[float, float]:
    """Free and used memory of a GPU in megabytes (10^6 bytes), as `nvidia-smi` tells it.

    Rounded to `digits`. Raises RuntimeError where there is no `nvidia-smi`, or it knows no such
    device.
    """
    command = shutil.which("nvidia-smi")
    if command is None:
        raise RuntimeError("GPU memory is asked of the command nvidia-smi, which isn't here")
    query = "--query-gpu=memory.free,memory.used"
    done = subprocess.run(
        [command, query, "--format=csv,noheader,nounits", f"--id={device}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"nvidia-smi failed for device={device}: {done.stdout}{done.stderr}")
    free, used = (round(float(mib) * _MIB_IN_MB, digits) for mib in done.stdout.split(","))
    return free, used


def _live_tensors() -> list[Tensor]:
    # By type: isinstance would ask objects for their class, and some of them warn or compute when
    # asked.
    return [obj for obj in gc.get_objects() if issubclass(type(obj), Tensor)]
