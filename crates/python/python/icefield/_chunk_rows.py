"""Conversions of chunk references between the columns and values of Python and the rows of the native module.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from icefield._checks import microseconds, text, whole, wholes
from icefield._exceptions import from_native

if TYPE_CHECKING:
    from icefield import _native
    from icefield.virtual import VirtualChunkSpec

__all__ = [
    "ArrayChunks",
    "begin_grid",
    "begin_one",
    "begin_specs",
    "chunk_columns",
]

ArrayChunks: TypeAlias = tuple[
    "np.ndarray[tuple[int, int], np.dtype[np.uint32]]",
    "np.ndarray[tuple[int], np.dtype[np.uint8]]",
    list[str],
    "np.ndarray[tuple[int], np.dtype[np.uint64]]",
    "np.ndarray[tuple[int], np.dtype[np.uint64]]",
    dict[int, bytes],
]
"""Coordinates (n, dimensions), kinds (n,), locations, offsets (n,), lengths (n,), and the bytes of
inline chunks by row."""

Failed: TypeAlias = list[tuple[int, ...]] | None
"""The indices of chunks that no container covers; None if all references were set."""

_LARGEST = 2**64 - 1
_LARGEST_INDEX = 2**32 - 1
_INDEX = re.compile("0|[1-9][0-9]{0,19}")
_KINDS = {"uninitialized": 0, "native": 1, "virtual": 2, "inline": 3}


def chunk_columns(rows: Sequence[tuple[Any, ...]]) -> ArrayChunks:
    """The rows of `Session.chunk_refs` as columns."""
    count = len(rows)
    index, kinds, locations, offsets, lengths, inline = zip(*rows, strict=True)
    return (
        np.asarray(index, dtype=np.uint32).reshape(count, -1),
        np.fromiter((_KINDS[kind] for kind in kinds), np.uint8, count),
        [location or "" for location in locations],
        np.fromiter(offsets, np.uint64, count),
        np.fromiter(lengths, np.uint64, count),
        {at: value.to_bytes() for at, value in enumerate(inline) if value is not None},
    )


def _checksum(value: object, name: str = "checksum") -> str | int | None:
    """An ETag, or the microseconds of a time of modification."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return microseconds(value, name)
    raise TypeError(
        f"`{name}` must be an ETag (a string), a datetime or None, not {type(value).__name__}"
    )


def begin_one(
    session: _native.Session,
    key: str,
    location: str,
    offset: int,
    length: int,
    checksum: str | datetime | None,
    validate: bool,
) -> tuple[_native.Task[list[int] | None], Callable[[list[int] | None], None]]:
    """Sets the reference of the chunk at a key such as `group/array/c/0/1`."""
    path, index = _chunk_of(text(key, "key"))
    task = session.set_virtual_refs(
        path,
        index,
        [text(location, "location")],
        [whole(offset, "offset", "invalid-virtual-ref", 0, _LARGEST)],
        [whole(length, "length", "invalid-virtual-ref", 0, _LARGEST)],
        [_checksum(checksum)],
        bool(validate),
    )

    def finish(failed: list[int] | None) -> None:
        if failed:
            raise from_native(
                "no-container-for-virtual-chunk",
                f"no virtual chunk container covers {location!r}; add one to the configuration "
                "of the repository "
                "(`config.set_virtual_chunk_container`), or pass validate_container=False",
            )

    return task, finish


def _chunk_of(key: str) -> tuple[str, list[int]]:
    """The path of the array, and the index of the chunk, of a chunk key."""
    parts = key.split("/")
    if parts[-1] == "zarr.json":
        raise from_native(
            "not-allowed", f"{key!r} is a metadata document, which cannot be a virtual reference"
        )
    at = len(parts) - 1
    while at >= 0 and _INDEX.fullmatch(parts[at]):
        at -= 1
    if at < 0 or parts[at] != "c" or "" in parts:
        raise from_native(
            "invalid-key",
            f"{key!r} is not the key of a chunk; such keys look like 'group/array/c/0/1', without a `/` at either end "
            "and without leading zeros",
        )
    index = [
        whole(int(part), f"an index in {key!r}", "invalid-chunk-index", 0, _LARGEST_INDEX)
        for part in parts[at + 1 :]
    ]
    return "/" + "/".join(parts[:at]), index


