"""Reports of checks, retention, copies, imports, exports and window changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

__all__ = [
    "BundleReport",
    "CopyReport",
    "DowngradeReport",
    "ExportReport",
    "Finding",
    "FsckReport",
    "MaterializeReport",
    "NotCarried",
    "RepairReport",
    "RetentionReport",
    "Window",
]


@dataclass(frozen=True)
class Finding:
    """One finding of a check."""

    severity: str
    """`damage` (a branch or tag reaches an unreadable object), `warning` or `note`."""
    kind: str
    """The kind of the finding, in kebab-case."""
    key: str
    """The key of the object; of a virtual chunk, its location."""
    rule: str
    """The broken rule, and how it is broken."""
    path: str | None
    """The node that refers to it."""
    next: str
    """What to do about it."""
    facts: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """All details, as plain values."""


@dataclass(frozen=True)
class FsckReport:
    """The report of a check of a whole repository."""

    sound: bool
    """Whether all objects that branches and tags reach can be read."""
    damage: int
    """The number of findings of severity `damage`, including those that are not listed."""
    warnings: int
    """The number of findings of severity `warning`, including those that are not listed."""
    findings: list[Finding]
    """The findings, the worst first; at most some thousands."""
    facts: dict[str, Any] = field(repr=False, compare=False)
    """The whole report, as plain values: counts of objects, garbage, proposals."""


@dataclass(frozen=True)
class RepairReport:
    """The report of a repair, or of its dry run."""

    dry_run: bool
    """Whether nothing was changed."""
    facts: dict[str, Any] = field(repr=False)
    """The whole report, as plain values: repairs and losses by branch, and their outcomes."""


@dataclass(frozen=True)
class RetentionReport:
    """The report of retention, or of its dry run."""

    dry_run: bool
    """Whether nothing was changed."""
    released: list[str]
    """Ids of snapshots that leave the histories. A later garbage collection deletes objects that only they refer to."""
    kept: list[str]
    """Ids of snapshots that stay."""
    deleted_branches: list[str]
    """Deleted branches, whose tips are too old."""
    deleted_tags: list[str]
    """Deleted tags, whose snapshots are too old."""
    stuck: dict[str, str]
    """Snapshots that keep an expired parent because objects are lost: the id, and the lost objects."""


@dataclass(frozen=True)
class CopyReport:
    """The report of a copy, of reading a bundle, or of a dry run."""

    dry_run: bool
    """Whether nothing was written."""
    created: bool
    """Whether there was no repository at the destination before."""
    spec_version: int
    """The format version of the destination."""
    chunks: int
    """Copied chunk objects."""
    bytes: int
    """Their bytes."""
    snapshots: int
    """Copied snapshots."""
    refs: dict[str, str]
    """The outcome of each ref, by `branch NAME` or `tag NAME`: `created`, `moved`, `unchanged` and so on."""
    facts: dict[str, Any] = field(repr=False, compare=False)
    """The whole report, as plain values."""

    @classmethod
    def _of(cls, facts: dict[str, Any], **more: Any) -> Self:
        return cls(
            dry_run=facts.get("dry_run", False),
            created=facts["created"],
            spec_version=facts["spec_version"],
            chunks=facts["chunks"]["objects"],
            bytes=facts["chunks"]["bytes"],
            snapshots=facts["snapshots"]["objects"],
            refs={f"{it['kind']} {it['name']}": it["action"] for it in facts["refs"]},
            facts=facts,
            **more,
        )


@dataclass(frozen=True)
class NotCarried:
    """A part of a repository that format version 1 has no place for."""

    kind: str
    """The kind of the part: `ref_name`, `chunk_grid`, `location`, `container_name`,
    `compressed_location`, `move`, `extra`, `status`, `feature_flag`, `metadata`,
    `detached_snapshot`, `operations_log`.
    """
    object: str
    """The object with the part: a ref, the key of an object, an array in a snapshot, or a setting."""
    detail: str
    """The rule that it breaks, or the loss."""


@dataclass(frozen=True)
class DowngradeReport(CopyReport):
    """The report of a downgrade, or of its dry run."""

    not_carried: list[NotCarried]
    """The parts that the copy does not have."""
    left_out: list[str]
    """Left-out branches and tags: `branch NAME`, `tag NAME`."""


@dataclass(frozen=True)
class BundleReport:
    """The report of a bundle."""

    spec_version: int
    """The format version of the repository in the bundle."""
    chunks: int
    """Chunk objects."""
    bytes: int
    """Their bytes."""
    snapshots: int
    """Snapshots."""
    refs: int
    """Branches, tags and names of deleted tags."""
    since: str | None
    """The snapshot that the repository which reads the bundle must have."""
    facts: dict[str, Any] = field(repr=False, compare=False)
    """The whole report, as plain values."""


@dataclass(frozen=True)
class MaterializeReport:
    """The report of copying virtual chunks into the repository."""

    snapshot_id: str | None
    """The id of the snapshot; None if the session was not committed, or there are no virtual chunks."""
    chunks: int
    """Copied chunks."""
    bytes: int
    """Their bytes."""


@dataclass(frozen=True)
class ExportReport:
    """The report of an export."""

    groups: int
    """Groups."""
    arrays: int
    """Arrays."""
    chunks: int
    """Chunks."""
    bytes: int
    """Bytes of the stored chunks."""


@dataclass(frozen=True)
class Window:
    """The window of a moving dimension, in absolute indices, which count from the first element ever."""

    origin: int
    """The absolute index of element 0 of the arrays."""
    first: int
    """The absolute index of the first visible element; greater than `origin` if elements are masked."""
    end: int
    """The absolute index behind the last element."""

    @property
    def length(self) -> int:
        """The number of visible elements."""
        return self.end - self.first
