"""Conditions on arrays: which manifests are read ahead, which arrays are split how.

In a document a condition is a text (`"true"`), or a mapping of one tag to its content (`{"or": [...]}`).
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from icefield._config.section import whole
from icefield._exceptions import ErrorKind, InvalidInputError

__all__ = ["ManifestPreloadCondition", "ManifestSplitCondition"]

_REFS = whole(2**32 - 1, doc="A number of chunk references.")


class _Condition:
    """A tag and its content, never changed. Conditions are made by the functions of their class."""

    __slots__ = ("_content", "_tag")

    _plain: ClassVar[tuple[str, ...]] = ()
    _tag: str
    _content: Any

    def __new__(cls) -> Self:
        raise TypeError(
            f"a {cls.__name__} is made by its functions, such as {cls.__name__}.name_matches('^time$')"
        )

    def __init_subclass__(cls) -> None:
        cls.__module__ = "icefield"

    @classmethod
    def _of(cls, tag: str, content: Any = None) -> Self:
        condition = object.__new__(cls)
        condition._tag = tag
        condition._content = content
        return condition

    @classmethod
    def _all_of(cls, tag: str, conditions: list[Self]) -> Self:
        found = tuple(conditions)
        for it in found:
            if not isinstance(it, cls):
                raise TypeError(f"a condition is a {cls.__name__}, not a {type(it).__name__}")
        return cls._of(tag, found)

    @classmethod
    def _regex(cls, tag: str, regex: str) -> Self:
        if not isinstance(regex, str):
            raise TypeError(f"a regular expression is a text, not a {type(regex).__name__}")
        return cls._of(tag, regex)

    def __or__(self, other: Self, /) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._of("or", (self, other))

    def __and__(self, other: Self, /) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._of("and", (self, other))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Condition) or type(self) is not type(other):
            return NotImplemented
        return (self._tag, self._content) == (other._tag, other._content)

    def __hash__(self) -> int:
        return hash((type(self), self._tag, self._content))

    def __repr__(self) -> str:
        name = f"icefield.{type(self).__name__}"
        if self._tag in ("or", "and"):
            return f"{name}.{self._tag}_conditions({list(self._content)!r})"
        if self._tag == "any_array":
            return f"{name}.AnyArray()"
        if self._tag == "num_refs":
            return f"{name}.num_refs({self._content[0]!r}, {self._content[1]!r})"
        return f"{name}.{self._tag}({'' if self._content is None else repr(self._content)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self._tag, self._content)

    def _to_document(self) -> Any:
        match self._tag:
            case "or" | "and":
                return {self._tag: [it._to_document() for it in self._content]}
            case "path_matches" | "name_matches":
                return {self._tag: {"regex": self._content}}
            case "num_refs":
                first, last = self._content
                return {
                    "num_refs": {
                        "from": "Unbounded" if first is None else {"Included": first},
                        "to": "Unbounded" if last is None else {"Excluded": last},
                    }
                }
            case plain:
                return plain

    @classmethod
    def _from_document(cls, document: Any) -> Self:
        match document:
            case bool() if str(document).lower() in cls._plain:
                return cls._of(str(document).lower())
            case str() if document in cls._plain:
                return cls._of(document)
            case {"or": list(conditions)}:
                return cls._of("or", tuple(cls._from_document(it) for it in conditions))
            case {"and": list(conditions)}:
                return cls._of("and", tuple(cls._from_document(it) for it in conditions))
            case {"path_matches": {"regex": str(regex)}}:
                return cls._of("path_matches", regex)
            case {"name_matches": {"regex": str(regex)}}:
                return cls._of("name_matches", regex)
            case {"num_refs": {"from": first, "to": last}} if "true" in cls._plain:
                return cls._of("num_refs", (_bound(first, 0), _bound(last, 1)))
        raise InvalidInputError(
            f"{document!r} is no condition of a {cls.__name__}", ErrorKind.INVALID_SETTING
        )


def _again(cls: type[_Condition], tag: str, content: Any) -> _Condition:
    return cls._of(tag, content)


def _bound(document: Any, end: int) -> int | None:
    """A bound as the first number that is in (`end` 0) or the first that is out (`end` 1)."""
    match document:
        case {"Included": int(number)}:
            return number + end
        case {"Excluded": int(number)}:
            return number + 1 - end
        case _:
            return None


class ManifestPreloadCondition(_Condition):
    """Which manifests are read as soon as a session is opened."""

    __slots__ = ()

    _plain = ("true", "false")

    @staticmethod
    def or_conditions(conditions: list[ManifestPreloadCondition]) -> ManifestPreloadCondition:
        """True if one of the conditions is; false if there are none."""
        return ManifestPreloadCondition._all_of("or", conditions)

    @staticmethod
    def and_conditions(conditions: list[ManifestPreloadCondition]) -> ManifestPreloadCondition:
        """True if all of the conditions are; true if there are none."""
        return ManifestPreloadCondition._all_of("and", conditions)

    @staticmethod
    def path_matches(regex: str) -> ManifestPreloadCondition:
        """True for arrays whose whole path matches the regular expression."""
        return ManifestPreloadCondition._regex("path_matches", regex)

    @staticmethod
    def name_matches(regex: str) -> ManifestPreloadCondition:
        """True for arrays whose name, the last part of the path, matches the regular expression."""
        return ManifestPreloadCondition._regex("name_matches", regex)

    @staticmethod
    def num_refs(from_refs: int | None, to_refs: int | None) -> ManifestPreloadCondition:
        """True for manifests of at least `from_refs` chunk references and fewer than `to_refs`; None is no bound."""
        bounds = tuple(
            None if it is None else _REFS.check(name, it)
            for name, it in (("from_refs", from_refs), ("to_refs", to_refs))
        )
        return ManifestPreloadCondition._of("num_refs", bounds)

    @staticmethod
    def true() -> ManifestPreloadCondition:
        """Always true."""
        return ManifestPreloadCondition._of("true")

    @staticmethod
    def false() -> ManifestPreloadCondition:
        """Never true."""
        return ManifestPreloadCondition._of("false")


class ManifestSplitCondition(_Condition):
    """Which arrays a rule of splitting is for."""

    __slots__ = ()

    _plain = ("any_array",)

    @staticmethod
    def or_conditions(conditions: list[ManifestSplitCondition]) -> ManifestSplitCondition:
        """True if one of the conditions is; false if there are none."""
        return ManifestSplitCondition._all_of("or", conditions)

    @staticmethod
    def and_conditions(conditions: list[ManifestSplitCondition]) -> ManifestSplitCondition:
        """True if all of the conditions are; true if there are none."""
        return ManifestSplitCondition._all_of("and", conditions)

    @staticmethod
    def path_matches(regex: str) -> ManifestSplitCondition:
        """True for arrays whose whole path matches the regular expression."""
        return ManifestSplitCondition._regex("path_matches", regex)

    @staticmethod
    def name_matches(regex: str) -> ManifestSplitCondition:
        """True for arrays whose name, the last part of the path, matches the regular expression."""
        return ManifestSplitCondition._regex("name_matches", regex)

    @staticmethod
    def AnyArray() -> ManifestSplitCondition:
        """True for every array."""
        return ManifestSplitCondition._of("any_array")
