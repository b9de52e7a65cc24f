"""Repositories of format version 2: made, opened, and what they say of themselves as a whole."""

import asyncio
import datetime
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import icefield
from icefield import RepoAvailability, Repository, RepoStatus, SpecVersion
from icefield.ops import Update, UpdateType

VECTORS = Path(__file__).resolve().parents[4] / "fixtures" / "vectors"
ONLINE = RepoStatus(RepoAvailability.online)


@pytest.fixture(params=["v2-history", "v2-empty"])
def theirs(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a repository that the reference implementation wrote."""
    return Path(shutil.copytree(VECTORS / str(request.param) / "repo", tmp_path / "theirs"))


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A new repository of version 2."""
    storage = icefield.local_filesystem_storage(str(tmp_path / "repository"))
    return Repository.create(storage, spec_version=2)


def _files(root: Path) -> dict[str, bytes]:
    return {str(it.relative_to(root)): it.read_bytes() for it in root.rglob("*") if it.is_file()}


def _write(repo: Repository, value: int) -> str:
    session = repo.writable_session("main")
    array = zarr.open_array(
        session.store, path="a", mode="a", shape=(4,), chunks=(1,), dtype="i4", fill_value=0
    )
    array[:] = value
    return session.commit(f"to {value}")


def _kinds(repo: Repository) -> list[UpdateType]:
    return [it.kind for it in repo.ops_log()]


@pytest.mark.parametrize("version", [2, SpecVersion.v2])
def test_one_is_made_written_and_read(version: Any, tmp_path: Path) -> None:
    storage = icefield.local_filesystem_storage(str(tmp_path / "r"))
    repo = Repository.create(storage, spec_version=version)
    assert (tmp_path / "r" / "repo").is_file() and not (tmp_path / "r" / "refs").exists()
    tip = _write(repo, 7)
    for again in (
        Repository.open(storage),
        Repository.open_or_create(storage),
        Repository.open_or_create(storage, create_version=1),
        asyncio.run(Repository.open_async(storage)),
        pickle.loads(pickle.dumps(repo)),
    ):
        assert again.spec_version is SpecVersion.v2
        assert "(v2)" in repr(again)
        assert again.lookup_branch("main") == tip
        array = zarr.open_array(again.readonly_session("main").store, path="a", mode="r")
        assert np.array_equal(array[:], [7] * 4)
    assert Repository.exists(storage)
    assert Repository.fetch_spec_version(storage) is SpecVersion.v2
    assert [it.message for it in repo.ancestry(branch="main")] == [
        "to 7",
        "Repository initialized",
    ]


def test_open_or_create_makes_the_version_that_is_said() -> None:
    for version in SpecVersion:
        repo = Repository.open_or_create(icefield.in_memory_storage(), create_version=version)
        assert repo.spec_version is version
        assert f"(v{int(version)})" in repr(repo)
    assert SpecVersion.current() is SpecVersion.v1
    assert Repository.create(icefield.in_memory_storage()).spec_version is SpecVersion.v1


def test_the_configuration_is_saved_with_it(repo: Repository) -> None:
    assert Repository.fetch_config(repo.storage) is None
    repo.config.inline_chunk_threshold_bytes = 5
    config = icefield.RepositoryConfig.default()
    config.inline_chunk_threshold_bytes = 5
    repo.reopen(config).save_config()
    saved = Repository.fetch_config(repo.storage)
    assert saved is not None and saved.inline_chunk_threshold_bytes == 5
    assert _kinds(repo)[0] == UpdateType.ConfigChanged()


def test_what_the_reference_wrote_is_opened(theirs: Path) -> None:
    before = _files(theirs)
    storage = icefield.local_filesystem_storage(str(theirs))
    repo = Repository.open(storage)
    assert repo.spec_version is Repository.fetch_spec_version(storage) is SpecVersion.v2
    assert list(repo.ancestry(branch="main"))[-1].message == "Repository initialized"
    assert repo.status.availability is RepoAvailability.online
    log = list(repo.ops_log())
    assert isinstance(log[-1].kind, UpdateType.RepoInitialized)
    assert repo.inspect_repo_info()["branches"]["main"] == repo.lookup_branch("main")
    assert _files(theirs) == before


def test_none_is_made_over_it(theirs: Path) -> None:
    before = _files(theirs)
    for version in SpecVersion:
        with pytest.raises(icefield.IcechunkError) as caught:
            Repository.create(
                icefield.local_filesystem_storage(str(theirs)), spec_version=version
            )
        assert caught.value.kind == "parent-directory-not-clean"
    assert _files(theirs) == before


def test_a_newer_version_is_refused_by_its_version(theirs: Path) -> None:
    file = theirs / "repo"
    found = bytearray(file.read_bytes())
    assert found[36] == 2
    found[36] = 3
    file.write_bytes(found)
    storage = icefield.local_filesystem_storage(str(theirs))
    ways: list[Callable[[], object]] = [
        lambda: Repository.open(storage),
        lambda: Repository.open_or_create(storage),
        lambda: Repository.fetch_spec_version(storage),
    ]
    for way in ways:
        with pytest.raises(icefield.FormatError, match="newer version") as caught:
            way()
        assert caught.value.kind == "unsupported-spec-version"
    assert Repository.exists(storage)
    assert file.read_bytes() == bytes(found)


def test_a_damaged_state_is_no_missing_repository(repo: Repository, tmp_path: Path) -> None:
    file = tmp_path / "repository" / "repo"
    file.write_bytes(file.read_bytes()[:80])
    for way in (repo.list_branches, lambda: Repository.open(repo.storage)):
        with pytest.raises(icefield.FormatError):
            way()
    file.unlink()
    with pytest.raises(icefield.RepositoryNotFoundError, match="repo"):
        repo.list_branches()


def test_names_of_refs_have_slashes(repo: Repository) -> None:
    first = repo.lookup_branch("main")
    repo.create_branch("feature/x", first)
    repo.create_tag("v/1", first)
    assert repo.list_branches() == {"main", "feature/x"}
    assert repo.list_tags() == {"v/1"}
    assert repo.lookup_tag("v/1") == repo.lookup_branch("feature/x") == first
    session = repo.writable_session("feature/x")
    zarr.create_group(session.store)
    tip = session.commit("on a branch with a slash")
    assert repo.lookup_branch("feature/x") == tip != repo.lookup_branch("main")
    assert repo.readonly_session(tag="v/1").snapshot_id == first
    repo.reset_branch("feature/x", first)
    repo.delete_branch("feature/x")
    repo.delete_tag("v/1")
    with pytest.raises(icefield.AlreadyExistsError) as caught:
        repo.create_tag("v/1", first)
    assert caught.value.kind == "tag-previously-deleted"
    older = Repository.create(icefield.in_memory_storage(), spec_version=1)
    with pytest.raises(icefield.InvalidInputError, match="feature/x"):
        older.create_branch("feature/x", older.lookup_branch("main"))


def test_a_snapshot_that_is_not_there(repo: Repository) -> None:
    missing = "AAAAAAAAAAAAAAAAAAA0"
    for way in (
        lambda: repo.lookup_snapshot(missing),
        lambda: repo.readonly_session(snapshot_id=missing),
        lambda: repo.create_branch("b", missing),
        lambda: repo.create_tag("t", missing),
        lambda: repo.reset_branch("main", missing),
    ):
        with pytest.raises(icefield.SnapshotNotFoundError) as caught:
            way()
        assert caught.value.kind == "snapshot-not-found"


def test_the_metadata_of_the_repository(repo: Repository) -> None:
    assert repo.metadata == {}
    repo.set_metadata({"a": 1, "b": {"c": [1, 2.5, None, "é"]}})
    assert repo.update_metadata({"a": 2}) == {"a": 2, "b": {"c": [1, 2.5, None, "é"]}}
    again = Repository.open(repo.storage)
    assert again.get_metadata() == repo.metadata == {"a": 2, "b": {"c": [1, 2.5, None, "é"]}}
    again.set_metadata({})
    assert repo.metadata == {}

    async def as_awaited() -> dict[str, Any]:
        await repo.set_metadata_async({"x": 1})
        assert await repo.update_metadata_async({"y": 2}) == {"x": 1, "y": 2}
        return await again.get_metadata_async()

    assert asyncio.run(as_awaited()) == {"x": 1, "y": 2}
    for wrong in ([1], None, "text"):
        with pytest.raises(TypeError, match="`metadata` must be a dict"):
            repo.set_metadata(wrong)  # type: ignore[arg-type]
    with pytest.raises(icefield.InvalidInputError):
        repo.update_metadata({"x": float("nan")})


def test_updates_of_metadata_by_two_handles_do_not_undo_each_other(repo: Repository) -> None:
    other = Repository.open(repo.storage)
    assert repo.metadata == other.metadata == {}
    repo.update_metadata({"mine": 1})
    assert other.update_metadata({"theirs": 2}) == {"mine": 1, "theirs": 2}


def test_a_repository_that_is_only_for_reading(repo: Repository) -> None:
    first = _write(repo, 1)
    assert repo.get_status().availability is RepoAvailability.online
    opened = repo.writable_session("main")
    zarr.open_array(opened.store, path="a", mode="a")[0] = 9
    since = datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC)
    repo.set_status(RepoStatus(RepoAvailability.read_only, since, "moving house"))
    status = repo.status
    assert status == RepoStatus(RepoAvailability.read_only, since, "moving house")
    assert asyncio.run(repo.get_status_async()) == status
    later = datetime.datetime.now(datetime.UTC)
    for way in (
        lambda: opened.commit("refused"),
        lambda: repo.writable_session("main"),
        lambda: repo.create_branch("b", first),
        lambda: repo.delete_branch("b"),
        lambda: repo.create_tag("t", first),
        lambda: repo.reset_branch("main", first),
        lambda: repo.set_metadata({}),
        lambda: repo.update_metadata({}),
        lambda: repo.set_feature_flag("move_node", True),
        lambda: repo.expire_snapshots(later - datetime.timedelta(days=1)),
        repo.save_config,
    ):
        with pytest.raises((icefield.ReadOnlyError, icefield.RefNotFoundError)) as caught:
            way()
        assert caught.value.kind in ("read-only-repository", "ref-not-found")
    assert repo.lookup_branch("main") == first
    assert repo.readonly_session("main").snapshot_id == first
    assert len(list(repo.ops_log())) == 3
    asyncio.run(repo.set_status_async(ONLINE))
    assert opened.commit("as before") == repo.lookup_branch("main")
    with pytest.raises(TypeError, match="`status` must be a RepoStatus"):
        repo.set_status("online")  # type: ignore[arg-type]


