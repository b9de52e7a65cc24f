"""Writing dask arrays, and importing files with dask.

Each task writes to a fork of the session, and the forks are merged in a tree.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, overload

import dask.array
import numpy as np

from icefield._answers import Answers, ForkAnswer
from icefield._checks import truth
from icefield._exporting import export_in_shares
from icefield._importing import import_in_shares, plan_in_shares
from icefield._parts import materialize_in_shares, rechunk_in_shares
from icefield._repository.exchange_options import ImportOptions, RechunkOptions, Sources
from icefield._shares import pool_of
from icefield._values.imports import ImportPlan, ImportReport
from icefield._values.rechunk import RechunkReport
from icefield._values.reports import ExportReport, MaterializeReport
from icefield.distributed import extract_session, merge_sessions
from icefield.session import ForkSession, Session

if TYPE_CHECKING:
    import os
    from concurrent.futures import Executor

    import zarr
    from dask.array.core import Array
    from distributed import Client
    from zarr.core.metadata import ArrayV3Metadata

__all__ = [
    "export",
    "import_files",
    "materialize",
    "rechunk",
    "session_merge_reduction",
    "store_dask",
]

SimpleGraph: TypeAlias = Mapping[tuple[str, int], tuple[Any, ...]]
"""Tasks by the names of their results."""

_OLDEST_DASK = (2025, 2)


@overload
def import_files(
    sources: Sources,
    session: Session,
    client: Client | None = None,
    executor: Executor | None = None,
    *,
    shares: int | None = None,
    plan: Literal[True],
    **options: Unpack[ImportOptions],
) -> ImportPlan: ...


@overload
def import_files(
    sources: Sources,
    session: Session,
    client: Client | None = None,
    executor: Executor | None = None,
    *,
    shares: int | None = None,
    plan: Literal[False] = False,
    **options: Unpack[ImportOptions],
) -> ImportReport: ...


@overload
def import_files(
    sources: Sources,
    session: Session,
    client: Client | None = None,
    executor: Executor | None = None,
    *,
    shares: int | None = None,
    plan: bool,
    **options: Unpack[ImportOptions],
) -> ImportPlan | ImportReport: ...


def import_files(
    sources: Sources,
    session: Session,
    client: Client | None = None,
    executor: Executor | None = None,
    *,
    shares: int | None = None,
    plan: bool = False,
    **options: Unpack[ImportOptions],
) -> ImportPlan | ImportReport:
    """Imports files into a writable session, on the workers of dask or on an executor. The options
    are those of `Repository.import_files`, except `branch` and `progress`.

    The workers open the files, which all of them must reach under the same paths or URLs. They
    first survey the files; this process plans the import; then they copy the chunks or refer to
    them, each in a fork of the session. One worker assembles a chunk at a seam. The workers of dask
    merge their answers in a tree, and this process merges the last answer. By default, the workers
    are those of the current client of dask, and each of their threads gets four `shares` of
    consecutive files.

    With a `message`, the session is committed as `ImportReport.snapshot_id`; without one, the
    caller commits it. The session does not change until all shares are done, and stays unchanged
    after an error or Ctrl-C. A share that is done twice, for example because a worker died, counts
    once.

    With `plan`, the workers only survey the files, and the plan is returned, as by
    `Repository.import_files`.
    """
    if truth(plan, "plan"):
        return plan_in_shares(sources, session, pool_of(client, executor), shares, options)
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
    """Copies the virtual chunks at and below a path into the repository, in a writable session, on
    the workers of dask or on an executor, as `import_files` does. The workers have the access to
    virtual chunks that the session's repository has.

    With a `message`, the session is committed if there are virtual chunks.
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
    """Changes the `chunks`, `shards` or `codec` of an array in a writable session, on the workers
    of dask or on an executor, as `import_files` does. The options are those of
    `Repository.rechunk`, except `branch` and `progress`.

    Shares end at common chunk boundaries of both layouts, or hold as much as one process would hold
    at a time, so that no more chunks are decoded than by one process. If neither divides the array,
    it is one share. With a `message`, the session is committed by the rules of
    `StrictConflictDetector` if the array had another layout. After an error, the session holds a
    part of the changes, as with `Session.rechunk`: discard them.
    """
    return rechunk_in_shares(path, session, pool_of(client, executor), shares, options)


def export(
    session: Session,
    destination: str | os.PathLike[str],
    client: Client | None = None,
    executor: Executor | None = None,
    *,
    shares: int | None = None,
    format: str = "zarr3",
) -> ExportReport:
    """Writes what a session sees, its uncommitted edits included, to a directory or a bucket, as `zarr3`, `zarr2`
    or `nczarr`, on the workers of dask or on an executor. What is there at the end is what `Repository.export` writes, byte for byte.

    All workers reach the destination under the same path or URL: a directory is on a file system that they share. It is
    filled under a temporary name beside it, and is there whole or not at all; in a bucket, the document of the root comes last. A
    share whose worker died, or that was done twice, is written once more, with the same bytes. A zip file is written in one pass, by
    `Repository.export` alone.

    After an error, or Ctrl-C, the temporary directory is removed; a note of the error says how many objects are left in a bucket.
    """
    return export_in_shares(session, destination, pool_of(client, executor), shares, format)


def store_dask(
    *,
    sources: list[Array],
    targets: list[zarr.Array[ArrayV3Metadata]],
    regions: list[tuple[slice, ...]] | None = None,
    split_every: int | None = None,
    **store_kwargs: Any,
) -> ForkSession:
    """Writes dask arrays to Zarr arrays in the store of a fork, and returns a fork with all writes.

    It computes at once. Merge the result into the session that was forked, and commit that. Each
    target is written whole, or in its slices of `regions`; parts that two tasks write must be whole
    chunks. The forks of `split_every` tasks are merged at a time. Other arguments go to
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
    """Computes arrays whose blocks are written Zarr arrays, and merges the forks of these blocks.
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
    """The same as `session_merge_reduction`, for arrays in the store of one fork of this process.

    A task returns only its own edits, without those that the fork began with.
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
    """Combines answers."""
    return Answers.of(answers)


def _reduced(
    arrays: Array | Sequence[Array],
    chunk: Callable[..., Any],
    merge: Callable[..., Any],
    split_every: int | None,
    store_kwargs: Mapping[str, Any],
) -> tuple[Any, ...]:
    """The reductions of the arrays whose blocks were written."""
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
    """Merges forks. Has the arguments of a reduction step of dask."""
    return merge_sessions(*sessions)


def _placeholder() -> np.ndarray[Any, np.dtype[Any]]:
    """The stand-in for a block of one session while dask infers types."""
    return np.array([object()], dtype=object)


def computing_meta(func: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction step that ignores the empty sample blocks of dask."""
    return _Step(func)


class _Step:
    """A function that pickles by the name of the wrapped function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs.pop("computing_meta", False):
            return _placeholder()
        return self._function(*args, **kwargs)


def _reduction(array: object) -> Any:
    """The reduction of the library of an array."""
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
