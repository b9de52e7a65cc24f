"""A forked process: objects of the parent say that they are, new ones work, and nothing waits for ever."""

import json
import os
import select
import signal
from collections.abc import Callable
from typing import Any

import pytest
import zarr

import icefield
from icefield import Repository

pytestmark = [
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
PATIENCE = 30.0


def in_child(work: Callable[[], Any]) -> Any:
    """What a function returns in a forked child; a child that hangs is an error."""
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


def test_a_child_opens_its_own(disk: Repository) -> None:
    storage_path = str(disk.storage)
    assert storage_path

    def work() -> list[Any]:
        storage = icefield.local_filesystem_storage(path)
        repository = Repository.open(storage)
        session = repository.writable_session("main")
        zarr.open_array(session.store, path="a")[0] = 42
        return [session.commit("from the child")]

    path = _path(disk)
    assert in_child(work) == [disk.lookup_branch("main")]
    assert next(disk.ancestry(branch="main")).message == "from the child"


def _path(repository: Repository) -> str:
    """Where a repository on a local disk is: the child must not depend on the parent's object."""
    document = json.loads(repository.storage._description())
    return str(_found(document, "path"))


def _found(document: Any, key: str) -> Any:
    if isinstance(document, dict):
        if key in document:
            return document[key]
        for value in document.values():
            if (found := _found(value, key)) is not None:
                return found
    return None


def test_what_the_parent_pickled_works_in_the_child(disk: Repository) -> None:
    import pickle

    data = pickle.dumps(disk.readonly_session("main"))

    def work() -> int:
        session = pickle.loads(data)
        return int(zarr.open_array(session.store, path="a", mode="r")[2])  # type: ignore[arg-type]

    # Opened in the parent, too, so that there is something that the child must not share.
    assert pickle.loads(data).snapshot_id == disk.lookup_branch("main")
    assert in_child(work) == 2


def test_children_one_after_the_other(disk: Repository) -> None:
    path = _path(disk)

    def work() -> list[str]:
        repository = Repository.open(icefield.local_filesystem_storage(path))
        return sorted(repository.list_branches())

    for _ in range(3):
        assert in_child(work) == ["main"]
        assert disk.list_branches() == {"main"}
