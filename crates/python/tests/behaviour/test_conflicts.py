"""What two sessions that edit the same branch do to each other: every rule, by table."""

from __future__ import annotations

from typing import Any

import pytest
from making import Keys, array_document, commit, create, group_document, keys_of, small_array
from under_test import ic, raises

A1, A2 = array_document(attributes={"x": 1}), array_document(attributes={"x": 2})
G1, G2 = group_document({"x": 1}), group_document({"x": 2})
Edits = list[tuple[str, bytes | None]]


def _apply(session: Any, edits: Edits) -> None:
    keys = Keys(session.store)
    for key, data in edits:
        if data is None:
            keys.delete(key)
        else:
            keys.put(key, data)


def race(ours: Edits, theirs: Edits) -> tuple[Any, Any]:
    """A repository to which `theirs` were committed, and a session with `ours` based before."""
    repo = create(ic.in_memory_storage())
    items = {**small_array(), "g/zarr.json": group_document(), "a/c/0": b"1", "a/c/1": b"2"}
    commit(repo, items)
    session, other = repo.writable_session("main"), repo.writable_session("main")
    _apply(session, ours)
    _apply(other, theirs)
    other.commit("theirs")
    return repo, session


def solver(name: str) -> Any:
    select = ic.VersionSelection
    return {
        "detect": ic.ConflictDetector,
        "ours": ic.BasicConflictSolver,
        "theirs": lambda: ic.BasicConflictSolver(on_chunk_conflict=select.UseTheirs),
        "fail": lambda: ic.BasicConflictSolver(on_chunk_conflict=select.Fail),
        "fail array": lambda: ic.BasicConflictSolver(fail_on_delete_of_updated_array=True),
        "fail group": lambda: ic.BasicConflictSolver(fail_on_delete_of_updated_group=True),
    }[name]()


CHUNK: Edits = [("a/c/2", b"o")]
DELETE_A: Edits = [("a/zarr.json", None)]
DELETE_G: Edits = [("g/zarr.json", None)]

