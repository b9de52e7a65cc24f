"""Expiring snapshots, collecting garbage, and what storage is used for."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from making import Keys, commit, create, keys_of, small_array
from under_test import MODULE, NO_SNAPSHOT, TAG_IS_GONE, ic, in_version, raises

ROOT = "1CECHNKREP0F1RSTCMT0"
# This package deletes young objects only on request, the reference implementation always.
FORCE: dict[str, Any] = {"force": True} if MODULE == "icefield" else {}
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def later() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=5)


def collect(repo: Any, **limits: Any) -> Any:
    """Collects all garbage there is, once it is old: stores may tell times in seconds."""
    time.sleep(1.1)
    return repo.garbage_collect(later(), **FORCE, **limits)


@pytest.fixture
def history(storage: Any) -> tuple[Any, list[str]]:
    """A repository where chunk 0 was written five times, and the ids of these commits."""
    repo = create(storage, ic.RepositoryConfig(inline_chunk_threshold_bytes=0))
    commit(repo, small_array(), "array")
    return repo, [commit(repo, {"a/c/0": bytes([i])}, f"write {i}") for i in range(5)]


def tree(repo: Any, **of: str) -> list[str]:
    return [snapshot.id for snapshot in repo.ancestry(**of)]


def is_released(repo: Any, snapshot: str) -> bool:
    """Whether a snapshot cannot be read any more: in version 2, none that the list of snapshots does not have."""
    try:
        repo.readonly_session(snapshot_id=snapshot)
    except ic.SnapshotNotFoundError:
        return True
    return False


def stored_chunks(repo: Any) -> int:
    settings = repo.storage.default_settings()
    return sum(it.key.startswith("chunks/") for it in repo.storage.list_objects_metadata(settings, ""))


def test_expire_drops_what_is_older(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    released = repo.expire_snapshots(repo.lookup_snapshot(ids[3]).written_at)
    assert tree(repo, branch="main") == [ids[4], ids[3], ROOT]
    assert {ids[0], ids[1], ids[2]} < released
    assert ids[3] not in released


def test_expire_keeps_the_data_of_what_is_left(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.expire_snapshots(repo.lookup_snapshot(ids[3]).written_at)
    assert keys_of(repo).get("a/c/0") == b"\x04"
    assert Keys(repo.readonly_session(snapshot_id=ids[3]).store).get("a/c/0") == b"\x03"


def test_expire_never_drops_the_tip_and_the_root(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.expire_snapshots(later())
    assert tree(repo, branch="main") == [ids[4], ROOT]


def test_expire_nothing(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    assert repo.expire_snapshots(LONG_AGO) == set()
    assert len(tree(repo, branch="main")) == 7


def test_expire_twice(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.expire_snapshots(repo.lookup_snapshot(ids[2]).written_at)
    repo.expire_snapshots(repo.lookup_snapshot(ids[3]).written_at)
    assert tree(repo, branch="main") == [ids[4], ids[3], ROOT]


def test_expire_keeps_tags_and_branches(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_tag("t", ids[1])
    repo.create_branch("b", ids[2])
    repo.expire_snapshots(later())
    assert tree(repo, tag="t") == [ids[1], ROOT]
    assert tree(repo, branch="b") == in_version([ids[2], ROOT], [ids[2], ids[1], ROOT])
    assert Keys(repo.readonly_session(tag="t").store).get("a/c/0") == b"\x01"


def test_expire_may_delete_tags(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_tag("old", ids[1])
    repo.create_tag("new", ids[4])
    repo.create_branch("b", ids[2])
    at = repo.lookup_snapshot(ids[4]).written_at
    repo.expire_snapshots(at, delete_expired_tags=True)
    assert repo.list_tags() == {"new"}
    assert repo.list_branches() == {"main", "b"}


def test_expire_may_delete_branches_but_not_main(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_tag("t", ids[1])
    repo.create_branch("b", ids[2])
    repo.expire_snapshots(later(), delete_expired_branches=True)
    assert repo.list_branches() == {"main"}
    assert repo.list_tags() == {"t"}


def test_a_tag_deleted_by_expiry_is_never_made_again(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_tag("t", ids[1])
    repo.expire_snapshots(later(), delete_expired_tags=True)
    with raises("AlreadyExistsError", TAG_IS_GONE):
        repo.create_tag("t", ids[4])


def test_one_can_commit_after_expiry(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.expire_snapshots(later())
    made = commit(repo, {"a/c/1": b"x"})
    assert tree(repo, branch="main") == [made, ids[4], ROOT]
    assert keys_of(repo).get("a/c/0") == b"\x04"


def test_an_open_session_commits_after_expiry(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    session = repo.writable_session("main")
    Keys(session.store).put("a/c/1", b"x")
    repo.expire_snapshots(later())
    made = session.commit("open")
    assert repo.lookup_snapshot(made).parent_id == ids[4]


def test_expiry_alone_deletes_no_data(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.expire_snapshots(later())
    assert stored_chunks(repo) == 5
    assert is_released(repo, ids[0]) == in_version(False, True)


def test_others_see_expiry_after_opening(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.expire_snapshots(later())
    assert tree(repo.reopen(), branch="main") == [ids[4], ROOT]


@pytest.mark.parametrize("odd", [datetime(2000, 1, 1), "yesterday", 5, None])
@pytest.mark.parametrize("operation", ["expire_snapshots", "garbage_collect"])
def test_a_cutoff_is_a_time_with_a_zone(repo: Any, operation: str, odd: Any) -> None:
    with pytest.raises(TypeError):
        getattr(repo, operation)(odd)


def test_collect_nothing(history: tuple[Any, list[str]]) -> None:
    repo, _ = history
    summary = repo.garbage_collect(LONG_AGO)
    assert summary.bytes_deleted == 0
    assert summary.chunks_deleted == 0
    assert summary.manifests_deleted == 0
    assert summary.snapshots_deleted == 0
    assert summary.attributes_deleted == 0
    assert summary.transaction_logs_deleted == 0


def test_collect_what_is_referenced(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    summary = collect(repo)
    assert (summary.chunks_deleted, summary.snapshots_deleted) == (0, 0)
    assert Keys(repo.readonly_session(snapshot_id=ids[0]).store).get("a/c/0") == b"\x00"


def test_collect_what_expired(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.expire_snapshots(repo.lookup_snapshot(ids[3]).written_at)
    summary = collect(repo)
    assert summary.chunks_deleted == 3
    assert summary.manifests_deleted == 3
    assert summary.snapshots_deleted == 4
    # In version 2, what stays remembers the logs of the ancestors that were released.
    assert summary.transaction_logs_deleted == in_version(4, 0)
    assert summary.bytes_deleted > 0


def test_collecting_leaves_what_is_kept(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.expire_snapshots(repo.lookup_snapshot(ids[3]).written_at)
    collect(repo)
    assert keys_of(repo).get("a/c/0") == b"\x04"
    assert Keys(repo.readonly_session(snapshot_id=ids[3]).store).get("a/c/0") == b"\x03"


def test_collecting_twice_finds_nothing(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.expire_snapshots(later())
    collect(repo)
    summary = collect(repo)
    assert (summary.chunks_deleted, summary.snapshots_deleted, summary.bytes_deleted) == (0, 0, 0)


def test_a_collected_snapshot_is_gone(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.expire_snapshots(later())
    collect(repo)
    with raises(*NO_SNAPSHOT):
        repo.reopen().readonly_session(snapshot_id=ids[0])


def test_a_dry_run_counts_and_deletes_nothing(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.expire_snapshots(later())
    dry = collect(repo, dry_run=True)
    assert stored_chunks(repo) == 5
    assert is_released(repo, ids[0]) == in_version(False, True)
    wet = collect(repo)
    assert stored_chunks(repo) == 1
    assert (dry.chunks_deleted, dry.snapshots_deleted) == (4, 5)
    assert (wet.chunks_deleted, wet.snapshots_deleted) == (4, 5)
    assert dry.manifests_deleted == wet.manifests_deleted
    assert dry.bytes_deleted == wet.bytes_deleted


def test_what_is_younger_than_the_cutoff_stays(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.expire_snapshots(later())
    summary = repo.garbage_collect(datetime.now(UTC) - timedelta(hours=1))
    assert summary.chunks_deleted == 0
    assert stored_chunks(repo) == 5
    assert is_released(repo, ids[0]) == in_version(False, True)


def test_discarded_chunks_are_collected(history: tuple[Any, list[str]]) -> None:
    repo, _ = history
    session = repo.writable_session("main")
    Keys(session.store).put("a/c/1", b"gone")
    session.discard_changes()
    del session
    assert collect(repo).chunks_deleted == 1


def test_flushed_snapshots_are_collected(history: tuple[Any, list[str]]) -> None:
    repo, _ = history
    session = repo.writable_session("main")
    Keys(session.store).put("a/c/1", b"aside")
    made = session.flush("aside")
    del session
    summary = collect(repo)
    assert (summary.chunks_deleted, summary.snapshots_deleted) == (1, 1)
    with pytest.raises(ic.IcechunkError):
        repo.reopen().lookup_snapshot(made)


def test_commits_that_a_reset_left_behind_are_collected(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.reset_branch("main", ids[2])
    summary = collect(repo)
    assert (summary.chunks_deleted, summary.snapshots_deleted) == (2, 2)
    assert keys_of(repo).get("a/c/0") == b"\x02"


def test_a_tag_protects_what_a_reset_left_behind(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_tag("keep", ids[4])
    repo.reset_branch("main", ids[2])
    assert collect(repo).chunks_deleted == 0
    assert Keys(repo.readonly_session(tag="keep").store).get("a/c/0") == b"\x04"


def test_collecting_during_an_open_session_loses_no_data(history: tuple[Any, list[str]]) -> None:
    repo, _ = history
    session = repo.writable_session("main")
    Keys(session.store).put("a/c/1", b"open")
    time.sleep(1.1)
    repo.garbage_collect(later())
    try:
        session.commit("after")
    except ic.IcechunkError:
        return  # refusing is as good: nothing was promised
    assert keys_of(repo).get("a/c/1") == b"open"


@pytest.mark.parametrize(
    "limit",
    ["max_snapshots_in_memory", "max_concurrent_manifest_fetches", "max_concurrent_deletes"],
)
def test_limits_of_collecting_are_positive(repo: Any, limit: str) -> None:
    with pytest.raises(ValueError):
        repo.garbage_collect(LONG_AGO, **{limit: 0})


def test_limits_of_collecting_are_not_negative(repo: Any) -> None:
    with pytest.raises((OverflowError, ValueError)):
        repo.garbage_collect(LONG_AGO, max_snapshots_in_memory=-1)


def test_collecting_with_small_limits(history: tuple[Any, list[str]]) -> None:
    repo, _ = history
    repo.expire_snapshots(later())
    summary = collect(repo, max_snapshots_in_memory=1, max_concurrent_manifest_fetches=1)
    assert summary.chunks_deleted == 4


def test_a_summary_shows_itself(repo: Any) -> None:
    summary = repo.garbage_collect(LONG_AGO)
    assert "chunks_deleted" in repr(summary)
    assert "<" in summary._repr_html_()


def test_statistics_of_nothing(repo: Any) -> None:
    stats = repo.chunk_storage_stats()
    assert (stats.native_bytes, stats.virtual_bytes, stats.inlined_bytes) == (0, 0, 0)
    assert stats.total_bytes() == 0
    assert repo.total_chunks_storage() == 0


def test_statistics_by_kind(storage: Any) -> None:
    repo = create(storage)
    commit(repo, {**small_array(), "a/c/0": b"x" * 7, "a/c/1": b"y" * 600})
    stats = repo.chunk_storage_stats()
    assert (stats.native_bytes, stats.virtual_bytes, stats.inlined_bytes) == (600, 0, 7)
    assert (stats.non_virtual_bytes(), stats.total_bytes()) == (607, 607)
    assert repo.total_chunks_storage() == 600


def test_statistics_are_over_the_history(history: tuple[Any, list[str]]) -> None:
    repo, _ = history
    assert repo.chunk_storage_stats().native_bytes == 5
    assert repo.total_chunks_storage() == 5


def test_statistics_count_a_chunk_once(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    commit(repo, {"a/c/1": b"x"})
    repo.create_tag("t", ids[2])
    repo.create_branch("b", ids[3])
    assert repo.chunk_storage_stats().native_bytes == 6


def test_statistics_do_not_count_what_no_ref_reaches(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.reset_branch("main", ids[1])
    assert repo.chunk_storage_stats().native_bytes == 2


def test_statistics_count_other_branches(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_branch("b", ids[0])
    commit(repo, {"a/c/3": b"xyz"}, branch="b")
    assert repo.chunk_storage_stats().native_bytes == 8


def test_statistics_add_up(history: tuple[Any, list[str]]) -> None:
    repo, _ = history
    stats = repo.chunk_storage_stats()
    assert (stats + stats).native_bytes == 10


def test_limits_of_statistics_are_positive(repo: Any) -> None:
    with pytest.raises(ValueError):
        repo.chunk_storage_stats(max_snapshots_in_memory=0)
    with pytest.raises(ValueError):
        repo.total_chunks_storage(max_concurrent_manifest_fetches=0)


def test_statistics_with_small_limits(history: tuple[Any, list[str]]) -> None:
    repo, _ = history
    limits = {"max_snapshots_in_memory": 1, "max_concurrent_manifest_fetches": 1}
    assert repo.chunk_storage_stats(**limits).native_bytes == 5
