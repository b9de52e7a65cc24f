"""The parts of credentials: strings, times of expiry, credential functions, and the choice of one form."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeAlias, cast

from icefield._checks import truth
from icefield._exceptions import ErrorKind, InvalidInputError

__all__ = [
    "Identity",
    "Source",
    "checked",
    "chosen",
    "expiry",
    "microseconds",
    "one_way",
    "pickled",
    "refused",
    "text",
]

Identity: TypeAlias = dict[str, Any]
"""The credentials in the description of a storage."""


def refused(message: str) -> InvalidInputError:
    """The error for invalid credentials."""
    return InvalidInputError(message, ErrorKind.INVALID_CREDENTIALS)


def text(value: object, name: str) -> str:
    """A string. Raises `TypeError` for any other value."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is a text, not a {type(value).__name__}")
    return value


def expiry(value: object) -> datetime | None:
    """A time of expiry in UTC, or None. Raises `TypeError` for a time without a time zone."""
    if value is None:
        return None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise TypeError("expires_after is a datetime with a time zone, such as datetime.now(UTC)")
    return value.astimezone(UTC)


def microseconds(at: datetime | None) -> int | None:
    """Microseconds since 1970 (UTC), 0 for earlier times; None for None."""
    if at is None:
        return None
    return max(0, (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))


class Source:
    """The callable from which the native module gets keys. First returns the stored key, if it is still valid."""

    def __init__(self, pickled: bytes, current: Any, form: type) -> None:
        self._pickled = pickled
        self._current = current
        self._form = form

    def __call__(self) -> str:
        given, self._current = self._current, None
        if given is None or _is_over(given.expires_after):
            given = pickle.loads(self._pickled)()
        if not isinstance(given, self._form):
            raise TypeError(
                f"the function of credentials returned a {type(given).__name__}; it must return "
                f"{self._form.__qualname__}"
            )
        return json.dumps(cast(Any, given)._document())


def _is_over(at: datetime | None) -> bool:
    return at is not None and at <= datetime.now(UTC)


def pickled(function: Callable[[], Any]) -> bytes:
    """The pickle of a credential function. Raises `InvalidInputError` if it cannot be pickled."""
    if not callable(function):
        raise TypeError(f"get_credentials is a function, not a {type(function).__name__}")
    try:
        return pickle.dumps(function)
    except Exception as error:
        raise refused(
            f"the function of credentials {_name(function)} cannot be pickled, which other processes would need: "
            "define it with `def` at the top level of a module (no lambda, no function inside of another one), or pass "
            "functools.partial of such a function, whose arguments are pickled, too"
        ) from error


def _name(function: Any) -> str:
    """The name of a function. Its state, such as the arguments of a `partial`, may be secret."""
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def checked(function: Callable[[], Any], form: type) -> Any:
    """The current result of a function."""
    current = function()
    if not isinstance(current, form):
        raise TypeError(
            f"get_credentials returned a {type(current).__name__}, not {form.__qualname__}"
        )
    return current


def one_way(service: str, ways: Mapping[str, bool]) -> str | None:
    """The one given form of credentials.

    Raises `InvalidInputError`, a `ValueError`, if several are given.
    """
    chosen = [name for name, is_chosen in ways.items() if is_chosen]
    if len(chosen) > 1:
        raise refused(
            f"conflicting credentials for {service}: {' and '.join(chosen)} were given; give only one of them"
        )
    return chosen[0] if chosen else None


def chosen(
    service: str,
    static: Mapping[str, object],
    *,
    anonymous: bool | None,
    from_env: bool | None,
    get_credentials: object,
) -> str:
    """The given form of credentials: one of `static`, or "anonymous", "get_credentials" or "from_env".

    It is "from_env" if none is given. Raises `InvalidInputError`, a `ValueError`, if several are
    given, or if only "from_env" is left and is refused.
    """
    wants_environment = None if from_env is None else truth(from_env, "from_env")
    ways = {name: value is not None for name, value in static.items()} | {
        "anonymous": anonymous is not None and truth(anonymous, "anonymous"),
        "from_env": wants_environment is True,
        "get_credentials": get_credentials is not None,
    }
    way = one_way(service, ways)
    if way is None and wants_environment is False:
        raise refused(
            f"from_env is False and no other credentials for {service} are given; pass anonymous=True"
        )
    return way or "from_env"
