"""Sessions: how they are opened, what they know of themselves, what each kind refuses."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from making import Keys, array_document, commit, create, group_document, small_array
from under_test import NO_SNAPSHOT, raises, run

NO_SUCH = "AAAAAAAAAAAAAAAAAAA0"


def test_a_writable_session_knows_itself(stocked: Any, ic: Any) -> None:
    session = stocked.writable_session("main")
    assert session.read_only is False
    assert session.mode == ic.SessionMode.writable
    assert session.branch == "main"
    assert session.snapshot_id == stocked.lookup_branch("main")
    assert session.has_uncommitted_changes is False


def test_a_readonly_session_knows_itself(stocked: Any, ic: Any) -> None:
    session = stocked.readonly_session("main")
    assert session.read_only is True
    assert session.mode == ic.SessionMode.readonly
    assert session.branch is None
    assert session.snapshot_id == stocked.lookup_branch("main")
    assert session.has_uncommitted_changes is False


def test_a_session_is_readonly_after_its_commit(stocked: Any, ic: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).put("a/c/2", b"x")
    assert session.has_uncommitted_changes is True
    made = session.commit("done")
    assert session.read_only is True
    assert session.mode == ic.SessionMode.readonly
    assert session.branch is None
    assert session.snapshot_id == made
    assert session.has_uncommitted_changes is False


def test_a_session_reads_its_commit(stocked: Any) -> None:
    session = stocked.writable_session("main")
    keys = Keys(session.store)
    keys.put("a/c/2", b"x")
    session.commit("done")
    assert keys.get("a/c/2") == b"x"
    assert Keys(session.store).get("a/c/2") == b"x"


def test_a_store_is_readonly_after_the_commit(stocked: Any) -> None:
    session = stocked.writable_session("main")
    store = session.store
    Keys(store).put("a/c/2", b"x")
    session.commit("done")
    with raises("ReadOnlyError", "read-only-store"):
        Keys(store).put("a/c/3", b"x")


def test_a_store_knows_that_it_is_readonly_after_the_commit(stocked: Any) -> None:
    session = stocked.writable_session("main")
    store = session.store
    Keys(store).put("a/c/2", b"x")
    session.commit("done")
    assert store.read_only is True


def test_a_commit_after_the_commit(stocked: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).put("a/c/2", b"x")
    session.commit("done")
    with raises("SessionStateError", "commit-not-allowed"):
        session.commit("again")


def test_discard_after_the_commit(stocked: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).put("a/c/2", b"x")
    session.commit("done")
    with raises("ReadOnlyError", "read-only-session"):
        session.discard_changes()


def test_fork_after_the_commit(stocked: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).put("a/c/2", b"x")
    session.commit("done")
    with raises("SessionStateError", "cannot-fork-read-only-session"):
        session.fork()


def test_rebase_after_the_commit(stocked: Any, ic: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).put("a/c/2", b"x")
    session.commit("done")
    with raises("SessionStateError", "commit-not-allowed"):
        session.rebase(ic.ConflictDetector())


READONLY_STORE_EDITS: dict[str, Callable[[Any], Any]] = {
    "set a document": lambda keys: keys.put("zarr.json", group_document({"x": 1})),
    "set a new document": lambda keys: keys.put("b/zarr.json", array_document()),
    "set a chunk": lambda keys: keys.put("a/c/0", b"x"),
    "set a new chunk if it does not exist": lambda keys: keys.put_new("a/c/3", b"x"),
    "delete_dir of an array": lambda keys: keys.delete_below("a"),
    "delete_dir of everything": lambda keys: keys.delete_below(""),
    "set a virtual ref": lambda keys: keys.store.set_virtual_ref(
        "a/c/0", "s3://bucket/key", offset=0, length=1
    ),
    "set virtual refs": lambda keys: keys.store.set_virtual_refs("a", []),
    "set partial values": lambda keys: run(keys.store.set_partial_values([])),
}
READONLY_SESSION_EDITS: dict[str, Callable[[Any], Any]] = {
    "delete a chunk": lambda session: Keys(session.store).delete("a/c/0"),
    "delete an array": lambda session: Keys(session.store).delete("a/zarr.json"),
    "clear": lambda session: Keys(session.store).clear(),
    "sync_clear": lambda session: session.store.sync_clear(),
    "discard": lambda session: session.discard_changes(),
    "shift": lambda session: session.shift_array("/a", [1]),
    "reindex": lambda session: session.reindex_array("/a", lambda index: index),
}


@pytest.mark.parametrize("edit", sorted(READONLY_STORE_EDITS))
def test_a_readonly_store_refuses_to(stocked: Any, edit: str) -> None:
    keys = Keys(stocked.readonly_session("main").store)
    with raises("ReadOnlyError", "read-only-store"):
        READONLY_STORE_EDITS[edit](keys)
    assert keys.get("a/c/0") == b"\x01"


@pytest.mark.parametrize("edit", sorted(READONLY_SESSION_EDITS))
def test_a_readonly_session_refuses_to(stocked: Any, edit: str) -> None:
    session = stocked.readonly_session("main")
    with raises("ReadOnlyError", "read-only-session"):
        READONLY_SESSION_EDITS[edit](session)
    assert Keys(session.store).get("a/c/0") == b"\x01"


@pytest.mark.parametrize("allow_empty", [False, True])
def test_a_readonly_session_refuses_to_commit(stocked: Any, allow_empty: bool) -> None:
    with raises("SessionStateError", "commit-not-allowed"):
        stocked.readonly_session("main").commit("x", allow_empty=allow_empty)


def test_a_readonly_session_refuses_to_fork(stocked: Any) -> None:
    with raises("SessionStateError", "cannot-fork-read-only-session"):
        stocked.readonly_session("main").fork()


def test_a_readonly_session_refuses_to_rebase(stocked: Any, ic: Any) -> None:
    with raises("SessionStateError", "commit-not-allowed"):
        stocked.readonly_session("main").rebase(ic.BasicConflictSolver())


def test_a_readonly_session_has_an_empty_status(stocked: Any) -> None:
    assert stocked.readonly_session("main").status().is_empty()


@pytest.mark.parametrize(
    "selected",
    [{}, {"branch": "main", "tag": "t"}, {"tag": "t", "snapshot_id": "x"}],
    ids=["nothing", "branch and tag", "tag and snapshot"],
)
def test_a_readonly_session_is_of_one_thing(stocked: Any, selected: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="branch, tag, or snapshot_id"):
        stocked.readonly_session(**selected)


@pytest.mark.parametrize("selected", [{"branch": "nope"}, {"tag": "nope"}])
def test_a_readonly_session_of_a_missing_ref(stocked: Any, selected: dict[str, str]) -> None:
    with raises("RefNotFoundError", "ref-not-found"):
        stocked.readonly_session(**selected)


def test_a_readonly_session_of_a_missing_snapshot(stocked: Any) -> None:
    with raises(*NO_SNAPSHOT):
        stocked.readonly_session(snapshot_id=NO_SUCH)


@pytest.mark.parametrize("text", ["", "zz", "not an id at all"])
def test_a_readonly_session_of_what_is_no_id(stocked: Any, text: str) -> None:
    with raises("InvalidInputError", "invalid-snapshot-id"):
        stocked.readonly_session(snapshot_id=text)


@pytest.mark.parametrize("branch", ["nope", "", "MAIN"])
def test_a_writable_session_of_a_missing_branch(stocked: Any, branch: str) -> None:
    with raises("RefNotFoundError", "ref-not-found"):
        stocked.writable_session(branch)


def test_a_tag_is_not_writable(stocked: Any) -> None:
    stocked.create_tag("t", stocked.lookup_branch("main"))
    with raises("RefNotFoundError", "ref-not-found"):
        stocked.writable_session("t")


def test_a_readonly_session_does_not_follow_its_branch(stocked: Any) -> None:
    session = stocked.readonly_session("main")
    commit(stocked, {"a/c/0": b"\x09"})
    assert Keys(session.store).get("a/c/0") == b"\x01"


def test_a_writable_session_does_not_follow_its_branch(stocked: Any) -> None:
    session = stocked.writable_session("main")
    commit(stocked, {"a/c/0": b"\x09"})
    assert Keys(session.store).get("a/c/0") == b"\x01"


def test_sessions_do_not_see_each_other(stocked: Any) -> None:
    one, two = stocked.writable_session("main"), stocked.writable_session("main")
    Keys(one.store).put("a/c/2", b"1")
    Keys(two.store).put("a/c/2", b"2")
    assert Keys(one.store).get("a/c/2") == b"1"
    assert Keys(two.store).get("a/c/2") == b"2"


def test_stores_of_one_session_see_each_other(stocked: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).put("a/c/2", b"1")
    assert Keys(session.store).get("a/c/2") == b"1"


def test_discard_forgets_everything(stocked: Any) -> None:
    session = stocked.writable_session("main")
    keys = Keys(session.store)
    keys.put("a/c/0", b"\x09")
    keys.put("b/zarr.json", array_document())
    keys.delete("a/c/1")
    session.discard_changes()
    assert session.has_uncommitted_changes is False
    assert keys.get("a/c/0") == b"\x01"
    assert keys.get("a/c/1") == b"\x02"
    assert not keys.has("b/zarr.json")


def test_a_session_is_usable_after_discard(stocked: Any) -> None:
    session = stocked.writable_session("main")
    keys = Keys(session.store)
    keys.put("a/c/0", b"\x09")
    session.discard_changes()
    keys.put("a/c/2", b"\x03")
    session.commit("other")
    assert Keys(stocked.readonly_session("main").store).get("a/c/0") == b"\x01"


def test_discard_of_nothing(stocked: Any) -> None:
    session = stocked.writable_session("main")
    session.discard_changes()
    assert session.has_uncommitted_changes is False


def test_sessions_are_equal_to_themselves_only(stocked: Any) -> None:
    session = stocked.writable_session("main")
    assert session == session
    assert session.store.session == session
    assert session != stocked.writable_session("main")
    assert session != "session"


def test_the_store_gives_its_session(stocked: Any) -> None:
    session = stocked.writable_session("main")
    assert session.store.session.snapshot_id == session.snapshot_id
    assert session.store.session.branch == "main"


def test_as_of_now_is_the_tip(stocked: Any) -> None:
    session = stocked.readonly_session("main", as_of=datetime.now(UTC) + timedelta(minutes=1))
    assert session.snapshot_id == stocked.lookup_branch("main")


def test_as_of_a_time_is_the_newest_before_it(stocked: Any) -> None:
    first = stocked.lookup_branch("main")
    at = stocked.lookup_snapshot(first).written_at
    commit(stocked, {"a/c/2": b"x"})
    assert stocked.readonly_session("main", as_of=at).snapshot_id == first


def test_as_of_before_the_repository(stocked: Any) -> None:
    with raises("SnapshotNotFoundError", "no-snapshot-at-time"):
        stocked.readonly_session("main", as_of=datetime(2000, 1, 1, tzinfo=UTC))


def test_as_of_needs_a_time_zone(stocked: Any) -> None:
    with pytest.raises(TypeError):
        stocked.readonly_session("main", as_of=datetime(2030, 1, 1))


def test_as_of_needs_a_time(stocked: Any) -> None:
    with pytest.raises(TypeError):
        stocked.readonly_session("main", as_of="yesterday")


def test_as_of_needs_a_branch(stocked: Any) -> None:
    with pytest.raises(ValueError, match="as_of"):
        stocked.readonly_session(tag="t", as_of=datetime.now(UTC))


def test_a_session_outlives_its_repository(memory: Any) -> None:
    repo = create(memory)
    session = repo.writable_session("main")
    del repo
    keys = Keys(session.store)
    for key, data in small_array().items():
        keys.put(key, data)
    assert session.commit("alone")


def test_a_store_outlives_its_session(stocked: Any) -> None:
    store = stocked.readonly_session("main").store
    assert Keys(store).get("a/c/0") == b"\x01"


def test_the_representation_says_what_it_is(stocked: Any) -> None:
    session = stocked.writable_session("main")
    text = repr(session)
    assert "read_only: False" in text
    assert "branch: main" in text
    assert session.snapshot_id in text
    assert "has_uncommitted_changes: False" in text


def test_the_representation_of_a_store(stocked: Any) -> None:
    text = repr(stocked.readonly_session("main").store)
    assert "Store" in text
    assert "read_only: True" in text


@pytest.mark.parametrize("readonly", [True, False])
def test_sessions_show_as_html(stocked: Any, readonly: bool) -> None:
    session = stocked.readonly_session("main") if readonly else stocked.writable_session("main")
    assert session.snapshot_id in session._repr_html_()


def test_node_ids_are_stable(stocked: Any) -> None:
    before = stocked.readonly_session("main").get_node_id("/a")
    commit(stocked, {"a/zarr.json": array_document(attributes={"x": 1})})
    session = stocked.readonly_session("main")
    assert session.get_node_id("/a") == before
    assert session.get_node_id("/") != before


def test_a_node_made_again_has_another_id(stocked: Any) -> None:
    session = stocked.writable_session("main")
    before = session.get_node_id("/a")
    Keys(session.store).delete("a/zarr.json")
    Keys(session.store).put("a/zarr.json", array_document())
    assert session.get_node_id("/a") != before


def test_the_id_of_a_missing_node(stocked: Any) -> None:
    with raises("NodeNotFoundError", "node-not-found"):
        stocked.readonly_session("main").get_node_id("/missing")


def test_with_read_only_refuses_to_write(stocked: Any) -> None:
    store = stocked.writable_session("main").store.with_read_only(True)
    assert store.read_only is True
    with raises("ReadOnlyError", "read-only-store"):
        Keys(store).put("a/c/0", b"\x09")
