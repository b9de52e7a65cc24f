"""The methods of a store that read and set chunk references."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from icefield._changes import changing
from icefield._checks import text, truth, whole
from icefield._chunk_rows import ArrayChunks, begin_grid, begin_one, begin_specs, chunk_columns
from icefield._iterators import AsyncCloseableIterator
from icefield._late import OpenedLate

if TYPE_CHECKING:
    import numpy as np

    from icefield.virtual import VirtualChunkSpec
    from icefield.session import Session

__all__ = ["ChunkReferences"]


class ChunkReferences(OpenedLate):
    """References to chunks of the arrays of a session.

    Ranges of bytes in other files and objects.
    """

    _native_side = "_store"
    _session: Session

    def _check_writable(self) -> None:
        raise NotImplementedError

    @changing
    def set_virtual_ref(
        self,
        key: str,
        location: str,
        *,
        offset: int,
        length: int,
        checksum: str | datetime | None = None,
        validate_container: bool = True,
    ) -> None:
        """Makes a chunk a range of bytes in another file or object.

        `key` is the key of the chunk (`path/c/0/1`), `location` a URL, `offset` and `length` are in
        bytes. `checksum` is the ETag or the time of modification that the object must still have
        when it is read. A location that no virtual chunk container covers raises an
        `InvalidInputError` unless `validate_container` is false.
        """
        self._check_writable()
        task, finish = begin_one(
            self._session._session,
            key,
            location,
            offset,
            length,
            checksum,
            truth(validate_container, "validate_container"),
        )
        finish(task.wait())

    @changing
    async def set_virtual_ref_async(
        self,
        key: str,
        location: str,
        *,
        offset: int,
        length: int,
        checksum: str | datetime | None = None,
        validate_container: bool = True,
    ) -> None:
        """The asynchronous form of `set_virtual_ref`."""
        self._check_writable()
        task, finish = begin_one(
            self._session._session,
            key,
            location,
            offset,
            length,
            checksum,
            truth(validate_container, "validate_container"),
        )
        finish(await task)

    @changing
    def set_virtual_refs(
        self,
        array_path: str,
        chunks: list[VirtualChunkSpec],
        *,
        validate_containers: bool = True,
    ) -> list[tuple[int, ...]] | None:
        """Sets the references of several chunks of one array.

        Returns the indices of the chunks whose location no container covers, and leaves these
        chunks unchanged; None if all are set. With `validate_containers` false, sets them, too.
        """
        self._check_writable()
        task, finish = begin_specs(
            self._session._session,
            array_path,
            chunks,
            truth(validate_containers, "validate_containers"),
        )
        return finish(task.wait())

    @changing
    async def set_virtual_refs_async(
        self,
        array_path: str,
        chunks: list[VirtualChunkSpec],
        *,
        validate_containers: bool = True,
    ) -> list[tuple[int, ...]] | None:
        """The asynchronous form of `set_virtual_refs`."""
        self._check_writable()
        task, finish = begin_specs(
            self._session._session,
            array_path,
            chunks,
            truth(validate_containers, "validate_containers"),
        )
        return finish(await task)

    @changing
    def set_virtual_refs_arr(
        self,
        array_path: str,
        chunk_grid_shape: tuple[int, ...],
        locations: list[str],
        offsets: np.ndarray[Any, np.dtype[np.uint64]],
        lengths: np.ndarray[Any, np.dtype[np.uint64]],
        *,
        validate_containers: bool = True,
        arr_offset: tuple[int, ...] | None = None,
        checksum: datetime | str | None = None,
    ) -> list[tuple[int, ...]] | None:
        """Sets the references of a block of chunks, given as columns in C order.

        `chunk_grid_shape` is the shape of the block in chunks, `arr_offset` the index of its first
        chunk; `offsets` and `lengths` are 1-d arrays of bytes. An empty location leaves its chunk
        unchanged. One `checksum` applies to all chunks. Returns the same as `set_virtual_refs`.
        """
        self._check_writable()
        task, finish = begin_grid(
            self._session._session,
            array_path,
            chunk_grid_shape,
            locations,
            offsets,
            lengths,
            truth(validate_containers, "validate_containers"),
            arr_offset,
            checksum,
        )
        return finish(task.wait())

    @changing
    async def set_virtual_refs_arr_async(
        self,
        array_path: str,
        chunk_grid_shape: tuple[int, ...],
        locations: list[str],
        offsets: np.ndarray[Any, np.dtype[np.uint64]],
        lengths: np.ndarray[Any, np.dtype[np.uint64]],
        *,
        validate_containers: bool = True,
        arr_offset: tuple[int, ...] | None = None,
        checksum: datetime | str | None = None,
    ) -> list[tuple[int, ...]] | None:
        """The asynchronous form of `set_virtual_refs_arr`."""
        self._check_writable()
        task, finish = begin_grid(
            self._session._session,
            array_path,
            chunk_grid_shape,
            locations,
            offsets,
            lengths,
            truth(validate_containers, "validate_containers"),
            arr_offset,
            checksum,
        )
        return finish(await task)

    def array_chunk_iterator(
        self,
        array_path: str,
        batch_size: int = 100_000,
    ) -> AsyncCloseableIterator[ArrayChunks]:
        """All written chunks of an array as columns, in batches of at most `batch_size` rows.

        The columns: coordinates (uint32, rows by dimensions), kinds (uint8, the values of
        `ChunkType`), locations (a URL for virtual chunks, the id of native ones, "" for inline
        ones), offsets and lengths in bytes (uint64), and the bytes of inline chunks by their row.
        """
        batch = whole(batch_size, "batch_size", "invalid-commit-configuration", 1, 2**32 - 1)
        path = text(array_path, "array_path")
        rows = self._begun(lambda: self._session._session.chunk_refs(path, batch))
        return AsyncCloseableIterator(rows, chunk_columns, batches=True)
