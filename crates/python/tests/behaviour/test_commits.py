"""Commits: messages, metadata, emptiness, lost races, flushing, transactions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from making import Keys, array_document, commit, create, group_document, keys_of, small_array
from under_test import in_version, raises, run


def _edit(repo: Any) -> Any:
    session = repo.writable_session("main")
    Keys(session.store).put("a/c/2", b"\x07")
    return session


def test_a_commit_gives_the_new_tip(stocked: Any) -> None:
    before = stocked.lookup_branch("main")
    made = _edit(stocked).commit("more")
    assert made != before
    assert stocked.lookup_branch("main") == made
    assert stocked.lookup_snapshot(made).parent_id == before


def test_an_id_is_twenty_letters_and_digits(stocked: Any) -> None:
    made = _edit(stocked).commit("more")
    assert len(made) == 20
    assert made.isalnum() and made.upper() == made


@pytest.mark.parametrize(
    "message", ["plain", "", "größe 日本 🙂", "two\nlines", 'quoted "text"', "x" * 100_000, "a\x00b"]
)
def test_messages_come_back(stocked: Any, message: str) -> None:
    made = _edit(stocked).commit(message)
    assert stocked.lookup_snapshot(made).message == message


def test_a_huge_message_comes_back(storage: Any) -> None:
    repo = create(storage)
    made = commit(repo, small_array(), "x" * 2_000_000)
    assert len(repo.lookup_snapshot(made).message) == 2_000_000


@pytest.mark.parametrize("odd", [None, 5, b"bytes", ["list"]])
def test_a_message_must_be_text(stocked: Any, odd: Any) -> None:
    session = _edit(stocked)
    with pytest.raises(TypeError):
        session.commit(odd)
    assert session.has_uncommitted_changes


def test_a_message_must_be_valid_text(stocked: Any) -> None:
    with pytest.raises(ValueError):
        _edit(stocked).commit("\ud800")


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"n": 1},
        {"f": 1.5},
        {"b": True, "none": None},
        {"text": "größe"},
        {"list": [1, "x", None, [2.5]]},
        {"deep": {"deeper": {"deepest": [{"x": 1}]}}},
        {"negative": -5, "large": 2**62},
        {"": "empty key"},
        {"key with spaces": 1, "größe": 2},
    ],
    ids=lambda metadata: "-".join(metadata) or "empty",
)
def test_metadata_comes_back(stocked: Any, metadata: dict[str, Any]) -> None:
    made = _edit(stocked).commit("more", metadata)
    assert stocked.lookup_snapshot(made).metadata == metadata


def test_metadata_may_be_given_by_name(stocked: Any) -> None:
    made = _edit(stocked).commit("more", metadata={"n": 1})
    assert stocked.lookup_snapshot(made).metadata == {"n": 1}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_metadata_without_a_json_form_is_refused(stocked: Any, number: float) -> None:
    session = _edit(stocked)
    with pytest.raises((ValueError, TypeError)):
        session.commit("more", {"x": number})
    assert session.has_uncommitted_changes


@pytest.mark.parametrize("odd", [{"x": object()}, {"x": datetime.now(UTC)}])
def test_metadata_of_other_types_is_refused(stocked: Any, odd: Any) -> None:
    session = _edit(stocked)
    with pytest.raises(TypeError):
        session.commit("more", odd)
    assert session.has_uncommitted_changes


@pytest.mark.parametrize("odd", [5, "text", [("a", 1)], {1: 2}])
def test_metadata_must_be_a_dict_of_text(stocked: Any, odd: Any) -> None:
    session = _edit(stocked)
    with pytest.raises(TypeError):
        session.commit("more", odd)
    assert session.has_uncommitted_changes


def test_an_empty_commit_is_refused(stocked: Any) -> None:
    session = stocked.writable_session("main")
    with raises("SessionStateError", "no-changes-to-commit", match="empty"):
        session.commit("nothing")
    assert session.read_only is False


def test_an_empty_commit_may_be_allowed(stocked: Any) -> None:
    before = stocked.lookup_branch("main")
    made = stocked.writable_session("main").commit("nothing", allow_empty=True)
    assert stocked.lookup_snapshot(made).parent_id == before
    assert keys_of(stocked).get("a/c/0") == b"\x01"


def test_an_edit_without_effect_is_empty(stocked: Any) -> None:
    session = stocked.writable_session("main")
    keys = Keys(session.store)
    document = keys.get("a/zarr.json")
    assert document is not None
    keys.put("a/zarr.json", document)
    with raises("SessionStateError", "no-changes-to-commit"):
        session.commit("nothing")


def test_options_are_given_by_name(stocked: Any) -> None:
    with pytest.raises(TypeError):
        _edit(stocked).commit("more", None, None)


def test_a_lost_race_names_both_parents(stocked: Any) -> None:
    session = _edit(stocked)
    base = session.snapshot_id
    theirs = commit(stocked, {"a/c/3": b"\x08"})
    with raises("ConflictError", "commit-conflict") as caught:
        session.commit("late")
    assert caught.value.expected_parent == base
    assert caught.value.actual_parent == theirs


def test_a_lost_race_leaves_the_session_as_it_was(stocked: Any) -> None:
    session = _edit(stocked)
    base = session.snapshot_id
    commit(stocked, {"a/c/3": b"\x08"})
    for _ in range(2):
        with raises("ConflictError", "commit-conflict"):
            session.commit("late")
    assert session.read_only is False
    assert session.snapshot_id == base
    assert session.has_uncommitted_changes
    assert Keys(session.store).get("a/c/2") == b"\x07"


def test_a_lost_race_does_not_move_the_branch(stocked: Any) -> None:
    session = _edit(stocked)
    theirs = commit(stocked, {"a/c/3": b"\x08"})
    with raises("ConflictError"):
        session.commit("late")
    assert stocked.lookup_branch("main") == theirs


def test_a_commit_to_a_deleted_branch(stocked: Any) -> None:
    stocked.create_branch("dev", stocked.lookup_branch("main"))
    session = stocked.writable_session("dev")
    Keys(session.store).put("a/c/2", b"\x07")
    stocked.delete_branch("dev")
    gone = in_version(("ConflictError", "commit-conflict"), ("RefNotFoundError", "branch-not-found"))
    with raises(*gone) as caught:
        session.commit("late")
    assert getattr(caught.value, "actual_parent", None) is None


def test_commits_on_different_branches_do_not_race(stocked: Any) -> None:
    stocked.create_branch("dev", stocked.lookup_branch("main"))
    one, two = stocked.writable_session("main"), stocked.writable_session("dev")
    Keys(one.store).put("a/c/2", b"\x07")
    Keys(two.store).put("a/c/2", b"\x08")
    one.commit("one")
    two.commit("two")
    assert keys_of(stocked).get("a/c/2") == b"\x07"
    assert keys_of(stocked, "dev").get("a/c/2") == b"\x08"


def test_times_of_commits_increase(stocked: Any) -> None:
    for index in range(5):
        commit(stocked, {"a/c/2": bytes([index])})
    times = [snapshot.written_at for snapshot in stocked.ancestry(branch="main")]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == len(times)


def test_default_metadata_begins_empty(stocked: Any) -> None:
    assert stocked.default_commit_metadata() == {}


def test_default_metadata_is_added(stocked: Any) -> None:
    stocked.set_default_commit_metadata({"who": "me"})
    assert stocked.default_commit_metadata() == {"who": "me"}
    made = _edit(stocked).commit("more")
    assert stocked.lookup_snapshot(made).metadata == {"who": "me"}


def test_metadata_of_a_commit_wins_over_the_default(stocked: Any) -> None:
    stocked.set_default_commit_metadata({"who": "me", "host": "h"})
    made = _edit(stocked).commit("more", {"who": "you", "n": 1})
    assert stocked.lookup_snapshot(made).metadata == {"who": "you", "host": "h", "n": 1}


def test_default_metadata_must_be_a_dict(stocked: Any) -> None:
    with pytest.raises(TypeError):
        stocked.set_default_commit_metadata(5)


def test_flush_writes_a_snapshot_off_the_branch(stocked: Any) -> None:
    before = stocked.lookup_branch("main")
    session = _edit(stocked)
    made = session.flush("aside", metadata={"n": 1})
    assert stocked.lookup_branch("main") == before
    snapshot = stocked.lookup_snapshot(made)
    assert (snapshot.message, snapshot.parent_id) == ("aside", before)
    assert snapshot.metadata == {"n": 1}


def test_a_session_is_readonly_after_flush(stocked: Any) -> None:
    session = _edit(stocked)
    made = session.flush("aside")
    assert session.read_only is True
    assert session.branch is None
    assert session.snapshot_id == made
    assert Keys(session.store).get("a/c/2") == b"\x07"


def test_a_flushed_snapshot_may_be_adopted(stocked: Any) -> None:
    made = _edit(stocked).flush("aside")
    stocked.create_branch("adopted", made)
    stocked.create_tag("adopted", made)
    assert keys_of(stocked, "adopted").get("a/c/2") == b"\x07"
    assert Keys(stocked.readonly_session(tag="adopted").store).get("a/c/2") == b"\x07"


def test_a_transaction_commits(stocked: Any) -> None:
    with stocked.transaction("main", message="tx", metadata={"n": 1}) as store:
        Keys(store).put("a/c/2", b"\x07")
    snapshot = next(iter(stocked.ancestry(branch="main")))
    assert (snapshot.message, snapshot.metadata) == ("tx", {"n": 1})
    assert keys_of(stocked).get("a/c/2") == b"\x07"


def test_a_transaction_that_fails_commits_nothing(stocked: Any) -> None:
    before = stocked.lookup_branch("main")
    with pytest.raises(ZeroDivisionError):
        with stocked.transaction("main", message="tx") as store:
            Keys(store).put("a/c/2", b"\x07")
            _ = 1 / 0
    assert stocked.lookup_branch("main") == before


def test_an_empty_transaction(stocked: Any) -> None:
    with raises("SessionStateError", "no-changes-to-commit"):
        with stocked.transaction("main", message="tx"):
            pass


def test_a_transaction_that_loses_a_race(stocked: Any) -> None:
    with raises("ConflictError", "commit-conflict"):
        with stocked.transaction("main", message="tx") as store:
            Keys(store).put("a/c/2", b"\x07")
            commit(stocked, {"a/c/3": b"\x08"})


def test_a_transaction_that_rebases(stocked: Any, ic: Any) -> None:
    with stocked.transaction("main", message="tx", rebase_with=ic.ConflictDetector()) as store:
        Keys(store).put("a/c/2", b"\x07")
        commit(stocked, {"a/c/3": b"\x08"})
    keys = keys_of(stocked)
    assert (keys.get("a/c/2"), keys.get("a/c/3")) == (b"\x07", b"\x08")


def test_a_transaction_on_a_missing_branch(stocked: Any) -> None:
    with raises("RefNotFoundError", "ref-not-found"):
        with stocked.transaction("nope", message="tx"):
            pass


def test_a_transaction_gives_a_store(stocked: Any, ic: Any) -> None:
    with stocked.transaction("main", message="tx") as store:
        assert isinstance(store, ic.IcechunkStore)
        assert store.read_only is False
        Keys(store).put("a/c/2", b"\x07")


def test_a_large_commit(storage: Any) -> None:
    repo = create(storage)
    session = repo.writable_session("main")
    keys = Keys(session.store)
    keys.put("zarr.json", group_document())
    keys.put("a/zarr.json", array_document((2000,), (1,)))

    async def fill() -> None:
        from making import buffer

        for index in range(2000):
            await session.store.set(f"a/c/{index}", buffer(index.to_bytes(2, "big")))

    run(fill())
    session.commit("large")
    fresh = keys_of(repo)
    assert len(fresh.children("a/c")) == 2000
    assert fresh.get("a/c/1999") == (1999).to_bytes(2, "big")


@pytest.mark.parametrize(
    "operation",
    [
        lambda repo, session: session.amend("x"),
        lambda repo, session: session.move("/a", "/b"),
        lambda repo, session: repo.rearrange_session("main"),
        lambda repo, session: repo.get_status(),
        lambda repo, session: repo.status,
        lambda repo, session: repo.get_metadata(),
        lambda repo, session: repo.metadata,
        lambda repo, session: repo.set_metadata({"x": 1}),
        lambda repo, session: repo.update_metadata({"x": 1}),
        lambda repo, session: repo.feature_flags(),
        lambda repo, session: repo.enabled_feature_flags(),
        lambda repo, session: repo.disabled_feature_flags(),
        lambda repo, session: repo.set_feature_flag("x", True),
        lambda repo, session: list(repo.ops_log()),
        lambda repo, session: repo.inspect_repo_info(),
    ],
    ids=[
        "amend", "move", "rearrange_session", "get_status", "status", "get_metadata", "metadata",
        "set_metadata", "update_metadata", "feature_flags", "enabled_feature_flags",
        "disabled_feature_flags", "set_feature_flag", "ops_log", "inspect_repo_info",
    ],
)  # fmt: skip
def test_what_needs_spec_2_says_so(older: Any, operation: Any) -> None:
    with raises("FormatError", "unsupported-spec-version"):
        operation(older, _edit(older))


def test_set_status_needs_spec_2(older: Any, ic: Any) -> None:
    status = ic.RepoStatus(ic.RepoAvailability.online)
    with raises("FormatError", "unsupported-spec-version"):
        older.set_status(status)


def test_manifests_cannot_be_rewritten_by_amending(older: Any) -> None:
    with raises("FormatError", "unsupported-operation-for-version"):
        older.rewrite_manifests("x", branch="main", commit_method="amend")
