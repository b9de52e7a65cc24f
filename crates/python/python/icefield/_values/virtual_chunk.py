"""One virtual chunk."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from icefield import _display
from icefield._config.section import whole

__all__ = ["VirtualChunkSpec"]

_U32 = whole(2**32 - 1, doc="A place of a chunk.")
_U64 = whole(2**64 - 1, doc="A number of bytes.")


class VirtualChunkSpec:
    """A chunk that is a range of bytes of another object.

    `index` is the index of the chunk in its array, `location` the URL of the object (reserved
    characters such as `?` and `#` are written as `%3F` and `%23`), `offset` and `length` are in
    bytes. At most one of the checksums is given: the ETag that the object must have, or the time
    (with a time zone) after which it must not have changed.
    """

    __slots__ = (
        "_etag_checksum",
        "_index",
        "_last_updated_at_checksum",
        "_length",
        "_location",
        "_offset",
    )

    def __init__(
        self,
        index: Sequence[int],
        location: str,
        offset: int,
        length: int,
        etag_checksum: str | None = None,
        last_updated_at_checksum: datetime.datetime | None = None,
    ) -> None:
        if isinstance(index, str) or not isinstance(index, Sequence):
            raise TypeError(f"index is a sequence of whole numbers, not a {type(index).__name__}")
        for name, value in (("location", location), ("etag_checksum", etag_checksum or "")):
            if not isinstance(value, str):
                raise TypeError(f"{name} is a text, not a {type(value).__name__}")
        at = last_updated_at_checksum
        if at is not None and (not isinstance(at, datetime.datetime) or at.tzinfo is None):
            raise TypeError("last_updated_at_checksum is a datetime with a time zone")
        self._index = [_U32.check("index", it) for it in index]
        self._location = location
        self._offset: int = _U64.check("offset", offset)
        self._length: int = _U64.check("length", length)
        self._etag_checksum = etag_checksum
        self._last_updated_at_checksum = at and at.astimezone(datetime.UTC)

    @property
    def index(self) -> list[int]:
        """The index of the chunk in its array."""
        return list(self._index)

    @property
    def location(self) -> str:
        """The URL of the object that has the bytes."""
        return self._location

    @property
    def offset(self) -> int:
        """The offset of the chunk in the object, in bytes."""
        return self._offset

    @property
    def length(self) -> int:
        """The number of bytes."""
        return self._length

    @property
    def etag_checksum(self) -> str | None:
        """The ETag that the object must have when the chunk is read."""
        return self._etag_checksum

    @property
    def last_updated_at_checksum(self) -> datetime.datetime | None:
        """The time after which the object must not have changed when the chunk is read."""
        return self._last_updated_at_checksum

    def _fields(self) -> dict[str, Any]:
        return {
            "index": self._index,
            "location": self._location,
            "offset": self._offset,
            "length": self._length,
            "etag_checksum": self._etag_checksum,
            "last_updated_at_checksum": self._last_updated_at_checksum,
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VirtualChunkSpec):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((tuple(self._index), self._location, self._offset, self._length))

    def __repr__(self) -> str:
        return _display.call("icefield.VirtualChunkSpec", self._fields().items())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self._fields().values())


VirtualChunkSpec.__module__ = "icefield"
