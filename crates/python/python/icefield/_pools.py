"""Pools of tasks: the workers of dask, or any executor.

Arguments and results of tasks are pickled, unless the tasks run in threads of this process. A task
may run more than once, for example when a worker of dask dies; the result of one run is used, once.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["DaskPool", "ExecutorPool", "Pool"]

Calls: TypeAlias = Sequence[tuple[Any, ...]]
"""The arguments of each task."""

_MERGED_AT_ONCE = 8


class Pool(Protocol):
    """A pool that runs tasks concurrently."""

    @property
    def width(self) -> int:
        """The number of tasks that run concurrently."""
        ...

    def results(self, name: str, function: Callable[..., Any], calls: Calls) -> list[Any]:
        """The results of the tasks, in order."""
        ...

    def merged(
        self,
        name: str,
        function: Callable[..., Any],
        calls: Calls,
        merge: Callable[..., Any],
        take: Callable[[Any], None],
    ) -> None:
        """Passes the results of the tasks to `take`, one by one or merged by `merge`."""
        ...


class ExecutorPool:
    """A pool on an executor. Results arrive in this process one by one."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @property
    def width(self) -> int:
        known = getattr(self._executor, "_max_workers", None)
        return known if isinstance(known, int) and known > 0 else os.cpu_count() or 1

    def results(self, name: str, function: Callable[..., Any], calls: Calls) -> list[Any]:
        futures = [self._executor.submit(function, *call) for call in calls]
        try:
            return [future.result() for future in futures]
        finally:
            _cancel(futures)

    def merged(
        self,
        name: str,
        function: Callable[..., Any],
        calls: Calls,
        merge: Callable[..., Any],
        take: Callable[[Any], None],
    ) -> None:
        left: set[Future[Any]] = {self._executor.submit(function, *call) for call in calls}
        try:
            while left:
                # Drops the reference to a result that was taken.
                done, left = wait(left, return_when=FIRST_COMPLETED)
                while done:
                    take(done.pop().result())
        finally:
            _cancel(left)


def _cancel(futures: Sequence[Future[Any]] | set[Future[Any]]) -> None:
    for future in futures:
        future.cancel()


class DaskPool:
    """A pool on the workers of dask. Each task has a key of its own, and the workers merge the results in a tree."""

    def __init__(self, client: Client) -> None:
        if client.asynchronous:
            raise TypeError(
                "the client of dask is asynchronous, and this call waits for its workers: pass a client that was made with "
                "asynchronous=False"
            )
        self._client = client

    @property
    def width(self) -> int:
        threads: dict[str, int] = self._client.nthreads()
        return max(1, sum(threads.values()))

    def results(self, name: str, function: Callable[..., Any], calls: Calls) -> list[Any]:
        futures = self._begun(name, function, calls)
        try:
            found: list[Any] = self._client.gather(futures)
        except BaseException:
            self._client.cancel(futures)
            raise
        return found

    def merged(
        self,
        name: str,
        function: Callable[..., Any],
        calls: Calls,
        merge: Callable[..., Any],
        take: Callable[[Any], None],
    ) -> None:
        level = self._begun(name, function, calls)
        while len(level) > 1:
            groups = range(0, len(level), _MERGED_AT_ONCE)
            # Drops the futures of the level below, so that workers release merged results.
            level = self._begun(
                "merge", merge, [tuple(level[at : at + _MERGED_AT_ONCE]) for at in groups]
            )
        for last in level:
            try:
                found = last.result()
            except BaseException:
                # No other caller waits for the tasks below.
                self._client.cancel([last])
                raise
            take(found)

    def _begun(self, name: str, function: Callable[..., Any], calls: Calls) -> list[Any]:
        operation = f"icefield-{name}-{uuid.uuid4().hex}"
        return [
            self._client.submit(function, *call, key=(operation, number), pure=False)
            for number, call in enumerate(calls)
        ]
