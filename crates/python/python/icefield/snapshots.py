"""Snapshots and the differences between them."""

from __future__ import annotations

from icefield._values import AncestryGraph, Diff, ManifestFileInfo, SnapshotInfo

__all__ = ["AncestryGraph", "Diff", "ManifestFileInfo", "SnapshotInfo"]
