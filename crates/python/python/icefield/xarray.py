"""Writing xarray datasets, with or without dask.

`Dataset.to_zarr(session.store, consolidated=False)` works for arrays in memory, and for dask arrays
that threads of this process compute. `to_icechunk` also writes from other processes and machines.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, MutableMapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import xarray
import zarr
from xarray.backends.common import ArrayWriter
from xarray.backends.zarr import ZarrStore

from icefield._checks import truth
from icefield.session import ForkSession, Session
from icefield.store import IcefieldStore

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

__all__ = ["to_icechunk"]

Region: TypeAlias = Mapping[str, slice | Literal["auto"]] | Literal["auto"] | None
ZarrWriteModes: TypeAlias = Literal["w", "w-", "a", "a-", "r+", "r"]

_OLDEST_XARRAY = (2024, 10)
_ALIGN_SINCE = (2025, 6)
# The names that `DataArray.to_zarr` gives, and `open_dataarray` looks for.
_ARRAY_VARIABLE = "__xarray_dataarray_variable__"
_ARRAY_NAME = "__xarray_dataarray_name__"


def _version() -> tuple[int, ...]:
    return tuple(int(part) for part in xarray.__version__.split(".")[:2] if part.isdigit())


def _writers() -> Any:
    """The module of xarray that has the steps of `to_zarr`: `writers`, before late 2025 `api`."""
    try:
        return import_module("xarray.backends.writers")
    except ImportError:
        return import_module("xarray.backends.api")


def is_dask_collection(x: object) -> bool:
    """Whether a value is computed by dask, which need not be installed."""
    graph = getattr(x, "__dask_graph__", None)
    return callable(graph) and graph() is not None


class LazyArrayWriter(ArrayWriter):
    """Collects the arrays to write: those in memory, and those that dask computes."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call,unused-ignore]
        self.eager: list[tuple[Any, Any, Any]] = []

    def add(self, source: Any, target: Any, region: Any = None) -> None:
        """Adds an array: a dask array for later, any other one for `write_eager`."""
        if is_dask_collection(source):
            self.sources.append(source)
            self.targets.append(target)
            self.regions.append(region)
        else:
            self.eager.append((source, target, region))

    def write_eager(self) -> None:
        """Writes the arrays in memory to their targets."""
        eager, self.eager = self.eager, []
        for source, target, region in eager:
            target[region if region else ...] = source


@dataclass
class _XarrayDatasetWriter:
    """Writes a dataset step by step.

    The group, the metadata, arrays in memory, arrays that dask computes.
    """

    dataset: Dataset = field(repr=False)
    store: IcefieldStore = field(kw_only=True)

    safe_chunks: bool = field(kw_only=True, default=True)
    align_chunks: bool = field(kw_only=True, default=False)

    _initialized: bool = field(default=False, repr=False)

    xarray_store: ZarrStore = field(init=False, repr=False)
    writer: LazyArrayWriter = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.store, IcefieldStore):
            raise ValueError(
                "`store` must be the store of a session (session.store), not "
                f"{type(self.store).__name__}"
            )
        if _version() < _OLDEST_XARRAY:
            raise ValueError(
                f"writing needs xarray 2024.10.0 or later, but this is {xarray.__version__}"
            )

    def _open_group(
        self,
        *,
        group: str | None,
        mode: ZarrWriteModes | None,
        append_dim: Hashable | None,
        region: Region,
    ) -> None:
        options: dict[str, Any] = {}
        if _version() >= _ALIGN_SINCE:
            options["align_chunks"] = self.align_chunks
        elif self.align_chunks:
            raise ValueError(
                f"align_chunks needs xarray 2025.6.0 or later, but this is {xarray.__version__}"
            )
        self.xarray_store = ZarrStore.open_group(
            store=self.store,
            group=group,
            mode=_mode(mode, append_dim, region),
            zarr_format=3,
            append_dim=append_dim,
            write_region=region,
            safe_chunks=self.safe_chunks,
            consolidated=False,
            consolidate_on_close=False,
            **options,
        )
        self.dataset = self.xarray_store._validate_and_autodetect_region(self.dataset)

    def write_metadata(self, encoding: Mapping[Any, Any] | None = None) -> None:
        """Creates or resizes the arrays, and writes all attributes."""
        steps = _writers()
        chosen = {} if encoding is None else encoding
        steps._validate_dataset_names(self.dataset)
        self.xarray_store._validate_encoding(chosen)
        self.writer = LazyArrayWriter()
        steps.dump_to_store(self.dataset, self.xarray_store, self.writer, encoding=chosen)
        self._initialized = True

    def write_eager(self) -> None:
        """Writes the arrays that are in memory."""
        self._check_initialized()
        self.writer.write_eager()

    def write_lazy(
        self,
        chunkmanager_store_kwargs: MutableMapping[Any, Any] | None = None,
        split_every: int | None = None,
    ) -> ForkSession:
        """Computes and writes the dask arrays, whose targets are in the store of a fork.

        Returns the merged fork.
        """
        self._check_initialized()
        if not self.writer.sources:
            raise TypeError("there are no dask arrays to write; use `write_eager` alone")
        from icefield.dask import merge_answers
        from icefield.distributed import extract_session

        origin = extract_session(self.writer.targets[0])

        options = {
            **(chunkmanager_store_kwargs or {}),
            "load_stored": False,
            "return_stored": True,
        }
        stored = self.writer.sync(  # type: ignore[no-untyped-call,unused-ignore]
            compute=False, chunkmanager_store_kwargs=options
        )
        return merge_answers(stored, origin, split_every=split_every)

    def _check_initialized(self) -> None:
        if not self._initialized:
            raise ValueError("call `write_metadata` first: it makes the arrays")


