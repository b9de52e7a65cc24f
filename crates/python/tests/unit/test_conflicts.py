"""Conflicts and solvers as values."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from icefield import (
    BasicConflictSolver,
    Conflict,
    ConflictDetector,
    ConflictSolver,
    ConflictType,
    StrictConflictDetector,
    VersionSelection,
)


def rules_of(solver: ConflictSolver) -> dict[str, Any]:
    rules: dict[str, Any] = json.loads(solver._to_document())
    return rules


def test_a_conflict_is_equal_to_another_of_the_same_content() -> None:
    conflict = Conflict(ConflictType.ChunkDoubleUpdate, "/a", [[1, 2]])
    assert conflict == Conflict(ConflictType.ChunkDoubleUpdate, "/a", [[1, 2]])
    assert conflict != Conflict(ConflictType.ChunkDoubleUpdate, "/a", [[1, 3]])
    assert conflict != Conflict(ConflictType.ChunkDoubleUpdate, "/b", [[1, 2]])
    assert pickle.loads(pickle.dumps(conflict)) == conflict
    assert len({conflict, Conflict(ConflictType.ChunkDoubleUpdate, "/a", [[1, 2]])}) == 1


def test_the_chunks_of_a_conflict_are_a_copy() -> None:
    conflict = Conflict(ConflictType.ChunkDoubleUpdate, "/a", [[1, 2]])
    chunks = conflict.conflicted_chunks
    assert chunks is not None
    chunks[0].append(3)
    assert conflict.conflicted_chunks == [[1, 2]]


def test_a_conflict_says_where_and_what() -> None:
    conflict = Conflict(ConflictType.ChunkDoubleUpdate, "/a<b>", [[1, 2]])
    assert str(conflict).splitlines()[1:] == [
        "conflict_type: ChunkDoubleUpdate",
        "path: /a<b>",
        "conflicted_chunks: [[1, 2]]",
    ]
    assert "/a&lt;b&gt;" in conflict._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "word"), [(("a", "/a"), "conflict_type"), ((ConflictType(1), 3), "path")]
)
def test_wrong_types(arguments: tuple[Any, ...], word: str) -> None:
    with pytest.raises(TypeError, match=word):
        Conflict(*arguments)


def test_conflict_types_have_their_numbers_and_words() -> None:
    assert [int(it) for it in ConflictType] == list(range(1, 12))
    assert ConflictType(6) is ConflictType.ChunkDoubleUpdate
    assert str(ConflictType.ChunkDoubleUpdate) == "Chunk double update"
    assert repr(ConflictType.ChunkDoubleUpdate) == "ChunkDoubleUpdate"
    assert pickle.loads(pickle.dumps(ConflictType.ChunkDoubleUpdate)) is ConflictType(6)
    with pytest.raises(ValueError, match="99"):
        ConflictType(99)


def test_detectors_only_detect() -> None:
    assert rules_of(ConflictDetector()) == {
        "detector": "compatible",
        "on_chunk_conflict": None,
        "fail_on_delete_of_updated_array": False,
        "fail_on_delete_of_updated_group": False,
        "follow_moves": False,
    }
    assert rules_of(StrictConflictDetector())["detector"] == "strict"


def test_the_default_solver_takes_our_chunks() -> None:
    assert rules_of(BasicConflictSolver()) == {
        "detector": "compatible",
        "on_chunk_conflict": "ours",
        "fail_on_delete_of_updated_array": False,
        "fail_on_delete_of_updated_group": False,
        "follow_moves": False,
    }


@pytest.mark.parametrize(
    ("choice", "word"),
    [
        (VersionSelection.Fail, "fail"),
        (VersionSelection.UseOurs, "ours"),
        (VersionSelection.UseTheirs, "theirs"),
    ],
)
def test_choices_of_the_solver(choice: VersionSelection, word: str) -> None:
    solver = BasicConflictSolver(
        on_chunk_conflict=choice,
        fail_on_delete_of_updated_array=True,
        fail_on_delete_of_updated_group=True,
        strict=True,
        follow_moves=True,
    )
    assert rules_of(solver) == {
        "detector": "strict",
        "on_chunk_conflict": word,
        "fail_on_delete_of_updated_array": True,
        "fail_on_delete_of_updated_group": True,
        "follow_moves": True,
    }
    assert pickle.loads(pickle.dumps(solver)) == solver


def test_solvers_check_their_arguments() -> None:
    wrong: Any = 1
    with pytest.raises(TypeError, match="on_chunk_conflict"):
        BasicConflictSolver(on_chunk_conflict=wrong)
    with pytest.raises(TypeError, match="fail_on_delete_of_updated_array"):
        BasicConflictSolver(fail_on_delete_of_updated_array=wrong)
    with pytest.raises(TypeError, match="follow_moves"):
        BasicConflictSolver(strict=True, follow_moves=wrong)
    with pytest.raises(ValueError, match="strict=True"):
        BasicConflictSolver(follow_moves=True)
    with pytest.raises(TypeError, match="positional"):
        BasicConflictSolver(VersionSelection.Fail)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="ConflictDetector"):
        ConflictSolver()


def test_the_selection_is_a_number() -> None:
    assert [int(it) for it in VersionSelection] == [0, 1, 2]
    assert str(VersionSelection.UseOurs) == "VersionSelection.UseOurs"
