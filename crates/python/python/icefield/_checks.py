"""Checks of arguments: whole numbers, booleans, times, and the metadata of commits.

Each check names the argument and the rule, and raises a `TypeError` for a wrong type and an
`InvalidInputError` (which is a `ValueError`) for a wrong value, never an `OverflowError`.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any, TypeVar, cast

from icefield._exceptions import from_native

__all__ = [
    "check_snapshot_id",
    "exactly_one_version",
    "from_microseconds",
    "metadata_document",
    "microseconds",
    "older_positional",
    "text",
    "texts",
    "truth",
    "whole",
    "wholes",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DEEPEST_METADATA = 100
_DIGITS = frozenset("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
_T = TypeVar("_T", bound=Callable[..., Any])


def text(value: object, name: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise TypeError(f"`{name}` must be a string, not {type(value).__name__}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise from_native(
                "invalid-argument",
                f"`{name}` is {value!r}, which has no UTF-8 form: half of a surrogate pair is in it, as in names of "
                "files that are not UTF-8",
            ) from None
    return value


def texts(values: object, name: str) -> list[str]:
    """A sequence of strings. A single string does not count as a sequence of letters."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        given = f"{values!r}: write [{values!r}]" if isinstance(values, str) else type(values).__name__
        raise TypeError(f"`{name}` must be a sequence of strings, not {given}")
    return [text(value, name) for value in values]


def truth(value: object, name: str) -> bool:
    """True or False, of Python or NumPy.

    No other value counts as a boolean: Python would treat None as False, and the string "false" as
    True, which a caller rarely means.
    """
    if isinstance(value, bool):
        return value
    # Without NumPy, which takes time to load. Its booleans are called `bool_` before version 2.
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"):
        return bool(value)
    raise TypeError(f"`{name}` must be True or False, not {kind.__name__}")


def whole(value: object, name: str, kind: str, low: int = 0, high: int = 2**63 - 1) -> int:
    """A whole number between two bounds, both included.

    Every object with `__index__` is one, except booleans.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"`{name}` must be a whole number, not {type(value).__name__}")
    number = operator.index(value)
    if not low <= number <= high:
        raise from_native(kind, f"`{name}` is {number}, but must be between {low} and {high}")
    return number


def wholes(
    values: Iterable[object], name: str, kind: str, low: int = 0, high: int = 2**63 - 1
) -> list[int]:
    """Whole numbers between two bounds, both included."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(
            f"`{name}` must be a sequence of whole numbers, not {type(values).__name__}"
        )
    return [whole(value, name, kind, low, high) for value in values]


def microseconds(time: object, name: str) -> int:
    """Microseconds since 1970 (UTC) of a time with a time zone."""
    if not isinstance(time, datetime):
        raise TypeError(f"`{name}` must be a datetime, not {type(time).__name__}")
    if time.tzinfo is None or time.utcoffset() is None:
        raise TypeError(
            f"`{name}` is a datetime without a time zone, so it is not clear which moment it "
            "means: expected a datetime "
            "with non-None tzinfo, such as datetime.now(timezone.utc)"
        )
    return (time - _EPOCH) // timedelta(microseconds=1)


def from_microseconds(time: int) -> datetime:
    """The time (UTC) at so many microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=time)


def check_snapshot_id(value: str) -> None:
    """The form of an id: 20 characters of Crockford's base 32."""
    if len(value) != 20 or not set(value.upper()) <= _DIGITS:
        raise from_native("invalid-snapshot-id", f"{value!r} is not the id of a snapshot")


def exactly_one_version(
    branch: str | None, tag: str | None, snapshot_id: str | None, prefix: str = ""
) -> tuple[str, str]:
    """The kind (branch, tag or snapshot) and the name of the one revision that is given."""
    given = [
        (kind, value)
        for kind, value in (("branch", branch), ("tag", tag), ("snapshot", snapshot_id))
        if value is not None
    ]
    if len(given) != 1:
        raise ValueError(
            f"Must provide one of {prefix}branch, {prefix}tag, or {prefix}snapshot_id; "
            f"{len(given)} of them are given"
        )
    kind, value = given[0]
    return kind, text(value, prefix + ("snapshot_id" if kind == "snapshot" else kind))


def metadata_document(metadata: Mapping[str, Any] | None, name: str = "metadata") -> str | None:
    """The JSON object of a commit's metadata, with exactly the given values.

    Values that JSON readers change or refuse (NaN, infinities, integers of 2**64 and more or below
    -2**63, lone surrogates) raise an `InvalidInputError` that names the key.
    """
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise TypeError(f"`{name}` must be a dict, not {type(metadata).__name__}")
    return json.dumps(_plain(metadata, name, 0), allow_nan=False)


def _plain(value: object, where: str, depth: int) -> Any:
    """The same value, built only of dicts, lists, strings, numbers, booleans and None."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _refused(where, "is a string that has no UTF-8 form") from None
        return str(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise _refused(
                where, f"is {value}, but whole numbers must be at least -2**63 and below 2**64"
            )
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _refused(where, f"is {value}, which JSON does not have")
        return float(value)
    if depth >= _DEEPEST_METADATA:
        raise _refused(where, f"is nested more than {_DEEPEST_METADATA} deep, or contains itself")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(
                    f"{_short(where)} has the key {key!r}, but the keys of metadata must be strings"
                )
        return {
            _plain(key, f"a key of {where}", depth): _plain(it, f"{where}[{key!r}]", depth + 1)
            for key, it in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(it, f"{where}[{at}]", depth + 1) for at, it in enumerate(value)]
    raise TypeError(
        f"{_short(where)} is a {type(value).__name__}, but metadata must be made of dicts with string "
        "keys, lists, strings, "
        "numbers, booleans and None"
    )


def _refused(where: str, rule: str) -> Exception:
    return from_native("bad-metadata", f"{_short(where)} {rule}")


def _short(where: str) -> str:
    """The path of a value; a long one without its middle."""
    return where if len(where) <= 120 else f"{where[:60]}…{where[-40:]}"


def older_positional(*names: str) -> Callable[[_T], _T]:
    """Lets a method also take its keyword-only arguments by position, in the order of `names`, as version 1 did.

    The signature that introspection and type checkers see is unchanged.
    """

    def decorate(method: _T) -> _T:
        # The arguments before the keyword-only ones.
        positional = method.__code__.co_argcount

        def moved(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
            extra = args[positional:]
            if len(extra) > len(names):
                raise TypeError(
                    f"{method.__name__}() takes at most {positional + len(names) - 1} positional "
                    "arguments"
                )
            for name, value in zip(names, extra, strict=False):
                if name in kwargs:
                    raise TypeError(f"{method.__name__}() got multiple values for {name!r}")
                kwargs[name] = value
            return args[:positional]

        if method.__code__.co_flags & 0x80:  # a coroutine function

            @wraps(method)
            async def later(*args: Any, **kwargs: Any) -> Any:
                return await method(*moved(args, kwargs), **kwargs)

            return cast(_T, later)

        @wraps(method)
        def now(*args: Any, **kwargs: Any) -> Any:
            return method(*moved(args, kwargs), **kwargs)

        return cast(_T, now)

    return decorate
