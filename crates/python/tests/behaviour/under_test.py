"""The module under test, chosen by the environment, and how it is called without an event loop.

`ICEFIELD_PYTHON_UNDER_TEST` names the module: `icefield` (default) or `icechunk`, the reference
that this suite was recorded with. `ICEFIELD_PYTHON_SPEC_VERSION` (default 1) is the format version of the
repositories. The module is typed as `Any` here and nowhere else, since the cases
must read the same for both.
"""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

SPEC_VERSION = int(os.environ.get("ICEFIELD_PYTHON_SPEC_VERSION", "1"))
MODULE = os.environ.get("ICEFIELD_PYTHON_UNDER_TEST", "icefield")
ic: Any = importlib.import_module(MODULE)

T = TypeVar("T")


def in_version(first: T, second: T) -> T:
    """What is expected of a repository of the format version that is chosen, 1 or 2."""
    return {1: first, 2: second}[SPEC_VERSION]


NO_SNAPSHOT = in_version(
    ("StorageError", "object-not-found"), ("SnapshotNotFoundError", "snapshot-not-found")
)
"""The error for the id of a snapshot that does not exist: a file that is missing, or an id that no list of snapshots has."""
TAG_IS_GONE = in_version("tag-already-exists", "tag-previously-deleted")
"""The kind of the error for a new tag whose name a deleted one had."""
BRANCH_IS_TAKEN = in_version(
    ("ConflictError", "branch-update-conflict"), ("AlreadyExistsError", "branch-already-exists")
)
"""The error for a new branch whose name is taken."""


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in an event loop of its own."""
    return asyncio.run(work)


async def _collect(items: AsyncIterator[T]) -> list[T]:
    return [item async for item in items]


def collect(start: Any) -> list[Any]:
    """All items of the asynchronous iterator that `start()` gives, started within the loop."""

    async def work() -> list[Any]:
        return await _collect(start())

    return run(work())


@contextmanager
def raises(name: str, kind: str | None = None, match: str | None = None) -> Iterator[Any]:
    """Expect an error whose public class is `name`, with this kind, and text like `match`.

    The class is that of the error or, where it is not public, the nearest of its bases that is.
    Yields the `pytest.ExceptionInfo`, for cases that look at the fields of the error.
    """
    wanted = getattr(ic, name)
    with pytest.raises(wanted, match=match) as caught:
        yield caught
    public = next(
        kind for kind in type(caught.value).__mro__ if getattr(ic, kind.__name__, None) is kind
    )
    assert public is wanted, f"{public} instead of {wanted}"
    if kind is not None:
        assert caught.value.kind == kind
