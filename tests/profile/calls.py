"""What the tests call in a fresh process, in a module that imports nothing."""

MIB = 2**20


def fill(mib):
    """Take `mib` MiB and touch each page, then free it."""
    block = bytearray(mib * MIB)
    block[::4096] = b"1" * len(block[::4096])
    return len(block)


def fill_in_turn(mib):
    return fill(mib) + fill(mib)


def give_back(value):
    return value


def fail(value):
    raise LookupError(f"no graph {value}")


class Unpicklable(Exception):
    def __init__(self, a, b):
        super().__init__(a)


def fail_unpicklably():
    raise Unpicklable("one", "two")


def make_lambda():
    return lambda: None
