"""Pickling: what may leave the process, what comes back, and what must not leave."""

from __future__ import annotations

import copy
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest
from children import command
from making import Keys, commit, create, small_array
from under_test import MODULE


@pytest.fixture
def local(disk: Any) -> Any:
    repo = create(disk)
    commit(repo, {**small_array(), "a/c/0": b"\x01", "a/c/1": b"\x02"})
    return repo


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def test_a_repository(local: Any, ic: Any) -> None:
    other = again(local)
    assert isinstance(other, ic.Repository)
    assert other.lookup_branch("main") == local.lookup_branch("main")
    commit(other, {"a/c/2": b"\x03"})
    assert other.lookup_branch("main") == local.lookup_branch("main")


def test_a_repository_with_its_config(disk: Any, ic: Any) -> None:
    repo = create(disk, ic.RepositoryConfig(inline_chunk_threshold_bytes=7))
    assert again(repo).config.inline_chunk_threshold_bytes == 7


def test_a_readonly_session(local: Any, ic: Any) -> None:
    session = local.readonly_session("main")
    other = again(session)
    assert isinstance(other, ic.Session)
    assert other.read_only is True
    assert other.snapshot_id == session.snapshot_id
    assert Keys(other.store).get("a/c/0") == b"\x01"


def test_a_readonly_session_stays_at_its_snapshot(local: Any) -> None:
    data = pickle.dumps(local.readonly_session("main"))
    commit(local, {"a/c/0": b"\x09"})
    assert Keys(pickle.loads(data).store).get("a/c/0") == b"\x01"


def test_a_readonly_store(local: Any, ic: Any) -> None:
    other = again(local.readonly_session("main").store)
    assert isinstance(other, ic.IcechunkStore)
    assert other.read_only is True
    assert Keys(other).get("a/c/1") == b"\x02"


def test_a_writable_session_refuses(local: Any) -> None:
    with pytest.raises(ValueError, match="fork"):
        pickle.dumps(local.writable_session("main"))


def test_the_store_of_a_writable_session_refuses(local: Any) -> None:
    with pytest.raises(ValueError, match="fork"):
        pickle.dumps(local.writable_session("main").store)


def test_a_session_may_be_pickled_after_its_commit(local: Any) -> None:
    session = local.writable_session("main")
    Keys(session.store).put("a/c/2", b"\x03")
    session.commit("done")
    assert Keys(again(session).store).get("a/c/2") == b"\x03"


def test_a_fork(local: Any, ic: Any) -> None:
    fork = local.writable_session("main").fork()
    other = again(fork)
    assert isinstance(other, ic.ForkSession)
    assert other.read_only is False
    assert other.snapshot_id == fork.snapshot_id


def test_a_fork_with_changes(local: Any) -> None:
    fork = local.writable_session("main").fork()
    Keys(fork.store).put("a/c/2", b"\x03")
    other = again(fork)
    assert other.has_uncommitted_changes
    assert Keys(other.store).get("a/c/2") == b"\x03"


def test_the_store_of_a_fork(local: Any) -> None:
    fork = local.writable_session("main").fork()
    other = again(fork.store)
    assert other.read_only is False
    Keys(other).put("a/c/2", b"\x03")
    assert Keys(other).get("a/c/2") == b"\x03"
    assert Keys(fork.store).get("a/c/2") is None


def test_a_returning_fork_merges(local: Any) -> None:
    session = local.writable_session("main")
    other = again(session.fork())
    Keys(other.store).put("a/c/2", b"\x03" * 1000)
    session.merge(again(other))
    session.commit("merged")
    assert Keys(local.readonly_session("main").store).get("a/c/2") == b"\x03" * 1000


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol(local: Any, protocol: int) -> None:
    data = pickle.dumps(local.readonly_session("main"), protocol)
    assert Keys(pickle.loads(data).store).get("a/c/0") == b"\x01"


