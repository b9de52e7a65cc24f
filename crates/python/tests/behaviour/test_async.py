"""The asynchronous twins, event loops that come and go, tasks that are cancelled, threads."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from children import command
from making import PROTOTYPE, Keys, buffer, commit, create, keys_of, small_array
from under_test import ic, raises, run

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
ROOT = "1CECHNKREP0F1RSTCMT0"

# a method of the repository: arguments of the twins, whose results must be equal
TWINS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "list_branches": ((), {}),
    "list_tags": ((), {}),
    "lookup_branch": (("main",), {}),
    "lookup_tag": (("t",), {}),
    "lookup_snapshot": ((ROOT,), {}),
    "inspect_snapshot": ((ROOT,), {}),
    "expire_snapshots": ((LONG_AGO,), {}),
}


@pytest.fixture
def tagged(stocked: Any) -> Any:
    stocked.create_tag("t", stocked.lookup_branch("main"))
    return stocked


@pytest.mark.parametrize("name", sorted(TWINS))
async def test_twins_agree(tagged: Any, name: str) -> None:
    arguments, more = TWINS[name]
    awaited = await getattr(tagged, f"{name}_async")(*arguments, **more)
    assert awaited == await asyncio.to_thread(getattr(tagged, name), *arguments, **more)


async def test_a_repository_in_a_loop(storage: Any) -> None:
    assert await ic.Repository.exists_async(storage) is False
    repo = await ic.Repository.create_async(storage, spec_version=1)
    assert await ic.Repository.exists_async(storage) is True
    assert await ic.Repository.fetch_spec_version_async(storage) == ic.SpecVersion.v1
    session = await repo.writable_session_async("main")
    for key, data in small_array().items():
        await session.store.set(key, buffer(data))
    made = await session.commit_async("in a loop", {"n": 1})
    again = await ic.Repository.open_async(storage)
    assert await again.lookup_branch_async("main") == made
    read = await again.readonly_session_async("main")
    assert await read.store.exists("a/zarr.json")


async def test_open_or_create_in_a_loop(storage: Any) -> None:
    repo = await ic.Repository.open_or_create_async(storage, create_version=1)
    again = await ic.Repository.open_or_create_async(storage)
    assert await again.list_branches_async() == await repo.list_branches_async() == {"main"}


async def test_refs_in_a_loop(stocked: Any) -> None:
    tip = await stocked.lookup_branch_async("main")
    await stocked.create_branch_async("dev", ROOT)
    await stocked.reset_branch_async("dev", tip)
    assert await stocked.lookup_branch_async("dev") == tip
    await stocked.delete_branch_async("dev")
    await stocked.create_tag_async("t", tip)
    assert await stocked.lookup_tag_async("t") == tip
    await stocked.delete_tag_async("t")
    assert await stocked.list_branches_async() == {"main"}
    assert await stocked.list_tags_async() == set()


async def test_conflicts_in_a_loop(stocked: Any) -> None:
    sessions = [await stocked.writable_session_async("main") for _ in range(2)]
    for index, session in enumerate(sessions):
        await session.store.set(f"a/c/{index + 2}", buffer(b"x"))
    await sessions[0].commit_async("first")
    with raises("ConflictError", "commit-conflict"):
        await sessions[1].commit_async("second")
    await sessions[1].rebase_async(ic.ConflictDetector())
    await sessions[1].commit_async("second")
    diff = await stocked.diff_async(from_snapshot_id=ROOT, to_branch="main")
    assert diff.updated_chunks == {"/a": [[0], [1], [2], [3]]}


async def test_forks_in_a_loop(stocked: Any) -> None:
    session = await stocked.writable_session_async("main")
    fork = session.fork()
    await fork.store.set("a/c/2", buffer(b"f"))
    await session.merge_async(fork)
    await session.commit_async("merged")
    found = await (await stocked.readonly_session_async("main")).store.get("a/c/2", PROTOTYPE)
    assert bytes(found.to_bytes()) == b"f"


async def test_inspection_in_a_loop(stocked: Any) -> None:
    session = await stocked.readonly_session_async("main")
    assert await session.chunk_type_async("/a", [0]) == ic.ChunkType.inline
    assert await session.get_node_id_async("/a") == await asyncio.to_thread(
        session.get_node_id, "/a"
    )
    assert await session.all_virtual_chunk_locations_async() == []
    assert [c async for c in session.chunk_coordinates("/a")] == [(0,), (1,)]
    assert [s.id async for s in stocked.async_ancestry(snapshot_id=ROOT)] == [ROOT]
    files = await stocked.list_manifest_files_async(session.snapshot_id)
    manifest = await stocked.inspect_manifest_async(files[0].id)
    assert manifest["total_chunk_refs"] == 2
    log = await stocked.inspect_transaction_log_async(session.snapshot_id)
    assert len(log["new_arrays"]) == 1


async def test_maintenance_in_a_loop(stocked: Any) -> None:
    assert await stocked.expire_snapshots_async(LONG_AGO) == set()
    summary = await stocked.garbage_collect_async(LONG_AGO)
    assert summary.chunks_deleted == 0
    stats = await stocked.chunk_storage_stats_async()
    assert stats.inlined_bytes == 2
    made = await stocked.rewrite_manifests_async("rewritten", branch="main")
    assert await stocked.lookup_branch_async("main") == made


async def test_settings_in_a_loop(storage: Any) -> None:
    config = ic.RepositoryConfig(inline_chunk_threshold_bytes=7)
    repo = await ic.Repository.create_async(storage, config, spec_version=1)
    await repo.save_config_async()
    saved = await ic.Repository.fetch_config_async(storage)
    assert saved.inline_chunk_threshold_bytes == 7
    other = await repo.reopen_async(ic.RepositoryConfig(inline_chunk_threshold_bytes=9))
    assert other.config.inline_chunk_threshold_bytes == 9


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lookup_branch_async", ("nope",)),
        ("lookup_tag_async", ("nope",)),
        ("delete_branch_async", ("nope",)),
        ("writable_session_async", ("nope",)),
        ("readonly_session_async", ("nope",)),
    ],
)
async def test_errors_come_by_awaiting(repo: Any, name: str, arguments: tuple[Any, ...]) -> None:
    with raises("RefNotFoundError", "ref-not-found"):
        await getattr(repo, name)(*arguments)


async def test_many_reads_at_once(stocked: Any) -> None:
    store = stocked.readonly_session("main").store
    found = await asyncio.gather(*[store.get(f"a/c/{i % 2}", PROTOTYPE) for i in range(200)])
    assert [bytes(f.to_bytes()) for f in found] == [b"\x01", b"\x02"] * 100


async def test_many_writes_at_once(stocked: Any) -> None:
    await asyncio.to_thread(commit, stocked, {"b/zarr.json": small_array("b", 200)["b/zarr.json"]})
    session = stocked.writable_session("main")
    await asyncio.gather(*[session.store.set(f"b/c/{i}", buffer(bytes([i]))) for i in range(200)])
    await session.commit_async("many")
    store = stocked.readonly_session("main").store
    found = await asyncio.gather(*[store.get(f"b/c/{i}", PROTOTYPE) for i in range(200)])
    assert [bytes(f.to_bytes()) for f in found] == [bytes([i]) for i in range(200)]


def test_a_store_outlives_event_loops(stocked: Any) -> None:
    keys = keys_of(stocked)
    assert [keys.get("a/c/0") for _ in range(20)] == [b"\x01"] * 20


def test_a_closed_loop_does_no_harm(stocked: Any) -> None:
    store = stocked.readonly_session("main").store
    loop = asyncio.new_event_loop()
    loop.run_until_complete(store.get("a/c/0", PROTOTYPE))
    loop.close()
    assert Keys(store).get("a/c/0") == b"\x01"


def test_a_coroutine_of_a_closed_loop_runs_in_another(stocked: Any) -> None:
    store = stocked.readonly_session("main").store

    async def read() -> bytes:
        return bytes((await store.get("a/c/1", PROTOTYPE)).to_bytes())

    for _ in range(3):
        loop = asyncio.new_event_loop()
        assert loop.run_until_complete(read()) == b"\x02"
        loop.close()


def test_synchronous_calls_within_a_loop(stocked: Any) -> None:
    async def work() -> str:
        return str(stocked.lookup_branch("main"))

    assert run(work()) == stocked.lookup_branch("main")


async def test_a_cancelled_read_leaves_the_store_usable(stocked: Any) -> None:
    store = stocked.readonly_session("main").store
    tasks = [asyncio.ensure_future(store.get("a/c/0", PROTOTYPE)) for _ in range(50)]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    found = await store.get("a/c/0", PROTOTYPE)
    assert bytes(found.to_bytes()) == b"\x01"


async def test_a_listing_left_early_leaves_the_store_usable(stocked: Any) -> None:
    store = stocked.readonly_session("main").store
    async for _ in store.list():
        break
    assert len([key async for key in store.list()]) == 4


async def test_reading_while_a_listing_goes_on(stocked: Any) -> None:
    store = stocked.readonly_session("main").store
    sizes = [await store.getsize(key) async for key in store.list()]
    assert len(sizes) == 4 and all(sizes)


def test_threads_read_one_store(stocked: Any) -> None:
    store = stocked.readonly_session("main").store
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: Keys(store).get(f"a/c/{i % 2}"), range(80)))
    assert found == [b"\x01", b"\x02"] * 40


def test_threads_write_one_session(stocked: Any) -> None:
    commit(stocked, {"b/zarr.json": small_array("b", 64)["b/zarr.json"]})
    session = stocked.writable_session("main")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: Keys(session.store).put(f"b/c/{i}", bytes([i])), range(64)))
    session.commit("threads")
    keys = keys_of(stocked)
    assert [keys.get(f"b/c/{i}") for i in range(64)] == [bytes([i]) for i in range(64)]


def test_threads_commit_with_rebase(repo: Any) -> None:
    commit(repo, small_array("a", 8))

    def work(index: int) -> str:
        session = repo.writable_session("main")
        Keys(session.store).put(f"a/c/{index}", bytes([index]))
        return str(session.commit(f"thread {index}", rebase_with=ic.ConflictDetector()))

    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(work, range(8)))
    assert len(made) == 8
    keys = keys_of(repo)
    assert [keys.get(f"a/c/{i}") for i in range(8)] == [bytes([i]) for i in range(8)]
    assert len(list(repo.ancestry(branch="main"))) == 10


def test_only_one_of_racing_threads_makes_a_tag(stocked: Any) -> None:
    tip = stocked.lookup_branch("main")
    barrier = threading.Barrier(4)

    def work(_: int) -> bool:
        barrier.wait()
        try:
            stocked.create_tag("race", tip)
        except ic.IcechunkError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, range(4))) == 1


def test_only_one_of_racing_threads_commits(stocked: Any) -> None:
    sessions = [stocked.writable_session("main") for _ in range(4)]
    for session in sessions:
        Keys(session.store).put("a/c/2", b"x")
    barrier = threading.Barrier(4)

    def work(session: Any) -> bool:
        barrier.wait()
        try:
            session.commit("race")
        except ic.ConflictError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, sessions)) == 1


def test_one_session_commits_once(stocked: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).put("a/c/2", b"x")

    def work(_: int) -> bool:
        try:
            session.commit("race")
        except ic.IcechunkError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, range(4))) == 1


def test_the_store_is_used_in_a_loop_of_another_thread(stocked: Any) -> None:
    store = stocked.readonly_session("main").store
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        futures = [
            asyncio.run_coroutine_threadsafe(store.get("a/c/0", PROTOTYPE), loop)
            for _ in range(20)
        ]
        assert [bytes(f.result(60).to_bytes()) for f in futures] == [b"\x01"] * 20
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_a_process_opens_again_after_fork(disk: Any, tmp_path: Any) -> None:
    create(disk)
    path = str(tmp_path / "repo")
    program = (
        "import os, sys; from importlib import import_module; ic = import_module(sys.argv[1])\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    repo = ic.Repository.open(ic.local_filesystem_storage(sys.argv[2]))\n"
        "    os._exit(0 if repo.list_branches() == {'main'} else 3)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    process = subprocess.Popen(command(program, ic.__name__, path), start_new_session=True)
    try:
        assert process.wait(20) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
