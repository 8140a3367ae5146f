"""The Triton backend without a GPU: its kernels in the interpreter, compiled for GPUs, and refused on a CPU."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from gnnlab.sparse.backends import Pattern, backend

triton = pytest.importorskip("triton", reason="its kernels are written for it: pip install 'gnnlab[gpu]'")

CHECKS = Path(__file__).with_name("triton_checks.py")


def check(**env: str) -> str:
    """What pytest says of the checks in a fresh process."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(CHECKS)]
    done = subprocess.run(command, env={**os.environ, **env}, cwd=CHECKS.parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_kernels_in_the_interpreter() -> None:
    assert "passed" in check(TRITON_INTERPRET="1")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_the_kernels_on_a_gpu() -> None:
    assert "passed" in check()


def compiled(kernel: Any, types: dict[str, str], fixed: dict[str, Any], capability: int) -> str:
    """The kernel's machine code for a GPU, as PTX. types: by argument; fixed: arguments known when it is compiled."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {name: "constexpr" if name in fixed else types[name] for name in kernel.arg_names}
    values = {(kernel.arg_names.index(name),): value for name, value in fixed.items()}
    target = GPUTarget("cuda", capability, 32)
    return str(triton.compile(ASTSource(kernel, signature, values), target=target).asm["ptx"])


@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize("kind", ["sum", "mean", "max", "ties", "back"])
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_the_kernels_compile_and_add_in_no_other_order(
    kind: str, dtype: str, capability: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No atomic operation is in the machine code, so that the order of sums is the program's."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    import triton.language as tl

    from gnnlab.sparse import triton_kernels as kernels

    types = dict.fromkeys(("ptr", "col"), "*i64") | dict.fromkeys(("num_pieces", "num_rows", "nnz"), "i32")
    types |= dict.fromkeys(("value", "x", "best", "given", "out", "a", "b", "dots"), f"*{dtype}")
    types |= {"partial": "*fp32", "width": "i32", "steps": "i32"}
    blocks = {"SUMS": tl.float32, "BLOCK_K": 8, "BLOCK_F": 64}
    reduction = {**blocks, "KIND": kind, "START": -float("inf") if kind == "max" else 0.0, "PIECE": 1024}
    for kernel, fixed in (
        (kernels.reduce_rows, reduction),
        (kernels.join_pieces, reduction),
        (kernels.dot_entries, blocks),
    ):
        code = compiled(kernel, types, fixed, capability)
        assert "st.global" in code
        assert not re.search(r"\b(atom|red)\.", code)


def test_a_tensor_on_a_cpu_is_refused() -> None:
    matrix = Pattern(torch.tensor([0, 1]), torch.tensor([0]))
    with pytest.raises(ValueError, match="backend: 'triton' multiplies on a GPU, found a tensor on cpu"):
        backend("triton").multiply(matrix, None, torch.ones(1, 1), "sum")
