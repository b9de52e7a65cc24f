"""Values with named fields: equality, hash and representation follow from the fields."""

from __future__ import annotations

from typing import Any, ClassVar

from icefield import _display
from icefield._frozen import frozen

__all__ = ["Value"]


class Value:
    """The base class of values. A subclass keeps field `x` in the slot `_x` and exposes it as a property."""

    __slots__ = ()

    _names: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.__module__ = "icefield"

    def _fields(self) -> list[tuple[str, Any, str]]:
        return [(name, getattr(self, name), "") for name in type(self)._names]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Value):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((type(self), *(frozen(value) for _, value, _ in self._fields())))

    def __repr__(self) -> str:
        fields = ((name, value) for name, value, _ in self._fields())
        return _display.call(f"icefield.{type(self).__qualname__}", fields)

    def __str__(self) -> str:
        return _display.lines(f"icefield.{type(self).__qualname__}", self._fields())

    def _repr_html_(self) -> str:
        return _display.table(f"icefield.{type(self).__qualname__}", self._fields())
