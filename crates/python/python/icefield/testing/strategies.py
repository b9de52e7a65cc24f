"""Hypothesis strategies for configurations, chunk indices and times."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import hypothesis.strategies as st
import zarr

import icefield
from icefield.config import (
    ManifestSplitCondition,
    ManifestSplitDimCondition,
    ManifestSplittingConfig,
    RepositoryConfig,
)
from icefield.repository import Repository
from icefield.storage import Storage

__all__ = [
    "chunk_coordinates",
    "chunk_paths",
    "chunk_slicers",
    "draw_older_than",
    "repository_configs",
    "splitting_configs",
]

_FEW = st.integers(min_value=1, max_value=5)
_LONG_AGO = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


@st.composite
def splitting_configs(
    draw: st.DrawFn, *, arrays: Iterable[zarr.Array[Any]]
) -> ManifestSplittingConfig:
    """Rules of splitting: one for each array, by its name or its path, for some of its dimensions."""
    rules = []
    for array in arrays:
        arrays_of_rule = draw(
            st.sampled_from(
                [
                    ManifestSplitCondition.name_matches(array.path.rpartition("/")[2]),
                    ManifestSplitCondition.path_matches(array.path),
                ]
            )
        )
        names = getattr(array.metadata, "dimension_names", None) or (None,) * array.ndim
        axes = draw(st.lists(st.sampled_from(range(array.ndim)), min_size=1, unique=True))
        dimensions: list[Any] = []
        for axis in axes:
            name = names[axis]
            by_axis = name is None or draw(st.booleans())
            condition: Any = (
                ManifestSplitDimCondition.Axis(axis)
                if by_axis
                else ManifestSplitDimCondition.DimensionName(name or "")
            )
            most = array.shape[axis] + 10
            dimensions.append((condition, draw(st.integers(min_value=1, max_value=most))))
        rules.append((arrays_of_rule, dimensions))
    return ManifestSplittingConfig(rules)


@st.composite
def repository_configs(
    draw: st.DrawFn,
    num_updates_per_repo_info_file: st.SearchStrategy[int] = _FEW,
    inline_chunk_threshold_bytes: st.SearchStrategy[int] | None = None,
    splitting: st.SearchStrategy[ManifestSplittingConfig] | None = None,
    ic_module: ModuleType | None = None,
) -> RepositoryConfig:
    """Configurations with values of the strategies; from the classes of another module, if one is given."""
    module: Any = ic_module or icefield
    given: dict[str, Any] = {}
    if inline_chunk_threshold_bytes is not None:
        given["inline_chunk_threshold_bytes"] = draw(inline_chunk_threshold_bytes)
    if splitting is not None:
        given["manifest"] = module.ManifestConfig(splitting=draw(splitting))
    if hasattr(module.RepositoryConfig, "num_updates_per_repo_info_file"):
        given["num_updates_per_repo_info_file"] = draw(num_updates_per_repo_info_file)
    config: RepositoryConfig = module.RepositoryConfig(**given)
    return config


@st.composite
def chunk_coordinates(draw: st.DrawFn, numblocks: tuple[int, ...]) -> tuple[int, ...]:
    """The index of a chunk in a grid of so many chunks along each dimension."""
    return tuple(draw(st.integers(min_value=0, max_value=count - 1)) for count in numblocks)


@st.composite
def chunk_slicers(
    draw: st.DrawFn, numblocks: tuple[int, ...], chunk_shape: tuple[int, ...]
) -> tuple[slice, ...]:
    """The slices that select one chunk of a grid of chunks of one shape."""
    index = draw(chunk_coordinates(numblocks))
    starts = [place * size for place, size in zip(index, chunk_shape, strict=True)]
    return tuple(
        slice(start, start + size) for start, size in zip(starts, chunk_shape, strict=True)
    )


@st.composite
def chunk_paths(draw: st.DrawFn, numblocks: tuple[int, ...]) -> str:
    """The index of a chunk as the end of its key: `1/0`."""
    return "/".join(str(place) for place in draw(chunk_coordinates(numblocks)))


def draw_older_than(
    data: st.DataObject, storage: Storage, repo: Repository
) -> datetime.datetime:
    """A time for an expiration or a garbage collection: after all snapshots, before all, or just after one of them.

    A snapshot counts as written when its object, that of its transaction log, and the snapshot itself say so, at the
    latest of these times.
    """
    written = {it.key: it.created_at for it in storage.list_objects_metadata(prefix="snapshots")}
    for it in storage.list_objects_metadata(prefix="transactions"):
        if it.key in written:
            written[it.key] = max(written[it.key], it.created_at)
    for key in written:
        try:
            written[key] = max(written[key], repo.lookup_snapshot(key).written_at)
        except icefield.SnapshotNotFoundError:
            continue  # expired: it is no longer part of a history
    times = sorted(written.values(), reverse=True)
    # The number of snapshots may change from one replay to the next, so the choice must not depend on it.
    just_after = st.integers(min_value=0, max_value=255).map(
        lambda place: times[place % len(times)] + _MICROSECOND
    )
    after_all = st.just(times[0] + datetime.timedelta(days=1))
    chosen: datetime.datetime = data.draw(st.one_of(after_all, just_after, st.just(_LONG_AGO)))
    return chosen