def test_feature_flags(repo: Repository) -> None:
    names = ["move_node", "create_tag", "delete_tag"]
    assert [(it.id, it.name) for it in repo.feature_flags()] == list(
        zip([3, 4, 5], names, strict=True)
    )
    assert all(it.enabled and it.setting is None for it in repo.feature_flags())
    assert repo.disabled_feature_flags() == []
    first = repo.lookup_branch("main")
    repo.create_tag("kept", first)
    repo.set_feature_flag("create_tag", False)
    asyncio.run(repo.set_feature_flag_async("delete_tag", False))
    assert [it.name for it in repo.disabled_feature_flags()] == ["create_tag", "delete_tag"]
    assert [it.name for it in asyncio.run(repo.enabled_feature_flags_async())] == ["move_node"]
    ways: list[Callable[[], object]] = [
        lambda: repo.create_tag("t", first),
        lambda: repo.delete_tag("kept"),
    ]
    for way in ways:
        with pytest.raises(icefield.SessionStateError) as caught:
            way()
        assert caught.value.kind == "feature-flag-disabled"
    repo.set_feature_flag("create_tag", None)
    repo.create_tag("t", first)
    assert _kinds(repo)[1] == UpdateType.FeatureFlagChanged(id=4, new_value=None)
    with pytest.raises(icefield.InvalidInputError, match="no_such_flag") as unknown:
        repo.set_feature_flag("no_such_flag", True)
    assert unknown.value.kind == "invalid-feature-flag"


