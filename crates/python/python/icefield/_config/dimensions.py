"""Conditions on the dimensions of an array."""

from __future__ import annotations

from typing import Any as Anything
from typing import TypeAlias

from icefield._config.section import whole
from icefield._exceptions import ErrorKind, InvalidInputError
from icefield._family import members

__all__ = ["ManifestSplitDimCondition"]

_AXIS = whole(2**64 - 1, doc="The place of a dimension, from 0.")


class ManifestSplitDimCondition:
    """The dimension that a number of chunks applies to: one of the nested classes."""

    __slots__ = ("_content",)

    _content: Anything

    Axis: TypeAlias = "_Axis"
    DimensionName: TypeAlias = "_DimensionName"
    Any: TypeAlias = "_Any"

    def __init__(self) -> None:
        raise TypeError("a condition on dimensions is an Axis, a DimensionName or Any")

    @property
    def _0(self) -> Anything:
        return self._content

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, ManifestSplitDimCondition):
            return NotImplemented
        return bool(self._content == other._content)

    def __hash__(self) -> int:
        return hash((type(self), self._content))

    def __repr__(self) -> str:
        content = "" if self._content is None else repr(self._content)
        return f"icefield.{type(self).__qualname__}({content})"

    def __reduce__(self) -> tuple[Anything, ...]:
        return type(self), () if self._content is None else (self._content,)

    def _to_document(self) -> Anything:
        name = type(self).__name__
        return name if self._content is None else {name: self._content}

    @staticmethod
    def _from_document(document: Anything) -> ManifestSplitDimCondition:
        match document:
            case "Any":
                return _Any()
            case {"Axis": int(axis)}:
                return _Axis(axis)
            case {"DimensionName": str(regex)}:
                return _DimensionName(regex)
        raise InvalidInputError(
            f"{document!r} is no condition on a dimension", ErrorKind.INVALID_SETTING
        )


class _Axis(ManifestSplitDimCondition):
    """The dimension with a number, from 0."""

    __slots__ = ()
    __match_args__ = ("_0",)

    def __init__(self, axis: int) -> None:
        self._content = _AXIS.check("axis", axis)


class _DimensionName(ManifestSplitDimCondition):
    """The dimensions whose names match a regular expression."""

    __slots__ = ()
    __match_args__ = ("_0",)

    def __init__(self, regex: str) -> None:
        if not isinstance(regex, str):
            raise TypeError(f"a regular expression is a text, not a {type(regex).__name__}")
        self._content = regex


class _Any(ManifestSplitDimCondition):
    """Every dimension that meets no other condition of the rule."""

    __slots__ = ()

    def __init__(self) -> None:
        self._content = None


members(ManifestSplitDimCondition, "_", _Axis, _DimensionName, _Any)
