"""Unpickled objects, which open their native side at the first use. Opening may send requests, so
asynchronous methods await it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import wraps
from inspect import iscoroutinefunction
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from icefield._exceptions import IcechunkError

if TYPE_CHECKING:
    from icefield._native import Stream, Task

__all__ = ["OpenedLate", "forget_lock", "shared"]

_T = TypeVar("_T")
_lock = RLock()


def forget_lock() -> None:
    """Replaces, in a forked child, locks that a thread of the parent may have held."""
    global _lock
    _lock = RLock()


@contextmanager
def shared(
    openings: MutableMapping[Any, Any], key: Hashable, begin: Callable[[], Task[_T]]
) -> Iterator[Task[_T]]:
    """The task that all callers with the same key share. The first caller begins it.

    A failure, or a caller that gives up, removes it, so that the next caller begins a new one.
    Other callers keep waiting.
    """
    with _lock:
        task: Task[_T] | None = openings.get(key)
        if task is None:
            task = openings[key] = begin()
    try:
        yield task
    except BaseException as error:
        # A task that its first caller could not wait for may still succeed.
        if not isinstance(error, IcechunkError) or error.kind != "not-allowed":
            with _lock:
                if openings.get(key) is task:
                    del openings[key]
        raise


class OpenedLate:
    """A class whose unpickled objects have no native side yet.

    `__getattr__` opens the native side, and blocks. Methods whose names end in `_async` await it
    first, so that the event loop keeps running; asynchronous iterators do so at their first item.
    """

    _native_side: ClassVar[str]
    """The name of the attribute that is missing until the native side is open."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, method in list(vars(cls).items()):
            if name.endswith("_async") and iscoroutinefunction(method):
                setattr(cls, name, _connecting(method))

    async def _connect(self) -> None:
        """Opens the native side, which is missing, and sets its attribute."""
        raise NotImplementedError

    def _begun(
        self, begin: Callable[[], Stream[Any]]
    ) -> Stream[Any] | Callable[[], Awaitable[Stream[Any]]]:
        """The stream of an asynchronous iterator, or a function that begins it if the native side
        must be opened first.
        """
        if self._native_side in self.__dict__:
            return begin()

        async def later() -> Stream[Any]:
            if self._native_side not in self.__dict__:
                await self._connect()
            return begin()

        return later


def _connecting(
    method: Callable[..., Coroutine[Any, Any, Any]],
) -> Callable[..., Coroutine[Any, Any, Any]]:
    @wraps(method)
    async def later(self: OpenedLate, *args: Any, **options: Any) -> Any:
        if self._native_side not in self.__dict__:
            await self._connect()
        return await method(self, *args, **options)

    return later
