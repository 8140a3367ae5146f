"""Telling the reader of a notebook whether an exercise is solved."""

from collections.abc import Callable
from typing import Any


def verdict(answer: Any, right: Callable[[Any], bool], hint: str) -> None:
    """Print whether `right(answer)` holds; an answer that is still `...` is left alone.

    An answer of a kind that `right` can't work with is no error here: it is not right yet, for a reason that is
    printed too.

    >>> verdict(4, lambda answer: answer == 4, "add them up")
    right
    >>> verdict("four", lambda answer: sum(answer) == 4, "add them up")
    not yet: add them up (TypeError: unsupported operand type(s) for +: 'int' and 'str')
    """
    if answer is ...:
        print("not answered yet")
        return
    try:
        reason = "" if right(answer) else "not yet: " + hint
    except Exception as error:  # whatever a reader's answer may raise
        reason = f"not yet: {hint} ({type(error).__name__}: {error})"
    print(reason or "right")
