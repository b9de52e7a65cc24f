"""Results of maintenance, and the sizes of the chunks of a repository."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icefield._values.value import Value

__all__ = ["ChunkStorageStats", "GCSummary"]


class GCSummary(Value):
    """The result of a garbage collection: numbers of deleted objects, and of bytes."""

    __slots__ = ("_found",)
    _names = (
        "bytes_deleted",
        "chunks_deleted",
        "manifests_deleted",
        "snapshots_deleted",
        "attributes_deleted",
        "transaction_logs_deleted",
        "objects_failed_to_delete",
        "throttled_batches",
        "delete_errors",
        "skipped_phases",
    )

    def __init__(
        self,
        *,
        bytes_deleted: int = 0,
        chunks_deleted: int = 0,
        manifests_deleted: int = 0,
        snapshots_deleted: int = 0,
        attributes_deleted: int = 0,
        transaction_logs_deleted: int = 0,
        objects_failed_to_delete: int = 0,
        throttled_batches: int = 0,
        delete_errors: list[str] | None = None,
        skipped_phases: list[str] | None = None,
    ) -> None:
        given = locals()
        self._found: dict[str, Any] = {name: given[name] for name in self._names}

    @property
    def bytes_deleted(self) -> int:
        """Bytes of the chunks, manifests, snapshots and transaction logs that were deleted.

        Earlier states of a repository of version 2, which a collection also deletes, are not
        counted.
        """
        return int(self._found["bytes_deleted"])

    @property
    def chunks_deleted(self) -> int:
        """Chunks that no snapshot refers to."""
        return int(self._found["chunks_deleted"])

    @property
    def manifests_deleted(self) -> int:
        """Manifests that no snapshot refers to."""
        return int(self._found["manifests_deleted"])

    @property
    def snapshots_deleted(self) -> int:
        """Snapshots that no branch or tag reaches."""
        return int(self._found["snapshots_deleted"])

    @property
    def attributes_deleted(self) -> int:
        """Objects of attributes that no snapshot refers to."""
        return int(self._found["attributes_deleted"])

    @property
    def transaction_logs_deleted(self) -> int:
        """Transaction logs of deleted snapshots."""
        return int(self._found["transaction_logs_deleted"])

    @property
    def objects_failed_to_delete(self) -> int:
        """Objects that the storage did not delete."""
        return int(self._found["objects_failed_to_delete"])

    @property
    def throttled_batches(self) -> int:
        """Requests that the storage throttled."""
        return int(self._found["throttled_batches"])

    @property
    def delete_errors(self) -> list[str]:
        """The errors of the storage for objects that it did not delete."""
        return list(self._found["delete_errors"] or ())

    @property
    def skipped_phases(self) -> list[str]:
        """Kinds of objects that were not collected."""
        return list(self._found["skipped_phases"] or ())

    def __reduce__(self) -> tuple[Any, ...]:
        return GCSummary._from_native, (dict(self._found),)

    @classmethod
    def _from_native(cls, row: Mapping[str, Any]) -> GCSummary:
        return cls(**{name: row[name] for name in cls._names if name in row})


class ChunkStorageStats(Value):
    """The bytes of the chunks of all snapshots, each chunk counted once. Sums with `+`."""

    __slots__ = ("_inlined_bytes", "_native_bytes", "_virtual_bytes")
    _names = ("native_bytes", "virtual_bytes", "inlined_bytes")

    def __init__(
        self, *, native_bytes: int = 0, virtual_bytes: int = 0, inlined_bytes: int = 0
    ) -> None:
        self._native_bytes = native_bytes
        self._virtual_bytes = virtual_bytes
        self._inlined_bytes = inlined_bytes

    @property
    def native_bytes(self) -> int:
        """Bytes of chunks in objects of the repository."""
        return self._native_bytes

    @property
    def virtual_bytes(self) -> int:
        """Bytes of chunks in objects outside the repository."""
        return self._virtual_bytes

    @property
    def inlined_bytes(self) -> int:
        """Bytes of chunks in manifests."""
        return self._inlined_bytes

    def non_virtual_bytes(self) -> int:
        """Bytes of chunks in the repository."""
        return self._native_bytes + self._inlined_bytes

    def total_bytes(self) -> int:
        """Bytes of all chunks."""
        return self._native_bytes + self._virtual_bytes + self._inlined_bytes

    def __add__(self, other: ChunkStorageStats, /) -> ChunkStorageStats:
        if not isinstance(other, ChunkStorageStats):
            return NotImplemented
        return ChunkStorageStats(
            native_bytes=self._native_bytes + other._native_bytes,
            virtual_bytes=self._virtual_bytes + other._virtual_bytes,
            inlined_bytes=self._inlined_bytes + other._inlined_bytes,
        )

    @classmethod
    def _from_native(cls, row: tuple[int, int, int]) -> ChunkStorageStats:
        return cls(native_bytes=row[0], virtual_bytes=row[1], inlined_bytes=row[2])
