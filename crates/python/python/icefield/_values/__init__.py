"""Immutable values that describe a repository."""

from __future__ import annotations

from icefield._values.diff import Diff
from icefield._values.enums import ChunkType, RepoAvailability, SessionMode, SpecVersion
from icefield._values.graph import AncestryGraph
from icefield._values.snapshot import ManifestFileInfo, SnapshotInfo
from icefield._values.updates import FeatureFlag, RepoStatus, Update, UpdateType
from icefield._values.upkeep import ChunkStorageStats, GCSummary
from icefield._values.virtual_chunk import VirtualChunkSpec

__all__ = [
    "AncestryGraph",
    "ChunkStorageStats",
    "ChunkType",
    "Diff",
    "FeatureFlag",
    "GCSummary",
    "ManifestFileInfo",
    "RepoAvailability",
    "RepoStatus",
    "SessionMode",
    "SnapshotInfo",
    "SpecVersion",
    "Update",
    "UpdateType",
    "VirtualChunkSpec",
]
