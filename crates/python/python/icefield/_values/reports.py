"""What checks, retention, imports, exports and moves of windows report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "ExportReport",
    "Finding",
    "FsckReport",
    "RepairReport",
    "RetentionReport",
    "Window",
]


@dataclass(frozen=True)
class Finding:
    """One thing that a check found."""

    severity: str
    """`damage` (something that a branch or tag reaches cannot be read), `warning` or `note`."""
    kind: str
    """What kind of thing it is, in kebab-case."""
    key: str
    """The key of the object; of a virtual chunk, its location."""
    rule: str
    """The rule that is broken, and how."""
    path: str | None
    """The node that refers to it."""
    next: str
    """What to do about it."""
    facts: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """All that the check knows, as plain values."""


@dataclass(frozen=True)
class FsckReport:
    """What a check of a whole repository found."""

    sound: bool
    """Whether all that branches and tags reach can be read."""
    damage: int
    """Findings of severity `damage`, also those that are not listed."""
    warnings: int
    """Findings of severity `warning`, also those that are not listed."""
    findings: list[Finding]
    """The findings, the worst first; at most some thousands."""
    facts: dict[str, Any] = field(repr=False, compare=False)
    """The whole report, as plain values: counts of objects, garbage, proposals."""


@dataclass(frozen=True)
class RepairReport:
    """What a repair did, or would do."""

    dry_run: bool
    """Whether nothing was changed."""
    facts: dict[str, Any] = field(repr=False)
    """The whole report, as plain values: what was repaired by branch, what was lost, what came of it."""


@dataclass(frozen=True)
class RetentionReport:
    """What retention released, or would release."""

    dry_run: bool
    """Whether nothing was changed."""
    released: list[str]
    """Ids of snapshots that leave the histories. A later garbage collection deletes what only they refer to."""
    kept: list[str]
    """Ids of snapshots that stay."""
    deleted_branches: list[str]
    """Branches whose tips are too old, if such are deleted."""
    deleted_tags: list[str]
    """Tags of snapshots that are too old, if such are deleted."""
    stuck: dict[str, str]
    """Snapshots that keep a parent which should have gone, because objects are lost: id, and what is lost."""


@dataclass(frozen=True)
class ExportReport:
    """What an export wrote."""

    groups: int
    """Groups."""
    arrays: int
    """Arrays."""
    chunks: int
    """Chunks."""
    bytes: int
    """Bytes of chunks, as they are stored."""


@dataclass(frozen=True)
class Window:
    """What a moving dimension shows, in elements counted from the beginning of its life."""

    origin: int
    """The absolute index of element 0 of the arrays."""
    first: int
    """The absolute index of the first element that is shown; later than `origin` if elements are masked."""
    end: int
    """The absolute index behind the last element."""

    @property
    def length(self) -> int:
        """Elements that are shown."""
        return self.end - self.first
