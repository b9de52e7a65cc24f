"""The Zarr store: values, ranges, sizes, keys, what is read-only, references to chunks."""

import asyncio
import datetime
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import zarr
from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import Buffer, default_buffer_prototype

import icefield
from icefield import ErrorKind, Repository
from icefield.store import IcefieldStore

T = TypeVar("T")
PROTOTYPE = default_buffer_prototype()


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def buffer(value: bytes) -> Buffer:
    return PROTOTYPE.buffer.from_bytes(value)


@pytest.fixture
def store(memory: Repository) -> IcefieldStore:
    """A writable store with `/b`: two chunks of ten bytes, the first one set."""
    store = memory.writable_session("main").store
    zarr.create_array(
        store, name="b", shape=(20,), chunks=(10,), dtype="u1", compressors=None, filters=None
    )
    store.set_sync("b/c/0", buffer(b"0123456789"))
    return store


READS: dict[str, Callable[[IcefieldStore, str, ByteRequest | None], Buffer | None]] = {
    "get": lambda store, key, request: run(store.get(key, PROTOTYPE, request)),
    "get_sync": lambda store, key, request: store.get_sync(key, byte_range=request),
    "partial": lambda store, key, request: run(
        store.get_partial_values(PROTOTYPE, [(key, request)])
    )[0],
}


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_values_and_ranges(
    store: IcefieldStore, read: Callable[[IcefieldStore, str, ByteRequest | None], Buffer | None]
) -> None:
    def found(key: str, request: ByteRequest | None = None) -> bytes | None:
        value = read(store, key, request)
        return None if value is None else value.to_bytes()

    assert found("b/c/0") == b"0123456789"
    assert found("b/c/0", RangeByteRequest(2, 5)) == b"234"
    assert found("b/c/0", OffsetByteRequest(7)) == b"789"
    assert found("b/c/0", SuffixByteRequest(3)) == b"789"
    assert found("b/c/1") is None
    assert found("none/zarr.json") is None
    document = found("b/zarr.json")
    assert document is not None
    assert found("b/zarr.json", SuffixByteRequest(2)) == document[-2:]
    assert found("b/zarr.json", RangeByteRequest(1, 4)) == document[1:4]


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
@pytest.mark.parametrize(
    "request_",
    [
        RangeByteRequest(0, 11),
        RangeByteRequest(5, 3),
        RangeByteRequest(-1, 3),
        RangeByteRequest(0, 2**70),
        OffsetByteRequest(99),
        OffsetByteRequest(-1),
        SuffixByteRequest(11),
        SuffixByteRequest(-2),
        (0, 1),
    ],
)
def test_ranges_that_cannot_be(
    store: IcefieldStore,
    read: Callable[[IcefieldStore, str, ByteRequest | None], Buffer | None],
    request_: Any,
) -> None:
    with pytest.raises(icefield.InvalidInputError) as caught:
        read(store, "b/c/0", request_)
    assert caught.value.kind == ErrorKind.INVALID_BYTE_RANGE


def test_partial_values_keep_their_order(store: IcefieldStore) -> None:
    requests: list[tuple[str, ByteRequest | None]] = [
        ("b/c/0", RangeByteRequest(1, 2)),
        ("b/c/1", None),
        ("none/zarr.json", None),
        ("b/c/0", SuffixByteRequest(1)),
    ]
    found = run(store.get_partial_values(PROTOTYPE, iter(requests)))
    assert [None if it is None else it.to_bytes() for it in found] == [b"1", None, None, b"9"]


def test_many_ranges_of_one_value(store: IcefieldStore) -> None:
    ranges: list[ByteRequest | None] = [RangeByteRequest(8, 10), None, OffsetByteRequest(9)]

    async def found(key: str, wanted: list[ByteRequest | None]) -> dict[int, bytes]:
        parts: dict[int, bytes] = {}
        async for batch in store.get_ranges(key, wanted, prototype=PROTOTYPE):
            for at, value in batch:
                assert value is not None
                parts[at] = value.to_bytes()
        return parts

    expected = {0: b"89", 1: b"0123456789", 2: b"9"}
    assert run(found("b/c/0", ranges)) == expected
    now = store.get_ranges_sync("b/c/0", ranges, prototype=PROTOTYPE)
    assert {at: it.to_bytes() for at, it in now if it is not None} == expected
    assert run(found("b/c/0", [])) == {}
    with pytest.raises(BaseExceptionGroup) as caught:
        run(found("b/c/1", ranges))
    assert isinstance(caught.value.exceptions[0], FileNotFoundError)
    with pytest.raises(BaseExceptionGroup):
        store.get_ranges_sync("b/c/0", [OffsetByteRequest(99)], prototype=PROTOTYPE)


