"""Reports of repacking."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RepackReport"]


@dataclass(frozen=True)
class RepackReport:
    """The report of a repacking, which is one commit."""

    snapshot_id: str | None
    """The id of the snapshot; None if there was nothing to do, or only figures were asked for."""
    arrays: list[str]
    """The paths of the arrays whose chunks were copied."""
    chunks: int
    """Copied chunks."""
    bytes: int
    """Their bytes."""
    objects_before: int
    """The objects in which they were."""
    bytes_before: int
    """The bytes of those objects."""
    live_bytes_before: int
    """Those that the branch refers to, also for chunks that stay there."""
    objects: int
    """The objects in which the copies are; of a dry run, about."""
