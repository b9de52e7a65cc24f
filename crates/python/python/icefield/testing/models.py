"""Models: a plain in-memory store with the operations of a repository, and descriptions of hierarchies.

A description is a tree of `GroupNode` and `ArrayNode`, which can be written into any Zarr store, and read from one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import PurePosixPath
from typing import Any, TypeAlias

import numpy as np
import zarr
import zarr.abc.store
import zarr.api.asynchronous
from zarr.core.buffer import Buffer, default_buffer_prototype
from zarr.storage import MemoryStore

__all__ = ["ArrayNode", "GroupNode", "ModelStore", "Node"]


class ModelStore(MemoryStore):
    """A store in memory with copies, moves of nodes and shifts of chunks."""

    spec_version: int = 1

    async def _values(self, prefix: str) -> AsyncIterator[tuple[str, Buffer]]:
        """The keys below a prefix with their values, at the time of the call."""
        for key in [key async for key in self.list_prefix(prefix)]:
            value = await self.get(key, prototype=default_buffer_prototype())
            if value is not None:
                yield key, value

    async def shift_array(
        self, array_path: str, offset: tuple[int, ...], num_chunks: tuple[int, ...]
    ) -> None:
        """Moves every chunk of an array by an offset in chunks; those that leave the grid of `num_chunks` are dropped.

        Chunks that nothing moves to are missing afterwards.
        """
        chunks = f"{array_path}/c/"
        before = {key: value async for key, value in self._values(chunks)}
        for index in product(*map(range, num_chunks)):
            source = [place - by for place, by in zip(index, offset, strict=True)]
            value = before.get(chunks + "/".join(map(str, source)))
            key = chunks + "/".join(map(str, index))
            if value is None:
                await self.delete(key)
            else:
                await self.set(key, value)

    async def move(self, source: str, dest: str) -> None:
        """Moves a node with everything below it. Raises `ValueError` for a path that does not begin with a slash."""
        for path in (source, dest):
            if not path.startswith("/"):
                raise ValueError(f"a path begins with a slash, unlike {path!r}")
        start, end = source[1:], dest[1:]
        moved = [(key, value) async for key, value in self._values(f"{start}/")]
        for key, _ in moved:
            await self.delete(key)
        for key, value in moved:
            await self.set(end + key.removeprefix(start), value)

    async def copy(self) -> ModelStore:
        """Another store with the same keys and values."""
        twin = ModelStore()
        twin.spec_version = self.spec_version
        async for key, value in self._values(""):
            await twin.set(key, value)
        return twin


@dataclass(frozen=True)
class ArrayNode:
    """An array of a shape and a dtype."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class GroupNode:
    """A group with its children by name."""

    children: dict[str, ArrayNode | GroupNode] = field(default_factory=dict)

    def walk(self, prefix: str | PurePosixPath = "") -> Iterator[tuple[PurePosixPath, Node]]:
        """All nodes below this one with their paths, each group before its children."""
        for name, child in self.children.items():
            path = PurePosixPath(prefix, name)
            yield path, child
            if isinstance(child, GroupNode):
                yield from child.walk(path)

    def _paths(self, prefix: str, kinds: tuple[type, ...], root: bool) -> list[str]:
        below = [str(path) for path, node in self.walk(prefix) if isinstance(node, kinds)]
        return [prefix, *below] if root else below

    def nodes(self, prefix: str = "", *, include_root: bool = False) -> list[str]:
        """The paths of all nodes below this one, and optionally its own."""
        return self._paths(prefix, (ArrayNode, GroupNode), include_root)

    def groups(self, prefix: str = "", *, include_root: bool = False) -> list[str]:
        """The paths of all groups below this one, and optionally its own."""
        return self._paths(prefix, (GroupNode,), include_root)

    def arrays(self, prefix: str = "") -> list[str]:
        """The paths of all arrays below this group."""
        return self._paths(prefix, (ArrayNode,), False)

    def materialize(self, store: zarr.abc.store.Store) -> zarr.Group:
        """Writes the hierarchy into a store, replaces its contents, and returns the root group."""
        root = zarr.open_group(store, mode="w")
        for path, node in self.walk():
            if isinstance(node, ArrayNode):
                root.create_array(str(path), shape=node.shape, dtype=node.dtype)
            else:
                root.require_group(str(path))
        return root

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> GroupNode:
        """Creates a hierarchy from nested dictionaries with `ArrayNode` leaves."""
        return cls({k: v if isinstance(v, ArrayNode) else cls.from_dict(v) for k, v in d.items()})

    @classmethod
    def from_paths(cls, arrays: set[str], groups: set[str]) -> GroupNode:
        """Creates a hierarchy from the paths of arrays (of shape (1,) and dtype int32) and groups,
        which begin with a slash.
        """
        for path in arrays | groups:
            if not path.startswith("/"):
                raise ValueError(f"a path begins with a slash, unlike {path!r}")
        one = ArrayNode((1,), np.dtype("i4"))
        found: list[tuple[str, ArrayNode | None]] = [(it[1:], None) for it in groups]
        found += [(it[1:], one) for it in arrays]
        return cls.from_dict(_nested(it for it in sorted(found, key=lambda it: it[0]) if it[0]))

    @classmethod
    async def from_store_async(cls, store: zarr.abc.store.Store) -> GroupNode:
        """Reads a hierarchy from a store."""
        root = await zarr.api.asynchronous.open_group(store, mode="r")
        found = [
            (path, _array_node(node)) async for path, node in root.members(max_depth=None)
        ]
        return cls.from_dict(_nested(found))

    @classmethod
    def from_store(cls, store: zarr.abc.store.Store) -> GroupNode:
        """Reads a hierarchy from a store."""
        root = zarr.open_group(store, mode="r")
        found = [(path, _array_node(node)) for path, node in root.members(max_depth=None)]
        return cls.from_dict(_nested(found))


Node: TypeAlias = ArrayNode | GroupNode


def _array_node(node: Any) -> ArrayNode | None:
    return ArrayNode(node.shape, node.dtype) if hasattr(node, "dtype") else None


def _nested(found: Iterable[tuple[str, ArrayNode | None]]) -> dict[str, Any]:
    """Nested dictionaries, from paths of arrays and (None) of groups, in any order."""
    tree: dict[str, Any] = {}
    for path, array in found:
        *parents, name = path.split("/")
        group = tree
        for parent in parents:
            group = group.setdefault(parent, {})
        if array is None:
            group.setdefault(name, {})
        else:
            group[name] = array
    return tree
