"""Forks: writable copies of a session that travel and are merged back."""

from __future__ import annotations

from typing import Any

import pytest
from making import Keys, array_document, commit, group_document, keys_of
from under_test import raises

A1, A2 = array_document(attributes={"x": 1}), array_document(attributes={"x": 2})


@pytest.fixture
def session(stocked: Any) -> Any:
    return stocked.writable_session("main")


def test_a_fork_knows_itself(session: Any, ic: Any) -> None:
    fork = session.fork()
    assert isinstance(fork, ic.ForkSession)
    assert isinstance(fork, ic.Session)
    assert fork.read_only is False
    assert fork.branch is None
    assert fork.snapshot_id == session.snapshot_id
    assert fork.has_uncommitted_changes is False


def test_a_fork_s_store_writes(session: Any) -> None:
    fork = session.fork()
    assert fork.store.read_only is False
    Keys(fork.store).put("a/c/2", b"f")
    assert Keys(fork.store).get("a/c/2") == b"f"
    assert fork.has_uncommitted_changes


def test_a_fork_is_apart_until_it_is_merged(session: Any) -> None:
    fork = session.fork()
    Keys(fork.store).put("a/c/2", b"f")
    assert Keys(session.store).get("a/c/2") is None
    assert not session.has_uncommitted_changes
    session.merge(fork)
    assert Keys(session.store).get("a/c/2") == b"f"
    assert session.has_uncommitted_changes


def test_a_fork_has_a_status(session: Any) -> None:
    fork = session.fork()
    Keys(fork.store).put("a/c/2", b"f")
    assert fork.status().updated_chunks == {"/a": [[2]]}


def test_merged_forks_are_committed(stocked: Any, session: Any) -> None:
    forks = [session.fork() for _ in range(3)]
    for index, fork in enumerate(forks):
        Keys(fork.store).put(f"a/c/{index}", bytes([10 + index]))
    session.merge(*forks)
    session.commit("merged")
    keys = keys_of(stocked)
    assert [keys.get(f"a/c/{index}") for index in range(3)] == [b"\x0a", b"\x0b", b"\x0c"]


def test_forks_merge_one_by_one(stocked: Any, session: Any) -> None:
    for index in range(3):
        fork = session.fork()
        Keys(fork.store).put(f"a/c/{index}", b"f")
        session.merge(fork)
    assert session.status().updated_chunks == {"/a": [[0], [1], [2]]}


def test_merging_nothing(session: Any) -> None:
    session.merge()
    assert not session.has_uncommitted_changes


def test_merging_an_unchanged_fork(session: Any) -> None:
    session.merge(session.fork())
    assert not session.has_uncommitted_changes


def test_a_fork_is_not_committed(session: Any) -> None:
    with raises("SessionStateError", "commit-not-allowed"):
        session.fork().commit("x")


def test_a_changed_fork_is_not_committed(session: Any) -> None:
    fork = session.fork()
    Keys(fork.store).put("a/c/2", b"f")
    with raises("SessionStateError", "commit-not-allowed", match="merge"):
        fork.commit("x")


def test_a_fork_is_not_rebased(session: Any, ic: Any) -> None:
    with raises("SessionStateError", "commit-not-allowed"):
        session.fork().rebase(ic.ConflictDetector())


def test_a_fork_is_not_flushed(session: Any, ic: Any) -> None:
    with pytest.raises(ic.IcechunkError, match="fork"):
        session.fork().flush("x")


def test_a_fork_may_be_discarded(session: Any) -> None:
    fork = session.fork()
    Keys(fork.store).put("a/c/2", b"f")
    fork.discard_changes()
    assert not fork.has_uncommitted_changes
    session.merge(fork)
    assert not session.has_uncommitted_changes


def test_a_discarded_fork_leaves_the_edits_of_its_session(session: Any) -> None:
    Keys(session.store).put("a/c/1", b"s")
    fork = session.fork()
    Keys(fork.store).put("a/c/1", b"f")
    Keys(fork.store).put("a/c/2", b"f")
    fork.discard_changes()
    assert Keys(fork.store).get("a/c/1") == b"s"
    session.merge(fork)
    assert Keys(session.store).get("a/c/1") == b"s"
    assert session.has_uncommitted_changes


def test_a_fork_of_a_fork(session: Any, ic: Any) -> None:
    fork = session.fork()
    deeper = fork.fork()
    assert isinstance(deeper, ic.ForkSession)
    Keys(deeper.store).put("a/c/2", b"d")
    fork.merge(deeper)
    session.merge(fork)
    assert Keys(session.store).get("a/c/2") == b"d"


