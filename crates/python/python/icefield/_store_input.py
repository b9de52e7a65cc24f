"""Conversions of the arguments of stores for the native module, and the errors that Zarr expects."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from zarr.abc.store import (
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
)
from zarr.core.buffer import Buffer

from icefield._checks import text
from icefield._exceptions import (
    IcechunkError,
    InvalidInputError,
    NodeNotFoundError,
    ReadOnlyError,
    from_native,
)

__all__ = [
    "KeyNotFoundError",
    "ReadOnlyStoreError",
    "explained",
    "memory_of",
    "native_range",
    "of_session",
    "out_of_bounds",
    "unencodable",
]


class KeyNotFoundError(NodeNotFoundError, FileNotFoundError):
    """A key has no value. Also a `KeyError`, and a `FileNotFoundError`, which Zarr expects."""


class ReadOnlyStoreError(ReadOnlyError, ValueError):
    """A write to a read-only store. Also a `ValueError`, as for the stores of Zarr."""


def native_range(request: ByteRequest) -> tuple[int, int | None] | int:
    """The native form of a byte range."""
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
    """The error for a byte range with negative or too large numbers."""
    return from_native(
        "invalid-byte-range",
        f"the numbers of {request!r} must be at least 0 and below 2**63",
    )


def of_session(error: ReadOnlyError) -> IcechunkError:
    """The error for a write that the store refused because its session is read-only."""
    return from_native("read-only-session", error.message)


def unencodable(key: object) -> Exception:
    """The error for a key that has no UTF-8 form."""
    try:
        text(key, "key")
    except InvalidInputError as error:
        return error
    # The store refused for another reason than the key.
    return from_native("invalid-key", f"{key!r} has no UTF-8 form")


def explained(error: InvalidInputError, key: str, value: Buffer) -> Exception:
    """The error for a metadata document with numbers that JSON does not have, with their positions.

    Zarr and Python write such numbers, so the caller that set the attribute may not know of them.
    """
    if error.kind != "bad-metadata" or not key.endswith("zarr.json"):
        return error
    try:
        document = json.loads(value.to_bytes())
        found = next(_no_numbers(document, ""), None)
    except (ValueError, RecursionError):
        return error
    if found is None:
        return error
    where, number = found
    return from_native(
        "bad-metadata",
        f"{key!r}: {where} is {number}, which JSON does not have, so that other readers of the metadata would "
        f"fail: write None, or a text such as {number!r}",
    )


def _no_numbers(value: object, where: str) -> Iterator[tuple[str, str]]:
    """The positions of NaN and infinities, with their names in JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        yield where, json.dumps(value)
    elif isinstance(value, dict):
        for name, it in value.items():
            yield from _no_numbers(it, f"{where}[{name!r}]" if where else name)
    elif isinstance(value, list):
        for at, it in enumerate(value):
            yield from _no_numbers(it, f"{where}[{at}]")


def memory_of(value: Buffer, method: str) -> Any:
    """The memory of a value."""
    if isinstance(value, Buffer):
        return value.as_buffer_like()
    raise TypeError(
        f"IcefieldStore.{method}(): `value` must be a Buffer instance. Got an instance of "
        f"{type(value)} instead."
    )


# Tracebacks show the public module.
for _error in (KeyNotFoundError, ReadOnlyStoreError):
    _error.__module__ = "icefield.store"
del _error
