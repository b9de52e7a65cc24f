"""Branches and tags: making, listing, looking up, moving, deleting."""

from __future__ import annotations

from typing import Any

import pytest
from making import Keys, commit, create, group_document, small_array
from under_test import BRANCH_IS_TAKEN, NO_SNAPSHOT, TAG_IS_GONE, raises

NO_SUCH = "AAAAAAAAAAAAAAAAAAA0"


@pytest.fixture
def history(storage: Any) -> tuple[Any, list[str]]:
    """A repository, and the ids of its first snapshot and of two commits."""
    repo = create(storage)
    first = repo.lookup_branch("main")
    second = commit(repo, small_array(), "array")
    third = commit(repo, {"a/c/0": b"\x01"}, "chunk")
    return repo, [first, second, third]


def test_a_new_repository_has_main_only(storage: Any) -> None:
    repo = create(storage)
    assert repo.list_branches() == {"main"}
    assert repo.list_tags() == set()


def test_the_first_snapshot_is_the_same_everywhere(storage: Any) -> None:
    assert create(storage).lookup_branch("main") == "1CECHNKREP0F1RSTCMT0"


def test_main_moves_with_commits(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    assert repo.lookup_branch("main") == ids[2]


@pytest.mark.parametrize(
    "name", ["dev", "a-b_c.d", "x y", "0", "UPPER", "main2", "a" * 100, "a+b", "a:b"]
)
def test_branch_names(history: tuple[Any, list[str]], name: str) -> None:
    repo, ids = history
    repo.create_branch(name, ids[1])
    assert repo.list_branches() == {"main", name}
    assert repo.lookup_branch(name) == ids[1]


@pytest.mark.parametrize("name", ["größe", "日本", "50%", "#1"])
def test_branch_names_with_other_characters(history: tuple[Any, list[str]], name: str) -> None:
    repo, ids = history
    repo.create_branch(name, ids[1])
    assert repo.list_branches() == {"main", name}
    assert repo.lookup_branch(name) == ids[1]


@pytest.mark.parametrize("name", ["v1", "2024.01", "x y", "release-candidate"])
def test_tag_names(history: tuple[Any, list[str]], name: str) -> None:
    repo, ids = history
    repo.create_tag(name, ids[1])
    assert repo.list_tags() == {name}
    assert repo.lookup_tag(name) == ids[1]


@pytest.mark.parametrize("what", ["branch", "tag"])
@pytest.mark.parametrize("name", ["x/y", "/", "a/", "/a"])
def test_a_slash_in_a_name_is_an_error(older: Any, what: str, name: str) -> None:
    tip = older.lookup_branch("main")
    with raises("InvalidInputError", "invalid-ref-name"):
        getattr(older, f"create_{what}")(name, tip)


def test_a_name_with_a_slash_is_answered_by_another(older: Any) -> None:
    tip = older.lookup_branch("main")
    with raises("InvalidInputError", "invalid-ref-name", match="version 1 .*feature-x"):
        older.create_branch("feature/x", tip)


@pytest.mark.parametrize("name", ["x/y", "/", "a/", "/a"])
def test_names_of_version_2_have_slashes(newer: Any, name: str) -> None:
    tip = newer.lookup_branch("main")
    newer.create_branch(name, tip)
    newer.create_tag(name, tip)
    assert newer.list_branches() == {"main", name} and newer.list_tags() == {name}
    assert newer.lookup_branch(name) == newer.lookup_tag(name) == tip


def test_a_branch_and_a_tag_may_share_a_name(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_branch("same", ids[1])
    repo.create_tag("same", ids[2])
    assert repo.lookup_branch("same") == ids[1]
    assert repo.lookup_tag("same") == ids[2]


def test_a_tag_may_be_named_main(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_tag("main", ids[1])
    assert repo.lookup_tag("main") == ids[1]
    assert repo.lookup_branch("main") == ids[2]


def test_a_branch_cannot_be_made_twice(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_branch("dev", ids[1])
    with raises(*BRANCH_IS_TAKEN):
        repo.create_branch("dev", ids[2])
    assert repo.lookup_branch("dev") == ids[1]


def test_main_cannot_be_made_again(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    with raises(*BRANCH_IS_TAKEN):
        repo.create_branch("main", ids[1])
    assert repo.lookup_branch("main") == ids[2]


def test_a_tag_cannot_be_made_twice(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_tag("t", ids[1])
    with raises("AlreadyExistsError", "tag-already-exists"):
        repo.create_tag("t", ids[1])
    with raises("AlreadyExistsError", "tag-already-exists"):
        repo.create_tag("t", ids[2])
    assert repo.lookup_tag("t") == ids[1]


@pytest.mark.parametrize("what", ["branch", "tag"])
def test_a_ref_needs_a_snapshot_that_exists(history: tuple[Any, list[str]], what: str) -> None:
    repo, _ = history
    with raises(*NO_SNAPSHOT):
        getattr(repo, f"create_{what}")("x", NO_SUCH)
    assert getattr(repo, "list_branches")() == {"main"}
    assert repo.list_tags() == set()


@pytest.mark.parametrize("what", ["branch", "tag"])
@pytest.mark.parametrize("text", ["", "nonsense", "zz", "!" * 20])
def test_a_ref_needs_an_id(history: tuple[Any, list[str]], what: str, text: str) -> None:
    repo, _ = history
    with raises("InvalidInputError", "invalid-snapshot-id"):
        getattr(repo, f"create_{what}")("x", text)


@pytest.mark.parametrize("what", ["branch", "tag"])
def test_lookup_of_a_missing_ref(history: tuple[Any, list[str]], what: str) -> None:
    repo, _ = history
    with raises("RefNotFoundError", "ref-not-found", match="nope"):
        getattr(repo, f"lookup_{what}")("nope")


@pytest.mark.parametrize("what", ["branch", "tag"])
def test_delete_of_a_missing_ref(history: tuple[Any, list[str]], what: str) -> None:
    repo, _ = history
    with raises("RefNotFoundError", "ref-not-found", match="nope"):
        getattr(repo, f"delete_{what}")("nope")


def test_a_missing_ref_is_a_key_error(history: tuple[Any, list[str]]) -> None:
    repo, _ = history
    with pytest.raises(KeyError):
        repo.lookup_branch("nope")


def test_delete_a_branch(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_branch("dev", ids[1])
    repo.delete_branch("dev")
    assert repo.list_branches() == {"main"}
    with raises("RefNotFoundError", "ref-not-found"):
        repo.lookup_branch("dev")


def test_a_deleted_branch_may_be_made_again(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_branch("dev", ids[1])
    repo.delete_branch("dev")
    repo.create_branch("dev", ids[2])
    assert repo.lookup_branch("dev") == ids[2]


def test_main_cannot_be_deleted(history: tuple[Any, list[str]]) -> None:
    repo, _ = history
    with raises("SessionStateError", "cannot-delete-main"):
        repo.delete_branch("main")
    assert repo.list_branches() == {"main"}


def test_delete_a_tag(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_tag("t", ids[1])
    repo.delete_tag("t")
    assert repo.list_tags() == set()
    with raises("RefNotFoundError", "ref-not-found"):
        repo.lookup_tag("t")


def test_a_tag_cannot_be_deleted_twice(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_tag("t", ids[1])
    repo.delete_tag("t")
    with raises("RefNotFoundError", "ref-not-found"):
        repo.delete_tag("t")


def test_a_deleted_tag_is_never_made_again(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_tag("t", ids[1])
    repo.delete_tag("t")
    with raises("AlreadyExistsError", TAG_IS_GONE):
        repo.create_tag("t", ids[1])


def test_reset_a_branch_backwards_and_forwards(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_branch("dev", ids[2])
    repo.reset_branch("dev", ids[0])
    assert repo.lookup_branch("dev") == ids[0]
    repo.reset_branch("dev", ids[2])
    assert repo.lookup_branch("dev") == ids[2]


def test_reset_main(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.reset_branch("main", ids[1])
    assert Keys(repo.readonly_session("main").store).all() == ["a/zarr.json", "zarr.json"]


def test_reset_with_the_right_guard(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.reset_branch("main", ids[1], from_snapshot_id=ids[2])
    assert repo.lookup_branch("main") == ids[1]


def test_reset_with_a_wrong_guard(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    with raises("ConflictError", "branch-update-conflict"):
        repo.reset_branch("main", ids[0], from_snapshot_id=ids[1])
    assert repo.lookup_branch("main") == ids[2]


def test_reset_of_a_missing_branch(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    with raises("RefNotFoundError", "ref-not-found"):
        repo.reset_branch("nope", ids[1])


def test_reset_to_a_missing_snapshot(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    with raises(*NO_SNAPSHOT):
        repo.reset_branch("main", NO_SUCH)
    assert repo.lookup_branch("main") == ids[2]


def test_reset_to_what_is_no_id(history: tuple[Any, list[str]]) -> None:
    repo, _ = history
    with raises("InvalidInputError", "invalid-snapshot-id"):
        repo.reset_branch("main", "zzz")


def test_branches_grow_apart(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_branch("dev", ids[1])
    commit(repo, {"dev/zarr.json": group_document()}, branch="dev")
    commit(repo, {"main/zarr.json": group_document()})
    assert "dev" in Keys(repo.readonly_session("dev").store).children("")
    assert "dev" not in Keys(repo.readonly_session("main").store).children("")
    assert Keys(repo.readonly_session("dev").store).get("a/c/0") is None


def test_a_branch_from_a_branch_does_not_move_with_it(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_branch("dev", repo.lookup_branch("main"))
    commit(repo, {"a/c/1": b"x"})
    assert repo.lookup_branch("dev") == ids[2]


def test_a_tag_does_not_move(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_tag("t", ids[2])
    commit(repo, {"a/c/0": b"\x09"})
    assert Keys(repo.readonly_session(tag="t").store).get("a/c/0") == b"\x01"


def test_another_handle_sees_refs_at_once(storage: Any) -> None:
    repo = create(storage)
    from under_test import ic

    other = ic.Repository.open(storage)
    repo.create_branch("dev", repo.lookup_branch("main"))
    assert other.list_branches() == {"main", "dev"}


def test_many_refs(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    names = {f"tag-{index}" for index in range(40)}
    for name in sorted(names):
        repo.create_tag(name, ids[1])
    assert repo.list_tags() == names


@pytest.mark.parametrize("what", ["branch", "tag"])
@pytest.mark.parametrize("odd", [None, 5, b"x", ["x"]])
def test_a_name_must_be_text(history: tuple[Any, list[str]], what: str, odd: Any) -> None:
    repo, ids = history
    with pytest.raises(TypeError):
        getattr(repo, f"create_{what}")(odd, ids[1])
    with pytest.raises(TypeError):
        getattr(repo, f"lookup_{what}")(odd)
