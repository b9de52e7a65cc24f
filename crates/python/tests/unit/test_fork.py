"""A forked process: objects of the parent say so, new ones work, and nothing waits for ever."""

import asyncio
import contextlib
import json
import multiprocessing
import os
import pickle
import select
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from zarr.core.buffer import cpu, default_buffer_prototype

import icefield
from icefield import Repository

pytestmark = [
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
PATIENCE = 30.0


def in_child(work: Callable[[], Any]) -> Any:
    """What a function returns in a forked child; a child that hangs is an error."""
    # Output that pytest has captured must not be written twice.
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            answer = json.dumps(["value", work()])
        except BaseException as error:
            answer = json.dumps(["error", f"{type(error).__name__}: {error}"])
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    try:
        ready, _, _ = select.select([reading], [], [], PATIENCE)
        if not ready:
            os.kill(child, signal.SIGKILL)
            raise AssertionError("the child hangs")
        what, value = json.loads(os.read(reading, 1 << 20))
    finally:
        os.close(reading)
        os.waitpid(child, 0)
    if what == "error":
        raise AssertionError(value)
    return value


def test_objects_of_the_parent_are_refused(disk: Repository) -> None:
    session = disk.readonly_session("main")
    store = session.store
    assert store.get_sync("a/zarr.json") is not None

    def work() -> list[str]:
        kinds = []
        calls: list[Callable[[], Any]] = [
            disk.list_branches,
            lambda: store.get_sync("a/zarr.json"),
            lambda: session.snapshot_id,
            lambda: disk.writable_session("main"),
            lambda: disk.ancestry(branch="main"),
        ]
        for call in calls:
            try:
                call()
                kinds.append("no error")
            except icefield.IcechunkError as error:
                kinds.append(error.kind)
        return kinds

    assert in_child(work) == ["forked"] * 5
    assert disk.list_branches() == {"main"}


def test_a_child_opens_its_own(disk: Repository, tmp_path: Path) -> None:
    path = str(tmp_path / "repository")

    def work() -> list[Any]:
        repository = Repository.open(icefield.local_filesystem_storage(path))
        session = repository.writable_session("main")
        zarr.open_array(session.store, path="a")[0] = 42
        return [session.commit("from the child")]

    assert in_child(work) == [disk.lookup_branch("main")]
    assert next(disk.ancestry(branch="main")).message == "from the child"


def test_long_values_before_a_fork_and_in_the_child(tmp_path: Path) -> None:
    path = str(tmp_path / "repository")
    length = 1 << 20

    def write_and_read(number: int) -> str:
        repository = Repository.open_or_create(icefield.local_filesystem_storage(path))
        session = repository.writable_session("main")
        store = session.store
        value = cpu.Buffer.from_array_like(np.full(length, number, dtype="u1"))

        async def work() -> list[Any]:
            if not await store.exists("x/zarr.json"):
                zarr_json = zarr.create_array({}, shape=(8 * length,), chunks=(length,), dtype="u1")
                document = json.dumps(zarr_json.metadata.to_dict()).encode()
                await store.set("x/zarr.json", cpu.Buffer.from_bytes(document))
            keys = [f"x/c/{at}" for at in range(8)]
            await asyncio.gather(*(store.set(key, value) for key in keys))
            return await asyncio.gather(
                *(store.get(key, default_buffer_prototype()) for key in keys)
            )

        found = asyncio.run(work())
        assert all(each.to_bytes() == bytes([number]) * length for each in found)
        return session.commit(f"the number {number}")

    # The threads that wait for disks, and the memory that is used again, are the parent's.
    write_and_read(1)
    tip = in_child(lambda: write_and_read(2))
    disk = Repository.open(icefield.local_filesystem_storage(path))
    assert disk.lookup_branch("main") == tip
    write_and_read(3)


def commit_and_give_up(path: str) -> None:
    repository = Repository.open(icefield.local_filesystem_storage(path))
    session = repository.writable_session("main")
    zarr.create_group(session.store, path="of-the-child")

    async def give_up() -> None:
        commit = asyncio.ensure_future(session.commit_async("not awaited"))
        await asyncio.sleep(0)
        commit.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await commit

    asyncio.run(give_up())


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_child_of_multiprocessing_waits_for_its_commit(
    disk: Repository, tmp_path: Path, method: str
) -> None:
    path = str(tmp_path / "repository")
    context = multiprocessing.get_context(method)
    child = context.Process(target=commit_and_give_up, args=[path])  # type: ignore[attr-defined]
    child.start()
    child.join(PATIENCE)
    assert child.exitcode == 0
    assert next(disk.ancestry(branch="main")).message == "not awaited"


def test_what_the_parent_pickled_works_in_the_child(disk: Repository) -> None:
    data = pickle.dumps(disk.readonly_session("main"))

    def work() -> int:
        session = pickle.loads(data)
        return int(zarr.open_array(session.store, path="a", mode="r")[2])  # type: ignore[arg-type]

    # Opened in the parent, too, so that there is something that the child must not share.
    assert pickle.loads(data).snapshot_id == disk.lookup_branch("main")
    assert in_child(work) == 2


def test_children_one_after_the_other(disk: Repository, tmp_path: Path) -> None:
    path = str(tmp_path / "repository")

    def work() -> list[str]:
        repository = Repository.open(icefield.local_filesystem_storage(path))
        return sorted(repository.list_branches())

    for _ in range(3):
        assert in_child(work) == ["main"]
        assert disk.list_branches() == {"main"}


def test_objects_of_the_parent_show_themselves_and_pickle(disk: Repository) -> None:
    session = disk.readonly_session("main")
    writable = disk.writable_session("main")
    committed = disk.writable_session("main")
    zarr.open_array(committed.store, path="a")[0] = 7
    tip = committed.commit("seven")
    fork = writable.fork()
    unpickled = pickle.loads(pickle.dumps(session))
    shown: list[Any] = [disk, session, session.store, writable, writable.store, fork, unpickled]
    shown.append(fork.store)
    before = repr(session)

    def work() -> list[Any]:
        texts = [repr(it) + str(it) + it._repr_html_() for it in shown]
        read = [
            pickle.loads(pickle.dumps(it)).get_sync("a/zarr.json") is not None
            for it in (session.store, committed.store, unpickled.store)
        ]
        ids = [pickle.loads(pickle.dumps(it)).snapshot_id for it in (session, committed)]
        refused = []
        for it in (writable, writable.store):
            try:
                pickle.dumps(it)
            except ValueError as error:
                refused.append("Session.fork" in str(error))
        branches = sorted(pickle.loads(pickle.dumps(disk)).list_branches())
        return [all(texts), repr(session), read, ids, refused, branches, repr(writable)]

    found = in_child(work)
    assert found[:2] == [True, before]
    assert found[2] == [True, True, True]
    assert found[3] == [session.snapshot_id, tip]
    assert found[4] == [True, True]
    assert found[5] == ["main"]
    assert "branch: main" in found[6] and "not usable here" in found[6]
    assert repr(unpickled) == before


def test_what_cannot_be_opened_shows_itself(disk: Repository, tmp_path: Path) -> None:
    fork = pickle.loads(pickle.dumps(disk.writable_session("main").fork()))
    (tmp_path / "repository").rename(tmp_path / "elsewhere")
    assert "not usable here" in repr(fork)
    assert "not usable here" in repr(fork.store)
