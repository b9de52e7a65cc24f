"""Families of values: a class that is a namespace for its members, which are nested classes."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

from icefield import _display
from icefield._frozen import frozen

__all__ = ["Member", "members"]

T = TypeVar("T")


class Member:
    """A value of one form of a family, such as `S3Credentials.Static`. Two are equal if all fields are.

    It has a hash unless it contains a mutable value, such as `S3Options` or `S3StaticCredentials`.
    The representation of a form whose fields may be secret shows none of them.
    """

    __slots__ = ()

    __match_args__: ClassVar[tuple[str, ...]] = ()
    _secret: ClassVar[bool] = False

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, it) == getattr(other, it) for it in self.__match_args__)

    def __hash__(self) -> int:
        return hash((type(self), *(frozen(getattr(self, it)) for it in self.__match_args__)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, it) for it in self.__match_args__)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{_name(self)} cannot be changed: make another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{_name(self)} cannot be changed: make another one")

    def _rows(self) -> list[tuple[str, object, str]]:
        fields = ((it, getattr(self, it)) for it in self.__match_args__)
        return [
            (it.lstrip("_0") or "value", _Hidden() if self._secret else value, "")
            for it, value in fields
        ]

    def __repr__(self) -> str:
        values = (repr(value) for _, value, _ in self._rows())
        return f"{_name(self)}({', '.join(values)})"

    def __str__(self) -> str:
        return _display.lines(_name(self), self._rows())

    def _repr_html_(self) -> str:
        return _display.table(_name(self), self._rows())


def _set(member: Member, name: str, value: Any) -> None:
    """Sets a field during construction."""
    object.__setattr__(member, name, value)


class _Bare(Member):
    """A form without a value."""

    __slots__ = ()

    def __init__(self) -> None:
        pass


class _One(Member, Generic[T]):
    """A form with one value, of the class that the form names."""

    __slots__ = ("_0",)
    __match_args__ = ("_0",)
    _class: ClassVar[type]
    _0: T

    def __init__(self, _0: T) -> None:
        if not isinstance(_0, self._class):
            raise TypeError(
                f"{_name(self)} takes {self._class.__name__}, not a {type(_0).__name__}"
            )
        _set(self, "_0", _0)


class _Hidden:
    def __repr__(self) -> str:
        return "****"


def _name(value: object) -> str:
    return f"icefield.{type(value).__qualname__}"


def members(family: type, prefix: str, *forms: type) -> None:
    """Puts the forms of a family into it, by their names without the prefix."""
    for form in forms:
        name = form.__name__.removeprefix(prefix)
        form.__name__ = name
        form.__qualname__ = f"{family.__qualname__}.{name}"
        form.__module__ = "icefield"
        setattr(family, name, form)
    family.__module__ = "icefield"
