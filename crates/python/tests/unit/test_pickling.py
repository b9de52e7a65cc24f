"""Pickles: small, opened at first use, without what must not leave."""

import asyncio
import copy
import pickle
import shutil
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import zarr
from zarr.core.buffer import default_buffer_prototype

import icefield
from icefield import Repository
from icefield._changes import Changes
from icefield._place import Place
from icefield.storage import IcefieldWarning


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def values(store: Any) -> list[int]:
    return [int(it) for it in np.asarray(zarr.open_array(store, path="a", mode="r")[:])]


def test_what_reads_pickles_compactly(disk: Repository) -> None:
    session = disk.readonly_session("main")
    for it in (disk, session, session.store):
        assert len(pickle.dumps(it)) < 4096
    assert values(again(session).store) == [0, 1, 2, 3]
    assert values(again(session.store)) == [0, 1, 2, 3]
    assert again(again(session)).snapshot_id == session.snapshot_id


def test_nothing_is_opened_before_it_is_used(disk: Repository) -> None:
    session = again(disk.readonly_session("main"))
    assert session.read_only and session.store.read_only
    assert "_session" not in vars(session)
    assert again(session).snapshot_id == disk.lookup_branch("main")


def test_a_repository_keeps_its_settings(disk: Repository) -> None:
    other = disk.reopen(icefield.RepositoryConfig(inline_chunk_threshold_bytes=7))
    other.set_default_commit_metadata({"who": "x"})
    found = again(other)
    assert found.config.inline_chunk_threshold_bytes == 7
    assert found.default_commit_metadata() == {"who": "x"}
    assert found.list_branches() == {"main"}


def test_writable_sessions_do_not_pickle(disk: Repository) -> None:
    session = disk.writable_session("main")
    for it in (session, session.store, session.store.with_read_only(True)):
        with pytest.raises(ValueError, match="Session.fork"):
            pickle.dumps(it)


def test_forks_go_out_and_come_back(disk: Repository) -> None:
    session = disk.writable_session("main")
    zarr.open_array(session.store, path="a")[3] = 33
    fork = again(session.fork())
    assert isinstance(fork, icefield.ForkSession) and not fork.read_only
    assert values(fork.store)[3] == 33
    zarr.open_array(fork.store, path="a")[0] = 10
    session.merge(again(fork))
    assert values(session.store) == [10, 1, 2, 33]
    session.commit("merged")


def test_a_store_of_a_fork(disk: Repository) -> None:
    session = disk.writable_session("main")
    store = again(session.fork().store)
    assert not store.read_only
    zarr.open_array(store, path="a")[1] = 11
    assert isinstance(store.session, icefield.ForkSession)
    session.merge(again(store).session)
    assert values(session.store) == [0, 11, 2, 3]


