"""The package's own help for tests: models, hierarchies and moves."""

from __future__ import annotations

import asyncio
import re

import hypothesis.strategies as st
import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from zarr.core.buffer import default_buffer_prototype

import icefield
from icefield.testing import invariants, models, strategies, trees, utils

quick = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
small_trees = trees.trees(max_leaves=st.just(6), max_children=st.just(3))
I4 = models.ArrayNode((1,), np.dtype("i4"))


@quick
@given(tree=small_trees)
def test_a_hierarchy_is_the_same_in_a_model_and_in_a_repository(tree: models.GroupNode) -> None:
    model, session, repository = utils.tree_to_model_and_icechunk(tree)
    assert models.GroupNode.from_store(model) == tree
    for label, store in utils.precommit_postcommit_readonly(session, repository):
        assert models.GroupNode.from_store(store) == tree, label
        asyncio.run(
            invariants.compare_list_dir(model, store, tree.nodes(include_root=True))
        )
    invariants.assert_ancestry_invariants(list(repository.ancestry(branch="main")))


@quick
@given(drawn=trees.tree_and_mixed_moves(max_leaves=st.just(6), max_children=st.just(3)))
def test_moves_are_what_they_are_said_to_be(
    drawn: tuple[models.GroupNode, list[trees.MixedMove]],
) -> None:
    tree, moves = drawn
    arrays = {f"/{it}" for it in tree.arrays()}
    groups = {f"/{it}" for it in tree.groups()} | {"/"}
    for source, end, pattern in moves:
        parent = end.rpartition("/")[0] or "/"
        below = end == source or trees.is_descendant(end, source.rstrip("/"))
        allowed = (
            source in arrays | groups
            and not below
            and end not in arrays | groups
            and parent in groups
        )
        assert allowed == (pattern is None), (source, end, pattern)
        if allowed:
            arrays, groups = utils.update_paths_after_move(source, end, arrays, groups)


@quick
@given(data=st.data())
def test_names_are_fresh(data: st.DataObject) -> None:
    names = data.draw(trees.fresh_names({"a", "b"}, {"c"}, 4))
    assert len(set(names)) == 4
    assert "c" not in names


def test_hierarchies_from_dictionaries_and_paths() -> None:
    tree = models.GroupNode.from_dict({"g": {"a": I4, "h": {}}, "b": I4})
    assert tree.nodes() == ["g", "g/a", "g/h", "b"]
    assert tree.groups("x", include_root=True) == ["x", "x/g", "x/g/h"]
    assert tree.arrays() == ["g/a", "b"]
    assert models.GroupNode.from_paths({"/g/a", "/b"}, {"/", "/g", "/g/h"}) == tree
    with pytest.raises(ValueError, match="slash"):
        models.GroupNode.from_paths({"a"}, set())


def test_hierarchies_from_stores_without_waiting() -> None:
    tree = models.GroupNode.from_dict({"g": {"a": I4}})
    store = models.ModelStore()
    tree.materialize(store)
    assert asyncio.run(models.GroupNode.from_store_async(store)) == tree


def keys_of(store: models.ModelStore) -> dict[str, bytes]:
    async def read() -> dict[str, bytes]:
        found = {}
        async for key in store.list():
            value = await store.get(key, default_buffer_prototype())
            assert value is not None
            found[key] = value.to_bytes()
        return found

    return asyncio.run(read())


def test_a_model_moves_and_copies() -> None:
    store = models.ModelStore()
    models.GroupNode.from_dict({"a": {"x": I4}, "ab": {}}).materialize(store)
    twin = asyncio.run(store.copy())
    assert keys_of(twin) == keys_of(store)
    asyncio.run(store.move("/a", "/b"))
    moved = {"zarr.json", "b/zarr.json", "b/x/zarr.json", "ab/zarr.json"}
    assert set(keys_of(store)) == moved
    assert set(keys_of(twin)) != moved
    with pytest.raises(ValueError, match="slash"):
        asyncio.run(store.move("b", "/c"))


def test_a_model_shifts_as_a_session_does() -> None:
    model = models.ModelStore()
    session = icefield.Repository.create(icefield.in_memory_storage()).writable_session("main")
    for store in (model, session.store):
        array = zarr.create_array(store, name="a", shape=(5, 2), chunks=(1, 1), dtype="i4")
        array[1:4, :] = np.arange(1, 7).reshape(3, 2)
    asyncio.run(model.shift_array("a", (2, -1), (5, 2)))
    session.shift_array("/a", (2, -1))
    shifted = [zarr.open_array(store, path="a", mode="r")[...] for store in (model, session.store)]
    np.testing.assert_array_equal(shifted[0], shifted[1])


@quick
@given(data=st.data())
def test_configurations(data: st.DataObject) -> None:
    store = models.ModelStore()
    array = zarr.create_array(
        store, name="g/a", shape=(4, 6), chunks=(2, 3), dtype="i4", dimension_names=("x", None)
    )
    splitting = strategies.splitting_configs(arrays=[array])
    config = data.draw(
        strategies.repository_configs(
            splitting=splitting, inline_chunk_threshold_bytes=st.integers(0, 9)
        )
    )
    assert icefield.RepositoryConfig._from_json(config._to_json()) == config
    assert config.manifest is not None and config.manifest.splitting is not None
    chunk = data.draw(strategies.chunk_slicers((2, 2), (2, 3)))
    assert np.empty((4, 6))[chunk].shape == (2, 3)
    assert re.fullmatch("[01]/[01]", data.draw(strategies.chunk_paths((2, 2))))


@quick
@given(data=st.data())
def test_times_for_an_expiration(data: st.DataObject) -> None:
    storage = icefield.in_memory_storage()
    repository = icefield.Repository.create(storage)
    session = repository.writable_session("main")
    zarr.group(session.store)
    session.commit("one")
    time = strategies.draw_older_than(data, storage, repository)
    assert repository.expire_snapshots(older_than=time) is not None


def test_what_the_invariants_refuse() -> None:
    with pytest.raises(AssertionError, match="no moves"):
        invariants.assert_moves_sorted_by_final_path([])
    with pytest.raises(AssertionError, match="not in order"):
        invariants.assert_moves_sorted_by_final_path([("/x", "/a-b"), ("/y", "/a/b")])
    invariants.assert_moves_sorted_by_final_path([("/x", "/a/b"), ("/y", "/a-b")])
    invariants.assert_list_dir_equal("a", ["zarr.json"], ["c", "zarr.json"])
    with pytest.raises(AssertionError, match="the directory 'a'"):
        invariants.assert_list_dir_equal("a", ["zarr.json"], ["zarr.json", "d"])


def test_patterns_that_take_line_ends() -> None:
    assert re.search(trees.wrap_tolerant("not a group"), "is not\n  | a  group")
    assert not re.search(trees.wrap_tolerant("not a group"), "not group")


def test_small_things_about_paths() -> None:
    assert trees.child_names_at("", {"foo", "bar/baz"}) == {"foo", "bar"}
    assert trees.child_names_at("foo", {"foo/a", "foo/b/c", "foobar/d"}) == {"a", "b"}
    assert trees.is_descendant("a/b", "a") and not trees.is_descendant("ab", "a")
    assert trees.absolute("") == "/" and trees.absolute("a/b") == "/a/b"
