"""Conditions on arrays: for the manifests to preload, and for the splitting of arrays.

In a document, a condition is a string (`"true"`), or a mapping of one tag to its content (`{"or":
[...]}`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self, TypeAlias

from icefield._config.section import whole
from icefield._exceptions import ErrorKind, InvalidInputError
from icefield._family import members

__all__ = ["ManifestPreloadCondition", "ManifestSplitCondition"]

_REFS = whole(2**32 - 1, doc="A number of chunk references.")


class _Condition:
    """A tag and its content, immutable. A family of conditions has a class for each tag."""

    __slots__ = ("_content",)
    __match_args__: ClassVar[tuple[str, ...]] = ()

    _tag: ClassVar[str] = ""
    _forms: ClassVar[dict[str, type[Any]]] = {}
    """The classes of the family by their tags."""
    _content: Any

    def __init__(self) -> None:
        if not type(self)._tag:
            name = type(self).__name__
            raise TypeError(
                f"a {name} is made by its functions, such as {name}.name_matches('^time$')"
            )
        self._content = None

    @classmethod
    def _family(cls) -> type[_Condition]:
        return next(it for it in cls.__mro__ if it.__base__ is _Condition and "_forms" in vars(it))

    @classmethod
    def _made(cls, tag: str, *content: Any) -> Any:
        return cls._forms[tag](*content)

    def __or__(self, other: Self, /) -> Self:
        if not isinstance(other, self._family()):
            return NotImplemented
        either: Self = self._made("or", [self, other])
        return either

    def __and__(self, other: Self, /) -> Self:
        if not isinstance(other, self._family()):
            return NotImplemented
        both: Self = self._made("and", [self, other])
        return both

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Condition) or type(self) is not type(other):
            return NotImplemented
        return bool(self._content == other._content)

    def __hash__(self) -> int:
        return hash((type(self), self._content))

    def _arguments(self) -> tuple[Any, ...]:
        """The arguments with which the class creates an equal condition."""
        return ()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments()

    def __repr__(self) -> str:
        tag = {"or": "or_conditions", "and": "and_conditions", "any_array": "AnyArray"}
        name = f"icefield.{self._family().__name__}.{tag.get(self._tag, self._tag)}"
        return f"{name}({', '.join(repr(it) for it in self._arguments())})"

    def _to_document(self) -> Any:
        return self._tag

    @classmethod
    def _from_document(cls, document: Any) -> Any:
        match document:
            case bool() if str(document).lower() in cls._forms:
                return cls._made(str(document).lower())
            case "true" | "false" | "any_array" if document in cls._forms:
                return cls._made(document)
            case {"or": list(conditions)}:
                return cls._made("or", [cls._from_document(it) for it in conditions])
            case {"and": list(conditions)}:
                return cls._made("and", [cls._from_document(it) for it in conditions])
            case {"path_matches": {"regex": str(regex)}}:
                return cls._made("path_matches", regex)
            case {"name_matches": {"regex": str(regex)}}:
                return cls._made("name_matches", regex)
            case {"num_refs": {"from": first, "to": last}} if "num_refs" in cls._forms:
                return cls._made("num_refs", _bound(first, 0), _bound(last, 1))
        raise InvalidInputError(
            f"{document!r} is no condition of a {cls.__name__}", ErrorKind.INVALID_SETTING
        )


def _bound(document: Any, end: int) -> int | None:
    """A bound as the first number inside (`end` 0) or the first number outside (`end` 1)."""
    match document:
        case {"Included": int(number)}:
            return number + end
        case {"Excluded": int(number)}:
            return number + 1 - end
        case _:
            return None


class _Several(_Condition):
    """Conditions of one family."""

    __slots__ = ()
    __match_args__ = ("_0",)

    def __init__(self, _0: Iterable[Any]) -> None:
        found = tuple(_0)
        family = self._family()
        for it in found:
            if not isinstance(it, family):
                raise TypeError(f"a condition is a {family.__name__}, not {type(it).__name__}")
        self._content = found

    @property
    def _0(self) -> list[Any]:
        return list(self._content)

    def _arguments(self) -> tuple[Any, ...]:
        return (self._0,)

    def _to_document(self) -> Any:
        return {self._tag: [it._to_document() for it in self._content]}


class _Matches(_Condition):
    """A regular expression."""

    __slots__ = ()
    __match_args__ = ("regex",)

    def __init__(self, regex: str) -> None:
        if not isinstance(regex, str):
            raise TypeError(f"a regular expression is a text, not a {type(regex).__name__}")
        self._content = regex

    @property
    def regex(self) -> str:
        """The regular expression."""
        return str(self._content)

    def _arguments(self) -> tuple[Any, ...]:
        return (self._content,)

    def _to_document(self) -> Any:
        return {self._tag: {"regex": self._content}}


class ManifestPreloadCondition(_Condition):
    """The manifests to read as soon as a session opens."""

    __slots__ = ()

    _forms: ClassVar[dict[str, type[Any]]] = {}

    Or: TypeAlias = "_PreloadOr"
    And: TypeAlias = "_PreloadAnd"
    PathMatches: TypeAlias = "_PreloadPathMatches"
    NameMatches: TypeAlias = "_PreloadNameMatches"
    NumRefs: TypeAlias = "_PreloadNumRefs"

    @staticmethod
    def or_conditions(conditions: list[ManifestPreloadCondition]) -> ManifestPreloadCondition:
        """True if one of the conditions is; false if there are none."""
        return _PreloadOr(conditions)

    @staticmethod
    def and_conditions(conditions: list[ManifestPreloadCondition]) -> ManifestPreloadCondition:
        """True if all of the conditions are; true if there are none."""
        return _PreloadAnd(conditions)

    @staticmethod
    def path_matches(regex: str) -> ManifestPreloadCondition:
        """True for arrays whose whole path matches the regular expression."""
        return _PreloadPathMatches(regex)

    @staticmethod
    def name_matches(regex: str) -> ManifestPreloadCondition:
        """True for arrays whose name, the last part of the path, matches the regular expression."""
        return _PreloadNameMatches(regex)

    @staticmethod
    def num_refs(from_refs: int | None, to_refs: int | None) -> ManifestPreloadCondition:
        """True for manifests of at least `from_refs` chunk references and fewer than `to_refs`; None is no bound."""
        return _PreloadNumRefs(from_refs, to_refs)

    @staticmethod
    def true() -> ManifestPreloadCondition:
        """Always true."""
        return _PreloadTrue()

    @staticmethod
    def false() -> ManifestPreloadCondition:
        """Never true."""
        return _PreloadFalse()


class _PreloadOr(_Several, ManifestPreloadCondition):
    """True if one of its conditions is."""

    __slots__ = ()
    _tag = "or"


class _PreloadAnd(_Several, ManifestPreloadCondition):
    """True if all of its conditions are."""

    __slots__ = ()
    _tag = "and"


class _PreloadPathMatches(_Matches, ManifestPreloadCondition):
    """True for arrays whose path matches a regular expression."""

    __slots__ = ()
    _tag = "path_matches"


class _PreloadNameMatches(_Matches, ManifestPreloadCondition):
    """True for arrays whose name matches a regular expression."""

    __slots__ = ()
    _tag = "name_matches"


class _PreloadNumRefs(ManifestPreloadCondition):
    """True for manifests with a number of chunk references within bounds, `from` (in) and `to` (out)."""

    __slots__ = ()
    __match_args__ = ("from", "to")
    _tag = "num_refs"

    def __init__(self, from_refs: int | None, to_refs: int | None) -> None:
        self._content = tuple(
            None if it is None else _REFS.check(name, it)
            for name, it in (("from_refs", from_refs), ("to_refs", to_refs))
        )

    @property
    def to(self) -> int | None:
        """The first number outside."""
        last: int | None = self._content[1]
        return last

    def _arguments(self) -> tuple[Any, ...]:
        return tuple(self._content)

    def _to_document(self) -> Any:
        first, last = self._content
        return {
            "num_refs": {
                "from": "Unbounded" if first is None else {"Included": first},
                "to": "Unbounded" if last is None else {"Excluded": last},
            }
        }


# A reserved word of Python.
setattr(_PreloadNumRefs, "from", property(lambda it: it._content[0], doc="The first number in."))


class _PreloadTrue(ManifestPreloadCondition):
    """Always true."""

    __slots__ = ()
    _tag = "true"


class _PreloadFalse(ManifestPreloadCondition):
    """Never true."""

    __slots__ = ()
    _tag = "false"


class ManifestSplitCondition(_Condition):
    """The arrays that a splitting rule applies to."""

    __slots__ = ()

    _forms: ClassVar[dict[str, type[Any]]] = {}

    Or: TypeAlias = "_SplitOr"
    And: TypeAlias = "_SplitAnd"
    PathMatches: TypeAlias = "_SplitPathMatches"
    NameMatches: TypeAlias = "_SplitNameMatches"
    AnyArray: TypeAlias = "_SplitAnyArray"

    @staticmethod
    def or_conditions(conditions: list[ManifestSplitCondition]) -> ManifestSplitCondition:
        """True if one of the conditions is; false if there are none."""
        return _SplitOr(conditions)

    @staticmethod
    def and_conditions(conditions: list[ManifestSplitCondition]) -> ManifestSplitCondition:
        """True if all of the conditions are; true if there are none."""
        return _SplitAnd(conditions)

    @staticmethod
    def path_matches(regex: str) -> ManifestSplitCondition:
        """True for arrays whose whole path matches the regular expression."""
        return _SplitPathMatches(regex)

    @staticmethod
    def name_matches(regex: str) -> ManifestSplitCondition:
        """True for arrays whose name, the last part of the path, matches the regular expression."""
        return _SplitNameMatches(regex)


class _SplitOr(_Several, ManifestSplitCondition):
    """True if one of its conditions is."""

    __slots__ = ()
    _tag = "or"


class _SplitAnd(_Several, ManifestSplitCondition):
    """True if all of its conditions are."""

    __slots__ = ()
    _tag = "and"


class _SplitPathMatches(_Matches, ManifestSplitCondition):
    """True for arrays whose path matches a regular expression."""

    __slots__ = ()
    _tag = "path_matches"


class _SplitNameMatches(_Matches, ManifestSplitCondition):
    """True for arrays whose name matches a regular expression."""

    __slots__ = ()
    _tag = "name_matches"


class _SplitAnyArray(ManifestSplitCondition):
    """True for every array."""

    __slots__ = ()
    _tag = "any_array"


_PRELOAD: tuple[type[_Condition], ...] = (
    _PreloadOr,
    _PreloadAnd,
    _PreloadPathMatches,
    _PreloadNameMatches,
    _PreloadNumRefs,
    _PreloadTrue,
    _PreloadFalse,
)
_SPLIT: tuple[type[_Condition], ...] = (
    _SplitOr,
    _SplitAnd,
    _SplitPathMatches,
    _SplitNameMatches,
    _SplitAnyArray,
)
members(ManifestPreloadCondition, "_Preload", *_PRELOAD)
members(ManifestSplitCondition, "_Split", *_SPLIT)
ManifestPreloadCondition._forms.update((it._tag, it) for it in _PRELOAD)
ManifestSplitCondition._forms.update((it._tag, it) for it in _SPLIT)
