"""Sessions: commits, forks and merges, threads, and indices that cannot be."""

import asyncio
import threading
from typing import Any

import numpy as np
import pytest
import zarr

import icefield
from icefield import ErrorKind, Repository
from icefield.storage import LatencyStorage


def values(session: icefield.Session) -> list[int]:
    return [int(it) for it in np.asarray(zarr.open_array(session.store, path="a", mode="r")[:])]


def put(session: icefield.Session, index: int, value: int) -> None:
    zarr.open_array(session.store, path="a", mode="r+")[index] = value


def test_a_commit_makes_the_session_read_only(memory: Repository) -> None:
    session = memory.writable_session("main")
    store = session.store
    assert session.mode is icefield.SessionMode.writable
    put(session, 0, 10)
    assert session.has_uncommitted_changes
    snapshot = session.commit("x")
    assert session.read_only and store.read_only and session.branch is None
    assert session.snapshot_id == snapshot == memory.lookup_branch("main")
    assert int(session.mode) == int(icefield.SessionMode.readonly)
    with pytest.raises(icefield.ReadOnlyError) as caught:
        store.set_sync("zarr.json", icefield_buffer(b"{}"))
    assert caught.value.kind == ErrorKind.READ_ONLY_STORE


def icefield_buffer(value: bytes) -> Any:
    return zarr.core.buffer.default_buffer_prototype().buffer.from_bytes(value)


def test_nothing_to_commit(memory: Repository) -> None:
    with pytest.raises(icefield.SessionStateError) as caught:
        memory.writable_session("main").commit("x")
    assert caught.value.kind == ErrorKind.NO_CHANGES_TO_COMMIT


def test_rebase_by_position_and_by_name(memory: Repository) -> None:
    solver = icefield.ConflictDetector()
    commit: Any
    for commit in (
        lambda it: it.commit("x", None, solver, 5),
        lambda it: it.commit("x", rebase_with=solver, rebase_tries=5),
        lambda it: asyncio.run(it.commit_async("x", None, solver)),
    ):
        session, other = memory.writable_session("main"), memory.writable_session("main")
        put(session, 0, int.from_bytes(session.snapshot_id.encode()[-2:]))
        put(other, 1, int.from_bytes(session.snapshot_id.encode()[-2:]))
        other.commit("first")
        commit(session)
    too_many: Any = memory.writable_session("main").commit
    with pytest.raises(TypeError, match="positional"):
        too_many("x", None, solver, 5, True)
    with pytest.raises(TypeError, match="multiple values"):
        too_many("x", None, solver, rebase_with=solver)


def test_a_conflict_names_both_parents(memory: Repository) -> None:
    session, other = memory.writable_session("main"), memory.writable_session("main")
    put(session, 0, 1)
    put(other, 0, 2)
    winner = other.commit("first")
    with pytest.raises(icefield.ConflictError) as caught:
        session.commit("second")
    assert caught.value.expected_parent == session.snapshot_id
    assert caught.value.actual_parent == winner
    with pytest.raises(icefield.RebaseFailedError) as failed:
        session.rebase(icefield.ConflictDetector())
    assert failed.value.snapshot == winner
    assert [it.path for it in failed.value.conflicts] == ["/a"]


@pytest.mark.parametrize("tries", [-1, 2**16, 2**70])
def test_impossible_numbers_of_tries(memory: Repository, tries: int) -> None:
    with pytest.raises(icefield.InvalidInputError, match="rebase_tries"):
        memory.writable_session("main").commit("x", rebase_tries=tries)


def test_arguments_of_wrong_types(memory: Repository) -> None:
    session: Any = memory.writable_session("main")
    with pytest.raises(TypeError, match="`message`"):
        session.commit(3)
    with pytest.raises(TypeError, match="`rebase_with`"):
        session.commit("x", rebase_with="ours")
    with pytest.raises(TypeError, match="`solver`"):
        session.rebase(None)
    with pytest.raises(TypeError, match="merge\\(\\*forks\\)"):
        session.merge([session.fork()])
    with pytest.raises(TypeError, match="rebase_tries"):
        session.commit("x", rebase_tries=1.5)


def test_forks_merge(memory: Repository) -> None:
    session = memory.writable_session("main")
    put(session, 3, 30)
    one, two = session.fork(), session.fork()
    put(one, 0, 10)
    put(two, 1, 12)
    assert isinstance(one.store.session, icefield.ForkSession)
    session.merge(one, two)
    session.merge(two)
    put(two, 2, 14)
    session.merge(two)
    assert values(session) == [10, 12, 14, 30]
    session.commit("merged")


def test_forks_that_wrote_the_same_chunk(memory: Repository) -> None:
    session = memory.writable_session("main")
    one, two = session.fork(), session.fork()
    put(one, 0, 10)
    put(two, 0, 11)
    with pytest.raises(icefield.SessionStateError, match="/a") as caught:
        session.merge(one, two)
    assert caught.value.kind == ErrorKind.MERGE_FAILED
    assert values(session) == [0, 1, 2, 3]