def test_values_are_not_copied_and_cannot_be_written(store: IcefieldStore) -> None:
    value = store.get_sync("b/c/0")
    assert value is not None
    array = np.asarray(value.as_numpy_array())
    assert not array.flags.owndata
    assert not array.flags.writeable


def test_what_was_set_does_not_change_with_its_buffer(store: IcefieldStore) -> None:
    memory = np.arange(10, dtype="u1")
    value = PROTOTYPE.buffer.from_array_like(memory)
    store.set_sync("b/c/1", value)
    run(store.set("b/c/0", value))
    memory[:] = 99
    for key in ("b/c/0", "b/c/1"):
        found = store.get_sync(key)
        assert found is not None and found.to_bytes() == bytes(range(10))


def test_sizes(store: IcefieldStore) -> None:
    assert run(store.getsize("b/c/0")) == 10
    assert run(store.getsize_prefix("b")) == 10 + run(store.getsize("b/zarr.json"))
    for key in ("b/c/1", "none/zarr.json"):
        with pytest.raises(FileNotFoundError):
            run(store.getsize(key))
        with pytest.raises(icefield.NotFoundError, match=key) as caught:
            run(store.getsize(key))
        assert isinstance(caught.value, KeyError)


@pytest.mark.parametrize("key", ["b", "q", "b/c/x", "b/c/-1", "b/zarr.json/x", "b/c/0/0"])
def test_keys_that_are_not_of_zarr(store: IcefieldStore, key: str) -> None:
    """They have no value, as all that is missing, and get none."""
    assert run(store.get(key, PROTOTYPE)) is None
    assert store.get_sync(key) is None
    assert not run(store.exists(key))
    calls: list[Callable[[], Any]] = [
        lambda: run(store.set(key, buffer(b"x"))),
        lambda: store.set_sync(key, buffer(b"x")),
        lambda: store.set_virtual_ref(key, "file:///x", offset=0, length=1),
    ]
    for call in calls:
        with pytest.raises(icefield.InvalidInputError):
            call()


def test_an_empty_key(store: IcefieldStore) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: store.get_sync(""),
        lambda: run(store.exists("")),
        lambda: store.set_sync("", buffer(b"x")),
    ]
    for call in calls:
        with pytest.raises(icefield.InvalidInputError) as caught:
            call()
        assert caught.value.kind == ErrorKind.INVALID_KEY


