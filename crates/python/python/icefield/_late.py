"""What was unpickled is opened at its first use, which may ask a server: in a thread, if an event loop waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from icefield._native import Stream

__all__ = ["OpenedLate"]


class OpenedLate:
    """A class whose objects have no native side yet when they come out of a pickle.

    Their `__getattr__` opens it. Methods that end in `_async` have that done in a thread before anything else, so that the
    event loop goes on meanwhile; asynchronous iterators, with the first item that is asked for.
    """

    _native_side: ClassVar[str]
    """The name of the attribute that is missing until then."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, method in list(vars(cls).items()):
            if name.endswith("_async") and iscoroutinefunction(method):
                setattr(cls, name, _opening_first(method))

    def _begun(self, begin: Callable[[], Stream[Any]]) -> Stream[Any] | Callable[[], Stream[Any]]:
        """The stream that an asynchronous iterator goes over, or how it is begun if that opens this first."""
        return begin() if self._native_side in self.__dict__ else begin


def _opening_first(
    method: Callable[..., Coroutine[Any, Any, Any]],
) -> Callable[..., Coroutine[Any, Any, Any]]:
    @wraps(method)
    async def later(self: OpenedLate, *args: Any, **options: Any) -> Any:
        if self._native_side not in self.__dict__:
            await asyncio.to_thread(getattr, self, self._native_side)
        return await method(self, *args, **options)

    return later
