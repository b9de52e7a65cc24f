"""Rebasing: over several commits, on request and by a commit itself."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from making import Keys, array_document, commit, keys_of
from under_test import raises


@pytest.fixture
def late(stocked: Any) -> tuple[Any, Any, list[str]]:
    """A session with `a/c/0` written, and three commits after its base; the second conflicts."""
    session = stocked.writable_session("main")
    Keys(session.store).put("a/c/0", b"o")
    ids = [
        commit(stocked, {"a/c/1": b"t"}),
        commit(stocked, {"a/c/0": b"t"}),
        commit(stocked, {"a/c/3": b"t"}),
    ]
    return stocked, session, ids


def test_a_failed_rebase_names_the_snapshot(late: tuple[Any, Any, list[str]], ic: Any) -> None:
    _, session, ids = late
    with raises("RebaseFailedError", "rebase-failed") as caught:
        session.rebase(ic.ConflictDetector())
    assert caught.value.snapshot == ids[1]
    assert len(caught.value.conflicts) == 1


def test_a_failed_rebase_is_a_conflict_error(late: tuple[Any, Any, list[str]], ic: Any) -> None:
    _, session, _ = late
    with pytest.raises(ic.ConflictError):
        session.rebase(ic.ConflictDetector())


def test_a_failed_rebase_stops_at_the_last_good_commit(
    late: tuple[Any, Any, list[str]], ic: Any
) -> None:
    _, session, ids = late
    with raises("RebaseFailedError"):
        session.rebase(ic.ConflictDetector())
    keys = Keys(session.store)
    assert session.snapshot_id == ids[0]
    assert (keys.get("a/c/0"), keys.get("a/c/1"), keys.get("a/c/3")) == (b"o", b"t", None)
    assert session.has_uncommitted_changes


def test_a_rebase_goes_on_with_another_solver(late: tuple[Any, Any, list[str]], ic: Any) -> None:
    repo, session, ids = late
    with raises("RebaseFailedError"):
        session.rebase(ic.ConflictDetector())
    session.rebase(ic.BasicConflictSolver())
    assert session.snapshot_id == ids[2]
    session.commit("late")
    assert keys_of(repo).get("a/c/0") == b"o"


def test_a_rebase_to_theirs_shows_theirs(late: tuple[Any, Any, list[str]], ic: Any) -> None:
    _, session, ids = late
    session.rebase(ic.BasicConflictSolver(on_chunk_conflict=ic.VersionSelection.UseTheirs))
    assert session.snapshot_id == ids[2]
    assert Keys(session.store).get("a/c/0") == b"t"


def test_a_rebase_needs_no_commits_to_go_over(stocked: Any, ic: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).put("a/c/2", b"o")
    base = session.snapshot_id
    session.rebase(ic.ConflictDetector())
    session.rebase(ic.ConflictDetector())
    assert session.snapshot_id == base
    assert session.has_uncommitted_changes


def test_a_rebase_without_changes_moves_the_base(stocked: Any, ic: Any) -> None:
    session = stocked.writable_session("main")
    tip = commit(stocked, {"a/c/0": b"t"})
    session.rebase(ic.ConflictDetector())
    assert session.snapshot_id == tip
    assert Keys(session.store).get("a/c/0") == b"t"


def test_a_rebased_session_sees_new_nodes(stocked: Any, ic: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).put("a/c/2", b"o")
    commit(stocked, {"b/zarr.json": array_document(), "b/c/0": b"t"})
    session.rebase(ic.ConflictDetector())
    keys = Keys(session.store)
    assert keys.get("b/c/0") == b"t"
    keys.put("b/c/1", b"o")
    session.commit("late")
    assert keys_of(stocked).get("b/c/1") == b"o"


def test_a_rebased_session_may_race_again(stocked: Any, ic: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).put("a/c/2", b"o")
    commit(stocked, {"a/c/3": b"t"})
    session.rebase(ic.ConflictDetector())
    commit(stocked, {"a/c/1": b"t"})
    with raises("ConflictError", "commit-conflict"):
        session.commit("late")
    session.rebase(ic.ConflictDetector())
    session.commit("late")
    keys = keys_of(stocked)
    assert [keys.get(f"a/c/{index}") for index in range(4)] == [b"\x01", b"t", b"o", b"t"]


def test_a_commit_rebases(stocked: Any, ic: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).put("a/c/2", b"o")
    theirs = commit(stocked, {"a/c/3": b"t"})
    made = session.commit("late", rebase_with=ic.ConflictDetector())
    assert stocked.lookup_snapshot(made).parent_id == theirs


def test_a_commit_records_its_attempts(stocked: Any, ic: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).put("a/c/2", b"o")
    commit(stocked, {"a/c/3": b"t"})
    made = session.commit("late", {"mine": 1}, rebase_with=ic.ConflictDetector())
    metadata = stocked.lookup_snapshot(made).metadata
    assert metadata == {"mine": 1, "__icechunk": {"rebase_attempts": 1}}


def test_a_commit_that_need_not_rebase(stocked: Any, ic: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).put("a/c/2", b"o")
    made = session.commit("in time", rebase_with=ic.ConflictDetector())
    assert stocked.lookup_branch("main") == made


def test_a_commit_that_cannot_rebase(late: tuple[Any, Any, list[str]], ic: Any) -> None:
    _, session, ids = late
    with raises("RebaseFailedError", "rebase-failed") as caught:
        session.commit("late", rebase_with=ic.ConflictDetector())
    assert caught.value.snapshot == ids[1]
    assert session.read_only is False


def test_a_commit_that_solves(late: tuple[Any, Any, list[str]], ic: Any) -> None:
    repo, session, _ = late
    session.commit("late", rebase_with=ic.BasicConflictSolver())
    keys = keys_of(repo)
    assert [keys.get(f"a/c/{index}") for index in (0, 1, 3)] == [b"o", b"t", b"t"]


def test_a_commit_without_tries(late: tuple[Any, Any, list[str]], ic: Any) -> None:
    _, session, _ = late
    with raises("ConflictError", "commit-conflict"):
        session.commit("late", rebase_with=ic.BasicConflictSolver(), rebase_tries=0)


def test_a_commit_with_one_try(late: tuple[Any, Any, list[str]], ic: Any) -> None:
    repo, session, ids = late
    made = session.commit("late", rebase_with=ic.BasicConflictSolver(), rebase_tries=1)
    assert repo.lookup_snapshot(made).parent_id == ids[2]


def test_tries_cannot_be_negative(late: tuple[Any, Any, list[str]], ic: Any) -> None:
    _, session, _ = late
    with pytest.raises((OverflowError, ValueError)):
        session.commit("late", rebase_with=ic.BasicConflictSolver(), rebase_tries=-1)


@pytest.mark.parametrize("odd", ["solver", 5, object()])
def test_a_solver_must_be_one(late: tuple[Any, Any, list[str]], odd: Any) -> None:
    _, session, _ = late
    with pytest.raises(TypeError):
        session.commit("late", rebase_with=odd)
    with pytest.raises(TypeError):
        session.rebase(odd)


def test_no_solver_is_no_solver(late: tuple[Any, Any, list[str]]) -> None:
    _, session, _ = late
    with pytest.raises(TypeError):
        session.rebase(None)


def test_the_base_class_of_solvers_makes_none(ic: Any) -> None:
    with pytest.raises(TypeError):
        ic.ConflictSolver()


def test_solvers_are_conflict_solvers(ic: Any) -> None:
    assert isinstance(ic.ConflictDetector(), ic.ConflictSolver)
    assert isinstance(ic.BasicConflictSolver(), ic.ConflictSolver)


@pytest.mark.parametrize(
    "arguments",
    [
        {"on_chunk_conflict": "x"},
        {"fail_on_delete_of_updated_array": "x"},
        {"fail_on_delete_of_updated_group": 7},
        {"unknown": True},
    ],
    ids=lambda arguments: next(iter(arguments)),
)
def test_a_solver_checks_its_options(ic: Any, arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        ic.BasicConflictSolver(**arguments)


def test_options_of_a_solver_are_given_by_name(ic: Any) -> None:
    with pytest.raises(TypeError):
        ic.BasicConflictSolver(ic.VersionSelection.UseOurs)
    with pytest.raises(TypeError):
        ic.ConflictDetector(1)


def test_a_conflict_error_keeps_its_fields(ic: Any) -> None:
    error = ic.ConflictError("a", "b")
    assert (error.expected_parent, error.actual_parent) == ("a", "b")
    assert error.kind == "commit-conflict"
    assert "a" in str(error) and "b" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (again.expected_parent, again.actual_parent) == ("a", "b")


def test_a_rebase_error_keeps_its_fields(late: tuple[Any, Any, list[str]], ic: Any) -> None:
    _, session, ids = late
    with raises("RebaseFailedError") as caught:
        session.rebase(ic.ConflictDetector())
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.snapshot == ids[1]
    assert again.conflicts[0].path == "/a"
    assert again.conflicts[0].conflicted_chunks == [[0]]
    assert again.kind == "rebase-failed"


def test_many_writers_that_rebase_lose_nothing(stocked: Any, ic: Any) -> None:
    commit(stocked, {"b/zarr.json": array_document((20,), (1,))})
    sessions = [stocked.writable_session("main") for _ in range(20)]
    for index, session in enumerate(sessions):
        Keys(session.store).put(f"b/c/{index}", bytes([index + 1]))
    for session in sessions:
        session.commit("one of many", rebase_with=ic.ConflictDetector())
    keys = keys_of(stocked)
    assert [keys.get(f"b/c/{index}") for index in range(20)] == [
        bytes([index + 1]) for index in range(20)
    ]