def test_forks_cannot_be_committed(memory: Repository) -> None:
    fork = memory.writable_session("main").fork()
    put(fork, 0, 10)
    with pytest.raises(icefield.SessionStateError) as caught:
        fork.commit("x")
    assert caught.value.kind == ErrorKind.COMMIT_NOT_ALLOWED
    with pytest.raises(icefield.IcechunkError):
        fork.flush("x")
    with pytest.raises(icefield.SessionStateError) as caught:
        memory.readonly_session("main").fork()
    assert caught.value.kind == ErrorKind.CANNOT_FORK_READ_ONLY_SESSION


def test_forks_that_made_the_same_group(memory: Repository) -> None:
    session = memory.writable_session("main")
    forks = session.fork(), session.fork()
    for number, fork in enumerate(forks):
        zarr.create_group(fork.store, path="g", attributes={"number": number})
    with pytest.raises(icefield.SessionStateError) as caught:
        session.merge(*forks)
    assert caught.value.kind == ErrorKind.MERGE_FAILED


def test_stale_forks_are_refused(memory: Repository) -> None:
    session = memory.writable_session("main")
    fork = session.fork()
    put(fork, 0, 10)
    put(session, 1, 1)
    put(session, 2, 5)
    session.commit("meanwhile")
    with pytest.raises(icefield.IcechunkError):
        session.merge(fork)
    with pytest.raises(icefield.SessionStateError):
        memory.writable_session("main").merge(fork)


