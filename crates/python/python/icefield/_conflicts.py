"""Conflicts of a rebase, and the solvers that resolve them."""

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
    """The kind of a conflict: the change of the session, then the change of the branch."""

    NewNodeConflictsWithExistingNode = 1
    """Both created a node at the same path."""
    NewNodeInInvalidGroup = 2
    """A node was created in a group that is now an array, or deleted."""
    ZarrMetadataDoubleUpdate = 3
    """Both changed the metadata of one node."""
    ZarrMetadataUpdateOfDeletedArray = 4
    """The metadata of a deleted array was changed."""
    ZarrMetadataUpdateOfDeletedGroup = 5
    """The metadata of a deleted group was changed."""
    ChunkDoubleUpdate = 6
    """Both wrote some of the same chunks."""
    ChunksUpdatedInDeletedArray = 7
    """Chunks were written to a deleted array."""
    ChunksUpdatedInUpdatedArray = 8
    """Chunks were written to an array whose metadata was changed."""
    DeleteOfUpdatedArray = 9
    """A changed array was deleted."""
    DeleteOfUpdatedGroup = 10
    """A changed group was deleted."""
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
    """A conflict: one node that two commits changed in incompatible ways.

    `conflicted_chunks` are the indices of the chunks in the array, if the conflict is about chunks,
    else None.
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
        """The kind of the conflict."""
        return self._kind

    @property
    def path(self) -> str:
        """The path of the node."""
        return self._path

    @property
    def conflicted_chunks(self) -> list[list[int]] | None:
        """The indices of the chunks in the array, if the conflict is about chunks."""
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
    """Neither version: the rebase fails."""
    UseOurs = 1
    """The version of the session."""
    UseTheirs = 2
    """The version of the branch."""

    def __repr__(self) -> str:
        return f"VersionSelection.{self.name}"

    __str__ = __repr__


_CHOICES = {
    VersionSelection.Fail: "fail",
    VersionSelection.UseOurs: "ours",
    VersionSelection.UseTheirs: "theirs",
}


class ConflictSolver:
    """The base class of the solvers for `rebase` and `commit(rebase_with=...)`. Use one of its subclasses."""

    def __init__(self) -> None:
        if type(self) is ConflictSolver:
            raise TypeError(
                "a solver is a ConflictDetector, StrictConflictDetector or BasicConflictSolver"
            )

    def _rules(self) -> dict[str, Any]:
        raise NotImplementedError

    def _to_document(self) -> str:
        """The solver as JSON, for native code."""
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
    """Resolves nothing: a rebase fails if there is a conflict by the rules of the reference implementation.

    These rules miss some conflicts, such as a node created in a group that the branch deleted, or
    chunks of the branch that a resize cuts off. `StrictConflictDetector` detects them.
    """

    def _rules(self) -> dict[str, Any]:
        return _rules("compatible", None)


class StrictConflictDetector(ConflictSolver):
    """Resolves nothing, and finds every pair of changes whose order affects the result."""

    def _rules(self) -> dict[str, Any]:
        return _rules("strict", None)


class BasicConflictSolver(ConflictSolver):
    """Resolves conflicts about chunks by keeping one side, and deletions of changed nodes if that is allowed.

    With `strict`, the solver finds conflicts by the rules of `StrictConflictDetector`, and resolves
    those that it can. Without it, the rules of `ConflictDetector` apply.

    With `follow_moves`, changes to an array or group that another commit has moved are applied at
    its new path. This needs `strict`: by the rules of `ConflictDetector`, a move conflicts with
    every change.
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
