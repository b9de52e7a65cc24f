"""Zarr documents, keys and repositories for the cases: small, deterministic, in one spelling."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from under_test import SPEC_VERSION, collect, ic, run
from zarr.core.buffer import default_buffer_prototype

PROTOTYPE = default_buffer_prototype()


def buffer(data: bytes) -> Any:
    """A buffer of zarr-python that holds `data`."""
    return PROTOTYPE.buffer.from_bytes(data)


def group_document(attributes: dict[str, Any] | None = None) -> bytes:
    """`zarr.json` of a group."""
    document = {"zarr_format": 3, "node_type": "group", "attributes": attributes or {}}
    return json.dumps(document).encode()


def array_document(
    shape: Sequence[int] = (4,),
    chunks: Sequence[int] = (1,),
    *,
    data_type: str = "int8",
    fill_value: Any = 0,
    attributes: dict[str, Any] | None = None,
    dimension_names: Sequence[str | None] | None = None,
    **more: Any,
) -> bytes:
    """`zarr.json` of an array with a regular grid and no compression."""
    document: dict[str, Any] = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill_value,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": attributes or {},
    }
    if dimension_names is not None:
        document["dimension_names"] = list(dimension_names)
    document.update(more)
    return json.dumps(document).encode()


class Keys:
    """A store's keys, called without an event loop."""

    def __init__(self, store: Any) -> None:
        self.store = store

    def put(self, key: str, data: bytes) -> None:
        run(self.store.set(key, buffer(data)))

    def put_new(self, key: str, data: bytes) -> None:
        run(self.store.set_if_not_exists(key, buffer(data)))

    def get(self, key: str, byte_range: Any = None) -> bytes | None:
        found = run(self.store.get(key, PROTOTYPE, byte_range))
        return None if found is None else bytes(found.to_bytes())

    def parts(self, wanted: Iterable[tuple[str, Any]]) -> list[bytes | None]:
        found = run(self.store.get_partial_values(PROTOTYPE, list(wanted)))
        return [None if part is None else bytes(part.to_bytes()) for part in found]

    def document(self, key: str) -> Any:
        data = self.get(key)
        assert data is not None, f"no document {key}"
        return json.loads(data)

    def has(self, key: str) -> bool:
        return bool(run(self.store.exists(key)))

    def delete(self, key: str) -> None:
        run(self.store.delete(key))

    def delete_below(self, prefix: str) -> None:
        run(self.store.delete_dir(prefix))

    def clear(self) -> None:
        run(self.store.clear())

    def empty(self, prefix: str) -> bool:
        return bool(run(self.store.is_empty(prefix)))

    def all(self) -> list[str]:
        return sorted(collect(self.store.list))

    def below(self, prefix: str) -> list[str]:
        return sorted(collect(lambda: self.store.list_prefix(prefix)))

    def children(self, prefix: str) -> list[str]:
        return sorted(collect(lambda: self.store.list_dir(prefix)))

    def size(self, key: str) -> int:
        return int(run(self.store.getsize(key)))

    def size_below(self, prefix: str) -> int:
        return int(run(self.store.getsize_prefix(prefix)))


def create(storage: Any, config: Any = None, *, version: int = SPEC_VERSION, **more: Any) -> Any:
    """A new repository, of the format version that is chosen by the environment unless a case is about one."""
    return ic.Repository.create(storage, config, spec_version=version, **more)


def stock(repo: Any) -> Any:
    """Commits a root group and the array `a` of four chunks to a new repository; 0 and 1 are written."""
    commit(repo, {**small_array(), "a/c/0": b"\x01", "a/c/1": b"\x02"}, "stock")
    return repo


def put_all(session: Any, items: dict[str, bytes]) -> Keys:
    """Put several keys into the session's store, in the order given."""
    keys = Keys(session.store)
    for key, data in items.items():
        keys.put(key, data)
    return keys


def commit(repo: Any, items: dict[str, bytes], message: str = "edit", branch: str = "main") -> str:
    """Put several keys in a new session and commit it; returns the new snapshot id."""
    session = repo.writable_session(branch)
    put_all(session, items)
    return str(session.commit(message))


def keys_of(repo: Any, branch: str = "main") -> Keys:
    """The keys of the tip of a branch, read-only."""
    return Keys(repo.readonly_session(branch).store)


def small_array(path: str = "a", size: int = 4, **more: Any) -> dict[str, bytes]:
    """The keys of the root group and of an array of `size` chunks of one byte each."""
    return {
        "zarr.json": group_document(),
        f"{path}/zarr.json": array_document((size,), (1,), **more),
    }
