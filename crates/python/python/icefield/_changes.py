"""Whether a fork was changed since bytes were made of it.

A graph of thousands of tasks pickles one fork as often, and each pickle would write its changes out again.
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
    """Entered around each change, from any thread. Bytes are kept while nothing changes.

    A change that was interrupted may go on behind the scenes, so that nothing is kept from then on.
    """

    # Whatever is done here in one step needs no lock, which a forked child might get locked.

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
        """The bytes, if they say what is there."""
        kept = self._kept
        if kept is None or kept[0] is not self._epoch or self._under_way:
            return None
        return kept[1]

    def keeping(self, make: Callable[[], bytes]) -> bytes:
        """Makes the bytes anew, and keeps them if nothing changed meanwhile."""
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
