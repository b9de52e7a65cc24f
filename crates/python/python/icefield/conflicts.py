"""Conflicts, and what to do about them when a session is rebased."""

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
