"""Objects in listings of a storage."""

from __future__ import annotations

from datetime import datetime
from typing import Any, final

from icefield import _display

__all__ = ["StorageObjectInfo"]


@final
class StorageObjectInfo:
    """An object of a storage: its key, its size in bytes, and the time when it was written, in UTC."""

    __slots__ = ("_created_at", "_key", "_size_bytes")

    def __init__(self, key: str, size_bytes: int, created_at: datetime) -> None:
        self._key = key
        self._size_bytes = size_bytes
        self._created_at = created_at

    @property
    def key(self) -> str:
        """Its key, below the prefix that was listed."""
        return self._key

    @property
    def size_bytes(self) -> int:
        """Its size in bytes."""
        return self._size_bytes

    @property
    def created_at(self) -> datetime:
        """The time when it was written, by the clock of the storage."""
        return self._created_at

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StorageObjectInfo):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def _fields(self) -> tuple[str, int, datetime]:
        return self._key, self._size_bytes, self._created_at

    def __reduce__(self) -> tuple[Any, ...]:
        return StorageObjectInfo, self._fields()

    def _rows(self) -> list[tuple[str, object, str]]:
        names = ("key", "size_bytes", "created_at")
        return [(name, value, "") for name, value in zip(names, self._fields(), strict=True)]

    def __repr__(self) -> str:
        return _display.lines("icefield.StorageObjectInfo", self._rows())

    def _repr_html_(self) -> str:
        return _display.table("icefield.StorageObjectInfo", self._rows())


StorageObjectInfo.__module__ = "icefield.storage"
