"""Rebases of sessions that collide: what the strict rules refuse and what they let pass, beside the common ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import zarr
from zarr.core.buffer import cpu, default_buffer_prototype

import icefield
from icefield import (
    BasicConflictSolver,
    ConflictDetector,
    ConflictSolver,
    ConflictType,
    Repository,
    Session,
    StrictConflictDetector,
    VersionSelection,
)

Edit = Callable[[Session], None]
Told = tuple[ConflictType, str, list[list[int]] | None]
"""The type, path and chunks of a conflict."""

RULES: list[Callable[[], ConflictSolver]] = [
    StrictConflictDetector,
    lambda: BasicConflictSolver(
        on_chunk_conflict=VersionSelection.Fail,
        fail_on_delete_of_updated_array=True,
        fail_on_delete_of_updated_group=True,
        strict=True,
    ),
]
"""What solves nothing, by the strict rules."""


def chunk(index: int, value: int) -> Edit:
    """Writes one element of `/a`, which is one chunk."""

    def edit(session: Session) -> None:
        zarr.open_array(session.store, path="a", mode="r+")[index] = value

    return edit


def group(path: str, **attributes: int) -> Edit:
    """Makes a group."""

    def edit(session: Session) -> None:
        zarr.create_group(session.store, path=path, attributes=dict(attributes))

    return edit


def array(path: str, length: int) -> Edit:
    """Makes an array without chunks, in the place of what is there."""

    def edit(session: Session) -> None:
        zarr.create_array(
            session.store, name=path, shape=(length,), chunks=(1,), dtype="i4", overwrite=True
        )

    return edit


def deletion(path: str) -> Edit:
    """Deletes a node and all below it."""

    def edit(session: Session) -> None:
        asyncio.run(session.store.delete_dir(path))

    return edit


def document(path: str, **changes: Any) -> Edit:
    """Changes fields of the metadata of a node, and nothing else of it."""
    key = f"{path}/zarr.json"

    def edit(session: Session) -> None:
        found = asyncio.run(session.store.get(key, default_buffer_prototype()))
        assert found is not None
        text = json.dumps(json.loads(found.to_bytes()) | changes)
        asyncio.run(session.store.set(key, cpu.Buffer.from_bytes(text.encode())))

    return edit


def race(repository: Repository, ours: Edit, theirs: Edit) -> tuple[Session, str]:
    """A session with our edit, and the snapshot with theirs, which was committed since the session began."""
    session = repository.writable_session("main")
    group("g", x=1, y=1)(session)
    array("g/b", 4)(session)
    session.commit("a group with an array")
    session, other = repository.writable_session("main"), repository.writable_session("main")
    ours(session)
    theirs(other)
    return session, other.commit("theirs")


def told(error: icefield.RebaseFailedError) -> list[Told]:
    return [(it.conflict_type, it.path, it.conflicted_chunks) for it in error.conflicts]


def values(repository: Repository) -> list[int]:
    store = repository.readonly_session("main").store
    return [int(it) for it in np.asarray(zarr.open_array(store, path="a", mode="r")[:])]


MISSED: dict[str, tuple[Edit, Edit, list[Told]]] = {
    "a node in a group that they deleted": (
        group("g/n"),
        deletion("g"),
        [(ConflictType.NewNodeInInvalidGroup, "/g/n", None)],
    ),
    "a resize that cuts off a chunk that they wrote": (
        document("a", shape=[2]),
        chunk(3, 30),
        [(ConflictType.ChunksUpdatedInUpdatedArray, "/a", [[3]])],
    ),
    "another fill value of an array whose chunks they wrote": (
        document("a", fill_value=7),
        chunk(1, 10),
        [(ConflictType.ChunksUpdatedInUpdatedArray, "/a", [[1]])],
    ),
    "the deletion of a group in which they made a node": (
        deletion("g"),
        group("g/n"),
        [(ConflictType.DeleteOfUpdatedGroup, "/g", None)],
    ),
    "an array that both made again": (
        array("a", 5),
        array("a", 6),
        [(ConflictType.NewNodeConflictsWithExistingNode, "/a", None)],
    ),
}
"""What the common rules do not notice."""

FOUND: dict[str, tuple[Edit, Edit, list[Told]]] = {
    "one chunk": (
        chunk(1, 10),
        chunk(1, 11),
        [(ConflictType.ChunkDoubleUpdate, "/a", [[1]])],
    ),
    "chunks of an array that they deleted": (
        chunk(1, 10),
        deletion("a"),
        [(ConflictType.ChunksUpdatedInDeletedArray, "/a", [[1]])],
    ),
    "one attribute": (
        document("g", attributes={"x": 2, "y": 1}),
        document("g", attributes={"x": 3, "y": 1}),
        [(ConflictType.ZarrMetadataDoubleUpdate, "/g", None)],
    ),
}
"""What both rules refuse."""

HARMLESS: dict[str, tuple[Edit, Edit, list[ConflictType]]] = {
    "equal bytes of one chunk": (
        chunk(1, 10),
        chunk(1, 10),
        [ConflictType.ChunkDoubleUpdate],
    ),
    "chunks of an array whose attributes they changed": (
        chunk(1, 10),
        document("a", attributes={"title": "ice"}),
        [ConflictType.ChunksUpdatedInUpdatedArray],
    ),
    "other attributes of one group": (
        document("g", attributes={"x": 2, "y": 1}),
        document("g", attributes={"x": 1, "y": 2}),
        [ConflictType.ZarrMetadataDoubleUpdate],
    ),
    "equal new groups": (
        group("n"),
        group("n"),
        [ConflictType.NewNodeConflictsWithExistingNode],
    ),
}
"""What only the common rules refuse."""


@pytest.mark.parametrize("rules", RULES, ids=["detector", "solver"])
@pytest.mark.parametrize("case", [*MISSED, *FOUND])
def test_the_strict_rules_refuse(
    memory: Repository, case: str, rules: Callable[[], ConflictSolver]
) -> None:
    ours, theirs, expected = (MISSED | FOUND)[case]
    session, winner = race(memory, ours, theirs)
    base, edits = session.snapshot_id, session.status()
    for attempt in (
        lambda: session.rebase(rules()),
        lambda: session.commit("ours", rebase_with=rules()),
    ):
        with pytest.raises(icefield.RebaseFailedError) as caught:
            attempt()
        assert told(caught.value) == expected
        assert caught.value.snapshot == winner
        # Nothing was given up, and nothing was published.
        assert (session.snapshot_id, session.status()) == (base, edits)
        assert memory.lookup_branch("main") == winner


@pytest.mark.parametrize("case", MISSED)
def test_the_common_rules_let_it_pass(memory: Repository, case: str) -> None:
    ours, theirs, _ = MISSED[case]
    session, winner = race(memory, ours, theirs)
    session.rebase(ConflictDetector())
    assert session.snapshot_id == winner
    assert memory.lookup_snapshot(session.commit("ours")).parent_id == winner


@pytest.mark.parametrize("case", HARMLESS)
def test_the_strict_rules_let_pass_what_only_looks_like_a_conflict(
    memory: Repository, case: str
) -> None:
    ours, theirs, common = HARMLESS[case]
    session, winner = race(memory, ours, theirs)
    with pytest.raises(icefield.RebaseFailedError) as caught:
        session.rebase(ConflictDetector())
    assert [it.conflict_type for it in caught.value.conflicts] == common
    session.rebase(StrictConflictDetector())
    assert session.snapshot_id == winner
    session.commit("ours", allow_empty=True)


def test_independent_attributes_are_merged(memory: Repository) -> None:
    ours, theirs, _ = HARMLESS["other attributes of one group"]
    session, _ = race(memory, ours, theirs)
    session.commit("ours", rebase_with=BasicConflictSolver(strict=True))
    found = zarr.open_group(memory.readonly_session("main").store, path="g", mode="r")
    assert dict(found.attrs) == {"x": 2, "y": 2}


@pytest.mark.parametrize(
    ("choice", "expected"), [(VersionSelection.UseOurs, 10), (VersionSelection.UseTheirs, 11)]
)
def test_a_strict_solver_settles_chunks(
    memory: Repository, choice: VersionSelection, expected: int
) -> None:
    session, _ = race(memory, chunk(1, 10), chunk(1, 11))
    solver = BasicConflictSolver(on_chunk_conflict=choice, strict=True)
    session.commit("ours", rebase_with=solver, allow_empty=True)
    assert values(memory) == [0, expected, 2, 3]


def test_a_strict_solver_settles_no_metadata(memory: Repository) -> None:
    """Which the solver without `strict` would not even look at."""
    ours, theirs, expected = MISSED["a resize that cuts off a chunk that they wrote"]
    session, _ = race(memory, ours, theirs)
    with pytest.raises(icefield.RebaseFailedError) as caught:
        session.rebase(BasicConflictSolver(strict=True))
    assert told(caught.value) == expected
    session.rebase(BasicConflictSolver())
    session.commit("ours")
    assert values(memory) == [0, 1]


def test_all_collisions_are_told_at_once(memory: Repository) -> None:
    def ours(session: Session) -> None:
        for edit in (chunk(1, 10), chunk(3, 30), chunk(0, 5), group("g/n")):
            edit(session)

    def theirs(session: Session) -> None:
        for edit in (chunk(1, 11), chunk(3, 31), chunk(2, 20), deletion("g")):
            edit(session)

    session, _ = race(memory, ours, theirs)
    with pytest.raises(icefield.RebaseFailedError) as caught:
        session.rebase(StrictConflictDetector())
    assert told(caught.value) == [
        (ConflictType.NewNodeInInvalidGroup, "/g/n", None),
        (ConflictType.ChunkDoubleUpdate, "/a", [[1], [3]]),
    ]
