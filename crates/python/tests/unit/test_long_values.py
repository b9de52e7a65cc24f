"""Values that are long enough to be copied into memory that is used again, and to be read and written on another thread."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import icefield as ic
import numpy as np
import pytest
import zarr
from zarr.core.buffer import cpu, default_buffer_prototype

LONG = 1 << 20
COUNT = 24


def store_of(repository: ic.Repository) -> ic.IcechunkStore:
    store = repository.writable_session("main").store
    zarr.create_array(
        store, name="x", shape=(COUNT * LONG,), chunks=(LONG,), dtype="u1", compressors=None
    )
    return store


@pytest.fixture(params=["memory", "disk"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ic.IcechunkStore:
    if request.param == "memory":
        return store_of(ic.Repository.create(ic.in_memory_storage()))
    return store_of(ic.Repository.create(ic.local_filesystem_storage(str(tmp_path))))


@pytest.fixture
def on_disk(tmp_path: Path) -> ic.IcechunkStore:
    return store_of(ic.Repository.create(ic.local_filesystem_storage(str(tmp_path))))


def filled(number: int, length: int = LONG) -> cpu.Buffer:
    return cpu.Buffer.from_array_like(np.full(length, number, dtype="u1"))


def bytes_of(store: ic.IcechunkStore, number: int) -> bytes:
    found = store.get_sync(f"x/c/{number}")
    assert found is not None
    return found.to_bytes()


def test_what_was_given_may_change_afterwards(store: ic.IcechunkStore) -> None:
    memory = np.zeros(LONG, dtype="u1")
    value = cpu.Buffer.from_array_like(memory)
    for number in range(COUNT):
        memory[:] = number
        store.set_sync(f"x/c/{number}", value)
    memory[:] = 255
    for number in range(COUNT):
        assert bytes_of(store, number) == bytes([number]) * LONG


async def test_what_was_given_may_change_while_it_is_written(store: ic.IcechunkStore) -> None:
    memory = np.zeros(LONG, dtype="u1")
    tasks = []
    for number in range(COUNT):
        memory[:] = number
        task = asyncio.ensure_future(store.set(f"x/c/{number}", cpu.Buffer.from_array_like(memory)))
        # It has begun, so it has its own copy.
        await asyncio.sleep(0)
        tasks.append(task)
    memory[:] = 255
    await asyncio.gather(*tasks)
    for number in range(COUNT):
        assert bytes_of(store, number) == bytes([number]) * LONG


def test_what_was_read_stays_as_it_was(store: ic.IcechunkStore) -> None:
    store.set_sync("x/c/0", filled(1))
    first = store.get_sync("x/c/0")
    for number in range(2, COUNT):
        store.set_sync("x/c/0", filled(number))
    assert first is not None
    assert first.to_bytes() == bytes([1]) * LONG


def test_lengths_one_after_another(store: ic.IcechunkStore) -> None:
    # Memory of a longer value is used for a shorter one: only the value is stored.
    lengths = [LONG, LONG - 1, LONG - (LONG >> 5), LONG // 2, LONG, 130 << 10, 3]
    for number, length in enumerate(lengths):
        store.set_sync(f"x/c/{number}", filled(number, length))
    for number, length in enumerate(lengths):
        assert bytes_of(store, number) == bytes([number]) * length


def test_rows_that_are_not_contiguous(store: ic.IcechunkStore) -> None:
    every_second = np.arange(2 * LONG, dtype="u1")[::2]
    store.set_sync("x/c/0", cpu.Buffer(np.ascontiguousarray(every_second)))
    store.set_sync("x/c/1", cpu.Buffer(every_second))
    assert bytes_of(store, 0) == bytes_of(store, 1) == every_second.tobytes()


async def test_more_at_once_than_threads(on_disk: ic.IcechunkStore) -> None:
    prototype = default_buffer_prototype()
    await asyncio.gather(
        *(on_disk.set(f"x/c/{number}", filled(number)) for number in range(COUNT))
    )
    found = await asyncio.gather(
        *(on_disk.get(f"x/c/{number % COUNT}", prototype) for number in range(4 * COUNT))
    )
    for number, value in enumerate(found):
        assert value is not None
        assert value.to_bytes() == bytes([number % COUNT]) * LONG


def test_loops_of_several_threads(on_disk: ic.IcechunkStore) -> None:
    failed: list[BaseException] = []

    async def work(number: int) -> None:
        for _ in range(8):
            await on_disk.set(f"x/c/{number}", filled(number))
            found = await on_disk.get(f"x/c/{number}", default_buffer_prototype())
            assert found is not None
            assert found.to_bytes() == bytes([number]) * LONG

    def run(number: int) -> None:
        try:
            asyncio.run(work(number))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=[number]) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


async def test_a_read_that_nobody_wants_any_more(on_disk: ic.IcechunkStore) -> None:
    prototype = default_buffer_prototype()
    for number in range(COUNT):
        on_disk.set_sync(f"x/c/{number}", filled(number))
    on_disk.get_sync("x/c/0")
    tasks = [
        asyncio.ensure_future(on_disk.get(f"x/c/{number}", prototype)) for number in range(COUNT)
    ]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    for number, value in enumerate(ended):
        # Some may have been done before.
        if not isinstance(value, asyncio.CancelledError):
            assert isinstance(value, cpu.Buffer)
            assert value.to_bytes() == bytes([number]) * LONG
    for number in range(COUNT):
        assert bytes_of(on_disk, number) == bytes([number]) * LONG


async def test_writes_that_nobody_waits_for_are_whole_or_not_there(on_disk: ic.IcechunkStore) -> None:
    tasks = [
        asyncio.ensure_future(on_disk.set(f"x/c/{number}", filled(number)))
        for number in range(COUNT)
    ]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    on_disk.session.commit("what was begun")
    for number, value in enumerate(ended):
        found = on_disk.get_sync(f"x/c/{number}")
        if value is None:
            assert found is not None, "it was done"
        if found is not None:
            assert found.to_bytes() == bytes([number]) * LONG
