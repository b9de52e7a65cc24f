"""The names that programs import from the native module of icechunk: `from icechunk._icechunk_python import SnapshotInfo`.

That module is private to icechunk, but programs import its classes of configurations, credentials
and errors, because type checkers show them under these names. Here, each name is the class of the
public modules. The three classes behind repositories, sessions and stores are those of this
package; programs use them in annotations. The internal parts of that module, its command line and
its upgrade, are not here.
"""

from __future__ import annotations

from icefield._error_kind import ErrorKind
from icefield._exceptions import ConflictError, IcechunkError, RebaseFailedError
from icefield._iterators import AsyncCloseableIterator
from icefield._native import Repository as PyRepository
from icefield._native import Session as PySession
from icefield._native import Store as PyStore
from icefield._values import (
    ChunkStorageStats,
    ChunkType,
    RepoAvailability,
    RepoStatus,
    SessionMode,
    SpecVersion,
)
from icefield._versions import spec_version, user_agent
from icefield.config import (
    Attribution,
    CachingConfig,
    CompressionAlgorithm,
    CompressionConfig,
    FeatureFlag,
    ManifestConfig,
    ManifestPreloadCondition,
    ManifestPreloadConfig,
    ManifestSplitCondition,
    ManifestSplitDimCondition,
    ManifestSplittingConfig,
    ManifestVirtualChunkLocationCompressionConfig,
    ObjectStoreConfig,
    RepositoryConfig,
    RepoUpdateRetryConfig,
    initialize_logs,
    set_logs_filter,
    shutdown_telemetry,
)
from icefield.conflicts import (
    BasicConflictSolver,
    Conflict,
    ConflictDetector,
    ConflictSolver,
    ConflictType,
    VersionSelection,
)
from icefield.credentials import (
    AzureCredentials,
    AzureRefreshableCredential,
    AzureStaticCredentials,
    Credentials,
    GcsBearerCredential,
    GcsCredentials,
    GcsStaticCredentials,
    S3Credentials,
    S3StaticCredentials,
)
from icefield.ops import GCSummary, Update, UpdateType
from icefield.snapshots import AncestryGraph, Diff, ManifestFileInfo, SnapshotInfo
from icefield.storage import (
    ChecksumAlgorithm,
    LatencyStorage,
    S3Options,
    Storage,
    StorageConcurrencySettings,
    StorageObjectInfo,
    StorageRetriesSettings,
    StorageSettings,
    StorageTimeoutSettings,
)
from icefield.virtual import VirtualChunkContainer, VirtualChunkSpec

__all__ = [
    "AncestryGraph",
    "AsyncCloseableIterator",
    "Attribution",
    "AzureCredentials",
    "AzureRefreshableCredential",
    "AzureStaticCredentials",
    "BasicConflictSolver",
    "CachingConfig",
    "ChecksumAlgorithm",
    "ChunkStorageStats",
    "ChunkType",
    "CompressionAlgorithm",
    "CompressionConfig",
    "Conflict",
    "ConflictDetector",
    "ConflictError",
    "ConflictSolver",
    "ConflictType",
    "Credentials",
    "Diff",
    "FeatureFlag",
    "GCSummary",
    "GcsBearerCredential",
    "GcsCredentials",
    "GcsStaticCredentials",
    "IcechunkError",
    "LatencyStorage",
    "ManifestConfig",
    "ManifestFileInfo",
    "ManifestPreloadCondition",
    "ManifestPreloadConfig",
    "ManifestSplitCondition",
    "ManifestSplitDimCondition",
    "ManifestSplittingConfig",
    "ManifestVirtualChunkLocationCompressionConfig",
    "ObjectStoreConfig",
    "PyRepository",
    "PySession",
    "PyStore",
    "RebaseFailedError",
    "RepoAvailability",
    "RepoStatus",
    "RepoUpdateRetryConfig",
    "RepositoryConfig",
    "S3Credentials",
    "S3Options",
    "S3StaticCredentials",
    "SessionMode",
    "SnapshotInfo",
    "SpecVersion",
    "Storage",
    "StorageConcurrencySettings",
    "StorageObjectInfo",
    "StorageRetriesSettings",
    "StorageSettings",
    "StorageTimeoutSettings",
    "Update",
    "UpdateType",
    "VersionSelection",
    "VirtualChunkContainer",
    "VirtualChunkSpec",
    "_all_error_kinds",
    "initialize_logs",
    "set_logs_filter",
    "shutdown_telemetry",
    "spec_version",
    "user_agent",
]


def _all_error_kinds() -> list[str]:
    """The codes of failures that the attribute `kind` of an error may have."""
    return [str(kind) for kind in ErrorKind]
