"""What the records of the sampler inherit."""

from collections.abc import Iterator
from dataclasses import Field, fields
from typing import Any, ClassVar


class CastMixin:
    """For dataclasses: build one from whatever an argument may be given as. PyG:
    `torch_geometric.utils.mixin.CastMixin`.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Span(CastMixin):
    ...     start: int
    ...     stop: int = 0
    >>> Span.cast((1, 2)), Span.cast({"start": 1}), Span.cast(3)
    (Span(start=1, stop=2), Span(start=1, stop=0), Span(start=3, stop=0))
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # filled by @dataclass

    @classmethod
    def cast(cls, *args: Any, **kwargs: Any) -> Any:
        """`args` and `kwargs` as a `cls`.

        One argument alone stands for itself if it is None or any such record already, for the positional arguments if
        it is a tuple, and for the keyword arguments if it is a dictionary.
        """
        if len(args) == 1 and not kwargs:
            value = args[0]
            if value is None or isinstance(value, CastMixin):
                return value
            if isinstance(value, tuple):
                return cls(*value)
            if isinstance(value, dict):
                return cls(**value)
        return cls(*args, **kwargs)

    def __iter__(self) -> Iterator[Any]:
        """The values of the fields, in order."""
        return iter([getattr(self, field.name) for field in fields(self)])