# name: (ours, theirs, [(conflict type, path, chunks)])
CONFLICTS: dict[str, tuple[Edits, Edits, list[tuple[str, str, Any]]]] = {
    "two new arrays": (
        [("b/zarr.json", A1)],
        [("b/zarr.json", A2)],
        [("NewNodeConflictsWithExistingNode", "/b", None)],
    ),
    "two equal new arrays": (
        [("b/zarr.json", A1)],
        [("b/zarr.json", A1)],
        [("NewNodeConflictsWithExistingNode", "/b", None)],
    ),
    "two equal new groups": (
        [("b/zarr.json", G1)],
        [("b/zarr.json", G1)],
        [("NewNodeConflictsWithExistingNode", "/b", None)],
    ),
    "a new group and a new array": (
        [("b/zarr.json", G1)],
        [("b/zarr.json", A1)],
        [("NewNodeConflictsWithExistingNode", "/b", None)],
    ),
    "two new nested groups": (
        [("g/n/zarr.json", G1)],
        [("g/n/zarr.json", G1)],
        [("NewNodeConflictsWithExistingNode", "/g/n", None)],
    ),
    "a new node below a new array": (
        [("q/n/zarr.json", G1)],
        [("q/zarr.json", A1)],
        [("NewNodeInInvalidGroup", "/q", None)],
    ),
    "two updates of an array": (
        [("a/zarr.json", A1)],
        [("a/zarr.json", A2)],
        [("ZarrMetadataDoubleUpdate", "/a", None)],
    ),
    "two equal updates of an array": (
        [("a/zarr.json", A1)],
        [("a/zarr.json", A1)],
        [("ZarrMetadataDoubleUpdate", "/a", None)],
    ),
    "two updates of a group": (
        [("g/zarr.json", G1)],
        [("g/zarr.json", G2)],
        [("ZarrMetadataDoubleUpdate", "/g", None)],
    ),
    "two updates of the root": (
        [("zarr.json", G1)],
        [("zarr.json", G2)],
        [("ZarrMetadataDoubleUpdate", "/", None)],
    ),
    "an update of a deleted array": (
        [("a/zarr.json", A1)],
        DELETE_A,
        [("ZarrMetadataUpdateOfDeletedArray", "/a", None)],
    ),
    "an update of a deleted group": (
        [("g/zarr.json", G1)],
        DELETE_G,
        [("ZarrMetadataUpdateOfDeletedGroup", "/g", None)],
    ),
    "chunks of a deleted array": (
        CHUNK,
        DELETE_A,
        [("ChunksUpdatedInDeletedArray", "/a", None)],
    ),
    "chunks of an updated array": (
        CHUNK,
        [("a/zarr.json", A1)],
        [("ChunksUpdatedInUpdatedArray", "/a", None)],
    ),
    "chunks of an array that grew": (
        CHUNK,
        [("a/zarr.json", array_document((8,)))],
        [("ChunksUpdatedInUpdatedArray", "/a", None)],
    ),
    "the same chunks": (
        [("a/c/2", b"o"), ("a/c/0", b"o")],
        [("a/c/2", b"t"), ("a/c/0", b"t"), ("a/c/3", b"t")],
        [("ChunkDoubleUpdate", "/a", [[0], [2]])],
    ),
    "the same chunk with equal bytes": (
        CHUNK,
        [("a/c/2", b"o")],
        [("ChunkDoubleUpdate", "/a", [[2]])],
    ),
    "a deleted chunk that was written": (
        [("a/c/0", None)],
        [("a/c/0", b"t")],
        [("ChunkDoubleUpdate", "/a", [[0]])],
    ),
    "a written chunk that was deleted": (
        [("a/c/0", b"o")],
        [("a/c/0", None)],
        [("ChunkDoubleUpdate", "/a", [[0]])],
    ),
    "a chunk deleted twice": (
        [("a/c/0", None)],
        [("a/c/0", None)],
        [("ChunkDoubleUpdate", "/a", [[0]])],
    ),
    "deletion of an array with new chunks": (
        DELETE_A,
        [("a/c/3", b"t")],
        [("DeleteOfUpdatedArray", "/a", None)],
    ),
    "deletion of an updated array": (
        DELETE_A,
        [("a/zarr.json", A1)],
        [("DeleteOfUpdatedArray", "/a", None)],
    ),
    "deletion of an updated group": (
        DELETE_G,
        [("g/zarr.json", G1)],
        [("DeleteOfUpdatedGroup", "/g", None)],
    ),
    "an array made again that has new chunks": (
        [*DELETE_A, ("a/zarr.json", A1)],
        [("a/c/2", b"t")],
        [("DeleteOfUpdatedArray", "/a", None)],
    ),
    "several at once": (
        [("a/zarr.json", A1), ("a/c/2", b"o"), ("b/zarr.json", G1)],
        [("a/zarr.json", A2), ("a/c/2", b"t"), ("b/zarr.json", G2)],
        [
            ("NewNodeConflictsWithExistingNode", "/b", None),
            ("ZarrMetadataDoubleUpdate", "/a", None),
            ("ChunksUpdatedInUpdatedArray", "/a", None),
            ("ChunkDoubleUpdate", "/a", [[2]]),
        ],
    ),
}

UNSOLVABLE = [
    "two new arrays", "two equal new groups", "a new group and a new array",
    "a new node below a new array", "two updates of an array", "two equal updates of an array",
    "two updates of a group", "an update of a deleted array", "an update of a deleted group",
    "chunks of a deleted array", "chunks of an updated array", "chunks of an array that grew",
    "several at once",
]  # fmt: skip

