"""Conflicts, and what to do about them when a session is rebased."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum, IntEnum
from typing import Any

from icefield import _display

__all__ = [
    "BasicConflictSolver",
    "Conflict",
    "ConflictDetector",
    "ConflictSolver",
    "ConflictType",
    "StrictConflictDetector",
    "VersionSelection",
]


class ConflictType(Enum):
    """What two commits did that does not go together: the change of the session, then that of the branch."""

    NewNodeConflictsWithExistingNode = 1
    """Both made a node at one path."""
    NewNodeInInvalidGroup = 2
    """A node was made in a group that is an array, or no more."""
    ZarrMetadataDoubleUpdate = 3
    """Both changed the metadata of one node."""
    ZarrMetadataUpdateOfDeletedArray = 4
    """The metadata of an array was changed that was deleted."""
    ZarrMetadataUpdateOfDeletedGroup = 5
    """The metadata of a group was changed that was deleted."""
    ChunkDoubleUpdate = 6
    """Both wrote some of the same chunks."""
    ChunksUpdatedInDeletedArray = 7
    """Chunks were written to an array that was deleted."""
    ChunksUpdatedInUpdatedArray = 8
    """Chunks were written to an array whose metadata was changed."""
    DeleteOfUpdatedArray = 9
    """An array was deleted that was changed."""
    DeleteOfUpdatedGroup = 10
    """A group was deleted that was changed."""
    MoveOperationCannotBeRebased = 11
    """A node was moved."""

    def __int__(self) -> int:
        return int(self.value)

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        words = "".join(f" {it.lower()}" if it.isupper() else it for it in self.name).lstrip()
        return words[:1].upper() + words[1:]


class Conflict:
    """One node that two commits changed in ways that do not go together.

    `conflicted_chunks` are the places of the chunks in the array, if the conflict is about chunks, else None.
    """

    __slots__ = ("_chunks", "_kind", "_path")

    def __init__(
        self,
        conflict_type: ConflictType,
        path: str,
        conflicted_chunks: list[list[int]] | None = None,
    ) -> None:
        if not isinstance(conflict_type, ConflictType):
            raise TypeError(
                f"conflict_type is a ConflictType, not a {type(conflict_type).__name__}"
            )
        if not isinstance(path, str):
            raise TypeError(f"path is a text, not a {type(path).__name__}")
        self._kind = conflict_type
        self._path = path
        self._chunks = conflicted_chunks and [list(it) for it in conflicted_chunks]

    @property
    def conflict_type(self) -> ConflictType:
        """What does not go together."""
        return self._kind

    @property
    def path(self) -> str:
        """The path of the node."""
        return self._path

    @property
    def conflicted_chunks(self) -> list[list[int]] | None:
        """The places of the chunks in the array, if the conflict is about chunks."""
        return self._chunks and [list(it) for it in self._chunks]

    def _fields(self) -> list[tuple[str, object, str]]:
        return [
            ("conflict_type", self._kind, ""),
            ("path", self._path, ""),
            ("conflicted_chunks", self._chunks, ""),
        ]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Conflict):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((self._kind, self._path))

    def __repr__(self) -> str:
        return _display.call("icefield.Conflict", ((key, it) for key, it, _ in self._fields()))

    def __str__(self) -> str:
        return _display.lines("icefield.Conflict", self._fields())

    def _repr_html_(self) -> str:
        return _display.table("icefield.Conflict", self._fields())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._kind, self._path, self._chunks)

    @classmethod
    def _from_document(cls, document: Mapping[str, Any]) -> Conflict:
        return cls(ConflictType(document["type"]), document["path"], document.get("chunks"))


class VersionSelection(IntEnum):
    """Which of two versions of a chunk is kept."""

    Fail = 0
    """Neither: the rebase fails."""
    UseOurs = 1
    """That of the session."""
    UseTheirs = 2
    """That of the branch."""

    def __repr__(self) -> str:
        return f"VersionSelection.{self.name}"

    __str__ = __repr__


_CHOICES = {
    VersionSelection.Fail: "fail",
    VersionSelection.UseOurs: "ours",
    VersionSelection.UseTheirs: "theirs",
}


class ConflictSolver:
    """The base of what is handed to `rebase` and `commit(rebase_with=...)`; use one of its subclasses."""

    def __init__(self) -> None:
        if type(self) is ConflictSolver:
            raise TypeError(
                "a solver is a ConflictDetector, StrictConflictDetector or BasicConflictSolver"
            )

    def _rules(self) -> dict[str, Any]:
        raise NotImplementedError

    def _to_document(self) -> str:
        """What native code needs of it, as JSON."""
        return json.dumps(self._rules())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConflictSolver):
            return NotImplemented
        return self._rules() == other._rules()

    def __hash__(self) -> int:
        return hash(self._to_document())

    def __repr__(self) -> str:
        return f"icefield.{type(self).__name__}()"


class ConflictDetector(ConflictSolver):
    """Solves nothing: a rebase fails if there is a conflict by the rules of the reference implementation.

    These rules miss some: a node that is made in a group that the branch deleted, for instance, or chunks of the branch
    that a resize cuts off. `StrictConflictDetector` does not.
    """

    def _rules(self) -> dict[str, Any]:
        return _rules("compatible", None)


class StrictConflictDetector(ConflictSolver):
    """Solves nothing, and finds every pair of changes whose order would show in the result."""

    def _rules(self) -> dict[str, Any]:
        return _rules("strict", None)


class BasicConflictSolver(ConflictSolver):
    """Solves conflicts about chunks by taking one side, and deletions of what was changed if that is allowed.

    `strict` finds conflicts by the rules of `StrictConflictDetector`, which the solver then solves as far as it can;
    without it, the rules are those of `ConflictDetector`.

    `follow_moves` carries changes along where another commit has moved the array or group that they are made to: they
    land at its new path. It needs `strict`, because by the rules of `ConflictDetector` nothing passes a move.
    """

    def __init__(
        self,
        *,
        on_chunk_conflict: VersionSelection = VersionSelection.UseOurs,
        fail_on_delete_of_updated_array: bool = False,
        fail_on_delete_of_updated_group: bool = False,
        strict: bool = False,
        follow_moves: bool = False,
    ) -> None:
        if not isinstance(on_chunk_conflict, VersionSelection):
            raise TypeError(
                "on_chunk_conflict is a VersionSelection, "
                f"not a {type(on_chunk_conflict).__name__}"
            )
        for name, value in (
            ("fail_on_delete_of_updated_array", fail_on_delete_of_updated_array),
            ("fail_on_delete_of_updated_group", fail_on_delete_of_updated_group),
            ("strict", strict),
            ("follow_moves", follow_moves),
        ):
            if not isinstance(value, bool):
                raise TypeError(f"{name} is True or False, not a {type(value).__name__}")
        if follow_moves and not strict:
            raise ValueError(
                "follow_moves needs strict=True: by the other rules, nothing passes a move"
            )
        self._on_chunk_conflict = on_chunk_conflict
        self._fail_on_delete_of_updated_array = fail_on_delete_of_updated_array
        self._fail_on_delete_of_updated_group = fail_on_delete_of_updated_group
        self._strict = strict
        self._follow_moves = follow_moves

    def _rules(self) -> dict[str, Any]:
        return _rules(
            "strict" if self._strict else "compatible",
            _CHOICES[self._on_chunk_conflict],
            self._fail_on_delete_of_updated_array,
            self._fail_on_delete_of_updated_group,
            self._follow_moves,
        )

    def __repr__(self) -> str:
        given = {name.lstrip("_"): value for name, value in vars(self).items()}
        return _display.call("icefield.BasicConflictSolver", given.items())


def _rules(
    detector: str,
    on_chunk_conflict: str | None,
    fail_on_delete_of_updated_array: bool = False,
    fail_on_delete_of_updated_group: bool = False,
    follow_moves: bool = False,
) -> dict[str, Any]:
    return {
        "detector": detector,
        "on_chunk_conflict": on_chunk_conflict,
        "fail_on_delete_of_updated_array": fail_on_delete_of_updated_array,
        "fail_on_delete_of_updated_group": fail_on_delete_of_updated_group,
        "follow_moves": follow_moves,
    }


for _name in __all__:
    globals()[_name].__module__ = "icefield"
del _name
