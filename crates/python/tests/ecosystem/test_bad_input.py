"""What cannot be right is refused by a documented exception whose message says what to do; nothing panics."""

import asyncio
import math
import pickle
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from chosen import NAME, ic, import_lines
from processes import PATIENCE, started
from zarr.core.buffer import Buffer, cpu, default_buffer_prototype

PROTOTYPE = default_buffer_prototype()


def _array(session: "ic.Session", name: str = "a") -> None:
    zarr.create_array(
        session.store, name=name, shape=(8,), chunks=(2,), dtype="int32", compressors=None
    )


def _bytes(value: bytes) -> Buffer:
    return cpu.Buffer.from_bytes(value)


def _refused(call: Callable[[], object], documented: type[Exception]) -> Exception:
    """The exception of a call that must fail by the class that is documented for it, and with a message."""
    with pytest.raises(documented) as caught:
        call()
    _said(caught.value)
    return caught.value


def _said(error: BaseException) -> str:
    """The message of an error, which is no panic's."""
    message = str(error)
    assert message.strip()
    for word in ("panicked", "unwrap", "PanicException", "Poison"):
        assert word not in message
        assert word not in repr(error)
    return message


# --- wrong types ------------------------------------------------------------------------------------------------------

WRONG = [None, 7, 1.5, b"main", [], {}, object()]


@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    "method",
    [
        "lookup_branch",
        "lookup_tag",
        "delete_branch",
        "delete_tag",
        "writable_session",
        "lookup_snapshot",
    ],
)
def test_a_name_of_a_wrong_type(local: "ic.Repository", method: str, value: Any) -> None:
    error = _refused(lambda: getattr(local, method)(value), TypeError)
    assert "must be a string" in str(error)
    assert type(value).__name__ in str(error)


@pytest.mark.parametrize(
    "value", [7, 1.5, b"text", [], object()], ids=lambda value: type(value).__name__
)
def test_a_message_of_a_wrong_type(local: "ic.Repository", value: Any) -> None:
    session = local.writable_session("main")
    _array(session)
    error = _refused(lambda: session.commit(value), TypeError)
    assert "`message` must be a string" in str(error)
    session.commit("right")


@pytest.mark.parametrize(
    "value", ["no storage", 7, None, object()], ids=lambda value: type(value).__name__
)
def test_a_storage_of_a_wrong_type(value: Any) -> None:
    for method in (ic.Repository.create, ic.Repository.open, ic.Repository.open_or_create):
        error = _refused(lambda method=method: method(value), TypeError)  # type: ignore[misc]
        assert "`storage` must be a Storage" in str(error)


@pytest.mark.parametrize(
    "value", [b"raw", np.arange(3), "text", None, 7], ids=lambda v: type(v).__name__
)
def test_a_value_that_is_no_buffer(local: "ic.Repository", value: Any) -> None:
    session = local.writable_session("main")
    _array(session)
    error = _refused(lambda: asyncio.run(session.store.set("a/c/0", value)), TypeError)
    assert type(value).__name__ in str(error)


