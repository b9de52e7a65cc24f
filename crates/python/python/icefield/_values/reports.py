"""What checks, retention, copies, imports, exports and moves of windows report."""

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
class CopyReport:
    """What a copy, or the reading of a bundle, did or would do."""

    dry_run: bool
    """Whether nothing was written."""
    created: bool
    """Whether there was no repository at the destination before."""
    spec_version: int
    """The version of the format that the destination has."""
    chunks: int
    """Chunk objects that were copied."""
    bytes: int
    """Their bytes."""
    snapshots: int
    """Snapshots that were copied."""
    refs: dict[str, str]
    """What became of each ref, by `branch NAME` or `tag NAME`: `created`, `moved`, `unchanged` and so on."""
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
    """Something that a copy of version 1 of the format has no place for."""

    kind: str
    """What it is: `ref_name`, `chunk_grid`, `location`, `container_name`, `compressed_location`, `move`, `extra`, `status`,
    `feature_flag`, `metadata`, `detached_snapshot`, `operations_log`."""
    object: str
    """What has it: a ref, the key of an object, an array in a snapshot, or a setting."""
    detail: str
    """The rule that it breaks, or what is lost."""


@dataclass(frozen=True)
class DowngradeReport(CopyReport):
    """What a downgrade did, or would do."""

    not_carried: list[NotCarried]
    """What the copy does not have."""
    left_out: list[str]
    """Branches and tags that were left out: `branch NAME`, `tag NAME`."""


@dataclass(frozen=True)
class BundleReport:
    """What a bundle holds."""

    spec_version: int
    """The version of the format of the repository that it unpacks to."""
    chunks: int
    """Chunk objects."""
    bytes: int
    """Their bytes."""
    snapshots: int
    """Snapshots."""
    refs: int
    """Branches, tags and names of deleted tags."""
    since: str | None
    """The snapshot that must be there where it is unpacked."""
    facts: dict[str, Any] = field(repr=False, compare=False)
    """The whole report, as plain values."""


@dataclass(frozen=True)
class MaterializeReport:
    """The virtual chunks that were copied into the repository."""

    snapshot_id: str | None
    """The snapshot; None if the session was not committed, or there are none."""
    chunks: int
    """Chunks that were copied."""
    bytes: int
    """Bytes of them."""


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