def test_a_fork_makes_nodes(stocked: Any, session: Any) -> None:
    fork = session.fork()
    Keys(fork.store).put("b/zarr.json", A1)
    Keys(fork.store).put("b/c/0", b"n")
    session.merge(fork)
    assert Keys(session.store).below("b") == ["b/c/0", "b/zarr.json"]
    session.commit("nodes")
    assert keys_of(stocked).get("b/c/0") == b"n"


def test_a_fork_deletes(stocked: Any, session: Any) -> None:
    fork = session.fork()
    Keys(fork.store).delete("a/c/0")
    session.merge(fork)
    session.commit("less")
    assert keys_of(stocked).below("a") == ["a/c/1", "a/zarr.json"]


def test_a_fork_updates_metadata(session: Any) -> None:
    fork = session.fork()
    Keys(fork.store).put("a/zarr.json", A1)
    session.merge(fork)
    assert Keys(session.store).get("a/zarr.json") == A1


def test_a_fork_of_a_changed_session_sees_the_changes(session: Any) -> None:
    keys = Keys(session.store)
    keys.put("d/zarr.json", A1)
    keys.put("a/c/3", b"s")
    fork = session.fork()
    assert Keys(fork.store).has("d/zarr.json")
    assert Keys(fork.store).get("a/c/3") == b"s"
    assert not fork.has_uncommitted_changes


def test_a_fork_writes_to_an_array_made_before_it(stocked: Any, session: Any) -> None:
    Keys(session.store).put("d/zarr.json", A1)
    forks = [session.fork(), session.fork()]
    for index, fork in enumerate(forks):
        Keys(fork.store).put(f"d/c/{index}", bytes([index + 1]))
    Keys(session.store).put("d/c/2", b"s")
    session.merge(*forks)
    session.commit("made before")
    keys = keys_of(stocked)
    assert [keys.get(f"d/c/{index}") for index in range(3)] == [b"\x01", b"\x02", b"s"]


def test_forking_keeps_the_changes_of_the_session(session: Any) -> None:
    Keys(session.store).put("a/c/3", b"s")
    session.fork()
    assert session.has_uncommitted_changes
    assert session.status().updated_chunks == {"/a": [[3]]}


def test_a_session_and_its_fork_write_different_chunks(session: Any) -> None:
    fork = session.fork()
    Keys(fork.store).put("a/c/2", b"f")
    Keys(session.store).put("a/c/3", b"s")
    session.merge(fork)
    assert session.status().updated_chunks == {"/a": [[2], [3]]}


def test_two_forks_with_the_same_new_array(session: Any) -> None:
    forks = [session.fork(), session.fork()]
    for fork in forks:
        Keys(fork.store).put("n/zarr.json", A1)
    with raises("SessionStateError", "merge-failed"):
        session.merge(*forks)


def test_two_forks_with_different_updates_of_an_array(session: Any) -> None:
    forks = [session.fork(), session.fork()]
    for fork, document in zip(forks, [A1, A2], strict=True):
        Keys(fork.store).put("a/zarr.json", document)
    with raises("SessionStateError", "merge-failed"):
        session.merge(*forks)


def test_two_forks_with_equal_updates_of_an_array(session: Any) -> None:
    forks = [session.fork(), session.fork()]
    for fork in forks:
        Keys(fork.store).put("a/zarr.json", A1)
    session.merge(*forks)
    assert Keys(session.store).get("a/zarr.json") == A1


def test_two_forks_that_delete_the_same_array(session: Any) -> None:
    forks = [session.fork(), session.fork()]
    for fork in forks:
        Keys(fork.store).delete("a/zarr.json")
    session.merge(*forks)
    assert session.status().deleted_arrays == {"/a"}


@pytest.mark.parametrize("order", [1, -1])
def test_a_fork_that_writes_and_one_that_deletes(session: Any, order: int) -> None:
    forks = [session.fork(), session.fork()]
    Keys(forks[0].store).put("a/c/0", b"f")
    Keys(forks[1].store).delete("a/zarr.json")
    with raises("SessionStateError", "merge-failed"):
        session.merge(*forks[::order])


def test_a_fork_that_writes_and_one_that_updates_metadata(session: Any) -> None:
    forks = [session.fork(), session.fork()]
    Keys(forks[0].store).put("a/c/2", b"f")
    Keys(forks[1].store).put("a/zarr.json", A1)
    session.merge(*forks)
    keys = Keys(session.store)
    assert (keys.get("a/c/2"), keys.get("a/zarr.json")) == (b"f", A1)


