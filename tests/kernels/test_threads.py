"""Parts of a job side by side: all are done, errors come through, and a fork starts afresh."""

import os
import threading

import pytest

from gnnlab.kernels import threads


@pytest.mark.parametrize("count", [1, 2, 4])
def test_every_part_is_done(count):
    done = []
    threads.run([lambda i=i: done.append(i) for i in range(20)], count)
    assert sorted(done) == list(range(20))


def test_two_threads_work_at_the_same_time():
    both = threading.Barrier(2, timeout=30)
    threads.run([both.wait, both.wait], 2)  # alone, neither would pass


@pytest.mark.parametrize("count", [1, 2])
def test_the_first_error_comes_through(count):
    def fail():
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        threads.run([fail, lambda: None], count)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_makes_a_pool_of_its_own():
    threads.run([lambda: None] * 2, 2)
    child = os.fork()
    if child == 0:
        done = []
        threads.run([lambda: done.append(1)] * 2, 2)
        os._exit(0 if len(done) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
