"""Types of arguments."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["CommitMethod"]

CommitMethod: TypeAlias = Literal["new_commit", "amend"]
"""Whether a commit adds a snapshot to its branch, or replaces the last one (spec version 2)."""
