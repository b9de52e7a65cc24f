"""Conversions of the arguments of sessions for the native module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from icefield import _native
from icefield._answers import ForkAnswer
from icefield._checks import text, wholes
from icefield._exceptions import from_native
from icefield._values import ChunkType

__all__ = [
    "absolute",
    "chunk_type",
    "optional_placing",
    "placing",
    "refuse_pickling",
    "returned_forks",
    "solver_document",
]


def refuse_pickling(what: str) -> NoReturn:
    """Raises: a writable session has one owner, so writes to a copy elsewhere would be lost."""
    raise ValueError(
        f"{what} cannot be pickled, because the writes of a copy would not come back. You "
        "must opt-in to pickle writable sessions in a distributed context using Session.fork(), "
        "and merge the forks afterwards. To write a dask-backed xarray dataset, use "
        "icefield.xarray.to_icechunk instead of Dataset.to_zarr. To read only, pickle a session "
        "of Repository.readonly_session."
    )


def absolute(path: object, name: str) -> str:
    """The path of a node, from the root."""
    value = text(path, name)
    if not value.startswith("/"):
        raise from_native(
            "invalid-path",
            f"`{name}` is {value!r}, but the path must start with a `/` character, as in "
            "'/group/array'",
        )
    return value


def chunk_type(name: str) -> ChunkType:
    """The kind of a chunk by its native name."""
    return ChunkType[name]


def solver_document(solver: object, name: str) -> str:
    """The native form of a conflict solver."""
    from icefield.conflicts import ConflictSolver

    if not isinstance(solver, ConflictSolver):
        raise TypeError(
            f"`{name}` must be a ConflictSolver, such as ConflictDetector() or "
            "BasicConflictSolver(), not "
            f"{type(solver).__name__}"
        )
    return solver._to_document()


def returned_forks(others: Sequence[object]) -> list[_native.Session | bytes]:
    """The forks and answers to merge, each fork once: forks of one process may share a session."""
    from icefield import session as sessions

    returned: list[_native.Session | bytes] = []
    for other in others:
        if isinstance(other, ForkAnswer | sessions.ForkSession):
            item = other._returned()
        elif isinstance(other, sessions.Session):
            item = other._session
        else:
            raise TypeError(
                f"`merge` takes forked sessions and their answers, not {type(other).__name__}; pass "
                "them one by one: merge(*forks)"
            )
        if not any(item is known for known in returned):
            returned.append(item)
    return returned


def placing(
    function: Callable[[Iterable[int]], Iterable[int] | None], name: str
) -> Callable[[list[int]], Sequence[int] | None]:
    """The function of a caller, with checked results."""
    if not callable(function):
        raise TypeError(f"`{name}` must be a function, not {type(function).__name__}")

    def place(index: list[int]) -> Sequence[int] | None:
        found = function(index)
        if found is None:
            return None
        return wholes(found, f"a result of `{name}`", "invalid-chunk-index", -(2**63))

    return place


def optional_placing(
    function: Callable[[Iterable[int]], Iterable[int] | None] | None,
) -> Callable[[list[int]], Sequence[int] | None] | None:
    """The same as `placing`, for an optional function."""
    return None if function is None else placing(function, "backward")
