"""A storage with added latency, to measure its effect."""

from __future__ import annotations

import os
import sys
from typing import Any, final

from icefield import _native as native
from icefield import _urls
from icefield._storage import Storage
from icefield._storage_settings import StorageSettings

__all__ = ["LatencyStorage"]


@final
class LatencyStorage(Storage):
    """A storage with a delay in milliseconds before each read and each write. For experiments."""

    __slots__ = ("_inner", "_read", "_write")

    _inner: Storage
    _read: int
    _write: int

    def __init__(
        self, inner: Storage, *, write_latency_ms: int = 0, read_latency_ms: int = 0
    ) -> None:
        if not isinstance(inner, Storage):
            raise TypeError(f"inner is a Storage, not a {type(inner).__name__}")
        self._inner = inner
        self._description, self._shown = inner._description, inner._shown
        self._credentials, self._source = inner._credentials, inner._source
        self._handles = {}
        self._pickles_secrets, self._withheld = inner._pickles_secrets, inner._withheld
        self._read = self._write = 0
        self.write_latency_ms = write_latency_ms
        self.read_latency_ms = read_latency_ms

    @property
    def write_latency_ms(self) -> int:
        """Milliseconds before each write."""
        return self._write

    @write_latency_ms.setter
    def write_latency_ms(self, ms: int) -> None:
        self._write = _latency(ms, "write_latency_ms")
        self._tell()

    @property
    def read_latency_ms(self) -> int:
        """Milliseconds before each read."""
        return self._read

    @read_latency_ms.setter
    def read_latency_ms(self, ms: int) -> None:
        self._read = _latency(ms, "read_latency_ms")
        self._tell()

    def _tell(self) -> None:
        for _, handle in self._handles.values():
            handle.set_delays(self._read, self._write)

    def _native(self, settings: StorageSettings | None = None) -> native.Storage:
        inner = self._inner._native(settings)
        key = str(id(inner))
        known = self._handles.get(key)
        if known is None or known[0] != os.getpid():
            self._handles[key] = known = (os.getpid(), inner.delayed(self._read, self._write))
        return known[1]

    def default_settings(self) -> StorageSettings:
        """The settings of the underlying storage."""
        return self._inner.default_settings()

    def without_secrets_in_pickles(self) -> LatencyStorage:
        """The same storage with the same delays, whose pickles hold no secrets; see `Storage`."""
        return _distant(self._inner.without_secrets_in_pickles(), self._write, self._read)

    def __repr__(self) -> str:
        return f"LatencyStorage(write_latency_ms={self._write}, read_latency_ms={self._read})"

    def __str__(self) -> str:
        return str(self._inner)

    def __reduce__(self) -> tuple[Any, ...]:
        return _distant, (self._inner, self._write, self._read)


def _distant(inner: Storage, write: int, read: int) -> LatencyStorage:
    return LatencyStorage(inner, write_latency_ms=write, read_latency_ms=read)


def _latency(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is a whole number of milliseconds, not a {type(value).__name__}")
    if not 0 <= value <= sys.maxsize:
        raise _urls.refused(f"{name} is a number of milliseconds, not {value}")
    return value


LatencyStorage.__module__ = "icefield.storage"
