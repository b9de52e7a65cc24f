"""What the store lists: all keys, keys below a prefix, children, sizes, emptiness."""

from __future__ import annotations

from typing import Any

import pytest
from making import Keys, array_document, create, group_document
from under_test import collect, raises, run

TREE = [
    "a/c/0",
    "a/zarr.json",
    "g/abc/c/0/1",
    "g/abc/c/1/0",
    "g/abc/c/1/1",
    "g/abc/zarr.json",
    "g/deep/zarr.json",
    "g/zarr.json",
    "zarr.json",
]


def _fill(keys: Keys) -> Keys:
    keys.put("zarr.json", group_document())
    keys.put("a/zarr.json", array_document())
    keys.put("g/zarr.json", group_document())
    keys.put("g/deep/zarr.json", group_document())
    keys.put("g/abc/zarr.json", array_document((4, 4), (2, 2)))
    keys.put("a/c/0", b"x")
    for chunk in ["0/1", "1/0", "1/1"]:
        keys.put(f"g/abc/c/{chunk}", b"abcd")
    return keys


@pytest.fixture(params=["uncommitted", "committed"])
def tree(request: pytest.FixtureRequest, storage: Any) -> Keys:
    repo = create(storage)
    session = repo.writable_session("main")
    keys = _fill(Keys(session.store))
    if request.param == "uncommitted":
        return keys
    session.commit("tree")
    return Keys(repo.readonly_session("main").store)


def test_list_gives_every_key(tree: Keys) -> None:
    assert tree.all() == TREE


def test_list_gives_each_key_once(tree: Keys) -> None:
    found = tree.all()
    assert len(found) == len(set(found))


@pytest.mark.parametrize("prefix", ["", "/"])
def test_list_prefix_of_the_root_gives_every_key(tree: Keys, prefix: str) -> None:
    assert tree.below(prefix) == TREE


@pytest.mark.parametrize("prefix", ["g", "g/", "a", "g/abc", "g/abc/", "g/deep"])
def test_list_prefix_gives_whole_keys_below_a_node(tree: Keys, prefix: str) -> None:
    wanted = prefix.rstrip("/") + "/"
    assert tree.below(prefix) == [key for key in TREE if key.startswith(wanted)]


@pytest.mark.parametrize("prefix", ["a/c", "a/c/0", "g/ab", "missing", "zarr.json", "g/abc/c/1"])
def test_list_prefix_wants_the_path_of_a_node(tree: Keys, prefix: str) -> None:
    with raises("InvalidInputError", "bad-key-prefix"):
        tree.below(prefix)


@pytest.mark.parametrize(
    ("prefix", "children"),
    [
        ("", ["a", "g", "zarr.json"]),
        ("/", ["a", "g", "zarr.json"]),
        ("g", ["abc", "deep", "zarr.json"]),
        ("g/", ["abc", "deep", "zarr.json"]),
        ("g/deep", ["zarr.json"]),
        ("g/abc", ["c", "zarr.json"]),
        ("g/abc/c", ["0", "1"]),
        ("g/abc/c/0", ["1"]),
        ("g/abc/c/1", ["0", "1"]),
        ("a/c", ["0"]),
    ],
)
def test_list_dir_gives_names(tree: Keys, prefix: str, children: list[str]) -> None:
    assert tree.children(prefix) == children


@pytest.mark.parametrize("prefix", ["missing", "g/ab", "g/abc/c/9", "a/zarr.json", "g/missing/x"])
def test_list_dir_of_what_is_not_there_is_empty(tree: Keys, prefix: str) -> None:
    assert tree.children(prefix) == []


@pytest.mark.parametrize("prefix", ["", "g", "a", "g/abc", "a/c"])
def test_is_empty_where_there_are_keys(tree: Keys, prefix: str) -> None:
    assert not tree.empty(prefix)


@pytest.mark.parametrize("prefix", ["missing", "g/missing", "ab"])
def test_is_empty_where_there_are_none(tree: Keys, prefix: str) -> None:
    assert tree.empty(prefix)


