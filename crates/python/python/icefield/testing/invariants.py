"""Invariants of a repository, as assertions."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import event

from icefield.snapshots import SnapshotInfo
from icefield.store import IcechunkStore
from icefield.testing.models import ModelStore

__all__ = [
    "assert_ancestry_invariants",
    "assert_list_dir_equal",
    "assert_moves_sorted_by_final_path",
    "compare_list_dir",
]

_FIRST = "1CECHNKREP0F1RSTCMT0"
"""The id of the first snapshot of every repository."""


def assert_ancestry_invariants(
    ancestry: list[SnapshotInfo],
    known_commits: set[str] | None = None,
    *,
    must_contain_initial: bool = True,
) -> None:
    """Asserts that a history is valid: every snapshot occurs once and is newer than the next, which is its parent.

    The last one has no parent, and is the first snapshot of the repository if `must_contain_initial` (an expiration
    may end a history earlier). With `known_commits`, all snapshots are among them.
    """
    ids = [it.id for it in ancestry]
    assert len(set(ids)) == len(ids), f"snapshots occur twice: {ids}"
    if known_commits is not None:
        assert not set(ids) - known_commits, f"unknown snapshots: {set(ids) - known_commits}"
    for newer, older in pairwise(ancestry):
        assert newer.parent_id == older.id, f"{newer.id} has the parent {newer.parent_id}"
        assert newer.written_at > older.written_at, f"{newer.id} is not newer than {older.id}"
    assert ancestry[-1].parent_id is None, f"{ancestry[-1].id} has a parent, but is the last"
    if must_contain_initial:
        assert ids[-1] == _FIRST, f"the history ends with {ids[-1]}"
    event(f"snapshots in a history: {len(ids) // 10}0 to {len(ids) // 10}9")


def assert_moves_sorted_by_final_path(moved_nodes: list[tuple[str, str]]) -> None:
    """Asserts that there are moves, in the order of the paths they lead to, compared part by part."""
    ends = [end.split("/") for _, end in moved_nodes]
    assert ends, "there are no moves"
    assert all(one <= next_ for one, next_ in pairwise(ends)), f"not in order: {moved_nodes}"


def assert_list_dir_equal(path: str, expected: list[str], actual: list[str]) -> None:
    """Asserts that two listings of a directory are equal, except for the directory `c` of an array.

    Stores differ in whether they list it when the array has no chunk.
    """
    shown = f"the directory {path!r} has {actual}, not {expected}"
    assert sorted(set(expected) - {"c"}) == sorted(set(actual) - {"c"}), shown
    assert len(actual) == len(set(actual)), f"the directory {path!r} lists a name twice: {actual}"


async def compare_list_dir(model: ModelStore, store: IcechunkStore, paths: Iterable[str]) -> None:
    """Asserts that directories list the same in a model and in a store."""
    for path in sorted(paths):
        expected = sorted([name async for name in model.list_dir(path)])
        actual = sorted([name async for name in store.list_dir(path)])
        assert_list_dir_equal(path, expected, actual)