def test_the_last_commit_is_amended(repo: Repository) -> None:
    first = repo.lookup_branch("main")
    old = _write(repo, 1)
    repo.create_tag("kept", old)
    session = repo.writable_session("main")
    zarr.open_array(session.store, path="a", mode="a")[0] = 9
    new = session.amend("better", metadata={"by": "me"})
    assert session.read_only and session.snapshot_id == new
    assert [it.id for it in repo.ancestry(branch="main")] == [new, first]
    assert repo.lookup_tag("kept") == old
    info = repo.lookup_snapshot(new)
    assert (info.message, info.metadata) == ("better", {"by": "me"})
    array = zarr.open_array(repo.readonly_session("main").store, path="a", mode="r")
    assert np.array_equal(array[:], [9, 1, 1, 1])
    assert _kinds(repo)[0] == UpdateType.CommitAmended(
        branch="main", previous_snap_id=old, new_snap_id=new
    )

    async def as_awaited() -> str:
        session = await repo.writable_session_async("main")
        return await session.amend_async("awaited", allow_empty=True)

    last = asyncio.run(as_awaited())
    assert repo.lookup_branch("main") == last
    assert repo.lookup_snapshot(last).metadata == {}
    session = repo.writable_session("main")
    with pytest.raises(icefield.SessionStateError) as nothing:
        session.amend("nothing")
    assert nothing.value.kind == "no-changes-to-commit"
    wrong: Any = 1
    with pytest.raises(TypeError, match="allow_empty"):
        session.amend("wrong", allow_empty=wrong)


