"""More at once than there are threads that wait for disks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from pathlib import Path

import icefield as ic
import pytest
import zarr

MANY = 80
"""More than the 64 threads that the runtime may wait with."""


@pytest.fixture
def repo(tmp_path: Path) -> ic.Repository:
    """A repository on the local disk."""
    return ic.Repository.create(ic.local_filesystem_storage(str(tmp_path)))


async def test_many_sums_at_once(repo: ic.Repository) -> None:
    work = [repo.chunk_storage_stats_async() for _ in range(MANY)]
    found = await asyncio.wait_for(asyncio.gather(*work), 60)
    assert {it.total_bytes() for it in found} == {0}


def test_many_functions_that_use_the_package(repo: ic.Repository) -> None:
    session = repo.writable_session("main")
    array = zarr.create_array(session.store, name="x", shape=(4,), chunks=(2,), dtype="i4")
    array[:] = 1
    together = threading.Barrier(MANY, timeout=60)
    failed: list[BaseException] = []

    def same(index: Iterable[int]) -> Iterable[int]:
        if index == [0]:
            together.wait()
            repo.list_branches()
        return index

    def move() -> None:
        try:
            fork = session.fork()
            fork.reindex_array("/x", same)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=move, daemon=True) for _ in range(MANY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed
    assert not any(thread.is_alive() for thread in threads)


def test_stored_settings_count_for_who_opens_or_creates(tmp_path: Path) -> None:
    storage = ic.local_filesystem_storage(str(tmp_path / "place"))
    config = ic.RepositoryConfig(inline_chunk_threshold_bytes=7)
    ic.Repository.create(storage, config).save_config()
    assert ic.Repository.open_or_create(storage).config.inline_chunk_threshold_bytes == 7