def test_pickles_are_compact(local: Any) -> None:
    session = local.writable_session("main")
    for value in (local, local.readonly_session("main"), session.fork()):
        assert len(pickle.dumps(value)) < 4000


def test_another_process_reads(local: Any, tmp_path: Path) -> None:
    (tmp_path / "store.pickle").write_bytes(pickle.dumps(local.readonly_session("main").store))
    program = (
        "import pickle, sys, asyncio; from zarr.core.buffer import default_buffer_prototype as p;"
        "store = pickle.load(open(sys.argv[1], 'rb'));"
        "print(asyncio.run(store.get('a/c/0', p())).to_bytes())"
    )
    done = subprocess.run(
        command(program, str(tmp_path / "store.pickle")),
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert done.stdout.strip().endswith(repr(b"\x01"))


def test_another_process_writes_to_a_fork(local: Any, tmp_path: Path) -> None:
    session = local.writable_session("main")
    (tmp_path / "in.pickle").write_bytes(pickle.dumps(session.fork()))
    program = (
        "import pickle, sys, asyncio; from zarr.core.buffer import default_buffer_prototype as p;"
        "fork = pickle.load(open(sys.argv[1], 'rb'));"
        "asyncio.run(fork.store.set('a/c/3', p().buffer.from_bytes(b'far')));"
        "pickle.dump(fork, open(sys.argv[2], 'wb'))"
    )
    subprocess.run(
        command(program, str(tmp_path / "in.pickle"), str(tmp_path / "out.pickle")),
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    session.merge(pickle.loads((tmp_path / "out.pickle").read_bytes()))
    session.commit("from afar")
    assert Keys(local.readonly_session("main").store).get("a/c/3") == b"far"


def test_an_in_memory_repository_refuses(repo: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        pickle.dumps(repo)


def test_an_in_memory_session_refuses(stocked: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        pickle.dumps(stocked.readonly_session("main"))


def test_an_in_memory_fork_refuses(stocked: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        pickle.dumps(stocked.writable_session("main").fork())


def test_a_local_storage(disk: Any, ic: Any) -> None:
    repo = create(disk)
    other = ic.Repository.open(again(disk))
    assert other.lookup_branch("main") == repo.lookup_branch("main")


@pytest.mark.parametrize("junk", [b"", b"junk", b"\x80\x04]q\x00."])
def test_junk_is_no_session(local: Any, ic: Any, junk: bytes) -> None:
    session: Any = local.readonly_session("main")
    state = session.__getstate__()
    assert isinstance(state, dict)
    broken = {
        key: junk if isinstance(value, (bytes, str, dict, tuple)) else value
        for key, value in state.items()
    }
    empty = ic.Session.__new__(ic.Session)
    with pytest.raises(Exception) as caught:
        empty.__setstate__(broken)
    assert not isinstance(caught.value, SystemError)


def test_values_that_are_public_by_name(ic: Any) -> None:
    for value in (ic.Repository, ic.Session, ic.ForkSession, ic.IcechunkStore, ic.ErrorKind):
        assert again(value) is value


@pytest.mark.parametrize("name", ["NotFoundError", "StorageError", "InvalidInputError"])
def test_errors(ic: Any, name: str) -> None:
    error = again(getattr(ic, name)("text", "io"))
    assert type(error) is getattr(ic, name)
    assert (error.kind, error.message) == ("io", "text")


def test_a_raised_error(local: Any) -> None:
    with pytest.raises(KeyError) as caught:
        local.lookup_branch("nope")
    raised: Any = caught.value
    error = again(raised)
    assert type(error) is type(raised)
    assert error.kind == "ref-not-found"


def test_a_repository_is_copied_deeply(local: Any) -> None:
    other = copy.deepcopy(local)
    assert other.lookup_branch("main") == local.lookup_branch("main")


def test_the_module_has_the_expected_name() -> None:
    assert MODULE in ("icechunk", "icefield")
