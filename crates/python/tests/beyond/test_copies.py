"""Copies, downgrades and bundles."""

from __future__ import annotations

import asyncio
from pathlib import Path

import icefield as ic
import numpy as np
import pytest
import zarr

from making import array, new, values, write


def place(path: Path) -> ic.Storage:
    return ic.local_filesystem_storage(str(path))


@pytest.fixture
def newer(tmp_path: Path) -> ic.Repository:
    """A repository of version 2 with a tag and an array that moved."""
    repo = ic.Repository.create(place(tmp_path / "newer"), spec_version=2)
    session = repo.writable_session("main")
    zarr.create_group(session.store)
    array(session, "x", 40)[:] = 1.0
    repo.create_tag("first", session.commit("the first"))
    moving = repo.rearrange_session("main")
    moving.move("/x", "/y")
    moving.commit("moved")
    return repo


def test_a_copy_has_everything_and_a_second_one_what_is_new(tmp_path: Path, repo: ic.Repository) -> None:
    there = place(tmp_path / "there")
    planned = repo.copy(there, dry_run=True)
    assert planned.dry_run and planned.created and not (tmp_path / "there").exists()
    report = repo.copy(there)
    assert (report.spec_version, report.snapshots) == (1, 2)
    assert report.refs == {"branch main": "created"}
    assert report.snapshots == planned.snapshots and report.bytes == planned.bytes
    write(repo, "main", slice(0, 5), 7.0)
    told: list[str] = []
    again = repo.copy(there, progress=lambda stage, done, total: told.append(stage))
    assert (again.snapshots, again.refs["branch main"]) == (1, "moved") and told
    copied = ic.Repository.open(there)
    np.testing.assert_array_equal(values(copied), values(repo))


def test_what_part_is_copied(tmp_path: Path, repo: ic.Repository) -> None:
    write(repo, "main", slice(0, 5), 7.0)
    repo.create_tag("now", repo.lookup_branch("main"))
    report = asyncio.run(repo.copy_async(place(tmp_path / "there"), refs=["tag:now"], depth=1, spec_version=2))
    assert (report.spec_version, list(report.refs)) == (2, ["tag now"])
    assert len(report.facts["shortened"]) == 1
    with pytest.raises(ic.NotFoundError, match="no-such"):
        repo.copy(place(tmp_path / "other"), refs=["no-such"])
    with pytest.raises(ic.InvalidInputError, match="both the source and the destination"):
        repo.copy(place(tmp_path / "repository"))
    with pytest.raises(TypeError, match="sequence of strings"):
        repo.copy(place(tmp_path / "other"), refs="main")
    with pytest.raises(ic.InvalidInputError, match="depth"):
        repo.copy(place(tmp_path / "other"), depth=0)
    with pytest.raises(TypeError, match="force"):
        repo.copy(place(tmp_path / "other"), force=None)  # type: ignore[arg-type]


def test_a_branch_with_commits_of_its_own_is_moved_by_force_alone(tmp_path: Path, repo: ic.Repository) -> None:
    there = place(tmp_path / "there")
    repo.copy(there)
    write(ic.Repository.open(there), "main", slice(0, 5), 7.0)
    write(repo, "main", slice(0, 5), 8.0)
    with pytest.raises(ic.ConflictError, match="branch main"):
        repo.copy(there)
    assert repo.copy(there, force=True).refs == {"branch main": "forced"}


def test_a_downgrade_reads_the_same_and_names_what_it_lacks(tmp_path: Path, newer: ic.Repository) -> None:
    there = place(tmp_path / "there")
    report = newer.downgrade(there)
    assert report.spec_version == 1 and report.left_out == []
    assert {it.kind for it in report.not_carried} == {"move", "operations_log"}
    (moved,) = [it for it in report.not_carried if it.kind == "move"]
    assert "from /x to /y" in moved.detail and moved.object.startswith("snapshot ")
    copied = ic.Repository.open(there)
    assert copied.spec_version == ic.SpecVersion.v1
    np.testing.assert_array_equal(values(copied, "y"), values(newer, "y"))
    assert copied.lookup_tag("first") == newer.lookup_tag("first")


def test_what_version_1_cannot_hold_is_refused_or_left_out(tmp_path: Path, newer: ic.Repository) -> None:
    newer.create_branch("a/b", newer.lookup_branch("main"))
    there = place(tmp_path / "there")
    with pytest.raises(ic.IcechunkError, match="branch a/b") as raised:
        newer.downgrade(there)
    assert raised.value.kind == ic.ErrorKind.UNSUPPORTED_OPERATION_FOR_VERSION
    assert not (tmp_path / "there").exists()
    report = asyncio.run(newer.downgrade_async(there, leave_out=True))
    assert report.left_out == ["branch a/b"]
    with pytest.raises(ic.InvalidInputError, match="spec version 1 already"):
        ic.Repository.open(there).downgrade(place(tmp_path / "another"))
    with pytest.raises(ic.InvalidInputError, match="earlier version"):
        newer.copy(place(tmp_path / "another"), spec_version=1)


@pytest.mark.parametrize("version", [1, 2])
def test_a_bundle_unpacks_to_the_same(tmp_path: Path, version: int) -> None:
    repo = ic.Repository.create(place(tmp_path / "source"), spec_version=version)
    session = repo.writable_session("main")
    array(session, "x", 40)[:] = 1.0
    first = session.commit("the first")
    file = tmp_path / "ocean.bundle"
    report = repo.bundle(file)
    assert (report.spec_version, report.snapshots, report.refs) == (version, 2, 1)
    there = place(tmp_path / "there")
    unpacked = ic.Repository.unbundle(file, there)
    assert unpacked.created and unpacked.refs == {"branch main": "created"}
    np.testing.assert_array_equal(values(ic.Repository.open(there)), values(repo))
    write(repo, "main", slice(0, 5), 7.0)
    with pytest.raises(ic.AlreadyExistsError, match="exists already"):
        repo.bundle(file)
    report = asyncio.run(repo.bundle_async(file, since=first, force=True))
    assert report.since == first and report.snapshots == 1
    asyncio.run(ic.Repository.unbundle_async(file, there))
    np.testing.assert_array_equal(values(ic.Repository.open(there)), values(repo))
    assert [it.name for it in tmp_path.iterdir() if it.name.startswith(".")] == []


def test_a_file_that_is_no_bundle_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "no.bundle"
    file.write_bytes(b"nothing of the kind")
    there = tmp_path / "there"
    with pytest.raises(ic.FormatError, match="bundle"):
        ic.Repository.unbundle(file, place(there))
    assert not there.exists()
    with pytest.raises(ic.IcechunkError, match="cannot read the bundle"):
        ic.Repository.unbundle(tmp_path / "missing.bundle", place(there))
    with pytest.raises(ic.NotFoundError):
        new(tmp_path / "r").bundle(tmp_path / "x.bundle", refs=["no-such"])
    assert not (tmp_path / "x.bundle").exists()
