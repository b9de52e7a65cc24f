"""What a repository holds, to be compared."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import icefield as ic
from icefield.credentials import Credentials
from zarr.core.buffer import default_buffer_prototype


def opened(place: Path, containers: list[str]) -> ic.Repository:
    """A repository whose references may be followed."""
    access: dict[str, Any] = {it: Credentials.LocalFileSystemAccess() for it in containers}
    storage = ic.local_filesystem_storage(str(place))
    return ic.Repository.open(storage, authorize_virtual_chunk_access=access)


def contents(place: Path, containers: list[str]) -> dict[str, Any]:
    """All documents and chunks of main by their keys, and where chunks are referred to."""
    store = opened(place, containers).readonly_session("main").store

    async def read() -> dict[str, Any]:
        keys = [key async for key in store.list_prefix("")]
        prototype = default_buffer_prototype()
        values = {key: await store.get(key, prototype) for key in keys}
        return {key: value.to_bytes() for key, value in values.items() if value is not None}

    found = asyncio.run(read())
    found["references"] = sorted(store.session.all_virtual_chunk_locations())
    return found