@pytest.mark.parametrize("prefix", ["", "g", "a", "g/abc"])
def test_the_size_below_a_node_is_the_sum_of_its_keys(tree: Keys, prefix: str) -> None:
    assert tree.size_below(prefix) == sum(tree.size(key) for key in tree.below(prefix))


@pytest.mark.parametrize("prefix", ["g/abc/c", "missing"])
def test_the_size_below_what_is_no_node_is_an_error(tree: Keys, prefix: str) -> None:
    with raises("InvalidInputError", "bad-key-prefix"):
        tree.size_below(prefix)


def test_sizes_of_values(tree: Keys) -> None:
    for key in TREE:
        data = tree.get(key)
        assert data is not None
        assert tree.size(key) == len(data)


def test_the_size_of_an_absent_chunk_is_zero(tree: Keys) -> None:
    assert tree.size("a/c/2") == 0


@pytest.mark.parametrize("key", ["missing/zarr.json", "missing/c/0"])
def test_the_size_of_an_absent_node_is_not_found(tree: Keys, key: str) -> None:
    with raises("NodeNotFoundError", "node-not-found"):
        tree.size(key)


def test_an_absent_node_is_a_key_error(tree: Keys) -> None:
    with pytest.raises(KeyError):
        tree.size("missing/zarr.json")


def test_an_empty_store_lists_nothing(keys: Keys) -> None:
    assert keys.all() == []
    assert keys.children("") == []
    assert keys.empty("")


def test_an_array_without_chunks_lists_c(keys: Keys) -> None:
    keys.put("a/zarr.json", array_document())
    assert keys.children("a") == ["c", "zarr.json"]


def test_children_of_a_path_without_a_node_are_not_listed(keys: Keys) -> None:
    keys.put("x/y/z/zarr.json", group_document())
    assert keys.children("x") == []
    assert not keys.has("x/zarr.json")
    assert keys.has("x/y/z/zarr.json")


def test_a_root_array_lists_its_chunks(keys: Keys) -> None:
    keys.put("zarr.json", array_document((2,), (1,)))
    keys.put("c/0", b"x")
    assert keys.all() == ["c/0", "zarr.json"]
    assert keys.children("") == ["c", "zarr.json"]


def test_siblings_with_a_common_beginning_are_apart(keys: Keys) -> None:
    for name in ["a", "ab", "a-b", "a.b"]:
        keys.put(f"{name}/zarr.json", array_document((1,), (1,)))
        keys.put(f"{name}/c/0", b"x")
    assert keys.below("a") == ["a/c/0", "a/zarr.json"]
    keys.delete_below("a")
    assert keys.all() == sorted(
        f"{name}/{end}" for name in ["ab", "a-b", "a.b"] for end in ["c/0", "zarr.json"]
    )


def test_committed_and_uncommitted_keys_are_listed_together(stocked: Any) -> None:
    session = stocked.writable_session("main")
    keys = Keys(session.store)
    keys.put("b/zarr.json", array_document())
    keys.put("a/c/3", b"x")
    keys.delete("a/c/0")
    assert keys.all() == ["a/c/1", "a/c/3", "a/zarr.json", "b/zarr.json", "zarr.json"]
    assert keys.children("a/c") == ["1", "3"]


def test_a_listing_is_an_asynchronous_iterator_that_closes(tree: Keys) -> None:
    async def work() -> list[str]:
        found = tree.store.list()
        first = await found.__anext__()
        await found.aclose()
        return [first] + [key async for key in found]

    assert len(run(work())) == 1


def test_a_listing_may_begin_again(tree: Keys) -> None:
    assert collect(tree.store.list) == collect(tree.store.list)


def test_many_keys_are_listed(keys: Keys) -> None:
    keys.put("zarr.json", group_document())
    for index in range(300):
        keys.put(f"n{index:03}/zarr.json", group_document({"index": index}))
    assert keys.children("") == [f"n{index:03}" for index in range(300)] + ["zarr.json"]
    assert len(keys.all()) == 301
