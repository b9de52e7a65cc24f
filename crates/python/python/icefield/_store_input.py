"""What Zarr hands to stores, as the native side takes it, and the errors that Zarr expects."""

from __future__ import annotations

from typing import Any

from zarr.abc.store import (
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
)
from zarr.core.buffer import Buffer

from icefield._exceptions import IcechunkError, NodeNotFoundError, ReadOnlyError, from_native

__all__ = [
    "KeyNotFoundError",
    "ReadOnlyStoreError",
    "memory_of",
    "native_range",
    "of_session",
    "out_of_bounds",
]


class KeyNotFoundError(NodeNotFoundError, FileNotFoundError):
    """A key has no value. A `KeyError` and a `FileNotFoundError`, too: Zarr expects the latter."""


class ReadOnlyStoreError(ReadOnlyError, ValueError):
    """A write to a store that only reads. A `ValueError`, too, as it is with the stores of Zarr."""


def native_range(request: ByteRequest) -> tuple[int, int | None] | int:
    """What the native side calls the range of bytes."""
    if isinstance(request, RangeByteRequest):
        return (request.start, request.end)
    if isinstance(request, OffsetByteRequest):
        return (request.offset, None)
    if isinstance(request, SuffixByteRequest):
        if request.suffix < 0:
            raise out_of_bounds(request)
        return request.suffix
    raise from_native(
        "invalid-byte-range",
        f"Unexpected byte_range, got {request!r}; pass a RangeByteRequest, an OffsetByteRequest, "
        "a SuffixByteRequest "
        "or None",
    )


def out_of_bounds(request: object) -> Exception:
    return from_native(
        "invalid-byte-range",
        f"the numbers of {request!r} must be at least 0 and below 2**63",
    )


def of_session(error: ReadOnlyError) -> IcechunkError:
    """What the store refused, because its session is read-only."""
    return from_native("read-only-session", error.message)


def memory_of(value: Buffer, method: str) -> Any:
    """The memory of a value."""
    if isinstance(value, Buffer):
        return value.as_buffer_like()
    raise TypeError(
        f"IcefieldStore.{method}(): `value` must be a Buffer instance. Got an instance of "
        f"{type(value)} instead."
    )


# Tracebacks show where they are found.
for _error in (KeyNotFoundError, ReadOnlyStoreError):
    _error.__module__ = "icefield.store"
del _error