# name: (ours, theirs, keys afterwards that tell)
MERGED: dict[str, tuple[Edits, Edits, dict[str, bytes | None]]] = {
    "other chunks": (CHUNK, [("a/c/3", b"t")], {"a/c/2": b"o", "a/c/3": b"t", "a/c/0": b"1"}),
    "other nodes": (
        [("b/zarr.json", G1)],
        [("d/zarr.json", G2)],
        {"b/zarr.json": G1, "d/zarr.json": G2},
    ),
    "other arrays": (
        [("b/zarr.json", A1), ("b/c/0", b"o")],
        [("d/zarr.json", A2), ("d/c/0", b"t")],
        {"b/c/0": b"o", "d/c/0": b"t"},
    ),
    "chunks and a new node": (CHUNK, [("b/zarr.json", G1)], {"a/c/2": b"o", "b/zarr.json": G1}),
    "attributes while chunks were written": (
        [("a/zarr.json", A1)],
        [("a/c/2", b"t")],
        {"a/zarr.json": A1, "a/c/2": b"t"},
    ),
    "an array and a group": (
        [("a/zarr.json", A1)],
        [("g/zarr.json", G1)],
        {"a/zarr.json": A1, "g/zarr.json": G1},
    ),
    "an array deleted twice": (DELETE_A, DELETE_A, {"a/zarr.json": None, "a/c/0": None}),
    "a group deleted twice": (DELETE_G, DELETE_G, {"g/zarr.json": None}),
    "other chunks deleted": ([("a/c/0", None)], [("a/c/1", None)], {"a/c/0": None, "a/c/1": None}),
    "an array made again": (
        [*DELETE_A, ("a/zarr.json", A1)],
        [("d/zarr.json", G1)],
        {"a/zarr.json": A1, "a/c/0": None, "d/zarr.json": G1},
    ),
    "deletion and another group": (DELETE_A, [("g/zarr.json", G1)], {"a/zarr.json": None}),
    "a child while the group was deleted": (
        [("g/n/zarr.json", G1)],
        DELETE_G,
        {"g/n/zarr.json": G1, "g/zarr.json": None},
    ),
    "deletion of a group with a new child": (
        DELETE_G,
        [("g/n/zarr.json", A1)],
        {"g/n/zarr.json": A1, "g/zarr.json": None},
    ),
    "a child while the group was updated": (
        [("g/n/zarr.json", G1)],
        [("g/zarr.json", G2)],
        {"g/n/zarr.json": G1, "g/zarr.json": G2},
    ),
}

# name: (solver, ours, theirs, keys afterwards that tell)
SOLVED: dict[str, tuple[str, Edits, Edits, dict[str, bytes | None]]] = {
    "ours wins": (
        "ours",
        CHUNK,
        [("a/c/2", b"t"), ("a/c/3", b"t")],
        {"a/c/2": b"o", "a/c/3": b"t"},
    ),
    "theirs wins": (
        "theirs",
        [("a/c/2", b"o"), ("a/c/0", b"o")],
        [("a/c/2", b"t")],
        {"a/c/2": b"t", "a/c/0": b"o"},
    ),
    "our deletion of a chunk wins": ("ours", [("a/c/0", None)], [("a/c/0", b"t")], {"a/c/0": None}),
    "their chunk wins over our deletion": (
        "theirs",
        [("a/c/0", None), ("a/c/2", b"o")],
        [("a/c/0", b"t")],
        {"a/c/0": b"t", "a/c/2": b"o"},
    ),
    "our chunk wins over their deletion": (
        "ours",
        [("a/c/0", b"o")],
        [("a/c/0", None)],
        {"a/c/0": b"o"},
    ),
    "deletion of an array wins": (
        "ours",
        DELETE_A,
        [("a/c/3", b"t")],
        {"a/zarr.json": None, "a/c/3": None},
    ),
    "deletion of an updated array wins": (
        "ours",
        DELETE_A,
        [("a/zarr.json", A1)],
        {"a/zarr.json": None},
    ),
    "deletion of a group wins": ("ours", DELETE_G, [("g/zarr.json", G1)], {"g/zarr.json": None}),
    "nothing to solve": ("fail", CHUNK, [("a/c/3", b"t")], {"a/c/2": b"o", "a/c/3": b"t"}),
}

