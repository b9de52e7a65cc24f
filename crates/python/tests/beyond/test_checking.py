"""Checks, repairs and retention."""

from __future__ import annotations

import inspect
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import icefield as ic
import numpy as np
import pytest

from making import array, new, values, write


def large(tmp_path: Path) -> ic.Repository:
    """A repository whose chunks are objects of their own."""
    config = ic.RepositoryConfig(inline_chunk_threshold_bytes=0)
    storage = ic.local_filesystem_storage(str(tmp_path / "large"))
    repo = ic.Repository.create(storage, config)
    repo.save_config()
    session = repo.writable_session("main")
    array(session, "x", 40)[:] = np.arange(40.0)
    session.commit("chunks")
    return repo


def lose_a_chunk(tmp_path: Path) -> None:
    """Deletes one chunk behind the repository's back."""
    chunks = sorted(it for it in (tmp_path / "large" / "chunks").rglob("*") if it.is_file())
    chunks[0].unlink()


def test_a_sound_repository(repo: ic.Repository) -> None:
    report = repo.fsck(read_chunks=True)
    assert report.sound and report.damage == 0 and report.findings == []
    assert report.facts["snapshots"] == 2


def test_a_lost_chunk_is_found(tmp_path: Path) -> None:
    repo = large(tmp_path)
    lose_a_chunk(tmp_path)
    report = repo.fsck()
    assert not report.sound
    (finding,) = [it for it in report.findings if it.severity == "damage"]
    assert finding.key.startswith("chunks/")
    assert finding.path == "/x"
    assert finding.next


def test_a_repair_is_only_told_at_first(tmp_path: Path) -> None:
    repo = large(tmp_path)
    lose_a_chunk(tmp_path)
    before = repo.lookup_branch("main")
    assert repo.repair().dry_run
    assert repo.lookup_branch("main") == before


def test_a_repair_leaves_out_what_is_lost(tmp_path: Path) -> None:
    repo = large(tmp_path)
    lose_a_chunk(tmp_path)
    repo.repair(dry_run=False)
    again = ic.Repository.open(ic.local_filesystem_storage(str(tmp_path / "large")))
    assert np.isnan(values(again)).sum() == 10
    assert again.fsck(tips_only=True).sound


def test_retention_by_number(repo: ic.Repository) -> None:
    ids = [write(repo, "main", slice(0, 10), float(at)) for at in range(5)]
    report = repo.retain(last=2)
    assert set(ids[-2:]) <= set(report.kept)
    assert set(ids[:-2]) <= set(report.released)
    left = [it.id for it in repo.ancestry(branch="main")]
    assert left[:2] == ids[:-3:-1]


def test_a_dry_run_of_retention(repo: ic.Repository) -> None:
    for at in range(3):
        write(repo, "main", slice(0, 10), float(at))
    before = [it.id for it in repo.ancestry(branch="main")]
    report = repo.retain(last=1, dry_run=True)
    assert report.dry_run and report.released
    assert [it.id for it in repo.ancestry(branch="main")] == before


def test_what_is_young_stays(repo: ic.Repository) -> None:
    write(repo, "main", slice(0, 10), 2.0)
    bound = datetime.now(timezone.utc) - timedelta(days=1)
    assert repo.retain(older_than=bound, last=1).released == []


def test_tags_keep_what_they_point_to(repo: ic.Repository) -> None:
    kept = write(repo, "main", slice(0, 10), 2.0)
    repo.create_tag("v1", kept)
    for at in range(3):
        write(repo, "main", slice(0, 10), float(at))
    assert kept in repo.retain(last=1).kept
    assert repo.lookup_tag("v1") == kept


@pytest.mark.parametrize("rule", ["hourly", "daily", "weekly", "monthly", "yearly"])
def test_the_newest_of_each_period_stays(repo: ic.Repository, rule: str) -> None:
    ids = [write(repo, "main", slice(0, 10), float(at)) for at in range(3)]
    rules: dict[str, Any] = {rule: 1}
    report = repo.retain(**rules)
    assert ids[-1] in report.kept and ids[0] in report.released


def test_retention_needs_a_rule(repo: ic.Repository) -> None:
    with pytest.raises(ic.IcechunkError):
        repo.retain()
    with pytest.raises(TypeError, match="fortnightly"):
        repo.retain(fortnightly=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="last"):
        repo.retain(last=-1)
    with pytest.raises(TypeError, match="time zone"):
        repo.retain(older_than=datetime(2020, 1, 1))