def test_a_failed_merge_leaves_the_session_usable(stocked: Any, session: Any) -> None:
    forks = [session.fork(), session.fork()]
    for fork, document in zip(forks, [A1, A2], strict=True):
        Keys(fork.store).put("a/zarr.json", document)
    session.merge(forks[0])
    with raises("SessionStateError", "merge-failed"):
        session.merge(forks[1])
    session.commit("the first")
    assert keys_of(stocked).get("a/zarr.json") == A1


def test_two_forks_that_write_the_same_chunk_are_refused(session: Any) -> None:
    forks = [session.fork(), session.fork()]
    for fork, data in zip(forks, [b"1", b"2"], strict=True):
        Keys(fork.store).put("a/c/2", data)
    with raises("SessionStateError", "merge-failed"):
        session.merge(*forks)


def test_two_forks_that_make_equal_groups_are_merged(session: Any) -> None:
    forks = [session.fork(), session.fork()]
    for fork in forks:
        Keys(fork.store).put("n/zarr.json", group_document())
    session.merge(*forks)
    assert Keys(session.store).has("n/zarr.json")


def test_a_group_and_an_array_at_one_path_are_refused(session: Any) -> None:
    forks = [session.fork(), session.fork()]
    for fork, document in zip(forks, [group_document(), A1], strict=True):
        Keys(fork.store).put("n/zarr.json", document)
    with raises("SessionStateError", "merge-failed"):
        session.merge(*forks)


def test_a_fork_merges_before_the_commit_rebases(stocked: Any, session: Any, ic: Any) -> None:
    fork = session.fork()
    Keys(fork.store).put("a/c/2", b"f")
    commit(stocked, {"a/c/3": b"t"})
    session.merge(fork)
    with raises("ConflictError", "commit-conflict"):
        session.commit("late")
    session.commit("late", rebase_with=ic.ConflictDetector())
    keys = keys_of(stocked)
    assert (keys.get("a/c/2"), keys.get("a/c/3")) == (b"f", b"t")


def test_a_fork_merges_after_its_parent_was_rebased(stocked: Any, session: Any, ic: Any) -> None:
    fork = session.fork()
    Keys(fork.store).put("a/c/2", b"f")
    commit(stocked, {"a/c/3": b"t"})
    session.rebase(ic.ConflictDetector())
    session.merge(fork)
    session.commit("late")
    keys = keys_of(stocked)
    assert (keys.get("a/c/2"), keys.get("a/c/3")) == (b"f", b"t")


def test_a_fork_merges_after_a_rebase_onto_nothing_new(session: Any, ic: Any) -> None:
    fork = session.fork()
    Keys(fork.store).put("a/c/2", b"f")
    session.rebase(ic.ConflictDetector())
    session.merge(fork)
    assert session.status().updated_chunks == {"/a": [[2]]}


def test_a_fork_merges_into_another_session_of_the_branch(stocked: Any, session: Any) -> None:
    fork = session.fork()
    Keys(fork.store).put("a/c/2", b"f")
    other = stocked.writable_session("main")
    other.merge(fork)
    assert other.status().updated_chunks == {"/a": [[2]]}


def test_a_fork_cannot_be_merged_after_the_commit(session: Any) -> None:
    fork = session.fork()
    Keys(fork.store).put("a/c/2", b"f")
    session.merge(fork)
    session.commit("done")
    with raises("ReadOnlyError", "read-only-session"):
        session.merge(fork)


@pytest.mark.parametrize("odd", [None, "fork", 5])
def test_only_forks_are_merged(session: Any, odd: Any) -> None:
    with pytest.raises((TypeError, AttributeError)):
        session.merge(odd)


def test_a_fork_in_memory_is_merged(stocked: Any) -> None:
    session = stocked.writable_session("main")
    fork = session.fork()
    Keys(fork.store).put("zarr.json", group_document({"x": 1}))
    session.merge(fork)
    assert session.status().updated_groups == {"/"}


def test_many_forks(stocked: Any) -> None:
    commit(stocked, {"b/zarr.json": array_document((64,), (1,))})
    session = stocked.writable_session("main")
    forks = [session.fork() for _ in range(16)]
    for index, fork in enumerate(forks):
        keys = Keys(fork.store)
        for chunk in range(index * 4, index * 4 + 4):
            keys.put(f"b/c/{chunk}", bytes([chunk + 1]))
    session.merge(*forks)
    session.commit("many")
    keys = keys_of(stocked)
    assert [keys.get(f"b/c/{index}") for index in range(64)] == [bytes([i + 1]) for i in range(64)]
