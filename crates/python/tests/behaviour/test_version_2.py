"""What repositories of format version 2 have beside those of version 1: moves, a log of operations, a status, flags."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from making import Keys, commit, group_document
from under_test import collect, ic, raises, run

SINCE = datetime(2020, 1, 2, tzinfo=UTC)
MOVED: list[Any] = [("/a", "/b")]


def _moving(repo: Any) -> Any:
    session = repo.rearrange_session("main")
    session.move("/a", "/b")
    return session


def _kinds(repo: Any) -> list[str]:
    return [type(it.kind).__name__.rpartition("_")[2] for it in repo.ops_log()]


def test_a_node_moves_with_its_chunks(newer: Any) -> None:
    session = _moving(newer)
    assert session.mode == ic.SessionMode.rearrange
    assert session.status().moved_nodes == MOVED
    made = session.commit("moved")
    keys = Keys(newer.readonly_session("main").store)
    assert keys.all() == ["b/c/0", "b/c/1", "b/zarr.json", "zarr.json"]
    assert keys.get("b/c/1") == b"\x02"
    before = newer.lookup_snapshot(made).parent_id
    assert newer.diff(from_snapshot_id=before, to_branch="main").moved_nodes == MOVED


def test_a_group_moves_with_what_is_below_it(newer: Any) -> None:
    commit(newer, {"g/zarr.json": group_document(), "g/h/zarr.json": group_document()})
    session = newer.rearrange_session("main")
    session.move("/g", "/k")
    run(session.move_async("/a", "/k/h/a"))
    session.commit("moved")
    keys = Keys(newer.readonly_session("main").store)
    assert keys.get("k/h/a/c/0") == b"\x01" and not keys.has("g/zarr.json")


@pytest.mark.parametrize(
    ("start", "end", "name", "kind"),
    [
        ("/none", "/b", "NodeNotFoundError", "node-not-found"),
        ("/a", "/a/b", "SessionStateError", "move-into-self-or-descendant"),
        ("/a", "/a", "SessionStateError", "move-into-self-or-descendant"),
        ("/", "/b", "SessionStateError", "move-into-self-or-descendant"),
        ("/a", "/g/a", "SessionStateError", "move-destination-parent-missing"),
        ("/g0", "/a/g0", "SessionStateError", "move-destination-parent-not-group"),
        ("/a", "/g0", "AlreadyExistsError", "move-wont-overwrite"),
        ("a", "/b", "InvalidInputError", "invalid-path"),
        ("/a", "b", "InvalidInputError", "invalid-path"),
    ],
)
def test_moves_that_are_refused(newer: Any, start: str, end: str, name: str, kind: str) -> None:
    commit(newer, {"g0/zarr.json": group_document()})
    session = newer.rearrange_session("main")
    with raises(name, kind):
        session.move(start, end)
    assert not session.has_uncommitted_changes


def test_a_path_that_was_left_is_free(newer: Any) -> None:
    commit(newer, {"g/zarr.json": group_document()})
    session = newer.rearrange_session("main")
    for start, end in (("/a", "/x"), ("/g", "/a"), ("/x", "/g")):
        session.move(start, end)
    session.commit("swapped")
    keys = Keys(newer.readonly_session("main").store)
    assert keys.document("a/zarr.json")["node_type"] == "group"
    assert keys.get("g/c/0") == b"\x01"


def test_a_session_for_moves_takes_nothing_else(newer: Any) -> None:
    session = newer.rearrange_session("main")
    with raises("SessionStateError", "rearrange-session-only"):
        session.shift_array("/a", [1])
    with pytest.raises(ic.IcechunkError):
        Keys(session.store).put("a/c/2", b"\x03")
    assert not session.has_uncommitted_changes


def test_an_ordinary_session_moves_nothing(newer: Any) -> None:
    session = newer.writable_session("main")
    with raises("SessionStateError", "non-rearrange-session"):
        session.move("/a", "/b")


def test_a_move_loses_a_race(newer: Any) -> None:
    session = _moving(newer)
    commit(newer, {"a/c/2": b"\x03"})
    with raises("ConflictError", "commit-conflict"):
        session.commit("moved")
    session.rebase(ic.ConflictDetector())
    session.commit("moved")
    assert Keys(newer.readonly_session("main").store).get("b/c/2") == b"\x03"


def test_writes_to_what_was_moved_meanwhile_collide(newer: Any) -> None:
    session = newer.writable_session("main")
    Keys(session.store).put("a/c/2", b"\x03")
    _moving(newer).commit("moved")
    with raises("RebaseFailedError", "rebase-failed"):
        session.rebase(ic.ConflictDetector())


def test_other_writes_collide_with_a_move(newer: Any) -> None:
    session = newer.writable_session("main")
    Keys(session.store).put("g/zarr.json", group_document())
    _moving(newer).commit("moved")
    with raises("RebaseFailedError", "rebase-failed"):
        session.rebase(ic.BasicConflictSolver())


def test_the_operations_log(newer: Any) -> None:
    first, second = (it.id for it in list(newer.ancestry(branch="main"))[::-1])
    newer.create_branch("b", first)
    newer.reset_branch("b", second)
    newer.delete_branch("b")
    newer.create_tag("t", second)
    newer.delete_tag("t")
    session = newer.writable_session("main")
    Keys(session.store).put("a/c/2", b"\x03")
    flushed = session.flush("aside")
    newer.set_metadata({"a": 1})
    newer.set_feature_flag("move_node", False)
    newer.set_status(ic.RepoStatus(ic.RepoAvailability.online, SINCE))
    assert _kinds(newer) == [
        "RepoStatusChanged", "FeatureFlagChanged", "MetadataChanged", "NewDetachedSnapshot", "TagDeleted",
        "TagCreated", "BranchDeleted", "BranchReset", "BranchCreated", "NewCommit", "RepoInitialized",
    ]  # fmt: skip
    log = list(newer.ops_log())
    assert log[3].kind.new_snap_id == flushed
    assert (log[4].kind.name, log[4].kind.previous_snap_id) == ("t", second)
    assert (log[7].kind.name, log[7].kind.previous_snap_id) == ("b", first)
    assert (log[9].kind.branch, log[9].kind.new_snap_id) == ("main", second)
    times = [it.updated_at for it in log]
    assert times == sorted(set(times), reverse=True)
    assert [it.backup_path is None for it in log] == [True] + [False] * 10
    assert [it.updated_at for it in collect(newer.ops_log_async)] == times


def test_the_log_goes_on_in_earlier_states(memory: Any) -> None:
    config = ic.RepositoryConfig(num_updates_per_repo_info_file=3)
    repo = ic.Repository.create(memory, config, spec_version=2)
    for number in range(8):
        repo.set_metadata({"number": number})
    assert _kinds(repo) == ["MetadataChanged"] * 8 + ["RepoInitialized"]


def test_maintenance_is_in_the_log(newer: Any) -> None:
    long_ago = datetime(2000, 1, 1, tzinfo=UTC)
    newer.expire_snapshots(long_ago)
    newer.garbage_collect(long_ago, dry_run=True)
    assert _kinds(newer)[:2] == ["ExpirationRan", "NewCommit"]
    newer.garbage_collect(long_ago)
    assert _kinds(newer)[:2] == ["GCRan", "ExpirationRan"]


def test_the_metadata_of_a_repository(newer: Any) -> None:
    assert newer.metadata == {}
    newer.set_metadata({"a": 1, "b": {"c": [1, 2.5, None, "é"]}})
    newer.update_metadata({"a": 2})
    expected = {"a": 2, "b": {"c": [1, 2.5, None, "é"]}}
    assert newer.get_metadata() == newer.metadata == newer.reopen().metadata == expected
    newer.set_metadata({})
    assert run(newer.get_metadata_async()) == {}


def test_what_is_inspected(newer: Any) -> None:
    newer.set_metadata({"a": 1})
    tip = newer.lookup_branch("main")
    newer.create_tag("t", tip)
    newer.delete_tag("t")
    found = newer.inspect_repo_info()
    assert {it["id"] for it in found["snapshots"]} == {it.id for it in newer.ancestry(branch="main")}
    assert found["metadata"] == {"a": 1} and found["deleted_tags"] == ["t"]
    kinds = [it["update_type"]["type"] for it in found["latest_updates"]]
    assert kinds[:3] == ["TagDeletedUpdate", "TagCreatedUpdate", "MetadataChangedUpdate"]


@pytest.mark.parametrize(
    ("microsecond", "text"),
    [(0, ""), (500_000, ".500"), (123, ".000123"), (123_400, ".123400")],
)
def test_times_are_inspected(newer: Any, microsecond: int, text: str) -> None:
    since = SINCE.replace(microsecond=microsecond)
    newer.set_status(ic.RepoStatus(ic.RepoAvailability.online, since, "why"))
    (latest, *_) = newer.inspect_repo_info()["latest_updates"]
    assert latest["update_type"]["status"] == {
        "availability": "Online",
        "limited_availability_reason": "why",
        "set_at": f"2020-01-02T00:00:00{text}Z",
    }


def _edits(repo: Any, tip: str) -> list[Any]:
    return [
        lambda: repo.writable_session("main"),
        lambda: repo.rearrange_session("main"),
        lambda: repo.create_branch("b", tip),
        lambda: repo.create_tag("t", tip),
        lambda: repo.reset_branch("main", tip),
        lambda: repo.set_metadata({}),
        lambda: repo.update_metadata({}),
        lambda: repo.set_feature_flag("move_node", True),
        lambda: repo.save_config(),
        lambda: repo.expire_snapshots(SINCE),
        lambda: repo.garbage_collect(SINCE),
        lambda: repo.rewrite_manifests("x", branch="main"),
    ]


@pytest.mark.parametrize("number", range(12))
def test_a_repository_for_reading_takes_no_edits(newer: Any, number: int) -> None:
    tip = newer.lookup_branch("main")
    newer.set_status(ic.RepoStatus(ic.RepoAvailability.read_only, SINCE, "moving house"))
    with raises("ReadOnlyError", "read-only-repository"):
        _edits(newer, tip)[number]()
    assert _kinds(newer)[0] == "RepoStatusChanged"


def test_a_repository_for_reading_is_read(newer: Any) -> None:
    open_session = newer.writable_session("main")
    newer.set_status(ic.RepoStatus(ic.RepoAvailability.read_only, SINCE, "moving house"))
    status = newer.reopen().get_status()
    assert (status.availability, status.set_at, status.limited_availability_reason) == (
        ic.RepoAvailability.read_only, SINCE, "moving house",
    )  # fmt: skip
    keys = Keys(open_session.store)
    keys.put("a/c/2", b"\x03")
    assert keys.get("a/c/0") == b"\x01"
    with raises("ReadOnlyError", "read-only-repository"):
        open_session.commit("refused")
    newer.set_status(ic.RepoStatus(ic.RepoAvailability.online))
    made = open_session.commit("as before")
    assert newer.lookup_branch("main") == made


def test_features_are_switched_off_and_on(newer: Any) -> None:
    names = ["move_node", "create_tag", "delete_tag"]
    assert sorted((it.id, it.name, it.enabled) for it in newer.feature_flags()) == [
        (number, name, True) for number, name in zip((3, 4, 5), names, strict=True)
    ]
    tip = newer.lookup_branch("main")
    newer.create_tag("t", tip)
    session = _moving(newer)
    for name in names:
        newer.set_feature_flag(name, False)
    assert {it.name for it in newer.disabled_feature_flags()} == set(names)
    edits: list[Any] = [
        lambda: newer.create_tag("u", tip),
        lambda: newer.delete_tag("t"),
        lambda: newer.rearrange_session("main"),
        lambda: session.commit("moved"),
    ]
    for edit in edits:
        with raises("SessionStateError", "feature-flag-disabled"):
            edit()
    newer.set_feature_flag("create_tag", None)
    newer.create_tag("u", tip)
    assert [it.name for it in newer.enabled_feature_flags()] == ["create_tag"]
    with raises("InvalidInputError", "invalid-feature-flag"):
        newer.set_feature_flag("none", True)
