"""Iterators over the batches of native streams."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from icefield._native import Stream, Task

__all__ = ["AsyncCloseableIterator", "CloseableIterator"]

_T_co = TypeVar("_T_co", covariant=True)


def _unchanged(item: Any) -> Any:
    return item


class _Items(Generic[_T_co]):
    """The fetched items of a stream that the iterator has not returned yet, and the running fetch."""

    __slots__ = ("_batches", "_begin", "_convert", "_fetched", "_stream", "_under_way")

    def __init__(
        self,
        stream: Stream[Any] | Callable[[], Awaitable[Stream[Any]]],
        convert: Callable[[Any], _T_co] | None = None,
        *,
        batches: bool = False,
    ) -> None:
        """With `batches`, each batch is one item.

        Only asynchronous iterators may begin the stream later.
        """
        self._batches = batches
        self._begin: Callable[[], Awaitable[Stream[Any]]] | None = stream if callable(stream) else None
        self._stream: Stream[Any] | None = None if callable(stream) else stream
        self._convert: Callable[[Any], _T_co] = convert or _unchanged
        self._fetched: deque[Any] = deque()
        self._under_way: Task[list[Any] | None] | None = None

    def _fetch(self) -> Task[list[Any] | None] | None:
        """The running fetch, or a new one; None at the end."""
        if self._under_way is None and self._stream is not None:
            self._under_way = self._stream.next()
        return self._under_way

    def _accept(self, task: Task[list[Any] | None], batch: list[Any] | None) -> None:
        """Takes the items of a fetch once, whichever caller waited for it."""
        if self._under_way is not task:
            return
        self._under_way = None
        if batch is None:
            self._stream = None
        elif self._batches:
            self._fetched.append(batch)
        else:
            self._fetched.extend(batch)

    def _fail(self, task: Task[list[Any] | None]) -> None:
        if self._under_way is task:
            self._under_way = None
            self._stream = None

    def _close(self) -> None:
        stream, self._stream = self._stream, None
        self._begin = self._under_way = None
        self._fetched.clear()
        if stream is not None:
            stream.close()


class AsyncCloseableIterator(_Items[_T_co], AsyncIterator[_T_co]):
    """An asynchronous iterator that can be closed before its end, by `aclose()`.

    A cancelled `__anext__` loses no item: the fetch goes on, and the next call takes its items.
    """

    __slots__ = ()

    def __aiter__(self) -> AsyncCloseableIterator[_T_co]:
        return self

    async def __anext__(self) -> _T_co:
        while not self._fetched:
            if self._begin is not None:
                await self._begin_stream(self._begin)
            task = self._fetch()
            if task is None:
                raise StopAsyncIteration
            try:
                batch = await task
            except Exception:
                self._fail(task)
                raise
            self._accept(task, batch)
        return self._convert(self._fetched.popleft())

    async def _begin_stream(self, begin: Callable[[], Awaitable[Stream[Any]]]) -> None:
        """Begins the stream. After a failure or a cancellation, the next call tries again."""
        stream = await begin()
        if self._begin is begin:
            self._begin, self._stream = None, stream
        else:
            # Closed meanwhile, or begun by another waiting caller.
            stream.close()

    async def aclose(self) -> None:
        """Ends the iteration and releases its resources. Further calls have no effect."""
        self._close()


class CloseableIterator(_Items[_T_co], Iterator[_T_co]):
    """The synchronous twin of `AsyncCloseableIterator`."""

    __slots__ = ()

    def __iter__(self) -> CloseableIterator[_T_co]:
        return self

    def __next__(self) -> _T_co:
        if not self._fetched:
            self._fill()
        if not self._fetched:
            raise StopIteration
        return self._convert(self._fetched.popleft())

    def _fill(self) -> None:
        """Fetches the first items, so that an error is raised at once."""
        while not self._fetched:
            task = self._fetch()
            if task is None:
                return
            try:
                batch = task.wait()
            except BaseException:
                self._fail(task)
                raise
            self._accept(task, batch)

    def close(self) -> None:
        """Ends the iteration and releases its resources. Further calls have no effect."""
        self._close()
