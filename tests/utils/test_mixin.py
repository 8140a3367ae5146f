from dataclasses import dataclass
from types import ModuleType

import pytest

from gnnlab.utils.mixin import CastMixin


@dataclass
class Span(CastMixin):
    start: object
    stop: object = 0


@dataclass
class Point(CastMixin):
    x: object


@pytest.mark.parametrize(
    ("args", "kwargs", "expected"),
    [
        ((1, 2), {}, Span(1, 2)),
        (((1, 2),), {}, Span(1, 2)),
        (({"start": 1, "stop": 2},), {}, Span(1, 2)),
        ((3,), {}, Span(3)),
        (([1, 2],), {}, Span([1, 2])),
        ((None,), {}, None),
        (({"a": 1},), {"stop": 4}, Span({"a": 1}, 4)),
        ((), {"start": 5}, Span(5)),
    ],
)
def test_cast_as_pyg(pyg: ModuleType, args: tuple[object, ...], kwargs: dict[str, object], expected: object) -> None:
    assert Span.cast(*args, **kwargs) == expected

    @dataclass
    class Theirs(pyg.mixin.CastMixin):
        start: object
        stop: object = 0

    theirs = Theirs.cast(*args, **kwargs)
    assert expected == (None if theirs is None else Span(theirs.start, theirs.stop))


def test_records_stay_themselves() -> None:
    span, point = Span(1), Point(2)
    assert Span.cast(span) is span
    assert Span.cast(point) is point


def test_fields_in_order() -> None:
    assert tuple(Span(1, 2)) == (1, 2)