def test_a_cancelled_commit_is_settled(memory: Repository) -> None:
    async def run() -> icefield.Session:
        session = memory.writable_session("main")
        put(session, 0, 77)
        task = asyncio.ensure_future(session.commit_async("cancelled"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
            raise asyncio.CancelledError  # it was faster than the cancellation
        for _ in range(2000):
            if session.read_only:
                break
            await asyncio.sleep(0.005)
        return session

    session = asyncio.run(run())
    if session.read_only:
        assert session.snapshot_id == memory.lookup_branch("main")
        assert values(memory.readonly_session("main"))[0] == 77
    else:
        # It was cancelled before it began.
        session.commit("again")


def test_one_session_from_several_threads(memory: Repository) -> None:
    session = memory.writable_session("main")
    group = zarr.open_group(session.store)
    arrays = [
        group.create_array(f"t{number}", shape=(20,), chunks=(1,), dtype="i4")
        for number in range(4)
    ]

    def write(number: int) -> None:
        for index in range(20):
            arrays[number][index] = number * 100 + index

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session.commit("from threads")
    read = zarr.open_group(memory.readonly_session("main").store, mode="r")
    for number in range(4):
        array = read[f"t{number}"]
        assert isinstance(array, zarr.Array)
        assert np.asarray(array[:]).tolist() == [number * 100 + index for index in range(20)]


@pytest.mark.parametrize("index", [[-1], [2**32], [2**70]])
def test_impossible_indices(memory: Repository, index: list[int]) -> None:
    session = memory.writable_session("main")
    with pytest.raises(icefield.InvalidInputError):
        session.chunk_type("/a", index)


def test_impossible_shifts(memory: Repository) -> None:
    session = memory.writable_session("main")
    with pytest.raises(icefield.InvalidInputError):
        session.shift_array("/a", [2**70])
    with pytest.raises(icefield.InvalidInputError):
        session.shift_array("/a", [1, 1])
    with pytest.raises(icefield.InvalidInputError, match="must start with"):
        session.shift_array("a", [1])
    text: Any = "1"
    with pytest.raises(TypeError):
        session.shift_array("/a", text)


def test_shifting_and_reindexing(memory: Repository) -> None:
    session = memory.writable_session("main")
    session.shift_array("/a", (-1,))
    assert values(session) == [1, 2, 3, 0]
    session.reindex_array("/a", lambda index: [3 - it for it in index])
    session.discard_changes()
    assert values(session) == [0, 1, 2, 3]


def test_errors_of_a_reindexing_function_come_through(memory: Repository) -> None:
    session = memory.writable_session("main")

    def broken(index: Any) -> list[int]:
        raise ZeroDivisionError("mine")

    with pytest.raises((ZeroDivisionError, icefield.IcechunkError), match="mine"):
        session.reindex_array("/a", broken)
    with pytest.raises(icefield.InvalidInputError):
        session.reindex_array("/a", lambda index: [100])
    assert not session.has_uncommitted_changes


def test_chunks_are_listed(memory: Repository) -> None:
    session = memory.readonly_session("main")

    async def found() -> list[tuple[int, ...]]:
        return [it async for it in session.chunk_coordinates("/a", 2)]

    assert sorted(asyncio.run(found())) == [(1,), (2,), (3,)]
    assert session.chunk_type("/a", [1]) is icefield.ChunkType.inline
    assert asyncio.run(session.chunk_type_async("/a", (1,))) is icefield.ChunkType.inline


def test_a_cancelled_next_loses_nothing(memory: Repository) -> None:
    async def found() -> list[tuple[int, ...]]:
        items: list[tuple[int, ...]] = []
        chunks = memory.readonly_session("main").chunk_coordinates("/a", 1)
        while True:
            task = asyncio.ensure_future(anext(chunks))
            await asyncio.sleep(0)
            task.cancel()
            try:
                items.append(await task)
            except asyncio.CancelledError:
                continue
            except StopAsyncIteration:
                return items

    async def bounded() -> list[tuple[int, ...]]:
        try:
            return await asyncio.wait_for(found(), 20)
        except TimeoutError:
            raise AssertionError("the iterator makes no progress when it is cancelled") from None

    assert sorted(asyncio.run(bounded())) == [(1,), (2,), (3,)]


def test_a_cancelled_next_of_a_slow_storage_loses_nothing(disk: Repository) -> None:
    for number in range(20):
        disk.writable_session("main").commit(str(number), allow_empty=True)
    slow = Repository.open(
        LatencyStorage(disk.storage, write_latency_ms=0, read_latency_ms=5)
    )

    async def found() -> tuple[list[str], int]:
        messages, cancelled = [], 0
        history = slow.async_ancestry(branch="main")
        while True:
            task = asyncio.ensure_future(anext(history))
            await asyncio.sleep(0.001)
            task.cancel()
            try:
                messages.append((await task).message)
            except asyncio.CancelledError:
                cancelled += 1
            except StopAsyncIteration:
                return messages, cancelled

    messages, cancelled = asyncio.run(found())
    assert cancelled > 0
    assert messages == [it.message for it in disk.ancestry(branch="main")]


def test_two_who_ask_for_the_next_get_different_ones(disk: Repository) -> None:
    async def found() -> list[str]:
        history = disk.async_ancestry(branch="main")
        return [it.id for it in await asyncio.gather(anext(history), anext(history))]

    assert asyncio.run(found()) == [it.id for it in disk.ancestry(branch="main")]


def test_sessions_are_equal_to_themselves(memory: Repository) -> None:
    session = memory.readonly_session("main")
    assert session == session.store.session
    assert session != memory.readonly_session("main")
    assert session.store == session.store
    assert session.store != memory.readonly_session("main").store
    with pytest.raises(TypeError):
        hash(session)


def test_what_version_2_needs(older: Repository) -> None:
    session = older.writable_session("main")
    for call in (
        lambda: session.amend("x"),
        lambda: session.move("/a", "/b"),
        lambda: asyncio.run(session.amend_async("x")),
        lambda: asyncio.run(session.move_async("/a", "/b")),
    ):
        with pytest.raises(icefield.FormatError) as caught:
            call()
        assert caught.value.kind == ErrorKind.UNSUPPORTED_SPEC_VERSION


def test_pickling_was_allowed_once(memory: Repository) -> None:
    with pytest.raises(RuntimeError, match="fork"):
        memory.writable_session("main").allow_pickling()


def test_a_fork_says_that_it_is_not_rebased(disk: Repository) -> None:
    fork = disk.writable_session("main").fork()
    with pytest.raises(icefield.SessionStateError, match="not rebased") as caught:
        fork.rebase(icefield.ConflictDetector())
    assert caught.value.kind == "commit-not-allowed"


def test_metadata_that_contains_itself(disk: Repository) -> None:
    itself: list[Any] = []
    itself.append(itself)
    with pytest.raises(icefield.InvalidInputError, match="contains itself") as caught:
        disk.writable_session("main").commit("x", metadata={"a": itself})
    assert str(caught.value).startswith("metadata['a'][0]")
    assert len(str(caught.value)) < 250


def test_the_status_is_awaited(memory: Repository) -> None:
    session = memory.writable_session("main")
    zarr.open_array(session.store, path="a")[0] = 10
    assert asyncio.run(session.status_async()) == session.status()


WITHOUT_TWIN = {
    # As docs/python.md says.
    "transaction repair window shift_array reindex_array",
    # For `async for`.
    "ancestry async_ancestry chunk_coordinates",
    # These do no I/O.
    "allow_pickling default_commit_metadata discard_changes fork answer set_default_commit_metadata",
}


@pytest.mark.parametrize("of", [Repository, icefield.ForkSession])
def test_methods_that_do_io_have_a_twin(of: type) -> None:
    names = {it for it in dir(of) if not it.startswith("_") and callable(getattr(of, it))}
    alone = {it for it in names if not it.endswith("_async") and f"{it}_async" not in names}
    assert alone <= set(" ".join(WITHOUT_TWIN).split())


def test_whether_a_commit_may_be_empty_is_true_or_false(memory: Repository) -> None:
    session = memory.writable_session("main")
    wrong: Any
    for wrong in (None, "false", 1):
        with pytest.raises(TypeError, match="allow_empty"):
            session.commit("nothing", allow_empty=wrong)
    assert not session.read_only