def test_a_range_of_a_wrong_type(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    _array(session)
    for byte_range in ((0, 2), "0-2", 5, slice(0, 2)):
        with pytest.raises(ic.InvalidInputError, match="Unexpected byte_range"):
            asyncio.run(session.store.get("a/c/0", PROTOTYPE, byte_range=byte_range))  # type: ignore[arg-type]


def test_a_session_of_more_than_one_version(local: "ic.Repository") -> None:
    snapshot = local.lookup_branch("main")
    for versions in ({"branch": "main", "snapshot_id": snapshot}, {"branch": "main", "tag": "v1"}, {}):
        error = _refused(lambda given=versions: local.readonly_session(**given), ValueError)  # type: ignore[misc]
        assert "one of branch, tag, or snapshot_id" in str(error)


@pytest.mark.parametrize(
    "text", ["", "short", "!" * 20, "1CECHNKREP0F1RSTCMT0" * 2, "é" * 10, "\0" * 20]
)
def test_a_snapshot_id_that_is_none(local: "ic.Repository", text: str) -> None:
    for call in (
        lambda: local.readonly_session(snapshot_id=text),
        lambda: local.create_tag("v1", text),
        lambda: local.reset_branch("main", text),
    ):
        error = _refused(call, ic.InvalidInputError)
        assert "snapshot" in str(error)


# --- closed loops, threads, sessions that are over --------------------------------------------------------------------


def test_work_begun_in_a_loop_that_is_closed(local: "ic.Repository") -> None:
    """A coroutine that outlives its loop does not take the process with it, and the store works in the next one."""
    session = local.writable_session("main")
    _array(session)
    loop = asyncio.new_event_loop()
    started = loop.create_task(session.store.set("a/c/0", _bytes(b"12345678")))
    loop.call_soon(loop.stop)
    loop.run_forever()
    started.cancel()
    loop.run_until_complete(asyncio.gather(started, return_exceptions=True))
    loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        loop.run_until_complete(_nothing())
    asyncio.run(session.store.set("a/c/1", _bytes(b"abcdefgh")))
    value = asyncio.run(session.store.get("a/c/1", PROTOTYPE))
    assert value is not None
    assert value.to_bytes() == b"abcdefgh"


async def _nothing() -> None: ...


# Begins something slow on an event loop, and closes the loop while it is in flight: no waiter can be notified of its end.
_CLOSED = """
import asyncio, sys, time
import zarr
from zarr.core.buffer import cpu, default_buffer_prototype
from icefield.storage import LatencyStorage

path, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
prototype = default_buffer_prototype()
near = ic.local_filesystem_storage(path)
config = ic.RepositoryConfig(inline_chunk_threshold_bytes=0)
repository = ic.Repository.create(near, config)
repository.save_config()
session = repository.writable_session("main")
array = zarr.create_array(
    session.store, name="a", shape=(4,), chunks=(1,), dtype="u1", compressors=None, fill_value=9
)
array[0] = 1
session.commit("an array")

# A second for each read and write, from here on.
far = LatencyStorage(near)
repository = ic.Repository.open(far)
session = repository.writable_session("main")
store = session.store
zarr.open_array(store, path="a")[1] = 2
far.read_latency_ms = far.write_latency_ms = 1000
work = {
    "get": lambda: store.get("a/c/0", prototype),
    "set": lambda: store.set("a/c/2", cpu.Buffer.from_bytes(b"\x03")),
    "commit": lambda: session.commit_async("in flight"),
    "history": lambda: anext(repository.async_ancestry(branch="main")),
    "collection": lambda: repository.garbage_collect_async(OLD, dry_run=True),
}

loop = asyncio.new_event_loop()
# That a task was left pending is what asyncio says of this. All else that it is told of would be ours.
loop.set_exception_handler(
    lambda _, context: "was destroyed but it is pending" in context["message"] or print(context)
)
task = loop.create_task(work[name]())
loop.call_later(0.05, loop.stop)
loop.run_forever()
assert not task.done(), task
loop.close()
print("closed")
time.sleep(seconds)
far.read_latency_ms = far.write_latency_ms = 0
value = asyncio.run(store.get("a/c/1", prototype))
print("read" if value.to_bytes() == b"\x02" else value)
"""


@pytest.mark.parametrize("seconds", [0, 2], ids=["over at once", "still there"])
@pytest.mark.parametrize("work", ["get", "set", "commit", "history", "collection"])
def test_work_in_flight_when_its_loop_is_closed(tmp_path: Path, work: str, seconds: int) -> None:
    """The process neither hangs nor says anything, whether it ends before the work does or after."""
    script = import_lines() + "from datetime import UTC, datetime\nOLD = datetime(2000, 1, 1, tzinfo=UTC)\n"
    with started(script + _CLOSED, str(tmp_path / "repository"), work, str(seconds)) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "closed\nread\n", "")
    repository = ic.Repository.open(ic.local_filesystem_storage(str(tmp_path / "repository")))
    # A commit that has begun goes on to its end, and nothing else is published.
    messages = [snapshot.message for snapshot in repository.ancestry(branch="main")]
    assert messages[0] == ("in flight" if work == "commit" else "an array")
    assert repository.fsck(read_chunks=True).sound


