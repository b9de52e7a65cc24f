"""A Zarr store for keys that are not Zarr keys, on top of a store that takes only those.

zarr-python's own store tests write keys such as `foo` and values such as `b"bar"` for `zarr.json`. A store that
knows what an array is refuses both, rightly. Here every key of a test becomes one chunk of a 1-d array that was made
beforehand; values, sizes, ranges, deletes and what is alive all come from the store under test (`list_prefix` of
that array), so that this wrapper holds nothing but names. No chunk of an array is ever zero bytes long, and the
reference refuses such a one: the empty values of the tests are written as a mark.
"""

import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from zarr.abc.store import (
    ByteRequest,
    Store,
    SupportsDeleteSync,
    SupportsGetSync,
    SupportsSetSync,
)
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from zarr.core.sync import sync

__all__ = ["KeyMapped", "Names", "SynchronousKeyMapped", "key_mapped", "prepared"]

# More than any test writes.
_CHUNKS = 4096
_EMPTY = b"\0 stands for no bytes at all"
_ARRAY = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [_CHUNKS],
    "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0,
    "codecs": [{"name": "bytes"}],
    "attributes": {},
}


@dataclass
class Names:
    """Which key is which chunk. It only grows: whether a key is alive is for the store to say."""

    chunks: dict[str, int] = field(default_factory=dict)

    def chunk(self, key: str) -> str:
        """The Zarr key that stands for `key`."""
        return f"c/{self.chunks.setdefault(key, len(self.chunks))}"

    def key(self, chunk: str) -> str | None:
        """The key that a Zarr key stands for; None for the metadata of the array."""
        if not chunk.startswith("c/"):
            return None
        number = int(chunk.removeprefix("c/"))
        return next(key for key, index in self.chunks.items() if index == number)


class KeyMapped(Store):
    """Any keys in, the chunks of one array out."""

    supports_writes = True
    supports_deletes = True
    supports_listing = True

    def __init__(self, inner: Store, names: Names, *, read_only: bool = False) -> None:
        super().__init__(read_only=read_only or inner.read_only)
        # The rule "read-only" is to be the store's own, not this wrapper's.
        self.inner = inner.with_read_only(True) if read_only and not inner.read_only else inner
        self.names = names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.inner == other.inner

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"

    def with_read_only(self, read_only: bool = False) -> Self:
        return type(self)(self.inner.with_read_only(read_only), self.names, read_only=read_only)

    async def prepare(self) -> None:
        """Makes the array, without which the store takes no chunk."""
        document = default_buffer_prototype().buffer.from_bytes(json.dumps(_ARRAY).encode())
        await self.inner.set("zarr.json", document)

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        return _opened(await self.inner.get(self.names.chunk(key), prototype, byte_range))

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        # A generator goes in as a generator: the store is to read it once.
        mapped = ((self.names.chunk(key), byte_range) for key, byte_range in key_ranges)
        return await self.inner.get_partial_values(prototype, mapped)

    async def exists(self, key: str) -> bool:
        return await self.inner.exists(self.names.chunk(key))

    async def set(self, key: str, value: Buffer) -> None:
        await self.inner.set(self.names.chunk(key), _closed(value))

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        await self.inner.set_if_not_exists(self.names.chunk(key), _closed(value))

    async def delete(self, key: str) -> None:
        await self.inner.delete(self.names.chunk(key))

    async def clear(self) -> None:
        await self.inner.clear()
        await self.prepare()

    async def getsize(self, key: str) -> int:
        size = await self.inner.getsize(self.names.chunk(key))
        if size != len(_EMPTY):
            return size
        value = await self.get(key, default_buffer_prototype())
        return len(value) if value is not None else size

    async def getsize_prefix(self, prefix: str) -> int:
        return sum([await self.getsize(key) async for key in self.list_prefix(_folder(prefix))])

    async def is_empty(self, prefix: str) -> bool:
        async for _ in self.list_prefix(_folder(prefix)):
            return False
        return True

    async def list(self) -> AsyncIterator[str]:
        async for chunk in self.inner.list_prefix(""):
            key = self.names.key(chunk)
            if key is not None:
                yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        async for key in self.list():
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        folder = _folder(prefix)
        children = {
            key.removeprefix(folder).split("/")[0] async for key in self.list_prefix(folder)
        }
        for child in sorted(children):
            yield child


class SynchronousKeyMapped(KeyMapped):
    """The same on a store that has zarr-python's synchronous path."""

    def get_sync(
        self,
        key: str,
        *,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        assert isinstance(self.inner, SupportsGetSync)
        chunk = self.names.chunk(key)
        return _opened(self.inner.get_sync(chunk, prototype=prototype, byte_range=byte_range))

    def set_sync(self, key: str, value: Buffer) -> None:
        assert isinstance(self.inner, SupportsSetSync)
        self.inner.set_sync(self.names.chunk(key), _closed(value))

    def delete_sync(self, key: str) -> None:
        assert isinstance(self.inner, SupportsDeleteSync)
        self.inner.delete_sync(self.names.chunk(key))


def key_mapped(inner: Store) -> type[KeyMapped]:
    """The class of wrapper for a store: with the synchronous path only if the store has it."""
    return SynchronousKeyMapped if isinstance(inner, SupportsGetSync) else KeyMapped


def prepared(inner: Store) -> dict[str, Any]:
    """What to call the class with, for a store whose array is made."""
    names = Names()
    sync(KeyMapped(inner, names).prepare())
    return {"inner": inner, "names": names}


def _folder(prefix: str) -> str:
    return prefix if not prefix or prefix.endswith("/") else f"{prefix}/"


def _closed(value: Buffer) -> Buffer:
    return value if len(value) else type(value).from_bytes(_EMPTY)


def _opened(value: Buffer | None) -> Buffer | None:
    if value is None or value.to_bytes() != _EMPTY:
        return value
    return type(value).from_bytes(b"")
