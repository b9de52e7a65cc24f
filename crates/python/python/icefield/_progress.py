"""Progress of long work: reported to a function, or shown by a bar such as those of tqdm."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, TypeAlias, runtime_checkable

__all__ = ["Bar", "Progress", "Tell", "told"]


@runtime_checkable
class Bar(Protocol):
    """The interface of `tqdm.tqdm` objects, and of other bars."""

    total: Any
    n: Any

    def update(self, n: int = 1) -> object: ...
    def refresh(self) -> object: ...


Tell: TypeAlias = Callable[[str, int, int | None], object]
Progress: TypeAlias = Tell | Bar
"""A function `progress(stage, done, total)`, called at most twenty times a second and at the end of
each stage, with None for an unknown total; or a bar such as `tqdm.tqdm()`, whose `total` and `n`
are kept up to date.

The function is called on a thread of its own, and may use this package. The work does not wait for
it: a slow function misses intermediate reports, but gets the end of each stage. All calls are over
when the method returns. Its first exception goes to `threading.excepthook`, and the work goes on.
"""

_Event: TypeAlias = tuple[str, int, int | None]


class told:  # noqa: N801 (it reads as a function: `with told(progress) as tell`)
    """The function for the native module during one call, which only records reports; or None.

    A thread passes the recorded reports on. The native module calls from its working threads, where
    a function that waits for other work would deadlock. The end of the call waits for that thread,
    unless the call was interrupted or cancelled.
    """

    def __init__(self, progress: Progress | None) -> None:
        self._tell = _function(progress)
        self._events: deque[_Event] = deque()
        self._changed = threading.Condition()
        self._over = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Tell | None:
        if self._tell is None:
            return None
        self._thread = threading.Thread(
            target=self._hand_on, args=(self._tell,), name="icefield-progress", daemon=True
        )
        self._thread.start()
        return self._note

    def __exit__(
        self, _: object, error: BaseException | None, __: TracebackType | None
    ) -> None:
        if self._end(error) and self._thread is not None:
            self._thread.join()

    async def __aenter__(self) -> Tell | None:
        return self.__enter__()

    async def __aexit__(
        self, _: object, error: BaseException | None, __: TracebackType | None
    ) -> None:
        if self._end(error) and self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def _note(self, stage: str, done: int, total: int | None) -> None:
        with self._changed:
            if self._over:
                return
            if self._events and self._events[-1][0] == stage:
                # Reports that were not passed on yet are outdated.
                self._events.pop()
            self._events.append((stage, done, total))
            self._changed.notify()

    def _end(self, error: BaseException | None) -> bool:
        """Accepts no more events. Returns whether the caller waits for the remaining ones."""
        interrupted = error is not None and not isinstance(error, Exception)
        with self._changed:
            self._over = True
            if interrupted:
                self._events.clear()
            self._changed.notify()
        return not interrupted

    def _hand_on(self, tell: Tell) -> None:
        reported = False
        while True:
            with self._changed:
                while not self._events and not self._over:
                    self._changed.wait()
                if not self._events:
                    return
                event = self._events.popleft()
            try:
                tell(*event)
            except BaseException:
                # One report is enough: a function that fails for one event fails for most.
                if not reported:
                    reported = True
                    threading.excepthook(
                        threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread()))
                    )


def _function(progress: Progress | None) -> Tell | None:
    if progress is None:
        return None
    if isinstance(progress, Bar) and not isinstance(progress, type):
        return _driven(progress)
    if callable(progress) and not isinstance(progress, type):
        return progress
    raise TypeError(
        "`progress` must be a function of (stage, done, total) or a bar such as tqdm.tqdm(), not "
        f"{progress.__name__ if isinstance(progress, type) else type(progress).__name__}"
    )


def _driven(bar: Bar) -> Tell:
    def show(stage: str, done: int, total: int | None) -> None:
        bar.total = total
        describe = getattr(bar, "set_description", None)
        if describe is not None:
            describe(stage, refresh=False)
        # Each stage counts from zero.
        bar.n = done
        bar.refresh()

    return show