def test_arguments_of_wrong_types(store: IcefieldStore) -> None:
    wrong: Any = store
    calls: list[Callable[[], Any]] = [
        lambda: run(wrong.set("b/c/0", b"x")),
        lambda: wrong.set_sync("b/c/0", b"x"),
        lambda: run(wrong.set_if_not_exists("b/c/0", b"x")),
        lambda: run(wrong.set(1, buffer(b"x"))),
        lambda: run(wrong.get(1, PROTOTYPE)),
        lambda: run(wrong.exists(None)),
        lambda: wrong.list_prefix(1),
        lambda: wrong.list_dir(None),
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize(
    "document",
    [
        b"{}",
        b"nope",
        b'{"zarr_format":3,"node_type":"group","attributes":{"a":NaN}}',
        b'{"zarr_format":3,"node_type":"other"}',
    ],
)
def test_documents_that_are_not_metadata(store: IcefieldStore, document: bytes) -> None:
    with pytest.raises(icefield.InvalidInputError):
        run(store.set("g/zarr.json", buffer(document)))
    assert not run(store.exists("g/zarr.json"))


def test_set_if_not_exists(store: IcefieldStore) -> None:
    run(store.set_if_not_exists("b/c/0", buffer(b"xxxxxxxxxx")))
    run(store.set_if_not_exists("b/c/1", buffer(b"abcdefghij")))
    found = [store.get_sync(key) for key in ("b/c/0", "b/c/1")]
    assert [it.to_bytes() for it in found if it is not None] == [b"0123456789", b"abcdefghij"]


def keys(store: IcefieldStore) -> list[str]:
    async def found() -> list[str]:
        return sorted([it async for it in store.list()])

    return run(found())


def test_listing(store: IcefieldStore) -> None:
    async def found(method: Callable[[str], Any], prefix: str) -> list[str]:
        return sorted([it async for it in method(prefix)])

    assert keys(store)[:2] == ["a/c/1", "a/c/2"]
    assert run(found(store.list_prefix, "b")) == ["b/c/0", "b/zarr.json"]
    assert run(found(store.list_prefix, "")) == keys(store)
    assert run(found(store.list_dir, "")) == ["a", "b", "zarr.json"]
    assert run(found(store.list_dir, "b")) == ["c", "zarr.json"]
    assert not run(store.is_empty("b"))
    assert run(store.is_empty("none"))


@pytest.mark.parametrize("root", ["", "/"])
def test_deleting_the_root_is_deleting_everything(store: IcefieldStore, root: str) -> None:
    run(store.delete_dir(root))
    assert keys(store) == []
    store.session.discard_changes()
    assert keys(store) != []


@pytest.mark.parametrize("prefix", ["none", "a/b", "zz/"])
def test_deleting_what_is_not_there(store: IcefieldStore, prefix: str) -> None:
    before = keys(store)
    run(store.delete_dir(prefix))
    assert keys(store) == before


def test_deleting(store: IcefieldStore) -> None:
    run(store.delete("b/c/0"))
    run(store.delete("b/c/1"))
    assert not run(store.exists("b/c/0"))
    store.delete_sync("b/zarr.json")
    assert not run(store.exists("b/zarr.json"))
    store.sync_clear()
    assert keys(store) == []
    run(store.clear())


def test_read_only_stores(memory: Repository, store: IcefieldStore) -> None:
    reading = memory.readonly_session("main").store
    shut = store.with_read_only(True)
    assert isinstance(shut, IcefieldStore)
    assert reading.read_only and shut.read_only and not store.read_only
    open_again = shut.with_read_only(False)
    assert not open_again.read_only
    calls: list[Callable[[IcefieldStore], Any]] = [
        lambda it: run(it.set("a/c/0", buffer(b"x"))),
        lambda it: it.set_sync("a/c/0", buffer(b"x")),
        lambda it: run(it.set_if_not_exists("a/c/0", buffer(b"x"))),
        lambda it: run(it.delete("a/c/1")),
        lambda it: it.delete_sync("a/zarr.json"),
        lambda it: run(it.delete_dir("a")),
        lambda it: run(it.clear()),
        lambda it: it.sync_clear(),
        lambda it: it.set_virtual_ref("a/c/0", "file:///x", offset=0, length=1),
        lambda it: it.set_virtual_refs("/a", []),
    ]
    for it in (reading, shut):
        for call in calls:
            with pytest.raises(icefield.ReadOnlyError):
                call(it)
    with pytest.raises(ValueError, match="read-only mode"):
        reading.set_sync("a/c/0", buffer(b"x"))
    with pytest.raises(icefield.ReadOnlyError):
        run(reading.with_read_only(False).set("a/c/0", buffer(b"x")))


def test_what_a_store_can_do(store: IcefieldStore) -> None:
    assert store.supports_writes and store.supports_deletes and store.supports_listing
    assert not store.supports_partial_writes and not store.supports_consolidated_metadata
    assert "branch: main" in repr(store) and repr(store) == str(store)
    with pytest.raises(icefield.SessionStateError) as caught:
        run(store.set_partial_values([("b/c/0", 0, b"x")]))
    assert caught.value.kind == ErrorKind.UNIMPLEMENTED


def virtual(store: IcefieldStore, **options: Any) -> None:
    store.set_virtual_ref(
        "b/c/1",
        "file:///none/x",
        **{"offset": 0, "length": 10, "validate_container": False, **options},
    )


def test_virtual_references(store: IcefieldStore) -> None:
    with pytest.raises(icefield.InvalidInputError) as caught:
        virtual(store, validate_container=True)
    assert caught.value.kind == ErrorKind.NO_CONTAINER_FOR_VIRTUAL_CHUNK
    virtual(store)
    virtual(store, checksum="etag")
    virtual(store, checksum=datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC))
    assert store.session.chunk_type("/b", [1]) is icefield.ChunkType.virtual
    assert store.session.all_virtual_chunk_locations() == ["file:///none/x"]
    specs = [
        icefield.VirtualChunkSpec([0], "file:///none/y", 1, 2),
        icefield.VirtualChunkSpec([1], "file:///none/z", 3, 4),
    ]
    assert store.set_virtual_refs("/b", specs) == [(0,), (1,)]
    assert store.set_virtual_refs("/b", specs, validate_containers=False) is None
    assert run(store.set_virtual_refs_async("/b", specs, validate_containers=False)) is None