def begin_specs(
    session: _native.Session, path: str, chunks: Iterable[VirtualChunkSpec], validate: bool
) -> tuple[_native.Task[list[int] | None], Callable[[list[int] | None], Failed]]:
    """Sets the references that a list of `VirtualChunkSpec` describes."""
    specs = list(chunks)
    index: list[tuple[int, ...]] = []
    checksums: list[str | int | None] = []
    for spec in specs:
        if not hasattr(spec, "location"):
            raise TypeError(
                f"`chunks` must be VirtualChunkSpec objects, not {type(spec).__name__}"
            )
        index.append(
            tuple(wholes(spec.index, "index", "invalid-chunk-index", 0, _LARGEST_INDEX))
        )
        etag = spec.etag_checksum
        checksums.append(
            etag
            if etag is not None
            else _checksum(spec.last_updated_at_checksum, "last_updated_at_checksum")
        )
    dimensions = {len(it) for it in index}
    if len(dimensions) > 1:
        raise from_native(
            "invalid-chunk-index",
            f"the indices of the chunks of {path!r} have different lengths: {sorted(dimensions)}",
        )
    task = session.set_virtual_refs(
        text(path, "array_path"),
        [number for it in index for number in it],
        [text(spec.location, "location") for spec in specs],
        [whole(spec.offset, "offset", "invalid-virtual-ref", 0, _LARGEST) for spec in specs],
        [whole(spec.length, "length", "invalid-virtual-ref", 0, _LARGEST) for spec in specs],
        checksums,
        bool(validate),
    )

    def finish(failed: list[int] | None) -> Failed:
        return [index[at] for at in failed] if failed else None

    return task, finish


def begin_grid(
    session: _native.Session,
    path: str,
    grid: Iterable[int],
    locations: Sequence[str],
    offsets: object,
    lengths: object,
    validate: bool,
    first: Iterable[int] | None,
    checksum: datetime | str | None,
) -> tuple[_native.Task[list[int] | None], Callable[[list[int] | None], Failed]]:
    """Sets the references of a whole block of the chunk grid, given in C order.

    An empty location skips its chunk.
    """
    shape = wholes(grid, "chunk_grid_shape", "invalid-chunk-index", 0, _LARGEST_INDEX)
    starts, sizes = _column(offsets, "offsets"), _column(lengths, "lengths")
    count = math.prod(shape)
    if not len(locations) == len(starts) == len(sizes):
        raise ValueError(
            f"locations, offsets, and lengths must have the same length, not {len(locations)}, "
            f"{len(starts)} and "
            f"{len(sizes)}"
        )
    if count != len(starts):
        raise ValueError(f"product of chunk_grid_shape ({count}) != array length ({len(starts)})")
    corner = (
        [0] * len(shape)
        if first is None
        else wholes(first, "arr_offset", "invalid-chunk-index", 0, _LARGEST_INDEX)
    )
    if len(corner) != len(shape):
        raise ValueError(
            f"arr_offset length ({len(corner)}) != chunk_grid_shape length ({len(shape)})"
        )
    for size, start in zip(shape, corner, strict=True):
        if size + start > _LARGEST_INDEX + 1:
            raise from_native(
                "invalid-chunk-index",
                f"arr_offset {corner} and chunk_grid_shape {shape} reach beyond 2**32 chunks",
            )

    chosen: Sequence[str] = locations
    index = np.indices(shape, dtype=np.uint32).reshape(len(shape), count).T
    index = np.ascontiguousarray(index + np.asarray(corner, dtype=np.uint32))
    if "" in locations:
        kept = np.fromiter((location != "" for location in locations), bool, count)
        index, starts, sizes = index[kept], starts[kept], sizes[kept]
        chosen = [location for location in locations if location != ""]
    mark = _checksum(checksum)
    task = session.set_virtual_refs(
        text(path, "array_path"),
        np.ascontiguousarray(index).reshape(-1).data,
        chosen,
        np.ascontiguousarray(starts).data,
        np.ascontiguousarray(sizes).data,
        None if mark is None else [mark] * len(chosen),
        bool(validate),
    )

    def finish(failed: list[int] | None) -> Failed:
        return [tuple(int(it) for it in index[at]) for at in failed] if failed else None

    return task, finish


def _column(values: object, name: str) -> np.ndarray[Any, np.dtype[np.uint64]]:
    if (
        not isinstance(values, np.ndarray)
        or values.dtype != np.uint64
        or values.ndim != 1
    ):
        given = (
            f"an array of {values.dtype} with {values.ndim} dimensions"
            if isinstance(values, np.ndarray)
            else type(values).__name__
        )
        raise TypeError(f"`{name}` must be a 1-d numpy array of uint64, not {given}")
    return values
