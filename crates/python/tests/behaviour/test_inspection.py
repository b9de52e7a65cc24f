"""Looking inside: manifests, snapshots, transaction logs, kinds and coordinates of chunks."""

from __future__ import annotations

from typing import Any

import pytest
from making import Keys, array_document, commit, create, group_document, small_array
from under_test import collect, ic, in_version, raises

NO_SUCH = "AAAAAAAAAAAAAAAAAAA0"


@pytest.fixture
def history(storage: Any) -> tuple[Any, list[str]]:
    """A repository with an array, a chunk, a large chunk with another array, new attributes."""
    repo = create(storage)
    return repo, [
        commit(repo, small_array(), "array"),
        commit(repo, {"a/c/0": b"1"}, "chunk"),
        commit(repo, {"a/c/1": b"2" * 600, "b/zarr.json": array_document()}, "more"),
        commit(repo, {"zarr.json": group_document({"x": 1})}, "attributes"),
    ]


def test_manifests_of_a_snapshot(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    assert repo.list_manifest_files(ids[0]) == []
    files = repo.list_manifest_files(ids[2])
    assert [file.num_chunk_refs for file in files] == [2]
    assert files[0].size_bytes > 0
    assert len(files[0].id) == 20


def test_manifests_of_a_missing_snapshot(repo: Any) -> None:
    with raises("StorageError", "object-not-found"):
        repo.list_manifest_files(NO_SUCH)
    with raises("InvalidInputError", "invalid-snapshot-id"):
        repo.list_manifest_files("zz")


def test_inspect_a_snapshot(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    found = repo.inspect_snapshot(ids[2])
    assert found["id"] == ids[2]
    assert found["commit_message"] == "more"
    assert found["metadata"] == {}
    assert [node["path"] for node in found["nodes"]] == ["/", "/a", "/b"]
    assert [node["node_type"] for node in found["nodes"]] == ["group", "array", "array"]
    assert found["nodes"][1]["shape"] == [{"array_length": 4, "num_chunks": 4}]
    assert found["manifests"] == [
        {
            "id": repo.list_manifest_files(ids[2])[0].id,
            "size_bytes": repo.list_manifest_files(ids[2])[0].size_bytes,
            "num_chunk_refs": 2,
        }
    ]


def test_inspect_the_header_of_a_snapshot(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    header = repo.inspect_snapshot(ids[2])["header"]
    assert header["spec_version"] == in_version("1.0", "2.0")
    assert header["file_type"] == "snapshot"
    assert header["compression"] == "zstd"


def test_inspect_a_manifest(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    name = repo.list_manifest_files(ids[2])[0].id
    found = repo.inspect_manifest(name)
    assert found["id"] == name
    assert found["header"]["file_type"] == "manifest"
    totals = ["num_arrays", "total_chunk_refs", "total_inline", "total_native", "total_virtual"]
    assert [found[total] for total in totals] == [1, 2, 1, 1, 0]
    assert found["arrays"][0]["num_chunk_refs"] == 2
    assert found["arrays"][0]["node_id"] == repo.readonly_session("main").get_node_id("/a")


def test_inspect_a_transaction_log(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    session = repo.readonly_session("main")
    found = repo.inspect_transaction_log(ids[2])
    assert found["header"]["file_type"] == "transaction-log"
    assert found["new_arrays"] == [session.get_node_id("/b")]
    assert found["updated_chunks"] == [{"node_id": session.get_node_id("/a"), "chunks": [[1]]}]
    assert found["new_groups"] == found["deleted_arrays"] == found["updated_groups"] == []


@pytest.mark.parametrize("what", ["snapshot", "manifest", "transaction_log"])
def test_inspect_what_is_missing(repo: Any, what: str) -> None:
    with raises("StorageError", "object-not-found"):
        getattr(repo, f"inspect_{what}")(NO_SUCH)


@pytest.mark.parametrize("what", ["snapshot", "manifest", "transaction_log"])
def test_inspect_what_is_no_id(repo: Any, what: str) -> None:
    with pytest.raises(ic.IcechunkError):
        getattr(repo, f"inspect_{what}")("zz")


def test_the_kinds_of_chunks(history: tuple[Any, list[str]]) -> None:
    repo, _ = history
    session = repo.readonly_session("main")
    kinds = [session.chunk_type("/a", [i]) for i in range(3)]
    assert kinds == [ic.ChunkType.inline, ic.ChunkType.native, ic.ChunkType.uninitialized]
    assert session.chunk_type("/a", (0,)) == ic.ChunkType.inline


@pytest.mark.parametrize("coordinates", [[9], [0, 0], [4294967295]])
def test_the_kind_of_a_chunk_outside_the_grid(stocked: Any, coordinates: list[int]) -> None:
    found = stocked.readonly_session("main").chunk_type("/a", coordinates)
    assert found == ic.ChunkType.uninitialized


def test_the_kind_of_a_chunk_of_nothing(stocked: Any) -> None:
    session = stocked.readonly_session("main")
    with raises("NodeNotFoundError", "node-not-found"):
        session.chunk_type("/missing", [0])
    with raises("InvalidInputError", "not-an-array"):
        session.chunk_type("/", [0])


@pytest.mark.parametrize("coordinates", [["x"], "0", [None], 5])
def test_coordinates_are_numbers(stocked: Any, coordinates: Any) -> None:
    with pytest.raises(TypeError):
        stocked.readonly_session("main").chunk_type("/a", coordinates)


@pytest.mark.parametrize("coordinate", [-1, 2**40])
def test_coordinates_fit_32_bits(stocked: Any, coordinate: int) -> None:
    with pytest.raises((OverflowError, ValueError)):
        stocked.readonly_session("main").chunk_type("/a", [coordinate])


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_coordinates_of_chunks(stocked: Any, size: int) -> None:
    session = stocked.readonly_session("main")
    assert sorted(collect(lambda: session.chunk_coordinates("/a", size))) == [(0,), (1,)]


def test_coordinates_of_uncommitted_chunks(stocked: Any) -> None:
    session = stocked.writable_session("main")
    keys = Keys(session.store)
    keys.delete("a/c/0")
    keys.put("a/c/3", b"x")
    assert sorted(collect(lambda: session.chunk_coordinates("/a"))) == [(1,), (3,)]


def test_coordinates_of_chunks_of_nothing(stocked: Any) -> None:
    session = stocked.readonly_session("main")
    with raises("NodeNotFoundError", "node-not-found"):
        collect(lambda: session.chunk_coordinates("/missing"))
    with raises("InvalidInputError", "not-an-array"):
        collect(lambda: session.chunk_coordinates("/"))


def test_coordinates_in_batches_of_nothing(stocked: Any) -> None:
    session = stocked.readonly_session("main")
    with pytest.raises(ValueError):
        collect(lambda: session.chunk_coordinates("/a", 0))


@pytest.mark.parametrize("path", ["a", ""])
def test_a_path_begins_with_a_slash(stocked: Any, path: str) -> None:
    with raises("InvalidInputError", "invalid-path"):
        stocked.readonly_session("main").chunk_type(path, [0])