@pytest.mark.parametrize(
    "options", [{"offset": -1}, {"length": -1}, {"offset": 2**64}, {"offset": 2**70}]
)
def test_impossible_virtual_references(store: IcefieldStore, options: dict[str, Any]) -> None:
    with pytest.raises(icefield.InvalidInputError):
        virtual(store, **options)
    with pytest.raises(TypeError):
        virtual(store, checksum=3)
    with pytest.raises(TypeError, match="tzinfo"):
        virtual(store, checksum=datetime.datetime(2024, 1, 1))


@pytest.mark.parametrize("given", [None, "false", 0], ids=repr)
def test_containers_are_asked_for_or_not(store: IcefieldStore, given: Any) -> None:
    specs = [icefield.VirtualChunkSpec([0], "file:///none/y", 1, 2)]
    numbers = np.array([5], dtype="u8")
    block = ("/b", (1,), ["file:///none/x"], numbers, numbers)
    with pytest.raises(TypeError, match="`validate_container` must be True or False"):
        virtual(store, validate_container=given)
    begins: list[Callable[[], object]] = [
        lambda: store.set_virtual_refs("/b", specs, validate_containers=given),
        lambda: store.set_virtual_refs_arr(*block, validate_containers=given),
        lambda: run(store.set_virtual_refs_async("/b", specs, validate_containers=given)),
    ]
    for begin in begins:
        with pytest.raises(TypeError, match="`validate_containers` must be True or False"):
            begin()
    assert store.session.all_virtual_chunk_locations() == []


def test_a_block_of_virtual_references(store: IcefieldStore) -> None:
    offsets, lengths = np.array([5, 6], dtype="u8"), np.array([7, 8], dtype="u8")
    locations = ["file:///none/x", ""]
    assert store.set_virtual_refs_arr("/b", (2,), locations, offsets, lengths) == [(0,)]
    set_block: Any = store.set_virtual_refs_arr
    options = {"validate_containers": False}
    assert set_block("/b", (2,), locations, offsets, lengths, **options) is None
    second = ("/b", (1,), ["file:///none/z"], offsets[:1], lengths[:1])
    assert set_block(*second, arr_offset=(1,), **options) is None
    assert store.session.chunk_type("/b", [1]) is icefield.ChunkType.virtual
    for wrong in (
        ("/b", (3,), locations, offsets, lengths),
        ("/b", (2,), locations[:1], offsets, lengths),
        ("/b", (2, 1), locations, offsets, lengths, (1,)),
        ("/b", (2,), locations, offsets, lengths, (2**32 - 1,)),
        ("/b", (-2,), locations, offsets, lengths),
    ):
        first = wrong[5] if len(wrong) > 5 else None
        with pytest.raises(ValueError):
            set_block(*wrong[:5], arr_offset=first, **options)
    with pytest.raises(TypeError, match="uint64"):
        set_block("/b", (2,), locations, offsets.astype("i8"), lengths)


def test_chunks_as_columns(store: IcefieldStore) -> None:
    virtual(store)

    async def found() -> list[Any]:
        return [it async for it in store.array_chunk_iterator("/b", 1)]

    rows: dict[int, tuple[int, str, int, int, bytes | None]] = {}
    for coords, kinds, locations, offsets, lengths, inlined in run(found()):
        assert (coords.dtype, kinds.dtype, offsets.dtype) == ("u4", "u1", "u8")
        assert coords.shape == (len(kinds), 1) and lengths.dtype == np.uint64
        for at in range(len(kinds)):
            rows[int(coords[at, 0])] = (
                int(kinds[at]),
                locations[at],
                int(offsets[at]),
                int(lengths[at]),
                inlined.get(at),
            )
    assert rows == {0: (3, "", 0, 10, b"0123456789"), 1: (2, "file:///none/x", 0, 10, None)}


def test_what_a_read_only_store_lets_through(memory: Repository) -> None:
    """Deleting what is not there changes nothing."""
    store = memory.readonly_session("main").store
    run(store.delete("a/c/0"))
    run(store.delete("none/zarr.json"))


def test_deleting_some_chunks(store: IcefieldStore) -> None:
    store.set_sync("b/c/1", buffer(b"abcdefghij"))
    run(store.delete_dir("b/c/0"))
    assert [key for key in keys(store) if key.startswith("b/")] == ["b/c/1", "b/zarr.json"]
    run(store.delete_dir("b/c"))
    assert [key for key in keys(store) if key.startswith("b/")] == ["b/zarr.json"]


def test_a_store_of_a_native_store(memory: Repository) -> None:
    from icefield import _native

    session = memory.readonly_session("main")
    store = IcefieldStore(_native.Store(session._session))
    assert store.read_only
    assert store.get_sync("a/zarr.json") is not None