def test_what_cannot_be_amended(repo: Repository) -> None:
    with pytest.raises(icefield.IcechunkError) as first:
        repo.writable_session("main").amend("first", allow_empty=True)
    assert first.value.kind == "no-amend-for-initial-commit"
    _write(repo, 1)
    one, two = repo.writable_session("main"), repo.writable_session("main")
    for session in (one, two):
        zarr.open_array(session.store, path="a", mode="a")[0] = 9
    amended = one.amend("first")
    with pytest.raises(icefield.ConflictError) as late:
        two.amend("second")
    assert late.value.kind == "commit-conflict"
    # It stays writable, and can be rebased.
    zarr.open_array(two.store, path="a", mode="a")[1] = 8
    two.rebase(icefield.BasicConflictSolver())
    two.commit("after all")
    assert [it.message for it in repo.ancestry(branch="main")][:2] == ["after all", "first"]
    assert repo.lookup_snapshot(repo.lookup_branch("main")).parent_id == amended
    reading = repo.readonly_session("main")
    with pytest.raises(icefield.SessionStateError) as refused:
        reading.amend("read")
    assert refused.value.kind == "commit-not-allowed"


def test_manifests_are_rewritten_by_amending(repo: Repository) -> None:
    first = repo.lookup_branch("main")
    old = _write(repo, 1)
    new = repo.rewrite_manifests("again", branch="main", commit_method="amend")
    assert new != old
    assert [it.id for it in repo.ancestry(branch="main")] == [new, first]
    array = zarr.open_array(repo.readonly_session("main").store, path="a", mode="r")
    assert np.array_equal(array[:], [1] * 4)


def test_changes_follow_a_move(repo: Repository) -> None:
    _write(repo, 1)
    session = repo.writable_session("main")
    zarr.open_array(session.store, path="a", mode="a")[0] = 9
    mover = repo.rearrange_session("main")
    mover.move("/a", "/b")
    mover.commit("moved")
    with pytest.raises(icefield.RebaseFailedError):
        session.rebase(icefield.BasicConflictSolver(strict=True))
    session.commit(
        "followed", rebase_with=icefield.BasicConflictSolver(strict=True, follow_moves=True)
    )
    store = repo.readonly_session("main").store
    assert np.array_equal(zarr.open_array(store, path="b", mode="r")[:], [9, 1, 1, 1])
    assert "a" not in zarr.open_group(store, mode="r")


def test_the_operations_log(repo: Repository) -> None:
    first = repo.lookup_branch("main")
    repo.create_branch("b", first)
    second = _write(repo, 1)
    repo.reset_branch("b", second)
    repo.delete_branch("b")
    repo.create_tag("t", second)
    repo.delete_tag("t")
    session = repo.writable_session("main")
    zarr.open_array(session.store, path="a", mode="a")[0] = 9
    flushed = session.flush("on no branch")
    repo.set_metadata({"a": 1})
    since = datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC)
    online = RepoStatus(RepoAvailability.online, since)
    repo.set_status(online)
    log = list(repo.ops_log())
    assert [it.kind for it in log] == [
        UpdateType.RepoStatusChanged(status=online),
        UpdateType.MetadataChanged(),
        UpdateType.NewDetachedSnapshot(new_snap_id=flushed),
        UpdateType.TagDeleted(name="t", previous_snap_id=second),
        UpdateType.TagCreated(name="t"),
        UpdateType.BranchDeleted(name="b", previous_snap_id=second),
        UpdateType.BranchReset(name="b", previous_snap_id=first),
        UpdateType.NewCommit(branch="main", new_snap_id=second),
        UpdateType.BranchCreated(name="b"),
        UpdateType.RepoInitialized(),
    ]
    times = [it.updated_at for it in log]
    assert times == sorted(set(times), reverse=True)
    assert [it.backup_path is None for it in log] == [True] + [False] * 9

    async def awaited() -> list[Update]:
        return [it async for it in repo.ops_log_async()]

    assert asyncio.run(awaited()) == log
    shown = repo.inspect_repo_info()
    assert [it["update_type"]["type"] for it in shown["latest_updates"]][:2] == [
        "RepoStatusChangedUpdate",
        "MetadataChangedUpdate",
    ]
    assert {it["id"] for it in shown["snapshots"]} == {first, second, flushed}
    assert shown["metadata"] == {"a": 1} and shown["deleted_tags"] == ["t"]


