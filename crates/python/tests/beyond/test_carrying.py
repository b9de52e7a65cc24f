"""Merge, cherry-pick, revert."""

from __future__ import annotations

import icefield as ic
import numpy as np
import pytest
from icefield.conflicts import BasicConflictSolver, ConflictDetector, VersionSelection

from making import opened, values, write


def branched(repo: ic.Repository) -> None:
    repo.create_branch("dev", repo.lookup_branch("main"))


def test_a_merge_takes_over_what_the_other_branch_changed(repo: ic.Repository) -> None:
    branched(repo)
    write(repo, "dev", slice(0, 10), 2.0)
    write(repo, "main", slice(10, 20), 3.0)
    merged = repo.merge(branch="dev")
    assert merged == repo.lookup_branch("main")
    np.testing.assert_array_equal(values(repo)[::10], [2.0, 3.0, 1.0, 1.0])


def test_a_merge_is_recorded_in_the_metadata_of_its_commit(repo: ic.Repository) -> None:
    branched(repo)
    tip = write(repo, "dev", slice(0, 10), 2.0)
    repo.merge(branch="dev", message="both", metadata={"by": "me"})
    commit = next(iter(repo.ancestry(branch="main")))
    assert commit.message == "both"
    assert commit.metadata["icefield_merged"] == tip
    assert commit.metadata["by"] == "me"


def test_a_second_merge_has_nothing_to_do(repo: ic.Repository) -> None:
    branched(repo)
    write(repo, "dev", slice(0, 10), 2.0)
    repo.merge(branch="dev")
    before = repo.lookup_branch("main")
    assert repo.merge(branch="dev") is None
    assert repo.lookup_branch("main") == before


def test_a_merge_of_a_tag_and_of_a_snapshot(repo: ic.Repository) -> None:
    branched(repo)
    tip = write(repo, "dev", slice(0, 10), 2.0)
    repo.create_tag("v1", tip)
    assert repo.merge(tag="v1") is not None
    later = write(repo, "dev", slice(20, 30), 4.0)
    assert repo.merge(snapshot_id=later) is not None
    np.testing.assert_array_equal(values(repo)[::10], [2.0, 1.0, 4.0, 1.0])


def test_a_merge_into_another_branch(repo: ic.Repository) -> None:
    branched(repo)
    write(repo, "main", slice(0, 10), 5.0)
    repo.merge(branch="main", into="dev")
    assert values(repo, branch="dev")[0] == 5.0


def test_colliding_chunks_are_all_told_and_nothing_is_changed(repo: ic.Repository) -> None:
    branched(repo)
    write(repo, "dev", slice(0, 20), 2.0)
    before = write(repo, "main", slice(0, 10), 3.0)
    with pytest.raises(ic.RebaseFailedError) as caught:
        repo.merge(branch="dev")
    (conflict,) = caught.value.conflicts
    assert conflict.path == "/x"
    assert conflict.conflicted_chunks == [[0]]
    assert repo.lookup_branch("main") == before


@pytest.mark.parametrize(
    ("choice", "expected"), [(VersionSelection.UseOurs, 3.0), (VersionSelection.UseTheirs, 2.0)]
)
def test_a_solver_decides_whose_chunks_stay(
    repo: ic.Repository, choice: VersionSelection, expected: float
) -> None:
    branched(repo)
    write(repo, "dev", slice(0, 20), 2.0)
    write(repo, "main", slice(0, 10), 3.0)
    repo.merge(branch="dev", solver=BasicConflictSolver(on_chunk_conflict=choice))
    np.testing.assert_array_equal(values(repo)[[0, 10]], [expected, 2.0])


def test_a_cherry_pick_takes_over_one_commit_only(repo: ic.Repository) -> None:
    branched(repo)
    write(repo, "dev", slice(0, 10), 2.0)
    picked = write(repo, "dev", slice(10, 20), 3.0)
    assert repo.cherry_pick(picked) is not None
    np.testing.assert_array_equal(values(repo)[::10], [1.0, 3.0, 1.0, 1.0])


def test_a_cherry_pick_of_what_is_there_does_nothing(repo: ic.Repository) -> None:
    branched(repo)
    picked = write(repo, "dev", slice(10, 20), 3.0)
    repo.cherry_pick(picked)
    assert repo.cherry_pick(picked) is None


def test_a_revert_leaves_what_came_after(repo: ic.Repository) -> None:
    bad = write(repo, "main", slice(0, 10), 2.0)
    write(repo, "main", slice(10, 20), 3.0)
    repo.revert(bad)
    np.testing.assert_array_equal(values(repo)[::10], [1.0, 3.0, 1.0, 1.0])


def test_a_revert_that_collides_with_later_edits(repo: ic.Repository) -> None:
    bad = write(repo, "main", slice(0, 10), 2.0)
    write(repo, "main", slice(0, 10), 3.0)
    with pytest.raises(ic.RebaseFailedError):
        repo.revert(bad)
    assert values(repo)[0] == 3.0


def test_the_first_snapshot_cannot_be_picked(repo: ic.Repository) -> None:
    first = list(repo.ancestry(branch="main"))[-1]
    with pytest.raises(ic.IcechunkError):
        repo.cherry_pick(first.id)


def test_what_does_not_exist(repo: ic.Repository) -> None:
    with pytest.raises(ic.RefNotFoundError):
        repo.merge(branch="missing")
    with pytest.raises(ic.RefNotFoundError):
        repo.merge(branch="main", into="missing")
    with pytest.raises(ic.SnapshotNotFoundError):
        repo.revert("0000000000000000000G")
    with pytest.raises(ic.InvalidInputError):
        repo.cherry_pick("no id")


def test_what_is_merged_is_said_once(repo: ic.Repository) -> None:
    with pytest.raises(ValueError, match="branch"):
        repo.merge()
    with pytest.raises(ValueError, match="branch"):
        repo.merge(branch="main", tag="v1")


def test_a_solver_is_one(repo: ic.Repository) -> None:
    with pytest.raises(TypeError, match="solver"):
        repo.merge(branch="main", solver="ours")  # type: ignore[arg-type]


async def test_all_of_them_awaited(repo: ic.Repository) -> None:
    branched(repo)
    one = write(repo, "dev", slice(0, 10), 2.0)
    assert await repo.merge_async(branch="dev", solver=ConflictDetector()) is not None
    assert await repo.revert_async(one) is not None
    assert await repo.cherry_pick_async(one) is not None
    assert values(repo)[0] == 2.0


def test_uncommitted_edits_elsewhere_do_not_matter(repo: ic.Repository) -> None:
    branched(repo)
    write(repo, "dev", slice(0, 10), 2.0)
    session = repo.writable_session("main")
    opened(session, "x")[30:40] = 9.0
    repo.merge(branch="dev")
    session.commit("mine", rebase_with=ConflictDetector())
    np.testing.assert_array_equal(values(repo)[[0, 30]], [2.0, 9.0])
