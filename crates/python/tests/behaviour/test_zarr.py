"""zarr-python through the store: hierarchies, arrays of many kinds, resizing, modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import zarr
from making import Keys, create, keys_of
from under_test import ic, raises


@pytest.fixture(params=["uncommitted", "committed"])
def written(request: pytest.FixtureRequest, storage: Any) -> Any:
    """Writes with the function given, and gives the store to read from."""
    repo = create(storage)

    def work(write: Any) -> Any:
        session = repo.writable_session("main")
        write(session.store)
        if request.param == "uncommitted":
            return session.store
        session.commit("zarr")
        return repo.readonly_session("main").store

    return work


ARRAYS: dict[str, tuple[Any, dict[str, Any]]] = {
    "int8": (np.arange(10, dtype="int8"), {"chunks": (3,)}),
    "uint64": (np.arange(10, dtype="uint64"), {"chunks": (10,)}),
    "float32 with NaN": (
        np.array([1, np.nan, np.inf, -0.0], dtype="float32"),
        {"chunks": (2,), "fill_value": np.nan},
    ),
    "float64": (np.linspace(0, 1, 1000), {"chunks": (100,)}),
    "complex": (np.array([1 + 2j, 3 - 4j]), {"chunks": (1,)}),
    "bool": (np.array([True, False, True]), {"chunks": (2,)}),
    "text": (np.array(["a", "bb", "größe"], dtype="T"), {"chunks": (2,)}),
    "two dimensions": (np.arange(100).reshape(10, 10), {"chunks": (3, 4)}),
    "three dimensions": (np.arange(60).reshape(3, 4, 5), {"chunks": (2, 2, 2)}),
    "sharded": (np.arange(64).reshape(8, 8), {"chunks": (2, 2), "shards": (4, 4)}),
    "large chunks": (np.random.default_rng(1).random(300_000), {"chunks": (150_000,)}),
    "uncompressed": (np.arange(1000), {"chunks": (100,), "compressors": None}),
    "scalar": (np.array(5.5), {"chunks": ()}),
    "empty": (np.empty((0, 5)), {"chunks": (1, 5)}),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ARRAYS))
def test_arrays_come_back(written: Any, name: str) -> None:
    data, options = ARRAYS[name]

    def write(store: Any) -> None:
        zarr.create_group(store)
        made = zarr.create_array(
            store, name="x", shape=data.shape, dtype=data.dtype, **options
        )
        if data.size:
            made[...] = data

    found = zarr.open_array(written(write), path="x", mode="r")
    assert found.dtype == data.dtype
    np.testing.assert_array_equal(np.asarray(found[...]), data)


def test_a_hierarchy(written: Any) -> None:
    def write(store: Any) -> None:
        root = zarr.create_group(store, attributes={"title": "root"})
        group = root.create_group("g", attributes={"n": 1})
        group.create_array("x", shape=(4,), chunks=(2,), dtype="i4")[:] = [1, 2, 3, 4]
        root.create_group("deep/deeper/deepest")

    root = zarr.open_group(written(write), mode="r")
    assert dict(root.attrs) == {"title": "root"}
    assert sorted(name for name, _ in root.members(max_depth=None)) == [
        "deep", "deep/deeper", "deep/deeper/deepest", "g", "g/x"
    ]  # fmt: skip
    array = root["g/x"]
    assert isinstance(array, zarr.Array)
    assert np.asarray(array[1:3]).tolist() == [2, 3]
    assert "g" in root and "nope" not in root


def test_group_keys(written: Any) -> None:
    def write(store: Any) -> None:
        root = zarr.create_group(store)
        for name in ["b", "a"]:
            root.create_group(name)
        root.create_array("x", shape=(1,), dtype="i1")

    root = zarr.open_group(written(write), mode="r")
    assert sorted(root.group_keys()) == ["a", "b"]
    assert sorted(root.array_keys()) == ["x"]
    assert len(root) == 3


@pytest.fixture
def session(stocked: Any) -> Any:
    return stocked.writable_session("main")


def test_attributes_change(stocked: Any, session: Any) -> None:
    array = zarr.open_array(session.store, path="a", mode="r+")
    array.attrs["units"] = "K"
    array.update_attributes({"more": [1, 2]})
    session.commit("attributes")
    found = zarr.open_array(stocked.readonly_session("main").store, path="a", mode="r")
    assert dict(found.attrs) == {"units": "K", "more": [1, 2]}


def test_appending(stocked: Any, session: Any) -> None:
    array = zarr.open_array(session.store, path="a", mode="r+")
    array.append(np.array([7, 8], dtype="int8"))
    session.commit("append")
    found = zarr.open_array(stocked.readonly_session("main").store, path="a", mode="r")
    assert np.asarray(found[:]).tolist() == [1, 2, 0, 0, 7, 8]


def test_shrinking(stocked: Any, session: Any) -> None:
    array = zarr.open_array(session.store, path="a", mode="r+")
    array.resize((1,))
    session.commit("shrink")
    assert keys_of(stocked).below("a") == ["a/c/0", "a/zarr.json"]


def test_fill_values_delete_chunks(stocked: Any, session: Any) -> None:
    with zarr.config.set({"array.write_empty_chunks": False}):
        array = zarr.open_array(session.store, path="a", mode="r+")
        array[0] = 0
    session.commit("fill")
    assert keys_of(stocked).below("a") == ["a/c/1", "a/zarr.json"]


def test_deleting_a_member(stocked: Any, session: Any) -> None:
    group = zarr.open_group(session.store, mode="r+")
    del group["a"]
    session.commit("delete")
    assert keys_of(stocked).all() == ["zarr.json"]


def test_overwriting_an_array(stocked: Any, session: Any) -> None:
    zarr.create_array(
        session.store, name="a", shape=(2,), chunks=(1,), dtype="f8", overwrite=True
    )
    session.commit("overwrite")
    found = zarr.open_array(stocked.readonly_session("main").store, path="a", mode="r")
    assert (found.shape, found.dtype) == ((2,), np.dtype("f8"))
    assert keys_of(stocked).below("a") == ["a/zarr.json"]


def test_not_overwriting_an_array(session: Any) -> None:
    with pytest.raises(zarr.errors.ContainsArrayError):
        zarr.create_array(session.store, name="a", shape=(2,), dtype="f8")


def test_overwriting_a_group(stocked: Any, session: Any) -> None:
    zarr.open_group(session.store, mode="w")
    session.commit("overwrite")
    assert keys_of(stocked).all() == ["zarr.json"]


@pytest.mark.parametrize("mode", ["w", "a", "r+", "w-"])
def test_a_readonly_store_opens_for_reading_only(stocked: Any, mode: Any) -> None:
    with pytest.raises(ValueError, match="read-only"):
        zarr.open_group(stocked.readonly_session("main").store, mode=mode)


def test_a_readonly_array_is_not_written(stocked: Any) -> None:
    array = zarr.open_array(stocked.readonly_session("main").store, path="a", mode="r")
    with pytest.raises((ValueError, ic.ReadOnlyError)):
        array[0] = 5


def test_an_empty_store_has_no_group(repo: Any) -> None:
    with pytest.raises(FileNotFoundError):
        zarr.open_group(repo.readonly_session("main").store, mode="r")


def test_a_missing_array(stocked: Any) -> None:
    with pytest.raises((FileNotFoundError, KeyError)):
        zarr.open_array(stocked.readonly_session("main").store, path="nope", mode="r")


def test_metadata_is_not_consolidated(session: Any) -> None:
    with pytest.raises(TypeError, match="consolidated"):
        zarr.consolidate_metadata(session.store)


@pytest.mark.parametrize("kind", ["group", "array"])
def test_zarr_2_is_refused(session: Any, kind: str) -> None:
    with pytest.raises(ic.IcechunkError):
        if kind == "group":
            zarr.create_group(session.store, path="old", zarr_format=2)
        else:
            zarr.create_array(session.store, name="old", shape=(1,), dtype="i4", zarr_format=2)
    assert not Keys(session.store).has("old/zarr.json")


def test_a_region_is_written(stocked: Any, session: Any) -> None:
    array = zarr.create_array(session.store, name="s", shape=(6, 6), chunks=(2, 2), dtype="i4")
    array[1:5, 1:5] = 7
    session.commit("region")
    found = zarr.open_array(stocked.readonly_session("main").store, path="s", mode="r")
    assert int(np.asarray(found[:]).sum()) == 7 * 16
    assert len(keys_of(stocked).below("s")) == 10


def test_indexing(stocked: Any, session: Any) -> None:
    data = np.arange(100).reshape(10, 10)
    array = zarr.create_array(session.store, name="s", shape=(10, 10), chunks=(3, 3), dtype="i8")
    array[:] = data
    session.commit("indexing")
    found = zarr.open_array(stocked.readonly_session("main").store, path="s", mode="r")
    np.testing.assert_array_equal(found.oindex[np.array([1, 5]), :], data[[1, 5], :])
    np.testing.assert_array_equal(found.vindex[[1, 5], [2, 8]], data[[1, 5], [2, 8]])
    np.testing.assert_array_equal(found[::3], data[::3])
    np.testing.assert_array_equal(found.blocks[1, 1], data[3:6, 3:6])


def test_copying_between_stores(stocked: Any, session: Any) -> None:
    memory = zarr.storage.MemoryStore()
    source = zarr.open_array(stocked.readonly_session("main").store, path="a", mode="r")
    made = zarr.create_array(memory, data=np.asarray(source[:]))
    back = zarr.create_array(session.store, name="b", data=np.asarray(made[:]))
    assert np.asarray(back[:]).tolist() == [1, 2, 0, 0]


def test_two_versions_are_read_at_once(stocked: Any, session: Any) -> None:
    before = zarr.open_array(stocked.readonly_session("main").store, path="a", mode="r")
    zarr.open_array(session.store, path="a", mode="r+")[:] = 9
    session.commit("nine")
    after = zarr.open_array(stocked.readonly_session("main").store, path="a", mode="r")
    assert np.asarray(before[:]).tolist() == [1, 2, 0, 0]
    assert np.asarray(after[:]).tolist() == [9, 9, 9, 9]


def test_a_store_is_a_store(session: Any) -> None:
    from zarr.abc.store import Store

    store = session.store
    assert isinstance(store, Store)
    assert store.supports_writes and store.supports_deletes and store.supports_listing
    assert not store.supports_partial_writes


def test_stores_of_one_session_are_equal(session: Any) -> None:
    assert session.store == session.store


def test_stores_of_two_sessions_differ(stocked: Any) -> None:
    assert stocked.writable_session("main").store != stocked.writable_session("main").store


async def test_only_buffers_are_written(session: Any) -> None:
    for odd in (b"{}", "text", 5, None):
        with pytest.raises(TypeError):
            await session.store.set("zarr.json", odd)


@pytest.mark.parametrize("odd", [5, None, b"zarr.json", ["zarr.json"]])
async def test_keys_are_text(session: Any, odd: Any) -> None:
    from zarr.core.buffer import default_buffer_prototype

    with pytest.raises(TypeError):
        await session.store.get(odd, default_buffer_prototype())
    with pytest.raises(TypeError):
        await session.store.exists(odd)
    with pytest.raises(TypeError):
        await session.store.delete(odd)


async def test_partial_values_are_not_written(session: Any) -> None:
    with raises("SessionStateError", "unimplemented"):
        await session.store.set_partial_values([("a/c/0", 0, b"x")])