REFUSED: dict[str, tuple[str, Edits, Edits, tuple[str, str, Any]]] = {
    "chunks": ("fail", CHUNK, [("a/c/2", b"t")], ("ChunkDoubleUpdate", "/a", [[2]])),
    "an array": ("fail array", DELETE_A, [("a/c/3", b"t")], ("DeleteOfUpdatedArray", "/a", None)),
    "a group": (
        "fail group",
        DELETE_G,
        [("g/zarr.json", G1)],
        ("DeleteOfUpdatedGroup", "/g", None),
    ),
}


def told(conflicts: list[Any]) -> list[tuple[Any, str, Any]]:
    return [(c.conflict_type, c.path, c.conflicted_chunks) for c in conflicts]


def wanted(conflicts: list[tuple[str, str, Any]]) -> list[tuple[Any, str, Any]]:
    return [(getattr(ic.ConflictType, name), path, chunks) for name, path, chunks in conflicts]


@pytest.mark.parametrize("name", sorted(CONFLICTS))
def test_detected(name: str) -> None:
    ours, theirs, conflicts = CONFLICTS[name]
    _, session = race(ours, theirs)
    with raises("RebaseFailedError", "rebase-failed") as caught:
        session.rebase(solver("detect"))
    assert told(caught.value.conflicts) == wanted(conflicts)


@pytest.mark.parametrize("name", UNSOLVABLE)
def test_unsolvable(name: str) -> None:
    ours, theirs, conflicts = CONFLICTS[name]
    repo, session = race(ours, theirs)
    with raises("RebaseFailedError", "rebase-failed") as caught:
        session.rebase(solver("ours"))
    assert told(caught.value.conflicts) == wanted(conflicts)
    assert caught.value.snapshot == repo.lookup_branch("main")


@pytest.mark.parametrize("which", ["detect", "ours"])
@pytest.mark.parametrize("name", sorted(MERGED))
def test_merged(name: str, which: str) -> None:
    ours, theirs, expected = MERGED[name]
    repo, session = race(ours, theirs)
    session.rebase(solver(which))
    session.commit("ours", allow_empty=True)
    keys = keys_of(repo)
    assert {key: keys.get(key) for key in expected} == expected


@pytest.mark.parametrize("name", sorted(SOLVED))
def test_solved(name: str) -> None:
    which, ours, theirs, expected = SOLVED[name]
    repo, session = race(ours, theirs)
    session.rebase(solver(which))
    session.commit("ours", allow_empty=True)
    keys = keys_of(repo)
    assert {key: keys.get(key) for key in expected} == expected


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_the_solver_refuses(name: str) -> None:
    which, ours, theirs, conflict = REFUSED[name]
    _, session = race(ours, theirs)
    with raises("RebaseFailedError", "rebase-failed") as caught:
        session.rebase(solver(which))
    assert told(caught.value.conflicts) == wanted([conflict])


def test_the_types_of_conflicts() -> None:
    names = [
        "NewNodeConflictsWithExistingNode", "NewNodeInInvalidGroup", "ZarrMetadataDoubleUpdate",
        "ZarrMetadataUpdateOfDeletedArray", "ZarrMetadataUpdateOfDeletedGroup",
        "ChunkDoubleUpdate", "ChunksUpdatedInDeletedArray", "ChunksUpdatedInUpdatedArray",
        "DeleteOfUpdatedArray", "DeleteOfUpdatedGroup", "MoveOperationCannotBeRebased",
    ]  # fmt: skip
    values = [getattr(ic.ConflictType, name) for name in names]
    assert all(one != other for i, one in enumerate(values) for other in values[i + 1 :])


def test_a_conflict_shows_itself() -> None:
    _, session = race(CHUNK, [("a/c/2", b"t")])
    with raises("RebaseFailedError") as caught:
        session.rebase(solver("detect"))
    text = repr(caught.value.conflicts[0])
    assert "ChunkDoubleUpdate" in text and "/a" in text and "2" in text
