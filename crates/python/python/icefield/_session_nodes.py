"""The methods of a session for nodes and chunks: ids, listings, and moves."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Literal

from icefield import _native
from icefield._changes import changing
from icefield._checks import whole, wholes
from icefield._iterators import AsyncCloseableIterator
from icefield._late import OpenedLate
from icefield._progress import Progress, told
from icefield._repository.exchange_options import Lengths, rechunk_document
from icefield._session_input import absolute, optional_placing, placing
from icefield._session_input import chunk_type as named_chunk_type
from icefield._values.enums import ChunkType
from icefield._values.rechunk import RechunkReport

_LARGEST_INDEX = 2**32 - 1


def _rechunking(
    path: str,
    chunks: Lengths | None,
    shards: Lengths | Literal["none"] | None,
    codec: str | None,
) -> str:
    document = rechunk_document(
        {"chunks": chunks, "shards": shards, "codec": codec}, absolute(path, "path")
    )
    return json.dumps(document)


class _Nodes(OpenedLate):
    _native_side = "_session"
    _session: _native.Session
    _changing: AbstractContextManager[None]

    def get_node_id(self, path: str) -> str:
        """The id of the group or array at a path such as `/group/array`."""
        return self._session.node_id(absolute(path, "path"))

    async def get_node_id_async(self, path: str) -> str:
        """The asynchronous form of `get_node_id`."""
        return self._session.node_id(absolute(path, "path"))

    @changing
    def move(self, from_path: str, to_path: str) -> None:
        """Moves a group or array, with everything below it, to another path.

        Reads and writes no chunk. The parent of the new path must be a group, and the new path must
        be free. Needs a repository of format version 2.
        """
        self._session.move_node(
            absolute(from_path, "from_path"), absolute(to_path, "to_path")
        ).wait()

    @changing
    async def move_async(self, from_path: str, to_path: str) -> None:
        """The asynchronous form of `move`."""
        await self._session.move_node(
            absolute(from_path, "from_path"), absolute(to_path, "to_path")
        )

    @changing
    def rechunk(
        self,
        path: str,
        *,
        chunks: Lengths | None = None,
        shards: Lengths | Literal["none"] | None = None,
        codec: str | None = None,
        progress: Progress | None = None,
    ) -> RechunkReport:
        """Changes the chunks, shards or codec of an array, without a commit; see `Repository.rechunk`.

        Uncommitted edits of the array are included. After an error, the session holds a part of the
        changes: discard them. To rebase the session, use `StrictConflictDetector`:
        `ConflictDetector` overlooks concurrent writes to the array where this session wrote no
        chunk.
        """
        what = _rechunking(path, chunks, shards, codec)
        with told(progress) as tell:
            document = _native.rechunk_in_session(self._session, what, tell).wait()
        return RechunkReport._of(json.loads(document))

    @changing
    async def rechunk_async(
        self,
        path: str,
        *,
        chunks: Lengths | None = None,
        shards: Lengths | Literal["none"] | None = None,
        codec: str | None = None,
        progress: Progress | None = None,
    ) -> RechunkReport:
        """The asynchronous form of `rechunk`."""
        what = _rechunking(path, chunks, shards, codec)
        async with told(progress) as tell:
            document = await _native.rechunk_in_session(self._session, what, tell)
        return RechunkReport._of(json.loads(document))

    @changing
    def reindex_array(
        self,
        array_path: str,
        forward: Callable[[Iterable[int]], Iterable[int] | None],
        backward: Callable[[Iterable[int]], Iterable[int] | None] | None = None,
    ) -> None:
        """Moves the chunks of an array within its grid, without reading or writing them.

        `forward` gets the index of each written chunk and returns its new index, None to leave it.
        Without `backward`, the old indices keep their chunks, too. With `backward`, the inverse of
        `forward`, an index whose source has no chunk is cleared. If a function raises, the
        exception is raised here and nothing changes.
        """
        self._session.reindex_array(
            absolute(array_path, "array_path"), placing(forward, "forward"), optional_placing(backward)
        ).wait()

    @changing
    def shift_array(self, array_path: str, chunk_offset: Iterable[int]) -> None:
        """Shifts all chunks of an array by whole chunks. Chunks that leave the grid are dropped,
        and vacated indices are cleared.

        The array keeps its shape. `chunk_offset` has one number per dimension and may be negative.
        """
        offsets = wholes(
            chunk_offset, "chunk_offset", "invalid-chunk-index", -(2**63), 2**63 - 1
        )
        self._session.shift_array(absolute(array_path, "array_path"), offsets).wait()

    def all_virtual_chunk_locations(self) -> list[str]:
        """The locations of all virtual chunks, one per chunk."""
        locations: list[str] = []
        stream = self._session.virtual_locations()
        while (batch := stream.next().wait()) is not None:
            locations += batch
        return locations

    async def all_virtual_chunk_locations_async(self) -> list[str]:
        """The asynchronous form of `all_virtual_chunk_locations`."""
        return [it async for it in AsyncCloseableIterator[str](self._session.virtual_locations())]

    def chunk_coordinates(
        self, array_path: str, batch_size: int = 1000
    ) -> AsyncIterator[tuple[int, ...]]:
        """The indices of all written chunks of an array.

        `batch_size` of them are fetched at once.
        """
        batch = whole(batch_size, "batch_size", "invalid-commit-configuration", 1, 2**32 - 1)
        path = absolute(array_path, "array_path")
        rows = self._begun(lambda: self._session.chunk_coordinates(path, batch))
        return AsyncCloseableIterator(rows, tuple)

    def chunk_type(self, array_path: str, chunk_coordinates: Sequence[int]) -> ChunkType:
        """The storage of a chunk.

        It is uninitialized (not written), native (in an object of the repository), virtual (in a
        foreign object), or inline.
        """
        return named_chunk_type(self._begin_chunk_type(array_path, chunk_coordinates).wait())

    async def chunk_type_async(
        self, array_path: str, chunk_coordinates: Sequence[int]
    ) -> ChunkType:
        """The asynchronous form of `chunk_type`."""
        return named_chunk_type(await self._begin_chunk_type(array_path, chunk_coordinates))

    def _begin_chunk_type(self, path: str, index: Sequence[int]) -> _native.Task[str]:
        return self._session.chunk_type(
            absolute(path, "array_path"),
            wholes(index, "chunk_coordinates", "invalid-chunk-index", 0, _LARGEST_INDEX),
        )