def test_the_log_goes_on_in_earlier_states(tmp_path: Path) -> None:
    config = icefield.RepositoryConfig.default()
    config.num_updates_per_repo_info_file = 3
    storage = icefield.local_filesystem_storage(str(tmp_path / "r"))
    repo = Repository.create(storage, config, spec_version=2)
    for number in range(9):
        repo.set_metadata({"number": number})
    log = list(repo.ops_log())
    assert len(log) == 10 and log[-1].kind == UpdateType.RepoInitialized()
    page = repo.inspect_repo_info()["repo_before_updates"]
    (tmp_path / "r" / "overwritten" / page).unlink()
    shorter = list(Repository.open(storage).ops_log())
    assert 0 < len(shorter) <= 3 and shorter == log[: len(shorter)]


def test_nodes_move(repo: Repository) -> None:
    _write(repo, 5)
    session = repo.rearrange_session("main")
    assert session.mode is icefield.SessionMode.rearrange
    assert repo.writable_session("main").mode is icefield.SessionMode.writable
    with pytest.raises(icefield.SessionStateError) as refused:
        session.shift_array("/a", [1])
    assert refused.value.kind == "rearrange-session-only"
    session.move("/a", "/b")
    assert session.status().moved_nodes == [("/a", "/b")]
    tip = session.commit("to another name")
    assert repo.inspect_transaction_log(tip)["moved_nodes"] == [{"from": "/a", "to": "/b"}]
    diff = repo.diff(from_snapshot_id=repo.lookup_snapshot(tip).parent_id, to_branch="main")
    assert diff.moved_nodes == [("/a", "/b")]
    session = repo.writable_session("main")
    zarr.create_group(session.store, path="g")
    asyncio.run(session.move_async("/b", "/g/c"))
    session.commit("beside another change")
    array = zarr.open_array(repo.readonly_session("main").store, path="g/c", mode="r")
    assert np.array_equal(array[:], [5] * 4)


def test_moves_that_are_refused(repo: Repository) -> None:
    _write(repo, 5)
    session = repo.rearrange_session("main")
    for start, end, cls, kind in (
        ("/none", "/b", icefield.NodeNotFoundError, "node-not-found"),
        ("/a", "/a/b", icefield.SessionStateError, "move-into-self-or-descendant"),
        ("/a", "/a", icefield.SessionStateError, "move-into-self-or-descendant"),
        ("/a", "/g/a", icefield.SessionStateError, "move-destination-parent-missing"),
        ("a", "/b", icefield.InvalidInputError, "invalid-path"),
    ):
        with pytest.raises(cls) as caught:
            session.move(start, end)
        assert caught.value.kind == kind
    session.move("/a", "/b")
    repo.set_feature_flag("move_node", False)
    ways: list[Callable[[], object]] = [
        lambda: session.commit("moved"),
        lambda: repo.rearrange_session("main"),
    ]
    for way in ways:
        with pytest.raises(icefield.SessionStateError) as disabled:
            way()
        assert disabled.value.kind == "feature-flag-disabled"
    session = Repository.create(icefield.in_memory_storage(), spec_version=1).writable_session("main")
    with pytest.raises(icefield.FormatError, match="version 2"):
        session.move("/a", "/b")


def test_what_version_1_does_not_have() -> None:
    repo = Repository.create(icefield.in_memory_storage(), spec_version=1)
    ways: list[Callable[[], object]] = [
        lambda: repo.status,
        lambda: repo.metadata,
        lambda: repo.set_metadata({}),
        lambda: repo.update_metadata({}),
        lambda: repo.set_status(ONLINE),
        repo.feature_flags,
        lambda: repo.set_feature_flag("move_node", True),
        repo.ops_log,
        repo.inspect_repo_info,
        lambda: asyncio.run(repo.get_status_async()),
    ]
    for way in ways:
        with pytest.raises(icefield.FormatError, match="version 2") as caught:
            way()
        assert caught.value.kind == "unsupported-spec-version"