@pytest.mark.parametrize("last", ["", [], 1.5, True])
def test_a_rule_is_a_number_or_left_out(repo: ic.Repository, last: object) -> None:
    with pytest.raises(TypeError, match="last"):
        repo.retain(last=last, daily=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("branches", ["main", b"main", 3])
def test_branches_are_names_not_letters(repo: ic.Repository, branches: object) -> None:
    with pytest.raises(TypeError, match="branches"):
        repo.retain(last=1, branches=branches)  # type: ignore[arg-type]


NO_SWITCHES: list[Any] = [None, "false", "no", 0, 1]
SWITCHES = {
    "fsck": ("read_chunks", "virtual_chunks", "tips_only"),
    "repair": ("dry_run", "drop_virtual_chunks"),
    "retain": ("delete_expired_branches", "delete_expired_tags", "dry_run"),
}


@pytest.mark.parametrize("given", NO_SWITCHES, ids=repr)
@pytest.mark.parametrize("method", SWITCHES)
def test_switches_are_true_or_false(tmp_path: Path, method: str, given: Any) -> None:
    repo = large(tmp_path)
    lose_a_chunk(tmp_path)
    write(repo, "main", slice(0, 10), 2.0)
    before = [it.id for it in repo.ancestry(branch="main")]
    rules = {"last": 1} if method == "retain" else {}
    for name in SWITCHES[method]:
        with pytest.raises(TypeError, match=f"`{name}` must be True or False"):
            getattr(repo, method)(**rules, **{name: given})
    assert [it.id for it in repo.ancestry(branch="main")] == before


def test_switches_are_those_of_numpy_too(repo: ic.Repository) -> None:
    truth: Any = np.True_
    assert repo.fsck(tips_only=truth).sound
    assert repo.repair(dry_run=truth).dry_run is True
    assert repo.retain(last=1, dry_run=truth).dry_run is True


async def test_switches_are_checked_where_it_is_awaited(repo: ic.Repository) -> None:
    wrong: Any = "false"
    with pytest.raises(TypeError, match="`read_chunks`"):
        await repo.fsck_async(read_chunks=wrong)
    with pytest.raises(TypeError, match="`dry_run`"):
        await repo.retain_async(last=1, dry_run=wrong)


def test_the_rules_are_in_the_signature() -> None:
    now = inspect.signature(ic.Repository.retain)
    assert {"older_than", "last", "hourly", "branches", "dry_run", "progress"} <= set(now.parameters)
    assert now == inspect.signature(ic.Repository.retain_async)


async def test_both_awaited(repo: ic.Repository) -> None:
    assert (await repo.fsck_async()).sound
    assert (await repo.retain_async(last=1, dry_run=True)).dry_run


def test_a_check_needs_no_opening(tmp_path: Path, repo: ic.Repository) -> None:
    other = new(tmp_path / "second")
    other.create_tag("v1", other.lookup_branch("main"))
    assert other.fsck(virtual_chunks=True, tips_only=True).sound


def test_a_check_of_virtual_chunks_has_the_grants_of_its_repository(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    (archive / "data").write_bytes(np.arange(10.0).tobytes())
    prefix = archive.as_uri() + "/"
    config = ic.RepositoryConfig()
    config.set_virtual_chunk_container(
        ic.VirtualChunkContainer(prefix, ic.local_filesystem_store(str(archive)))
    )
    storage = ic.local_filesystem_storage(str(tmp_path / "repo"))
    access: dict[str, Any] = {prefix: None}
    repo = ic.Repository.create(storage, config, access)
    session = repo.writable_session("main")
    array(session, "x", 10)
    session.store.set_virtual_ref("x/c/0", prefix + "data", offset=0, length=80)
    session.commit("referred to")
    assert repo.fsck(virtual_chunks=True).findings == []
    (archive / "data").unlink()
    report = repo.fsck(virtual_chunks=True)
    assert not report.sound
    (finding,) = report.findings
    assert finding.severity == "damage" and finding.path == "/x"
    repo.repair(dry_run=False, drop_virtual_chunks=True)
    assert repo.fsck(virtual_chunks=True, tips_only=True).sound


def test_nothing_is_deleted_beside_what_is_no_ref(tmp_path: Path) -> None:
    repo = large(tmp_path)
    refs = tmp_path / "large" / "refs"
    (refs / "branch.x").mkdir()
    (refs / "branch.x" / "other.json").write_text("{}")
    long_ago = datetime(2000, 1, 1, tzinfo=timezone.utc)
    for work in (repo.garbage_collect, repo.expire_snapshots):
        with pytest.raises(ic.IcechunkError, match="not understood"):
            work(long_ago)
    assert [it.key for it in repo.fsck().findings] == ["refs/branch.x/other.json"]


def test_a_name_in_the_spelling_of_a_bucket_is_read(tmp_path: Path) -> None:
    repo = large(tmp_path)
    repo.create_branch("wip#1", repo.lookup_branch("main"))
    refs = tmp_path / "large" / "refs"
    (refs / "branch.wip%231").rename(refs / "branch.wip#1")
    assert repo.list_branches() == {"main", "wip#1"}
    assert repo.lookup_branch("wip#1") == repo.lookup_branch("main")
    repo.repair(dry_run=False)
    assert (refs / "branch.wip%231" / "ref.json").exists()
