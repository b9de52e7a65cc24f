"""Reads of a store beside single values: several ranges at once, sizes, and listings."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from zarr.abc.store import ByteRequest
from zarr.core.buffer import Buffer, BufferPrototype

from icefield import _native
from icefield._checks import text
from icefield._exceptions import IcechunkError, NodeNotFoundError
from icefield._iterators import AsyncCloseableIterator
from icefield._late import OpenedLate
from icefield._store_input import KeyNotFoundError, native_range, out_of_bounds

if TYPE_CHECKING:
    from icefield.session import Session


class _Reading(OpenedLate):
    _native_side = "_store"
    _store: _native.Store
    _session: Session
    _ensure_open: Callable[[], Coroutine[Any, Any, None]]

    async def get_partial_values(
        self,
        prototype: BufferPrototype,
        key_ranges: Iterable[tuple[str, ByteRequest | None]],
    ) -> list[Buffer | None]:
        """Several values or ranges of them, in the order of the requests.

        The result has None for keys without a value.
        """
        requests = list(key_ranges)
        await self._ensure_open()
        try:
            task = self._store.get_partial_values(
                [
                    (text(key, "key"), None if it is None else native_range(it))
                    for key, it in requests
                ]
            )
        except OverflowError:
            raise out_of_bounds([it for _, it in requests]) from None
        from_bytes: Callable[[Any], Buffer] = prototype.buffer.from_bytes
        return [None if value is None else from_bytes(value) for value in await task]

    def _begin_ranges(
        self, key: str, byte_ranges: Sequence[ByteRequest | None]
    ) -> _native.Task[list[_native.Bytes] | None]:
        try:
            return self._store.get_ranges(
                text(key, "key"), [None if it is None else native_range(it) for it in byte_ranges]
            )
        except OverflowError:
            raise out_of_bounds(byte_ranges) from None

    @staticmethod
    def _numbered(
        key: str, values: list[_native.Bytes] | None, prototype: BufferPrototype
    ) -> list[tuple[int, Buffer | None]]:
        if values is None:
            raise KeyNotFoundError(f"{key!r} has no value", "key-not-found")
        from_bytes: Callable[[Any], Buffer] = prototype.buffer.from_bytes
        return [(at, from_bytes(value)) for at, value in enumerate(values)]

    async def get_ranges(
        self,
        key: str,
        byte_ranges: Sequence[ByteRequest | None],
        *,
        prototype: BufferPrototype,
        max_concurrency: int = 10,
        max_gap_bytes: int = 1 << 20,
        max_coalesced_bytes: int = 16 << 20,
    ) -> AsyncIterator[Sequence[tuple[int, Buffer | None]]]:
        """Several ranges of one value, as one batch of pairs of their position and bytes.

        The native module joins and splits requests by itself, so the three limits have no effect.
        Failures are raised as a `BaseExceptionGroup`, a missing key as a `FileNotFoundError` in it.
        """
        if not byte_ranges:
            return
        try:
            await self._ensure_open()
            values = await self._begin_ranges(key, byte_ranges)
            batch = self._numbered(key, values, prototype)
        except Exception as error:
            raise BaseExceptionGroup(f"reading ranges of {key!r} failed", [error]) from error
        yield batch

    def get_ranges_sync(
        self,
        key: str,
        byte_ranges: Sequence[ByteRequest | None],
        *,
        prototype: BufferPrototype,
        max_gap_bytes: int = 1 << 20,
        max_coalesced_bytes: int = 16 << 20,
    ) -> Sequence[tuple[int, Buffer | None]]:
        """The blocking form of `get_ranges`, which returns the batch."""
        if not byte_ranges:
            return []
        try:
            return self._numbered(key, self._begin_ranges(key, byte_ranges).wait(), prototype)
        except Exception as error:
            raise BaseExceptionGroup(f"reading ranges of {key!r} failed", [error]) from error

    async def exists(self, key: str) -> bool:
        """Whether a key has a value."""
        await self._ensure_open()
        return await self._store.exists(text(key, "key"))

    async def getsize(self, key: str) -> int:
        """The size of a value in bytes. A key without a value raises a `KeyNotFoundError`."""
        await self._ensure_open()
        size = await self._store.size(text(key, "key"))
        if size is None:
            raise self._missing(key)
        return size

    def _missing(self, key: str) -> KeyNotFoundError:
        """The error for a key without a value: is there no chunk, or no node?"""
        path = re.sub(r"(^|/)(zarr\.json|c(/\d+)*)$", "", key.strip("/"))
        try:
            self._session._session.node_id("/" + path)
        except NodeNotFoundError:
            return KeyNotFoundError(
                f"{key!r} has no value: there is no node at '/{path}'", "node-not-found"
            )
        except IcechunkError:
            pass
        return KeyNotFoundError(f"{key!r} has no value", "key-not-found")

    async def getsize_prefix(self, prefix: str) -> int:
        """The sum of the sizes in bytes of all values below a group or array."""
        await self._ensure_open()
        return await self._store.size_prefix(text(prefix, "prefix"))

    async def is_empty(self, prefix: str) -> bool:
        """Whether no key lies below a prefix."""
        await self._ensure_open()
        return await self._store.is_empty(text(prefix, "prefix"))

    def list(self) -> AsyncCloseableIterator[str]:
        """All keys."""
        return self.list_prefix("")

    def list_prefix(self, prefix: str) -> AsyncCloseableIterator[str]:
        """All keys below a group or array; "" is the root."""
        prefix = text(prefix, "prefix")
        return AsyncCloseableIterator(self._begun(lambda: self._store.list_prefix(prefix)))

    def list_dir(self, prefix: str) -> AsyncCloseableIterator[str]:
        """The names right below a prefix."""
        prefix = text(prefix, "prefix")
        return AsyncCloseableIterator(self._begun(lambda: self._store.list_dir(prefix)))
