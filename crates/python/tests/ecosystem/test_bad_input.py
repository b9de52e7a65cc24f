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
from chosen import NAME, ic
from zarr.core.buffer import Buffer, cpu, default_buffer_prototype

PROTOTYPE = default_buffer_prototype()
# The documented classes. Nothing else may come out, and never a panic.
DOCUMENTED = (ic.IcechunkError, TypeError, ValueError, KeyError, OverflowError)


def _array(session: "ic.Session", name: str = "a") -> None:
    zarr.create_array(
        session.store, name=name, shape=(8,), chunks=(2,), dtype="int32", compressors=None
    )


def _bytes(value: bytes) -> Buffer:
    return cpu.Buffer.from_bytes(value)


def _refused(call: Callable[[], object]) -> BaseException:
    """The exception of a call that must fail by a documented class and with a message."""
    with pytest.raises(DOCUMENTED) as caught:
        call()
    message = str(caught.value)
    assert message.strip()
    for word in ("panicked", "unwrap", "PanicException", "Poison"):
        assert word not in message
        assert word not in repr(caught.value)
    error: BaseException = caught.value
    return error


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
    _refused(lambda: getattr(local, method)(value))


@pytest.mark.parametrize(
    "value", [7, 1.5, b"text", [], object()], ids=lambda value: type(value).__name__
)
def test_a_message_of_a_wrong_type(local: "ic.Repository", value: Any) -> None:
    session = local.writable_session("main")
    _array(session)
    _refused(lambda: session.commit(value))
    session.commit("right")


@pytest.mark.parametrize(
    "value", ["no storage", 7, None, object()], ids=lambda value: type(value).__name__
)
def test_a_storage_of_a_wrong_type(value: Any) -> None:
    for method in (ic.Repository.create, ic.Repository.open, ic.Repository.open_or_create):
        _refused(lambda method=method: method(value))  # type: ignore[misc]


@pytest.mark.parametrize(
    "value", [b"raw", np.arange(3), "text", None, 7], ids=lambda v: type(v).__name__
)
def test_a_value_that_is_no_buffer(local: "ic.Repository", value: Any) -> None:
    session = local.writable_session("main")
    _array(session)
    error = _refused(lambda: asyncio.run(session.store.set("a/c/0", value)))
    assert isinstance(error, TypeError)