def test_a_fork_is_opened_once_by_many_threads(disk: Repository) -> None:
    session = disk.writable_session("main")
    fork = again(session.fork())
    threads = [
        threading.Thread(
            target=lambda index=index: zarr.open_array(fork.store, path="a").__setitem__(index, 50)
        )
        for index in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session.merge(fork)
    assert values(session.store) == [50, 50, 50, 50]


def test_memory_does_not_leave_the_process(memory: Repository) -> None:
    session = memory.readonly_session("main")
    fork = memory.writable_session("main").fork()
    for it in (memory, session, session.store, fork, fork.store):
        with pytest.raises(Exception, match=r"(?i)memory"):
            pickle.dumps(it)


def test_pickles_of_something_else(disk: Repository) -> None:
    session = disk.readonly_session("main")
    for it in (session, session.store, disk):
        blank = type(it).__new__(type(it))
        with pytest.raises(ValueError, match="Invalid"):
            blank.__setstate__({"other": 1})


def test_unpickled_stores_read_in_an_event_loop(disk: Repository) -> None:
    store = again(disk.readonly_session("main").store)

    async def size() -> int:
        return int(await store.getsize("a/zarr.json"))

    assert asyncio.run(size()) > 100


def test_errors_pickle(disk: Repository) -> None:
    with pytest.raises(icefield.RefNotFoundError) as caught:
        disk.lookup_branch("none")
    assert again(caught.value).kind == caught.value.kind
    store = disk.readonly_session("main").store
    with pytest.raises(FileNotFoundError) as missing:
        asyncio.run(store.getsize("none/zarr.json"))
    assert type(again(missing.value)) is type(missing.value)
    assert str(again(missing.value)) == str(missing.value)


@pytest.mark.parametrize("damage", [lambda it: it[:-5], lambda it: it[:10], lambda it: b"x" * 50])
def test_a_fork_that_is_damaged_or_of_something_else(disk: Repository, damage: Any) -> None:
    state: Any = disk.writable_session("main").fork().__getstate__()
    fork = icefield.ForkSession.__new__(icefield.ForkSession)
    fork.__setstate__(state | {"pickled": damage(state["pickled"])})
    with pytest.raises(icefield.InvalidInputError, match="same version") as caught:
        fork.snapshot_id  # noqa: B018
    assert caught.value.kind == "pickle"


def test_a_fork_that_nobody_changed_is_written_out_once(
    disk: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork = disk.writable_session("main").fork()
    zarr.open_array(fork.store, path="a")[0] = 10
    first: Any = fork.__getstate__()
    second: Any = fork.__getstate__()
    assert first["pickled"] is second["pickled"]
    changes: list[Any] = [
        lambda: fork.merge(again(fork.fork())),
        lambda: zarr.open_array(fork.store, path="a").__setitem__(1, 11),
        lambda: fork.store.delete_sync("a/c/3"),
        lambda: fork.shift_array("/a", (1,)),
        lambda: asyncio.run(fork.store.clear()),
        fork.discard_changes,
    ]
    for change in changes:
        before: Any = fork.__getstate__()
        change()
        after: Any = fork.__getstate__()
        assert after["pickled"] is not before["pickled"]


def test_what_is_written_after_a_pickle_is_in_the_next(disk: Repository) -> None:
    session = disk.writable_session("main")
    fork = session.fork()
    for at in range(4):
        zarr.open_array(fork.store, path="a")[at] = 20 + at
        assert values(again(fork).store)[at] == 20 + at
    session.merge(again(fork))
    assert values(session.store) == [20, 21, 22, 23]


def test_a_change_that_was_interrupted_keeps_nothing() -> None:
    changes = Changes()
    assert changes.keeping(lambda: b"x") == changes.kept() == b"x"
    with pytest.raises(KeyboardInterrupt), changes:
        raise KeyboardInterrupt
    changes.keeping(lambda: b"y")
    assert changes.kept() is None


def test_a_large_fork_gives_a_warning(disk: Repository) -> None:
    session = disk.writable_session("main")
    group = zarr.open_group(session.store)
    group.attrs["large"] = np.random.default_rng(1).bytes(3 << 20).hex()
    with pytest.warns(IcefieldWarning, match="commit or flush"):
        pickle.dumps(session.fork())


def test_a_fork_comes_back_without_being_opened(tmp_path: Path) -> None:
    """Its own credentials are not needed for that: those of a worker may not be good here."""
    repository = icefield.Repository.create(icefield.local_filesystem_storage(str(tmp_path)))
    session = repository.writable_session("main")
    array = zarr.create_array(session.store, name="x", shape=(4,), chunks=(1,), dtype="i4", fill_value=0)
    array[0] = 1
    sent = pickle.loads(pickle.dumps(session.fork()))
    zarr.open_array(sent.store, path="x")[1] = 2
    back = pickle.loads(pickle.dumps(sent))
    back._place = None
    session.merge(back)
    assert "_session" not in vars(back)
    assert np.asarray(zarr.open_array(session.store, path="x", mode="r")[:]).tolist() == [1, 2, 0, 0]
    session.commit("merged")


def test_a_repository_in_place_of_a_removed_one_is_opened_anew(tmp_path: Path) -> None:
    place = str(tmp_path / "repository")
    for value in (1, 2):
        repository = icefield.Repository.create(icefield.local_filesystem_storage(place))
        session = repository.writable_session("main")
        zarr.create_array(session.store, name="a", shape=(4,), dtype="i4", fill_value=value)
        session.commit("made")
        for _ in range(2):
            sent = again(repository.readonly_session("main"))
            assert values(sent.store) == [value] * 4
        shutil.rmtree(place)


async def _listed(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


async def _bytes(store: icefield.IcechunkStore, key: str) -> bytes:
    found = await store.get(key, default_buffer_prototype())
    assert found is not None
    return found.to_bytes()


_AWAITED: list[tuple[str, Callable[[Any], Any]]] = [
    ("repository", lambda it: it.lookup_branch_async("main")),
    ("repository", lambda it: it.readonly_session_async("main")),
    ("repository", lambda it: _listed(it.async_ancestry(branch="main"))),
    ("session", lambda it: it.get_node_id_async("/a")),
    ("session", lambda it: it.chunk_type_async("/a", (0,))),
    ("session", lambda it: _listed(it.chunk_coordinates("/a"))),
    ("fork", lambda it: it.status_async()),
    ("session.store", lambda it: it.exists("zarr.json")),
    ("session.store", lambda it: _bytes(it, "a/c/1")),
    ("session.store", lambda it: _listed(it.list())),
    ("session.store", lambda it: _listed(it.list_dir("a"))),
    ("session.store", lambda it: _listed(it.array_chunk_iterator("/a"))),
    ("fork.store", lambda it: it.delete("a/c/1")),
    (
        "fork.store",
        lambda it: it.set_virtual_ref_async(
            "a/c/0", "file:///x", offset=0, length=4, validate_container=False
        ),
    ),
]


class _Openings:
    """How often places, sessions and forks are opened from now on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.places = self.sessions = self.forks = 0
        place, session, fork = (
            Place._begin,
            icefield.Session._begin_opening,
            icefield.ForkSession._begin_opening,
        )

        def of_place(it: Place) -> Any:
            self.places += 1
            return place(it)

        def of_session(it: icefield.Session, repository: Any) -> Any:
            self.sessions += 1
            return session(it, repository)

        def of_fork(it: icefield.ForkSession, repository: Any) -> Any:
            self.forks += 1
            return fork(it, repository)

        monkeypatch.setattr(Place, "_begin", of_place)
        monkeypatch.setattr(icefield.Session, "_begin_opening", of_session)
        monkeypatch.setattr(icefield.ForkSession, "_begin_opening", of_fork)

    def all(self) -> tuple[int, int, int]:
        return self.places, self.sessions, self.forks


def _waits(*_: Any) -> Any:
    raise AssertionError("this waits on the event loop")


_OPENED_BY = {"repository": (1, 0, 0), "session": (1, 1, 0), "fork": (1, 0, 1)}


@pytest.mark.parametrize(("name", "awaited"), _AWAITED)
def test_what_was_unpickled_is_opened_by_an_await(
    disk: Repository, name: str, awaited: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = disk.readonly_session("main")
    fork = disk.writable_session("main").fork()
    known = {"repository": disk, "session": session, "fork": fork}
    it = attrgetter(name)(SimpleNamespace(**{key: again(value) for key, value in known.items()}))
    openings = _Openings(monkeypatch)
    monkeypatch.setattr(Place, "repository", _waits)

    async def run() -> Any:
        return await asyncio.gather(awaited(it), awaited(it))

    first, second = asyncio.run(run())
    assert first != [] and str(first) == str(second)
    assert openings.all() == _OPENED_BY[name.removesuffix(".store")]


@pytest.mark.parametrize("name", ["repository", "session", "fork"])
def test_many_threads_open_it_once(
    disk: Repository, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = disk.readonly_session("main")
    fork = disk.writable_session("main").fork()
    it = again({"repository": disk, "session": session, "fork": fork}[name])
    openings = _Openings(monkeypatch)
    uses: dict[str, Callable[[], Any]] = {
        "repository": lambda: it.lookup_branch("main"),
        "session": lambda: it.get_node_id("/a"),
        "fork": lambda: it.get_node_id("/a"),
    }
    with ThreadPoolExecutor(16) as threads:
        found = {task.result() for task in [threads.submit(uses[name]) for _ in range(16)]}
    assert len(found) == 1
    assert openings.all() == _OPENED_BY[name]


def _far(repository: Repository) -> Any:
    """What a repository pickles as, where each read takes a while."""
    storage = icefield.storage.LatencyStorage(repository.storage, read_latency_ms=100)
    return again(icefield.Repository.open(storage))


def test_who_gives_up_does_not_end_it_for_the_others(
    disk: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = _far(disk)
    openings = _Openings(monkeypatch)

    async def run() -> str:
        first, second = (
            asyncio.ensure_future(repository.lookup_branch_async("main")) for _ in range(2)
        )
        await asyncio.sleep(0)
        assert openings.places == 1 and "_repository" not in vars(repository)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return str(await second)

    assert asyncio.run(run()) == disk.lookup_branch("main")
    assert openings.places == 1


def test_what_was_given_up_is_opened_anew(
    disk: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An unseen failure is not kept for the next use."""
    repository = _far(disk)
    (tmp_path / "repository").rename(tmp_path / "away")
    openings = _Openings(monkeypatch)

    async def given_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(repository.lookup_branch_async("main"), 0.01)

    asyncio.run(given_up())
    (tmp_path / "away").rename(tmp_path / "repository")
    assert repository.lookup_branch("main") == disk.lookup_branch("main")
    assert openings.places == 2


def test_all_who_wait_are_told_of_a_failure(disk: Repository, tmp_path: Path) -> None:
    repository = _far(disk)
    (tmp_path / "repository").rename(tmp_path / "away")

    def kind() -> str | None:
        with pytest.raises(icefield.IcechunkError) as caught:
            repository.lookup_branch("main")
        return caught.value.kind

    with ThreadPoolExecutor(16) as threads:
        kinds = {task.result() for task in [threads.submit(kind) for _ in range(16)]}
    assert kinds == {"repository-not-found"}


def test_a_copy_is_of_the_same_repository(disk: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    openings = _Openings(monkeypatch)
    assert copy.deepcopy(disk).list_branches() == {"main"}
    session = copy.deepcopy(disk.readonly_session("main"))
    assert values(session.store) == [0, 1, 2, 3]
    assert openings.places == 0


def test_what_cannot_be_opened_is_tried_again(
    disk: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repository, session = again(disk), again(disk.readonly_session("main"))
    there = tmp_path / "repository"
    there.rename(tmp_path / "away")
    with pytest.raises(icefield.IcechunkError):
        repository.list_branches()
    with pytest.raises(icefield.IcechunkError):
        asyncio.run(repository.list_branches_async())
    items = session.chunk_coordinates("/a")
    with pytest.raises(icefield.IcechunkError):
        asyncio.run(_listed(items))
    (tmp_path / "away").rename(there)
    assert asyncio.run(repository.list_branches_async()) == {"main"}
    assert len(asyncio.run(_listed(items))) == 3


def test_an_iterator_that_is_closed_before_it_began_is_at_its_end(disk: Repository) -> None:
    items = again(disk.readonly_session("main").store).list()

    async def rest() -> list[str]:
        await items.aclose()
        return await _listed(items)

    assert asyncio.run(rest()) == []
