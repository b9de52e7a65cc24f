"""A snapshot, and the manifests it needs."""

from __future__ import annotations

import copy
import datetime
import json
from collections.abc import Callable, Mapping
from typing import Any

from icefield._notices import notice
from icefield._values.value import Value

__all__ = ["ManifestFileInfo", "SnapshotInfo"]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class ManifestFileInfo(Value):
    """One manifest of a snapshot: its id, its size in bytes, and how many chunk references it has."""

    __slots__ = ("_id", "_num_chunk_refs", "_size_bytes")
    _names = ("id", "size_bytes", "num_chunk_refs")

    def __init__(self, *, id: str, size_bytes: int, num_chunk_refs: int) -> None:
        self._id = id
        self._size_bytes = size_bytes
        self._num_chunk_refs = num_chunk_refs

    @property
    def id(self) -> str:
        """The id of the manifest."""
        return self._id

    @property
    def size_bytes(self) -> int:
        """The size of its object in bytes."""
        return self._size_bytes

    @property
    def num_chunk_refs(self) -> int:
        """The number of chunk references in it."""
        return self._num_chunk_refs

    @classmethod
    def _from_native(cls, row: tuple[str, int, int]) -> ManifestFileInfo:
        return cls(id=row[0], size_bytes=row[1], num_chunk_refs=row[2])


class SnapshotInfo(Value):
    """One snapshot of the history: the result of a commit, with its message and metadata."""

    __slots__ = ("_id", "_manifests", "_message", "_metadata", "_parent_id", "_written_at")
    _names = ("id", "parent_id", "written_at", "message", "metadata")

    def __init__(
        self,
        *,
        id: str,
        parent_id: str | None,
        written_at: datetime.datetime,
        message: str,
        metadata: Mapping[str, Any],
        manifests: Callable[[], list[ManifestFileInfo]] | None = None,
    ) -> None:
        self._id = id
        self._parent_id = parent_id
        self._written_at = written_at
        self._message = message
        self._metadata = dict(metadata)
        self._manifests = manifests

    @property
    def id(self) -> str:
        """The id of the snapshot."""
        return self._id

    @property
    def parent_id(self) -> str | None:
        """The id of its parent; None for the first snapshot."""
        return self._parent_id

    @property
    def written_at(self) -> datetime.datetime:
        """The time when it was written (UTC)."""
        return self._written_at

    @property
    def message(self) -> str:
        """The message of the commit."""
        return self._message

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the commit."""
        return copy.deepcopy(self._metadata)

    @property
    def manifests(self) -> list[ManifestFileInfo]:
        """The manifests of the snapshot, for compatibility with version 1 of the reference; use
        `list_manifest_files` instead.
        """
        notice(
            "SnapshotInfo.manifests reads the snapshot; use Repository.list_manifest_files(snapshot_id)",
            DeprecationWarning,
            stacklevel=2,
        )
        if self._manifests is None:
            raise AttributeError(
                "this SnapshotInfo has no repository; use Repository.list_manifest_files(snapshot_id)"
            )
        return self._manifests()

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, tuple(getattr(self, f"_{name}") for name in self._names)

    @classmethod
    def _from_native(
        cls,
        row: tuple[str, str | None, int, str, str],
        manifests: Callable[[], list[ManifestFileInfo]] | None = None,
    ) -> SnapshotInfo:
        """From id, id of the parent, microseconds since 1970, message, and metadata (JSON)."""
        return cls(
            id=row[0],
            parent_id=row[1],
            written_at=_EPOCH + datetime.timedelta(microseconds=row[2]),
            message=row[3],
            metadata=json.loads(row[4]),
            manifests=manifests,
        )


def _again(
    id: str,
    parent_id: str | None,
    written_at: datetime.datetime,
    message: str,
    metadata: dict[str, Any],
) -> SnapshotInfo:
    return SnapshotInfo(
        id=id, parent_id=parent_id, written_at=written_at, message=message, metadata=metadata
    )
