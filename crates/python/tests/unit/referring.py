"""Repositories whose chunks lie elsewhere."""

from typing import Any

import zarr

import icefield

__all__ = ["read", "refer"]


def refer(
    store: Any, prefix: str, location: str, access: dict[str, Any] | None
) -> icefield.IcechunkStore:
    """An array `a` of four bytes at a location, in a repository with one container."""
    config = icefield.RepositoryConfig.default()
    config.set_virtual_chunk_container(icefield.VirtualChunkContainer(prefix, store))
    repository = icefield.Repository.create(
        icefield.in_memory_storage(), config=config, authorize_virtual_chunk_access=access
    )
    session = repository.writable_session("main")
    zarr.create_array(
        session.store, name="a", shape=(4,), chunks=(4,), dtype="u1", compressors=None, filters=None
    )
    session.store.set_virtual_ref("a/c/0", location, offset=0, length=4)
    return session.store


def read(store: icefield.IcechunkStore) -> list[int]:
    found: Any = zarr.open_array(store, path="a", mode="r")[:]
    return [int(it) for it in found]
