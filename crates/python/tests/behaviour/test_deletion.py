"""Deleting keys, nodes, subtrees and everything."""

from __future__ import annotations

from typing import Any

import pytest
from making import Keys, array_document, create, group_document


@pytest.fixture(params=["uncommitted", "committed"])
def tree(request: pytest.FixtureRequest, memory: Any) -> Keys:
    repo = create(memory)
    session = repo.writable_session("main")
    keys = Keys(session.store)
    keys.put("zarr.json", group_document())
    keys.put("a/zarr.json", array_document())
    keys.put("g/zarr.json", group_document())
    keys.put("g/sub/zarr.json", group_document())
    keys.put("g/sub/b/zarr.json", array_document((4, 4), (2, 2)))
    for chunk in ["a/c/0", "a/c/1"]:
        keys.put(chunk, b"x")
    for chunk in ["0/0", "0/1", "1/0", "1/1"]:
        keys.put(f"g/sub/b/c/{chunk}", b"abcd")
    if request.param == "uncommitted":
        return keys
    session.commit("tree")
    return Keys(repo.writable_session("main").store)


def test_delete_a_chunk(tree: Keys) -> None:
    tree.delete("a/c/0")
    assert tree.get("a/c/0") is None
    assert not tree.has("a/c/0")
    assert tree.below("a") == ["a/c/1", "a/zarr.json"]


def test_delete_a_chunk_twice(tree: Keys) -> None:
    tree.delete("a/c/0")
    tree.delete("a/c/0")
    assert tree.below("a") == ["a/c/1", "a/zarr.json"]


def test_write_a_deleted_chunk_again(tree: Keys) -> None:
    tree.delete("a/c/0")
    tree.put("a/c/0", b"y")
    assert tree.get("a/c/0") == b"y"


@pytest.mark.parametrize(
    "key", ["a/c/3", "a/c/99", "missing/c/0", "missing/zarr.json", "a/c/0/0", "g/missing/zarr.json"]
)
def test_delete_what_is_not_there(tree: Keys, key: str) -> None:
    before = tree.all()
    tree.delete(key)
    assert tree.all() == before


def test_delete_the_document_of_an_array_deletes_its_chunks(tree: Keys) -> None:
    tree.delete("a/zarr.json")
    assert not tree.has("a/zarr.json")
    assert not any(key.startswith("a/") for key in tree.all())
    assert tree.get("a/c/0") is None


def test_delete_the_document_of_a_group_deletes_its_subtree(tree: Keys) -> None:
    tree.delete("g/zarr.json")
    assert tree.all() == ["a/c/0", "a/c/1", "a/zarr.json", "zarr.json"]


def test_delete_the_document_of_the_root_deletes_everything(tree: Keys) -> None:
    tree.delete("zarr.json")
    assert tree.all() == []


@pytest.mark.parametrize("prefix", ["g", "g/", "/g", "/g/"])
def test_delete_dir_of_a_group(tree: Keys, prefix: str) -> None:
    tree.delete_below(prefix)
    assert tree.all() == ["a/c/0", "a/c/1", "a/zarr.json", "zarr.json"]


def test_delete_dir_of_an_array(tree: Keys) -> None:
    tree.delete_below("a")
    assert "a" not in tree.children("")


def test_delete_dir_of_a_nested_array(tree: Keys) -> None:
    tree.delete_below("g/sub/b")
    assert tree.below("g") == ["g/sub/zarr.json", "g/zarr.json"]


def test_delete_dir_of_all_chunks(tree: Keys) -> None:
    tree.delete_below("g/sub/b/c")
    assert tree.below("g/sub/b") == ["g/sub/b/zarr.json"]


def test_delete_dir_of_a_row_of_chunks(tree: Keys) -> None:
    tree.delete_below("g/sub/b/c/1")
    assert tree.children("g/sub/b/c") == ["0"]
    assert tree.get("g/sub/b/c/0/1") == b"abcd"


def test_delete_dir_of_one_chunk(tree: Keys) -> None:
    tree.delete_below("g/sub/b/c/1/0")
    assert tree.children("g/sub/b/c/1") == ["1"]


@pytest.mark.parametrize(
    "prefix", ["missing", "g/su", "missing/c", "a/zarr.json", "a/c/7", "g/sub/b/c/9", "zarr.json"]
)
def test_delete_dir_of_what_is_no_directory(tree: Keys, prefix: str) -> None:
    before = tree.all()
    tree.delete_below(prefix)
    assert tree.all() == before


def test_delete_dir_of_a_prefix_goes_by_whole_names(keys: Keys) -> None:
    keys.put("b/zarr.json", array_document((20,), (1,)))
    for index in [1, 10, 11]:
        keys.put(f"b/c/{index}", b"x")
    keys.delete_below("b/c/1")
    assert keys.children("b/c") == ["10", "11"]


@pytest.mark.parametrize("prefix", ["", "/"])
def test_delete_dir_of_the_root(tree: Keys, prefix: str) -> None:
    tree.delete_below(prefix)
    assert tree.all() == []


def test_clear(tree: Keys) -> None:
    tree.clear()
    assert tree.all() == []
    assert tree.empty("")


def test_sync_clear(tree: Keys) -> None:
    tree.store.sync_clear()
    assert tree.all() == []


def test_clear_then_write_again(tree: Keys) -> None:
    tree.clear()
    tree.put("zarr.json", group_document())
    tree.put("a/zarr.json", array_document((2,), (1,)))
    assert tree.all() == ["a/zarr.json", "zarr.json"]
    assert tree.get("a/c/0") is None


def test_an_array_made_again_has_no_old_chunks(tree: Keys) -> None:
    tree.delete("a/zarr.json")
    tree.put("a/zarr.json", array_document())
    assert tree.below("a") == ["a/zarr.json"]
    tree.put("a/c/3", b"n")
    assert tree.below("a") == ["a/c/3", "a/zarr.json"]


def test_an_array_may_become_a_group_after_deletion(tree: Keys) -> None:
    tree.delete("a/zarr.json")
    tree.put("a/zarr.json", group_document())
    assert tree.document("a/zarr.json")["node_type"] == "group"


def test_deletion_is_committed(stocked: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).delete("a/c/0")
    session.commit("less")
    keys = Keys(stocked.readonly_session("main").store)
    assert keys.all() == ["a/c/1", "a/zarr.json", "zarr.json"]
    assert keys.get("a/c/0") is None


def test_deleting_a_node_is_committed(stocked: Any) -> None:
    before = stocked.lookup_branch("main")
    session = stocked.writable_session("main")
    Keys(session.store).delete("a/zarr.json")
    session.commit("gone")
    assert Keys(stocked.readonly_session("main").store).all() == ["zarr.json"]
    old = Keys(stocked.readonly_session(snapshot_id=before).store)
    assert old.get("a/c/0") == b"\x01"


def test_clear_is_committed(stocked: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).clear()
    session.commit("empty")
    assert Keys(stocked.readonly_session("main").store).all() == []
