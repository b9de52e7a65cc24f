"""Writing dask arrays, and importing files with dask.

Each task writes to a fork of the session, and the forks are merged in a tree.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import dask.array
import numpy as np

from icefield._answers import Answers, ForkAnswer
from icefield._importing import import_in_shares
from icefield._parts import materialize_in_shares, rechunk_in_shares
from icefield._repository.exchange_options import ImportOptions, RechunkOptions, Sources
from icefield._shares import pool_of
from icefield._values.imports import ImportReport
from icefield._values.rechunk import RechunkReport
from icefield._values.reports import MaterializeReport
from icefield.distributed import extract_session, merge_sessions
from icefield.session import ForkSession, Session

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import zarr
    from dask.array.core import Array
    from distributed import Client
    from zarr.core.metadata import ArrayV3Metadata

__all__ = [
    "import_files",
    "materialize",
    "rechunk",
    "session_merge_reduction",
    "store_dask",
]

SimpleGraph: TypeAlias = Mapping[tuple[str, int], tuple[Any, ...]]
"""Tasks by the names of their results."""

_OLDEST_DASK = (2025, 2)


def import_files(
    sources: Sources,
    session: Session,
    client: Client | None = None,
    executor: Executor | None = None,
    *,
    shares: int | None = None,
    **options: Unpack[ImportOptions],
) -> ImportReport:
    """Imports files into a writable session, on the workers of dask or on an executor. The options are
    those of `Repository.import_files`, but for `branch` and `progress`.

    Workers open the files, which all of them reach under the same paths or URLs: each some of them to
    say what they are, and, once the import is planned here, to copy or refer to their chunks, in a fork
    of the session. A chunk at a seam is put together by one of them. Workers of dask merge their answers
    in a tree, and the last one is merged here, so that only what is committed comes here. By default
    the workers are those of the current client of dask, and there are four `shares` for each of their
    threads, of files that follow one another.

    With a `message` the session is committed, and `ImportReport.snapshot_id` says as what; without,
    that is left to the caller. Until all shares are done the session stays as it was, also after an
    error or Ctrl-C. A share whose worker died, or that was done twice, is in it once.
    """
    return import_in_shares(sources, session, pool_of(client, executor), shares, options)


def materialize(
    session: Session,
    path: str = "/",
    client: Client | None = None,
    executor: Executor | None = None,
    *,
    shares: int | None = None,
    message: str | None = None,
) -> MaterializeReport:
    """Copies the virtual chunks at and below a path into the repository, in a writable session, on the
    workers of dask or on an executor, as `import_files` does. Workers follow references with the access
    that the session's repository was given.

    With a `message` the session is committed, if there is a virtual chunk.
    """
    return materialize_in_shares(session, path, pool_of(client, executor), shares, message)


def rechunk(
    path: str,
    session: Session,
    client: Client | None = None,
    executor: Executor | None = None,
    *,
    shares: int | None = None,
    **options: Unpack[RechunkOptions],
) -> RechunkReport:
    """Gives an array other `chunks`, `shards` or another `codec`, in a writable session, on the workers of
    dask or on an executor, as `import_files` does. The options are those of `Repository.rechunk`, but
    for `branch` and `progress`.

    Shares end where chunks of both layouts do, or hold as much as one process would at a time, so that
    no more chunks are decoded than by one process. Where neither divides the array, it is one share.
    With a `message` the session is committed, by the rules of `StrictConflictDetector`, if the array
    had another layout. After an error the session holds a part, as with `Session.rechunk`: discard its
    changes.
    """
    return rechunk_in_shares(path, session, pool_of(client, executor), shares, options)


def store_dask(
    *,
    sources: list[Array],
    targets: list[zarr.Array[ArrayV3Metadata]],
    regions: list[tuple[slice, ...]] | None = None,
    split_every: int | None = None,
    **store_kwargs: Any,
) -> ForkSession:
    """Writes dask arrays to Zarr arrays in the store of a fork, and returns a fork with all that
    was written.

    It computes at once. Merge the result into the session that was forked, and commit that. Each
    target is written whole, or in its slices of `regions`; parts that two tasks write must be whole
    chunks. The forks of `split_every` tasks are merged at a time. What else is given goes to
    `dask.array.store`, except `compute`, `return_stored`, `load_stored` and `lock`, which are set
    here.
    """
    _check_version()
    for name in ("compute", "return_stored", "load_stored", "lock"):
        if name in store_kwargs:
            raise TypeError(f"store_dask() sets {name!r} itself; leave it out")
    if not sources or not targets:
        raise ValueError(
            "store_dask has nothing to write: pass at least one dask array in `sources`, and the "
            "Zarr array that it goes to in `targets`"
        )
    for target in targets:
        if not isinstance(extract_session(target), ForkSession):
            raise TypeError(
                "the targets of store_dask must be in the store of a fork: open them from "
                "session.fork().store, and "
                "merge the result into the session"
            )
    stored: Any = dask.array.store(  # type: ignore[call-overload,unused-ignore]
        sources=sources,
        targets=targets,  # type: ignore[arg-type,unused-ignore]
        regions=regions,
        compute=False,
        return_stored=True,
        load_stored=False,
        lock=False,
        **store_kwargs,
    )
    return merge_answers(
        stored, extract_session(targets[0]), split_every=split_every, **store_kwargs
    )


def session_merge_reduction(
    arrays: Array | Sequence[Array], *, split_every: int | None, **store_kwargs: Any
) -> ForkSession:
    """Computes arrays whose blocks are Zarr arrays that were written to, and merges the forks these
    are in.
    """
    return merge_sessions(
        *_reduced(arrays, extract_session, merge_sessions_array_kwargs, split_every, store_kwargs)
    )


def merge_answers(
    arrays: Array | Sequence[Array],
    origin: Session,
    *,
    split_every: int | None,
    **store_kwargs: Any,
) -> ForkSession:
    """As `session_merge_reduction`, for arrays in the store of one fork, which is at hand.

    What a task sends back is what it wrote, without what the fork began with.
    """
    found = _reduced(arrays, _answers, _merged_answers, split_every, store_kwargs)
    return Answers.of(found).merged(origin)


def _answers(
    zarray: zarr.Array[ArrayV3Metadata], axis: Any = None, keepdims: Any = None
) -> Answers:
    """The answer of the fork whose store an array is in."""
    session = extract_session(zarray)
    if not isinstance(session, ForkSession):
        raise TypeError("an array was written to the store of a session that is no fork")
    return Answers([ForkAnswer(session)])


def _merged_answers(*answers: Any, axis: Any = None, keepdims: Any = None) -> Answers:
    """Puts answers together."""
    return Answers.of(answers)


def _reduced(
    arrays: Array | Sequence[Array],
    chunk: Callable[..., Any],
    merge: Callable[..., Any],
    split_every: int | None,
    store_kwargs: Mapping[str, Any],
) -> tuple[Any, ...]:
    """What remains of each array whose blocks were written."""
    stored: Sequence[Any] = arrays if isinstance(arrays, list | tuple) else [arrays]
    # One tree for each array: they need not have the same shape.
    trees = [
        _reduction(array)(
            array,
            chunk=computing_meta(chunk),
            aggregate=computing_meta(merge),
            combine=computing_meta(merge),
            name="icefield-merge",
            split_every=split_every,
            concatenate=False,
            keepdims=False,
            dtype=object,
            meta=_placeholder(),
            **store_kwargs,
        )
        for array in stored
    ]
    compute: Callable[..., tuple[Any, ...]] = vars(dask)["compute"]
    return compute(*trees)


def merge_sessions_array_kwargs(
    *sessions: Any, axis: Any = None, keepdims: Any = None
) -> ForkSession:
    """Merges forks, and takes the arguments that dask gives to a step of a reduction."""
    return merge_sessions(*sessions)


def _placeholder() -> np.ndarray[Any, np.dtype[Any]]:
    """What stands for a block of one session while dask finds out types."""
    return np.array([object()], dtype=object)


def computing_meta(func: Callable[..., Any]) -> Callable[..., Any]:
    """A step of a reduction that leaves dask's empty examples alone."""
    return _Step(func)


class _Step:
    """A function that pickles by the name of what it wraps."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs.pop("computing_meta", False):
            return _placeholder()
        return self._function(*args, **kwargs)


def _reduction(array: object) -> Any:
    """The reduction of the library that an array is of."""
    if isinstance(array, dask.array.Array):
        return dask.array.reduction
    other = sys.modules.get("dask_array")
    if other is not None and isinstance(array, other.Array):
        return other.reduction
    raise TypeError(f"Expected a dask array, received {type(array).__name__}")


def _check_version() -> None:
    found: str = vars(dask)["__version__"]
    if tuple(int(part) for part in found.split(".")[:2] if part.isdigit()) < _OLDEST_DASK:
        raise ValueError(f"writing needs dask 2025.2.0 or later, but this is {found}")