def test_a_store_after_the_commit_of_its_session(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    _array(session)
    store = session.store
    asyncio.run(store.set("a/c/0", _bytes(b"12345678")))
    session.commit("done")
    # It still reads, and says why it no longer writes, and what does.
    value = asyncio.run(store.get("a/c/0", PROTOTYPE))
    assert value is not None
    error = _refused(
        lambda: asyncio.run(store.set("a/c/1", _bytes(b"12345678"))), ic.ReadOnlyError
    )
    assert "commit" in str(error)
    assert "open a new one" in str(error)
    error = _refused(lambda: session.commit("again"), ic.SessionStateError)
    assert "open a new writable session" in str(error)


def test_a_commit_of_nothing(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    error = _refused(lambda: session.commit("nothing"), ic.SessionStateError)
    assert "nothing to commit" in str(error)


def test_a_session_used_from_several_threads(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    zarr.create_array(
        session.store, name="a", shape=(400,), chunks=(1,), dtype="int32", compressors=None
    )
    store = session.store
    failures: list[BaseException] = []

    def write(first: int) -> None:
        async def work() -> None:
            for index in range(first, 400, 8):
                await store.set(f"a/c/{index}", _bytes(index.to_bytes(4, "little")))
                await store.get(f"a/c/{index}", PROTOTYPE)

        try:
            asyncio.run(work())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    session.commit("four hundred chunks")
    read = zarr.open_array(local.readonly_session("main").store, path="a")[:]
    np.testing.assert_array_equal(np.asarray(read), np.arange(400))


def test_commits_of_one_session_from_several_threads(local: "ic.Repository") -> None:
    """One of them wins; the others say why they did not."""
    session = local.writable_session("main")
    _array(session)
    outcomes: list[str] = []

    def commit() -> None:
        try:
            outcomes.append(session.commit("once"))
        except ic.IcechunkError as error:
            outcomes.append(_said(error))

    threads = [threading.Thread(target=commit) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 6
    assert outcomes.count(local.lookup_branch("main")) == 1
    assert len(list(local.ancestry(branch="main"))) == 2


# --- forks ------------------------------------------------------------------------------------------------------------


def test_a_fork_of_another_repository(local: "ic.Repository", tmp_path: Path) -> None:
    other = ic.Repository.create(ic.local_filesystem_storage(str(tmp_path / "other")))
    session, stranger = local.writable_session("main"), other.writable_session("main")
    _array(session)
    _array(stranger, "b")
    stranger_session = stranger
    stranger_session.commit("base")
    fork = other.writable_session("main").fork()
    zarr.open_array(fork.store, path="b")[0] = 1
    error = _refused(lambda: session.merge(fork), ic.SessionStateError)
    assert "fork" in str(error).lower() or "snapshot" in str(error).lower()


def test_a_stale_fork(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    _array(session)
    session.commit("an array")
    session = local.writable_session("main")
    fork = session.fork()
    zarr.open_array(fork.store, path="a")[0] = 1
    zarr.open_array(session.store, path="a")[7] = 1
    session.commit("done")
    _refused(lambda: session.merge(fork), ic.ReadOnlyError)
    later = local.writable_session("main")
    _refused(lambda: later.merge(fork), ic.SessionStateError)


def test_what_is_merged_is_no_fork(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    for value in (None, "fork", local):
        _refused(lambda value=value: session.merge(value), TypeError)  # type: ignore[misc]
    other: Any = local.writable_session("main")
    _refused(lambda: session.merge(other), ic.SessionStateError)


# --- pickles ----------------------------------------------------------------------------------------------------------


def test_a_writable_session_does_not_pickle(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    for value in (session, session.store):
        error = _refused(lambda value=value: pickle.dumps(value), ValueError)  # type: ignore[misc]
        assert "fork" in str(error)


def test_a_repository_in_memory_does_not_pickle() -> None:
    repository = ic.Repository.create(ic.in_memory_storage())
    store = repository.readonly_session("main").store
    for value in (repository, store, repository.writable_session("main").fork()):
        error = _refused(lambda value=value: pickle.dumps(value), ic.InvalidInputError)  # type: ignore[misc]
        assert "memory" in str(error).lower()


def test_credentials_that_do_not_pickle() -> None:
    """A function that only this process knows cannot give another one its credentials."""

    def storage() -> "ic.Storage":
        return ic.s3_storage(
            bucket="bucket",
            prefix="prefix",
            region="us-east-1",
            get_credentials=lambda: ic.S3StaticCredentials(
                "key", "secret", None, datetime.now(UTC)
            ),
        )

    error = _refused(storage, ic.InvalidInputError)
    assert "credentials" in str(error)
    assert "def" in str(error)


# The errors of Python for bytes that are no complete pickle.
NO_PICKLE = (pickle.UnpicklingError, EOFError)


@pytest.mark.parametrize(
    ("blob", "at_the_end"),
    [
        (b"", NO_PICKLE),
        (b"\0" * 64, NO_PICKLE),
        # Read as instructions, its `a` is the one to append something to the session. Python says that it cannot.
        (b"not a session", AttributeError),
        (bytes(range(256)), NO_PICKLE),
    ],
    ids=["nothing", "zeros", "text", "all bytes"],
)
def test_a_pickle_that_was_damaged(local: "ic.Repository", blob: bytes, at_the_end: Any) -> None:
    good = pickle.dumps(local.readonly_session("main").store)
    with pytest.raises(NO_PICKLE):
        pickle.loads(blob)
    with pytest.raises(at_the_end):
        pickle.loads(good[:-9] + blob)


def test_a_pickle_that_was_cut_off(local: "ic.Repository") -> None:
    """None of its beginnings is taken for the whole, of whatever can be pickled."""
    fork = local.writable_session("main").fork()
    for value in (local, local.readonly_session("main"), fork, fork.store, fork.answer()):
        good = pickle.dumps(value)
        pickle.loads(good)
        for length in range(len(good)):
            with pytest.raises(NO_PICKLE):
                pickle.loads(good[:length])


def test_a_pickle_of_a_fork_whose_bytes_were_damaged(local: "ic.Repository") -> None:
    """Its edits are in a form of their own, which is checked when the fork is first used."""
    session = local.writable_session("main")
    _array(session)
    asyncio.run(session.store.set("a/c/0", _bytes(b"12345678")))
    fork = session.fork()
    good = fork.__getstate__()
    assert isinstance(good, dict)
    edits: bytes = good["pickled"]
    again = pickle.loads(pickle.dumps(fork))
    assert again.has_uncommitted_changes
    for damaged in (
        edits[: len(edits) // 2],
        edits[:-1],
        edits + b"more",
        bytes(len(edits)),
        edits[:4] + bytes([edits[4] ^ 0xFF]) + edits[5:],
        edits[:-4] + bytes([edits[-4] ^ 0xFF]) + edits[-3:],
    ):
        broken = pickle.loads(pickle.dumps(fork))
        broken.__setstate__(good | {"pickled": damaged})
        broken.__dict__.pop("_session", None)
        _refused(lambda broken=broken: broken.has_uncommitted_changes, ic.IcechunkError)  # type: ignore[misc]


# --- metadata and messages --------------------------------------------------------------------------------------------


class _Opaque: ...


def _cyclic() -> dict[str, Any]:
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    return cycle


@pytest.mark.parametrize(
    ("metadata", "refusal"),
    [
        ({"nan": math.nan}, ic.InvalidInputError),
        ({"inf": math.inf}, ic.InvalidInputError),
        ({"set": {1, 2}}, TypeError),
        ({"bytes": b"raw"}, TypeError),
        ({"object": _Opaque()}, TypeError),
        ({"array": np.arange(3)}, TypeError),
        (_cyclic(), ic.InvalidInputError),
        ({1: "a number as key"}, TypeError),
        ({"surrogate": "\ud800"}, ic.InvalidInputError),
        (["no", "object"], TypeError),
        ("no object", TypeError),
        (7, TypeError),
    ],
    ids=str,
)
def test_metadata_that_is_no_json_object(
    local: "ic.Repository", metadata: Any, refusal: type[Exception]
) -> None:
    session = local.writable_session("main")
    _array(session)
    _refused(lambda: session.commit("with metadata", metadata=metadata), refusal)
    # The session is as it was.
    session.commit("without")


def test_metadata_as_deep_as_nobody_writes_it(local: "ic.Repository") -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"d": deep}
    session = local.writable_session("main")
    _array(session)
    error = _refused(lambda: session.commit("deep", metadata=deep), ic.InvalidInputError)
    assert "nested" in str(error)
    while deep:  # One by one: a dict frees its children by recursion.
        deep = deep["d"]


def test_a_huge_message(local: "ic.Repository") -> None:
    """Eight MiB either go in whole or are refused; nothing is cut."""
    message = "ice " * (2 * 1024 * 1024)
    session = local.writable_session("main")
    _array(session)
    try:
        snapshot = session.commit(message)
    except ic.InvalidInputError as error:
        assert "message" in str(error)
        assert len(str(error)) < 10_000
    else:
        assert local.lookup_snapshot(snapshot).message == message


@pytest.mark.parametrize("message", ["", "\0", "\x1b[31mred", "lines\nand\tmore", "snow ❄ and 🧊"])
def test_an_odd_message_comes_back(local: "ic.Repository", message: str) -> None:
    session = local.writable_session("main")
    _array(session)
    assert local.lookup_snapshot(session.commit(message)).message == message


def test_a_message_with_a_lone_surrogate(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    _array(session)
    error = _refused(lambda: session.commit("half a \ud83e"), ic.InvalidInputError)
    assert "`message`" in str(error)
    session.commit("whole")


# --- keys -------------------------------------------------------------------------------------------------------------

NO_KEYS = [
    "foo",
    "a/c/x",
    "a/c/0/0/0x",
    "../zarr.json",
    "a//c/0",
    "zarr.json/",
    "\0",
    "a/c/-1",
    "c/99999999999999999999",
]


@pytest.mark.parametrize("key", NO_KEYS)
def test_keys_that_are_no_zarr_keys(local: "ic.Repository", key: str) -> None:
    session = local.writable_session("main")
    _array(session)
    error = _refused(
        lambda: asyncio.run(session.store.set(key, _bytes(b"12345678"))), ic.InvalidInputError
    )
    shown = key.replace("\0", r"\0")
    assert f'"{shown}"' in str(error)


def test_a_chunk_of_no_array(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    error = _refused(
        lambda: asyncio.run(session.store.set("missing/c/0", _bytes(b"12345678"))),
        ic.InvalidInputError,
    )
    assert "missing" in str(error)


@pytest.mark.parametrize(
    "document", [b"", b"{", b"[]", b"null", b'{"zarr_format": 3}', b"\xff\xfe", b'{"node_type": 5}']
)
def test_metadata_documents_that_are_none(local: "ic.Repository", document: bytes) -> None:
    session = local.writable_session("main")
    error = _refused(
        lambda: asyncio.run(session.store.set("a/zarr.json", _bytes(document))), ic.IcechunkError
    )
    assert "/a" in str(error)
    assert not session.has_uncommitted_changes


@pytest.mark.parametrize(
    "key", [None, 7, b"a/c/0", object()], ids=lambda value: type(value).__name__
)
def test_a_key_of_a_wrong_type(local: "ic.Repository", key: Any) -> None:
    session = local.writable_session("main")
    _array(session)
    for call in (
        lambda: asyncio.run(session.store.get(key, PROTOTYPE)),
        lambda: asyncio.run(session.store.set(key, _bytes(b"12345678"))),
    ):
        error = _refused(call, TypeError)
        assert "is not an instance of 'str'" in str(error)


# --- what the writer still holds --------------------------------------------------------------------------------------


def test_a_value_that_changes_after_set() -> None:
    """The owner of an array may write to it as soon as `set` returned.

    In memory, where a store that shares the array would go on doing so.
    """
    session = ic.Repository.create(ic.in_memory_storage()).writable_session("main")
    zarr.create_array(
        session.store, name="a", shape=(2**20,), chunks=(2**20,), dtype="uint8", compressors=None
    )
    memory = np.zeros(2**20, dtype="uint8")
    asyncio.run(session.store.set("a/c/0", cpu.Buffer.from_array_like(memory)))
    memory[:] = 255
    value = asyncio.run(session.store.get("a/c/0", PROTOTYPE))
    assert value is not None
    assert not value.as_numpy_array().any()


def test_a_value_that_was_read_does_not_change(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    _array(session)
    asyncio.run(session.store.set("a/c/0", _bytes(b"12345678")))
    value = asyncio.run(session.store.get("a/c/0", PROTOTYPE))
    assert value is not None
    asyncio.run(session.store.set("a/c/0", _bytes(b"abcdefgh")))
    assert value.to_bytes() == b"12345678"


def test_errors_pickle(local: "ic.Repository") -> None:
    """An error of a worker crosses to the process that waits for it."""
    error = _refused(lambda: local.lookup_branch("missing"), ic.RefNotFoundError)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)


def test_the_suite_knows_its_module() -> None:
    assert ic.__name__ == NAME
