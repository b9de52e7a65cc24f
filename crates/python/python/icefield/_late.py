"""What was unpickled is opened at its first use, which may ask a server: by an `await`, if an event loop waits for it."""

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
    """Lets go, in a forked child, of what a thread of its parent may have held."""
    global _lock
    _lock = RLock()


@contextmanager
def shared(
    openings: MutableMapping[Any, Any], key: Hashable, begin: Callable[[], Task[_T]]
) -> Iterator[Task[_T]]:
    """The task that all wait for who want the same; the first of them begins it.

    Who fails or gives up forgets it, so that the next one begins anew. Others wait on.
    """
    with _lock:
        task: Task[_T] | None = openings.get(key)
        if task is None:
            task = openings[key] = begin()
    try:
        yield task
    except BaseException as error:
        # What must not be waited for where it was asked for may be about to end well.
        if not isinstance(error, IcechunkError) or error.kind != "not-allowed":
            with _lock:
                if openings.get(key) is task:
                    del openings[key]
        raise


class OpenedLate:
    """A class whose objects have no native side yet when they come out of a pickle.

    Their `__getattr__` opens it, and waits. Methods whose names end in `_async` await that before
    anything else, so that the event loop goes on meanwhile; asynchronous iterators do so with the
    first item that is asked for.
    """

    _native_side: ClassVar[str]
    """The name of the attribute that is missing until then."""

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
        """The stream of an asynchronous iterator, or how it is begun if that opens this first."""
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
