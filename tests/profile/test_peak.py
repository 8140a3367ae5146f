import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch

from gnnlab.profile import Peak, peak
from gnnlab.profile.child import ran_out_of_memory
from tests.profile.calls import (
    fail,
    fail_unpicklably,
    fill,
    fill_in_turn,
    give_back,
    make_lambda,
)

MIB = 2**20


def test_a_peak_is_what_was_allocated_at_once():
    found = peak(fill, 64)
    assert found.result == 64 * MIB
    assert found.failed == ""
    assert 62 * MIB <= found.peak <= 68 * MIB
    assert found.kept < 4 * MIB
    assert found.seconds > 0


def test_what_is_freed_before_the_next_does_not_add_up():
    assert 62 * MIB <= peak(fill_in_turn, 64).peak <= 68 * MIB


def test_a_higher_peak_before_the_call_hides_nothing():
    """Neither the mark that the imports left, nor memory that they freed and the call reuses."""
    setup = "block = bytearray(300 * 2**20); block[::4096] = b'1' * len(block[::4096]); del block"
    assert 14 * MIB <= peak(fill, 16, setup=setup).peak <= 20 * MIB


def test_what_the_result_holds_is_kept():
    found = peak("result = torch.ones(n)", setup="import torch", n=8 * MIB)
    assert 31 * MIB <= found.kept <= found.peak <= 36 * MIB


def test_the_mark_can_be_set_back_without_the_kernels_help():
    """In a process that may not write clear_refs a ballast stands in for it."""
    code = """if True:
        from gnnlab.profile.child import set_mark, status
        block = bytearray(100 * 2**20); block[::4096] = b"1" * len(block[::4096]); del block
        baseline, ballast = set_mark("/proc/no/such/file")
        block = bytearray(32 * 2**20); block[::4096] = b"1" * len(block[::4096]); del block
        print(status()["VmHWM"] - baseline)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 31 * MIB <= int(done.stdout) <= 34 * MIB


@pytest.mark.parametrize(
    ("fn", "args", "kwargs", "expected"),
    [
        (give_back, (5,), {}, 5),
        (give_back, (), {"value": {"a": [1]}}, {"a": [1]}),
        (partial(give_back, 7), (), {}, 7),
        ("math:hypot", (3.0, 4.0), {}, 5.0),
        ("json:decoder.JSONDecoder", (), {}, None),
        ("result = n + 1", (), {"n": 1}, 2),
        ("n = 1", (), {}, None),
    ],
)
def test_all_that_can_be_called(fn, args, kwargs, expected):
    found = peak(fn, *args, **kwargs)
    assert found.result == expected
    assert bool(found.dropped) == (fn == "json:decoder.JSONDecoder")


def test_setup_defines_functions_and_is_not_measured():
    setup = "big = bytearray(50 * 2**20)\ndef twice(x: Undefined): return 2 * x"
    found = peak("twice", 4, setup=setup)
    assert found.result == 8
    assert found.peak < 4 * MIB
    with pytest.raises(NameError, match="thrice"):
        peak("thrice", 4, setup=setup)


def test_a_scripts_own_function_is_sent_as_source(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from gnnlab.profile import peak\n"
        "def length(n: int) -> int:\n"
        "    return len(bytes(n))\n"
        "if __name__ == '__main__':\n"
        "    print(peak(length, 10).result)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "10\n"


def test_large_results_are_dropped_with_a_reason():
    found = peak(give_back, np.zeros(MIB))
    assert found.result is None
    assert "1048576" in found.dropped
    small = peak(give_back, torch.ones(3))
    assert small.result.tolist() == [1, 1, 1]


def test_an_exception_is_raised_here_with_its_traceback():
    with pytest.raises(LookupError, match="no graph 7") as caught:
        peak(fail, 7)
    assert "in fail" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError, match="in fail_unpicklably"):
        peak(fail_unpicklably)


def test_what_cannot_be_sent_is_refused():
    with pytest.raises(ValueError, match="lambda"):
        peak(make_lambda())
    with pytest.raises(ValueError, match="must pickle"):
        peak(give_back, make_lambda())
    with pytest.raises(ValueError, match="limit"):
        peak(give_back, 1, limit=0)


@pytest.mark.parametrize(
    ("code", "setup"),
    [
        ("bytearray(256 * 2**20)", ""),
        ("np.ones(32 * 2**20)", "import numpy as np"),
        ("torch.ones(64 * 2**20)", "import torch"),
        ("[bytes(1000) for _ in range(10**6)]", ""),
    ],
)
def test_a_limit_makes_it_run_out_of_memory_not_crash(code, setup):
    found = peak(code, setup=setup, limit=64 * MIB)
    assert found.failed
    assert found.result is None
    assert found.peak <= 68 * MIB
    assert found.failed in str(found)


def test_a_limit_leaves_room_for_what_it_allows():
    assert peak(fill, 48, limit=64 * MIB).failed == ""


def test_a_killed_process_is_a_failure_that_is_told():
    found = peak("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert found.failed == "killed by SIGKILL"
    assert (found.peak, found.kept, found.seconds, found.result) == (None, None, None, None)
    assert found.baseline > 0
    assert "unknown" in str(found)


def test_a_process_that_ends_itself_is_an_error():
    with pytest.raises(RuntimeError, match=r"(?s)status 3.*last words"):
        peak("import os, sys; print('last words', flush=True); os._exit(3)")


def test_a_timeout_ends_the_process():
    with pytest.raises(subprocess.TimeoutExpired):
        peak("import time; time.sleep(60)", timeout=0.2)


def test_a_system_without_a_high_water_mark_is_told(monkeypatch):
    monkeypatch.setattr("gnnlab.profile.fresh.Path.exists", lambda _: False)
    with pytest.raises(OSError, match="high-water mark"):
        peak(fill, 1)


def test_output_is_kept():
    assert peak("print('hello')").output == "hello\n"


def test_out_of_memory_is_told_from_other_errors():
    assert ran_out_of_memory(MemoryError())
    assert ran_out_of_memory(OSError(12, "Cannot allocate memory"))
    assert ran_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    assert not ran_out_of_memory(OSError(2, "No such file"))
    assert not ran_out_of_memory(RuntimeError("shape mismatch"))
    assert not ran_out_of_memory(ValueError("can't allocate memory"))


def test_a_peak_pickles():
    record = Peak(1, 2, 3, 0.5, None, "", "", "")
    assert pickle.loads(pickle.dumps(record)) == record
