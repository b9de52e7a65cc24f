"""Conflicts of a rebase, and the solvers that resolve them."""

from __future__ import annotations

from icefield._conflicts import (
    BasicConflictSolver,
    Conflict,
    ConflictDetector,
    ConflictSolver,
    ConflictType,
    StrictConflictDetector,
    VersionSelection,
)

__all__ = [
    "BasicConflictSolver",
    "Conflict",
    "ConflictDetector",
    "ConflictSolver",
    "ConflictType",
    "StrictConflictDetector",
    "VersionSelection",
]
