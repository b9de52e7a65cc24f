"""Tracking whether a fork has changed since it was serialized.

A graph of thousands of tasks pickles one fork thousands of times, and would serialize its changes
each time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, TypeVar, cast

__all__ = ["NOT_KEPT", "Changes", "changing"]

_T = TypeVar("_T", bound=Callable[..., Any])

NOT_KEPT: AbstractContextManager[None] = nullcontext()
"""For sessions that are not pickled with their changes."""


class Changes(AbstractContextManager[None]):
    """A context around each change, from any thread. The serialized bytes are kept until the next change.

    An interrupted change may still be running, so no bytes are kept after one.
    """

    # Every operation here is a single step and needs no lock, which a forked child could inherit locked.

    def __init__(self) -> None:
        self._under_way: list[None] = []
        self._epoch = object()
        self._kept: tuple[object, bytes] | None = None

    def __enter__(self) -> None:
        self._under_way.append(None)
        self._epoch, self._kept = object(), None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._epoch, self._kept = object(), None
        if kind is None or issubclass(kind, Exception):
            self._under_way.pop()

    def kept(self) -> bytes | None:
        """The kept bytes, if they are up to date."""
        kept = self._kept
        if kept is None or kept[0] is not self._epoch or self._under_way:
            return None
        return kept[1]

    def keeping(self, make: Callable[[], bytes]) -> bytes:
        """Serializes the fork, and keeps the bytes unless it changed meanwhile."""
        epoch = self._epoch
        made = make()
        if not self._under_way and epoch is self._epoch:
            self._kept = (epoch, made)
        return made


def changing(method: _T) -> _T:
    """A method that changes its session, whose `_changing` it enters."""
    if method.__code__.co_flags & 0x80:  # a coroutine function

        @wraps(method)
        async def later(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self._changing:
                return await method(self, *args, **kwargs)

        return cast(_T, later)

    @wraps(method)
    def now(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._changing:
            return method(self, *args, **kwargs)

    return cast(_T, now)
