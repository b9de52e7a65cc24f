"""What credentials have in common: texts that are hidden, times of expiry, and functions that hand out new ones."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, cast

from icefield._exceptions import ErrorKind, InvalidInputError
from icefield._family import Member, _set

__all__ = [
    "Function",
    "Identity",
    "OneText",
    "Source",
    "checked",
    "expiry",
    "microseconds",
    "one_way",
    "pickled",
    "refused",
    "text",
]

Identity: TypeAlias = dict[str, Any]
"""Who asks, as the description of a storage has it."""


def refused(message: str) -> InvalidInputError:
    return InvalidInputError(message, ErrorKind.INVALID_CREDENTIALS)


def text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is a text, not a {type(value).__name__}")
    return value


def expiry(value: object) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise TypeError("expires_after is a datetime with a time zone, such as datetime.now(UTC)")
    return value.astimezone(UTC)


def microseconds(at: datetime | None) -> int | None:
    if at is None:
        return None
    return max(0, (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))


class OneText(Member):
    __slots__ = ("_0",)
    __match_args__ = ("_0",)
    _0: str

    def __init__(self, _0: str) -> None:
        _set(self, "_0", text(_0, "it"))


class Function(Member):
    """Keys that a function hands out: the pickle of the function, and a key that it has handed out already."""

    __slots__ = ("current", "pickled_function")
    __match_args__ = ("pickled_function", "current")
    _secret = True
    pickled_function: bytes
    current: Any

    def __init__(self, pickled_function: bytes, current: Any = None) -> None:
        if not isinstance(pickled_function, bytes):
            raise TypeError(
                "pickled_function is the pickle of a function: pass pickle.dumps(function), or use the function "
                "…_refreshable_credentials"
            )
        _set(self, "pickled_function", pickled_function)
        _set(self, "current", current)

    def _source(self, forms: tuple[type, ...]) -> Source:
        return Source(self.pickled_function, self.current, forms)


class Source:
    """What the native side calls for a key: gives the one that is at hand first, if it is still good."""

    def __init__(self, pickled: bytes, current: Any, forms: tuple[type, ...]) -> None:
        self._pickled = pickled
        self._current = current
        self._forms = forms

    def __call__(self) -> str:
        given, self._current = self._current, None
        if given is None or _is_over(given.expires_after):
            given = pickle.loads(self._pickled)()
        if not isinstance(given, self._forms):
            wanted = " or ".join(form.__qualname__ for form in self._forms)
            raise TypeError(
                f"the function of credentials returned a {type(given).__name__}; it must return {wanted}"
            )
        return json.dumps(cast(Any, given)._document())


def _is_over(at: datetime | None) -> bool:
    return at is not None and at <= datetime.now(UTC)


def pickled(function: Callable[[], Any]) -> bytes:
    if not callable(function):
        raise TypeError(f"get_credentials is a function, not a {type(function).__name__}")
    try:
        return pickle.dumps(function)
    except Exception as error:
        raise refused(
            f"the function of credentials {getattr(function, '__qualname__', function)!s} cannot be pickled, which "
            "other processes would need: define it with `def` at the top level of a module (no lambda, no function "
            "inside of another one), or pass functools.partial of such a function"
        ) from error


def checked(function: Callable[[], Any], scatter: bool, forms: tuple[type, ...]) -> Any:
    if not scatter:
        return None
    current = function()
    if not isinstance(current, forms):
        wanted = " or ".join(form.__qualname__ for form in forms)
        raise TypeError(f"get_credentials returned a {type(current).__name__}, not {wanted}")
    return current


def one_way(service: str, ways: Mapping[str, bool]) -> str | None:
    """The one way to be known that was chosen.

    Raises `InvalidInputError`, a `ValueError`, if there are several.
    """
    chosen = [name for name, is_chosen in ways.items() if is_chosen]
    if len(chosen) > 1:
        raise refused(
            f"conflicting credentials for {service}: {' and '.join(chosen)} were given; give only one of them"
        )
    return chosen[0] if chosen else None