def test_a_range_of_a_wrong_type(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    _array(session)
    for byte_range in ((0, 2), "0-2", 5, slice(0, 2)):
        with pytest.raises((ValueError, TypeError), match="Unexpected byte_range"):
            asyncio.run(session.store.get("a/c/0", PROTOTYPE, byte_range=byte_range))  # type: ignore[arg-type]


def test_a_session_of_more_than_one_version(local: "ic.Repository") -> None:
    snapshot = local.lookup_branch("main")
    _refused(lambda: local.readonly_session(branch="main", snapshot_id=snapshot))
    _refused(lambda: local.readonly_session(branch="main", tag="v1"))
    _refused(lambda: local.readonly_session())


@pytest.mark.parametrize(
    "text", ["", "short", "!" * 20, "1CECHNKREP0F1RSTCMT0" * 2, "é" * 10, "\0" * 20]
)
def test_a_snapshot_id_that_is_none(local: "ic.Repository", text: str) -> None:
    _refused(lambda: local.readonly_session(snapshot_id=text))
    _refused(lambda: local.create_tag("v1", text))
    _refused(lambda: local.reset_branch("main", text))


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


def test_a_store_after_the_commit_of_its_session(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    _array(session)
    store = session.store
    asyncio.run(store.set("a/c/0", _bytes(b"12345678")))
    session.commit("done")
    # It still reads, and says why it no longer writes, and what does.
    value = asyncio.run(store.get("a/c/0", PROTOTYPE))
    assert value is not None
    error = _refused(lambda: asyncio.run(store.set("a/c/1", _bytes(b"12345678"))))
    assert "commit" in str(error)
    assert "open a new one" in str(error)
    _refused(lambda: session.commit("again"))


def test_a_commit_of_nothing(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    error = _refused(lambda: session.commit("nothing"))
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
    outcomes: list[object] = []

    def commit() -> None:
        try:
            outcomes.append(session.commit("once"))
        except DOCUMENTED as error:
            outcomes.append(error)

    threads = [threading.Thread(target=commit) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 6
    assert [outcome for outcome in outcomes if isinstance(outcome, str)] == [
        local.lookup_branch("main")
    ]
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
    error = _refused(lambda: session.merge(fork))
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
    _refused(lambda: session.merge(fork))
    later = local.writable_session("main")
    _refused(lambda: later.merge(fork))


def test_what_is_merged_is_no_fork(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    for value in (None, "fork", local, local.writable_session("main")):
        _refused(lambda value=value: session.merge(value))  # type: ignore[misc]


# --- pickles ----------------------------------------------------------------------------------------------------------


def test_a_writable_session_does_not_pickle(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    for value in (session, session.store):
        assert "fork" in str(_refused(lambda value=value: pickle.dumps(value)))  # type: ignore[misc]


def test_a_repository_in_memory_does_not_pickle() -> None:
    repository = ic.Repository.create(ic.in_memory_storage())
    store = repository.readonly_session("main").store
    for value in (repository, store, repository.writable_session("main").fork()):
        assert "memory" in str(_refused(lambda value=value: pickle.dumps(value))).lower()  # type: ignore[misc]


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

    error = _refused(lambda: pickle.dumps(storage()))
    assert "credentials" in str(error)
    assert "def" in str(error)


@pytest.mark.parametrize("blob", [b"", b"\0" * 64, b"not a session", bytes(range(256))])
def test_a_pickle_that_was_damaged(local: "ic.Repository", blob: bytes) -> None:
    good = pickle.dumps(local.readonly_session("main").store)
    for damaged in (blob, good[: len(good) // 2], good[:-9] + blob):
        with pytest.raises(
            (*DOCUMENTED, pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError)
        ):
            store: ic.IcechunkStore = pickle.loads(damaged)
            asyncio.run(store.get("zarr.json", PROTOTYPE))
            # A cut within a text may give another valid one, which then names no repository.
            raise ValueError("it still names the repository")


# --- metadata and messages --------------------------------------------------------------------------------------------


class _Opaque: ...


def _cyclic() -> dict[str, Any]:
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    return cycle


@pytest.mark.parametrize(
    "metadata",
    [
        {"nan": math.nan},
        {"inf": math.inf},
        {"set": {1, 2}},
        {"bytes": b"raw"},
        {"object": _Opaque()},
        {"array": np.arange(3)},
        _cyclic(),
        {1: "a number as key"},
        {"surrogate": "\ud800"},
        ["no", "object"],
        "no object",
        7,
    ],
    ids=str,
)
def test_metadata_that_is_no_json_object(local: "ic.Repository", metadata: Any) -> None:
    session = local.writable_session("main")
    _array(session)
    error = _refused(lambda: session.commit("with metadata", metadata=metadata))
    assert isinstance(error, (TypeError, ValueError))
    # The session is as it was.
    session.commit("without")


def test_metadata_as_deep_as_nobody_writes_it(local: "ic.Repository") -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"d": deep}
    session = local.writable_session("main")
    _array(session)
    with pytest.raises((*DOCUMENTED, RecursionError)):
        session.commit("deep", metadata=deep)
    while deep:  # One by one: a dict frees its children by recursion.
        deep = deep["d"]


def test_a_huge_message(local: "ic.Repository") -> None:
    """Eight MiB either go in whole or are refused; nothing is cut."""
    message = "ice " * (2 * 1024 * 1024)
    session = local.writable_session("main")
    _array(session)
    try:
        snapshot = session.commit(message)
    except DOCUMENTED as error:
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
    _refused(lambda: session.commit("half a \ud83e"))
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
    error = _refused(lambda: asyncio.run(session.store.set(key, _bytes(b"12345678"))))
    assert repr(error)


def test_a_chunk_of_no_array(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    error = _refused(lambda: asyncio.run(session.store.set("missing/c/0", _bytes(b"12345678"))))
    assert "missing" in str(error)


@pytest.mark.parametrize(
    "document", [b"", b"{", b"[]", b"null", b'{"zarr_format": 3}', b"\xff\xfe", b'{"node_type": 5}']
)
def test_metadata_documents_that_are_none(local: "ic.Repository", document: bytes) -> None:
    session = local.writable_session("main")
    _refused(lambda: asyncio.run(session.store.set("a/zarr.json", _bytes(document))))
    assert not session.has_uncommitted_changes


@pytest.mark.parametrize(
    "key", [None, 7, b"a/c/0", object()], ids=lambda value: type(value).__name__
)
def test_a_key_of_a_wrong_type(local: "ic.Repository", key: Any) -> None:
    session = local.writable_session("main")
    _array(session)
    _refused(lambda: asyncio.run(session.store.get(key, PROTOTYPE)))
    _refused(lambda: asyncio.run(session.store.set(key, _bytes(b"12345678"))))


# --- what the writer still holds --------------------------------------------------------------------------------------


def test_a_value_that_changes_after_set(local: "ic.Repository") -> None:
    """The owner of an array may write to it as soon as `set` returned."""
    session = local.writable_session("main")
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
    error = _refused(lambda: local.lookup_branch("missing"))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)


def test_the_suite_knows_its_module() -> None:
    assert ic.__name__ == NAME