def _mode(
    mode: ZarrWriteModes | None, append_dim: Hashable | None, region: Region
) -> ZarrWriteModes:
    """The mode that `Dataset.to_zarr` would use."""
    if mode is None:
        if append_dim is not None:
            return "a"
        return "w-" if region is None else "r+"
    if mode not in ("w", "w-", "a", "a-", "r+"):
        raise ValueError(
            f"`mode` is {mode!r}, but must be 'w', 'w-', 'a', 'a-', 'r+' or None to write"
        )
    if append_dim is not None and mode not in ("a", "a-"):
        raise ValueError(f"append_dim needs mode 'a', 'a-' or None, not {mode!r}")
    if region is not None and mode not in ("a", "a-", "r+"):
        raise ValueError(f"region needs mode 'a', 'a-', 'r+' or None, not {mode!r}")
    return mode


def to_icechunk(
    obj: DataArray | Dataset,
    session: Session,
    *,
    group: str | None = None,
    mode: ZarrWriteModes | None = None,
    safe_chunks: bool = True,
    align_chunks: bool = False,
    append_dim: Hashable | None = None,
    region: Region = None,
    encoding: Mapping[Any, Any] | None = None,
    chunkmanager_store_kwargs: MutableMapping[Any, Any] | None = None,
    split_every: int | None = None,
) -> None:
    """Writes a dataset or data array to a group of a writable session; commit the session
    afterwards.

    Parameters
    ----------
    obj
        The data to write. This process writes variables in memory. Dask variables are computed at once
        by the workers of dask's scheduler, and each task writes to a fork of the session.
    session
        The writable session to which the call adds changes.
    group
        The path of the group in the store, the root if None.
    mode
        As in `Dataset.to_zarr`: "w" replaces the group, "w-" raises if it exists, "a" replaces or
        adds variables, "a-" changes only variables with `append_dim`, "r+" changes values only.
        None stands for "a" with `append_dim`, "r+" with `region`, else "w-".
    safe_chunks
        Whether to refuse dask chunks that share chunks of the stored array, which two tasks would
        write at once.
    align_chunks
        Whether to rechunk the dask arrays so that they share none.
    append_dim
        The dimension to append along; others keep their size.
    region
        The part of existing arrays to write: slices by dimension, or "auto" to find them by
        the coordinates. Every variable must have one of these dimensions.
    encoding
        The encoding of new variables, by name, as in `Dataset.to_zarr`.
    chunkmanager_store_kwargs
        Further arguments for `dask.array.store`.
    split_every
        The number of forks that are merged at a time.
    """
    dataset = _dataset(obj)
    _check_session(session)
    writer = _XarrayDatasetWriter(
        dataset,
        store=session.store,
        safe_chunks=truth(safe_chunks, "safe_chunks"),
        align_chunks=truth(align_chunks, "align_chunks"),
    )
    writer._open_group(group=group, mode=mode, append_dim=append_dim, region=region)
    writer.write_metadata(encoding)
    # Before the fork, so that its tasks see these writes and do not have to return them.
    writer.write_eager()
    if not writer.writer.sources:
        return
    fork = session.fork()
    writer.writer.targets = [
        zarr.open_array(fork.store, path=target.path, mode="r+")
        for target in writer.writer.targets
    ]
    session.merge(writer.write_lazy(chunkmanager_store_kwargs, split_every))


def _check_session(session: object) -> None:
    if isinstance(session, Session):
        return
    if isinstance(session, IcefieldStore):
        raise TypeError(
            "`session` must be a Session, but this is the store of one: pass the session, not its store"
        )
    raise TypeError(
        "`session` must be a Session, as Repository.writable_session makes them, not "
        f"{type(session).__name__}"
    )


def _dataset(obj: DataArray | Dataset) -> Dataset:
    """A dataset as it is; a data array as the dataset that `DataArray.to_zarr` writes."""
    if isinstance(obj, xarray.Dataset):
        return obj
    if not isinstance(obj, xarray.DataArray):
        raise TypeError(f"`obj` must be a Dataset or DataArray, not {type(obj).__name__}")
    if obj.name is not None and obj.name not in obj.coords and obj.name not in obj.dims:
        return obj.to_dataset()
    dataset = obj.to_dataset(name=_ARRAY_VARIABLE)
    if obj.name is not None:
        # A variable cannot have the name of a coordinate: the name goes to an attribute.
        dataset.attrs[_ARRAY_NAME] = obj.name
    return dataset