def test_zarr_reads_and_writes_through_it(tmp_path: Path) -> None:
    storage = icefield.local_filesystem_storage(str(tmp_path / "r"))
    repository = Repository.create(storage)
    with repository.transaction("main", message="x") as store:
        group = zarr.create_group(store)
        array = group.create_array("t", shape=(100,), chunks=(10,), dtype="f8")
        array[:] = np.arange(100)
        group.attrs["k"] = {"deep": [1, 2]}
    read = zarr.open_group(repository.readonly_session("main").store, mode="r")
    again = read["t"]
    assert isinstance(again, zarr.Array)
    np.testing.assert_array_equal(np.asarray(again[:]), np.arange(100))
    assert read.attrs["k"] == {"deep": [1, 2]}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_attributes_that_json_does_not_have(memory: Repository, value: float) -> None:
    store = memory.writable_session("main").store
    group = zarr.open_group(store)
    with pytest.raises(icefield.InvalidInputError, match=r"attributes\['x'\]\['y'\]\[1\]") as caught:
        group.attrs["x"] = {"y": [1.0, value]}
    assert caught.value.kind == "bad-metadata"
    assert "None" in str(caught.value)
    document = b'{"zarr_format": 3, "node_type": "group", "attributes": {"n": NaN}}'
    with pytest.raises(icefield.InvalidInputError, match=r"attributes\['n'\] is NaN"):
        store.set_sync("b/zarr.json", buffer(document))
    with pytest.raises(icefield.InvalidInputError, match=r"attributes\['n'\] is NaN"):
        run(store.set_if_not_exists("b/zarr.json", buffer(document)))
    with pytest.raises(icefield.InvalidInputError, match="not valid JSON"):
        store.set_sync("b/zarr.json", buffer(b"{"))


def test_texts_that_have_no_utf8_form(memory: Repository) -> None:
    session = memory.writable_session("main")
    store, odd = session.store, "a\udcff"
    calls: dict[str, list[Callable[[], object]]] = {
        "key": [
            lambda: store.get_sync(odd),
            lambda: run(store.get(odd, default_buffer_prototype())),
            lambda: run(store.get(odd, default_buffer_prototype(), RangeByteRequest(0, 1))),
            lambda: run(store.get_partial_values(default_buffer_prototype(), [(odd, None)])),
            lambda: run(store.exists(odd)),
            lambda: run(store.getsize(odd)),
            lambda: store.set_sync(odd, buffer(b"x")),
            lambda: run(store.set(odd, buffer(b"x"))),
            lambda: run(store.set_if_not_exists(odd, buffer(b"x"))),
            lambda: run(store.delete(odd)),
            lambda: store.delete_sync(odd),
        ],
        "prefix": [
            lambda: run(store.is_empty(odd)),
            lambda: run(store.getsize_prefix(odd)),
            lambda: run(store.delete_dir(odd)),
            lambda: store.list_prefix(odd),
            lambda: memory.storage.list_objects(prefix=odd),
        ],
        "message": [lambda: session.commit(odd), lambda: session.flush(odd)],
        "branch": [
            lambda: memory.create_branch(odd, session.snapshot_id),
            lambda: memory.writable_session(odd),
        ],
        "bucket": [
            lambda: icefield.s3_storage(bucket=odd, prefix=None, from_env=True),
        ],
        "url": [lambda: icefield.http_storage(f"https://h/{odd}")],
        "a prefix of virtual chunks": [
            lambda: Repository.create(
                icefield.in_memory_storage(),
                authorize_virtual_chunk_access={f"s3://{odd}/": None},
            )
        ],
    }
    for name, all_of_it in calls.items():
        for call in all_of_it:
            with pytest.raises(icefield.InvalidInputError, match=f"{name}.*UTF-8"):
                call()


@pytest.mark.parametrize(
    "key", ["/a/c/0", "a/c/0/", "a//c/0", "a/c/00", "a/c/007", "a/c/+1", "a/c/1_0", "a/c/\u0661", "a/c/" + "9" * 5000]
)
def test_a_virtual_reference_has_the_key_of_a_chunk(tmp_path: Path, key: str) -> None:
    repository = icefield.Repository.create(icefield.local_filesystem_storage(str(tmp_path)))
    session = repository.writable_session("main")
    zarr.create_array(session.store, name="a", shape=(10,), chunks=(1,), dtype="i4")
    with pytest.raises(icefield.InvalidInputError):
        session.store.set_virtual_ref(
            key, "s3://bucket/data", offset=0, length=4, validate_container=False
        )
    assert session.status().updated_chunks == {}
