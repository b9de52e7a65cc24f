"""Sections of the configuration: optional settings, checked when they are set.

A section is the mapping of `config.yaml` for it; unknown keys are kept unchanged.
"""

from __future__ import annotations

import copy
import json
import operator
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from icefield import _display
from icefield._exceptions import ErrorKind, InvalidInputError

__all__ = ["Section", "Setting", "choice", "part", "text", "truth", "whole"]

T = TypeVar("T")


class Setting(Generic[T]):
    """One setting of a section: its allowed values, its form in the document, and its default."""

    def __init__(
        self,
        check: Callable[[str, Any], T],
        write: Callable[[T], Any],
        read: Callable[[Any], T],
        default: Any,
        doc: str,
    ) -> None:
        self.check = check
        self.write = write
        self.read = read
        self.default = default
        self.name = ""
        self.__doc__ = doc

    def __set_name__(self, owner: type[Section], name: str) -> None:
        self.name = name
        self.__name__ = name
        self.__objclass__ = owner

    @overload
    def __get__(self, section: None, owner: type[Section]) -> Self: ...
    @overload
    def __get__(self, section: Section, owner: type[Section] | None = None) -> T | None: ...
    def __get__(self, section: Section | None, owner: Any = None) -> Any:
        return self if section is None else section._values.get(self.name)

    def __set__(self, section: Section, value: T | None) -> None:
        self.put(section, value)

    def put(self, section: Section, value: T | None) -> None:
        """Sets it, or unsets it if the value is None."""
        if value is None:
            section._values.pop(self.name, None)
        else:
            section._values[self.name] = self.check(self.name, value)


class Section:
    """The base class of all sections. Two are equal if all settings are equal. Can be copied and pickled."""

    __slots__ = ("_unknown", "_values")

    _settings: ClassVar[tuple[Setting[Any], ...]] = ()
    _whole: ClassVar[bool] = False
    """Whether a merge replaces this section as a whole, instead of setting by setting."""
    _values: dict[str, Any]
    _unknown: dict[str, Any]

    __hash__ = None  # type: ignore[assignment]

    def __init_subclass__(cls) -> None:
        cls.__module__ = "icefield"
        found = (it for it in vars(cls).values() if isinstance(it, Setting))
        cls._settings = (*cls._settings, *found)

    def __new__(cls, *_: Any, **__: Any) -> Self:
        section = super().__new__(cls)
        section._values = {}
        section._unknown = {}
        return section

    def _set(self, given: Mapping[str, Any]) -> None:
        for setting in type(self)._settings:
            setting.put(self, given[setting.name])

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Section):
            return NotImplemented
        return self._values == other._values and self._unknown == other._unknown

    def __repr__(self) -> str:
        return _display.call(f"icefield.{type(self).__qualname__}", self._shown())

    def __str__(self) -> str:
        return _display.lines(f"icefield.{type(self).__qualname__}", self._effective())

    def _repr_html_(self) -> str:
        return _display.table(f"icefield.{type(self).__qualname__}", self._effective())

    def _shown(self) -> list[tuple[str, object]]:
        return [
            (it.name, self._values[it.name])
            for it in type(self)._settings
            if it.name in self._values
        ]

    def _effective(self) -> list[tuple[str, object, str]]:
        rows: list[tuple[str, object, str]] = []
        for it in type(self)._settings:
            value = self._values.get(it.name)
            if value is not None or it.default is None:
                rows.append((it.name, value, ""))
            elif callable(it.default):
                rows.append((it.name, it.default(), ""))
            else:
                rows.append((it.name, it.default, " (default)"))
        return rows

    def _to_document(self) -> dict[str, Any]:
        """The mapping of `config.yaml` for this section, with null for unset settings."""
        document: dict[str, Any] = dict.fromkeys(it.name for it in type(self)._settings)
        for it in type(self)._settings:
            if it.name in self._values:
                document[it.name] = it.write(self._values[it.name])
        return document | copy.deepcopy(self._unknown)

    @classmethod
    def _from_document(cls, document: Mapping[str, Any]) -> Self:
        section = cls.__new__(cls)
        known = {it.name: it for it in cls._settings}
        for name, value in document.items():
            if name not in known:
                section._unknown[name] = value
            elif value is not None:
                section._values[name] = known[name].read(value)
        return section

    def _to_json(self) -> str:
        """The document as JSON for native code; a tag is a mapping with one key."""
        return json.dumps(self._to_document())

    @classmethod
    def _from_json(cls, document: str) -> Self:
        return cls._from_document(json.loads(document))

    def _merged_with(self, other: Self) -> Self:
        """This section, overridden by the settings of the other."""
        if type(self)._whole:
            return copy.deepcopy(other)
        merged = copy.deepcopy(self)
        merged._unknown.update(copy.deepcopy(other._unknown))
        for name, value in other._values.items():
            mine = merged._values.get(name)
            if mine is not None and hasattr(mine, "_merged_with"):
                merged._values[name] = mine._merged_with(value)
            else:
                merged._values[name] = copy.deepcopy(value)
        return merged


Member = TypeVar("Member", bound=Enum)


def whole(limit: int, default: int | None = None, *, least: int = 0, doc: str) -> Setting[int]:
    """A whole number from `least` to `limit`."""

    def check(name: str, value: Any) -> int:
        try:
            number = operator.index(value)
        except TypeError:
            raise TypeError(f"{name} is a whole number, not {_named(value)}") from None
        if not least <= number <= limit:
            raise InvalidInputError(
                f"{name} cannot be {number}; it may be a whole number from {least} to {limit}",
                ErrorKind.INVALID_SETTING,
            )
        return number

    return Setting(check, int, int, default, doc)


def truth(default: bool | None = None, *, doc: str) -> Setting[bool]:
    """True or False."""

    def check(name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise TypeError(f"{name} is True or False, not {_named(value)}")
        return value

    return Setting(check, bool, bool, default, doc)


def text(default: str | None = None, *, doc: str) -> Setting[str]:
    """A text."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError(f"{name} is a text, not {_named(value)}")
        return value

    return Setting(check, str, str, default, doc)


def choice(kind: type[Member], default: Member, *, doc: str) -> Setting[Member]:
    """A member of an enumeration, written as its name in lower case."""

    def check(name: str, value: Any) -> Member:
        if not isinstance(value, kind):
            raise TypeError(f"{name} is a {kind.__name__}, not {_named(value)}")
        return value

    def read(value: Any) -> Member:
        for member in kind:
            if member.name.lower() == value:
                return member
        raise InvalidInputError(f"there is no {kind.__name__} {value!r}", ErrorKind.INVALID_SETTING)

    return Setting(check, lambda it: it.name.lower(), read, default, doc)


def part(kind: type[T], *, doc: str, defaults: bool = True) -> Setting[T]:
    """A section within a section, or another value that has a document."""

    def check(name: str, value: Any) -> T:
        if not isinstance(value, kind):
            raise TypeError(f"{name} is a {kind.__name__}, not {_named(value)}")
        return value

    documented: Any = kind
    return Setting(
        check,
        lambda it: it._to_document(),
        lambda it: documented._from_document(it),
        kind if defaults else None,
        doc,
    )


def _named(value: object) -> str:
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"
