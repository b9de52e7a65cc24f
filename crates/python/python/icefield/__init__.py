"""Version-controlled Zarr: repositories of arrays with branches, tags and commits, in object storage or on disk.

```python
import icefield
import zarr

repo = icefield.Repository.create(icefield.local_filesystem_storage("weather"))
session = repo.writable_session("main")
zarr.create_array(session.store, name="t", shape=(8,), dtype="f4")
session.commit("an array")
```

The names are those of the package `icechunk`, whose format this package reads and writes; `icefield.compat` lets other
packages find it under that name. A module is loaded when one of its names is first used.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from icefield._config.manifest import SplitSizesDict
    from icefield._exceptions import (
        AlreadyExistsError,
        ConflictError,
        ErrorKind,
        FormatError,
        IcechunkError,
        InternalError,
        InvalidInputError,
        NodeNotFoundError,
        NotFoundError,
        OutcomeUnknownError,
        ReadOnlyError,
        RebaseFailedError,
        RefNotFoundError,
        RepositoryNotFoundError,
        SessionStateError,
        SnapshotNotFoundError,
        StorageError,
    )
    from icefield._native import __version__
    from icefield._values import (
        ChunkStorageStats,
        ChunkType,
        RepoAvailability,
        RepoStatus,
        SessionMode,
        SpecVersion,
    )
    from icefield._versions import (
        print_debug_info,
        spec_version,
        supported_spec_versions,
        upgrade_icechunk_repository,
        user_agent,
    )
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
        from_dict,
        initialize_logs,
        set_logs_filter,
        shutdown_telemetry,
        to_dict,
    )
    from icefield.conflicts import (
        BasicConflictSolver,
        Conflict,
        ConflictDetector,
        ConflictSolver,
        ConflictType,
        StrictConflictDetector,
        VersionSelection,
    )
    from icefield.credentials import (
        AnyAzureCredential,
        AnyAzureStaticCredential,
        AnyCredential,
        AnyGcsCredential,
        AnyGcsStaticCredential,
        AnyS3Credential,
        AzureCredentials,
        AzureRefreshableCredential,
        AzureStaticCredentials,
        Credentials,
        GcsBearerCredential,
        GcsCredentials,
        GcsStaticCredentials,
        S3Credentials,
        S3StaticCredentials,
        azure_anonymous_credentials,
        azure_credentials,
        azure_from_env_credentials,
        azure_refreshable_credentials,
        azure_static_credentials,
        containers_credentials,
        gcs_credentials,
        gcs_from_env_credentials,
        gcs_refreshable_credentials,
        gcs_static_credentials,
        s3_anonymous_credentials,
        s3_credentials,
        s3_from_env_credentials,
        s3_refreshable_credentials,
        s3_static_credentials,
    )
    from icefield.ops import GCSummary, Update, UpdateType
    from icefield.repository import Repository
    from icefield.serving import Server, serve
    from icefield.session import ForkAnswer, ForkSession, Session
    from icefield.snapshots import AncestryGraph, Diff, ManifestFileInfo, SnapshotInfo
    from icefield.storage import (
        AnyObjectStoreConfig,
        ChecksumAlgorithm,
        S3Options,
        Storage,
        StorageConcurrencySettings,
        StorageRetriesSettings,
        StorageSettings,
        StorageTimeoutSettings,
        azure_storage,
        gcs_storage,
        gcs_store,
        hf_storage,
        http_storage,
        http_store,
        in_memory_storage,
        local_filesystem_storage,
        local_filesystem_store,
        r2_storage,
        redirect_storage,
        s3_storage,
        s3_store,
        tigris_storage,
    )
    from icefield.store import IcechunkStore as IcechunkStore
    from icefield.store import IcefieldStore as IcefieldStore
    from icefield.types import CommitMethod
    from icefield.virtual import VirtualChunkContainer, VirtualChunkSpec

__all__ = [
    "AlreadyExistsError",
    "AncestryGraph",
    "AnyAzureCredential",
    "AnyAzureStaticCredential",
    "AnyCredential",
    "AnyGcsCredential",
    "AnyGcsStaticCredential",
    "AnyObjectStoreConfig",
    "AnyS3Credential",
    "Attribution",
    "AzureCredentials",
    "AzureRefreshableCredential",
    "AzureStaticCredentials",
    "BasicConflictSolver",
    "CachingConfig",
    "ChecksumAlgorithm",
    "ChunkStorageStats",
    "ChunkType",
    "CommitMethod",
    "CompressionAlgorithm",
    "CompressionConfig",
    "Conflict",
    "ConflictDetector",
    "ConflictError",
    "ConflictSolver",
    "ConflictType",
    "Credentials",
    "Diff",
    "ErrorKind",
    "FeatureFlag",
    "ForkAnswer",
    "ForkSession",
    "FormatError",
    "GCSummary",
    "GcsBearerCredential",
    "GcsCredentials",
    "GcsStaticCredentials",
    "IcechunkError",
    "IcechunkStore",
    "InternalError",
    "InvalidInputError",
    "ManifestConfig",
    "ManifestFileInfo",
    "ManifestPreloadCondition",
    "ManifestPreloadConfig",
    "ManifestSplitCondition",
    "ManifestSplitDimCondition",
    "ManifestSplittingConfig",
    "ManifestVirtualChunkLocationCompressionConfig",
    "NodeNotFoundError",
    "NotFoundError",
    "ObjectStoreConfig",
    "OutcomeUnknownError",
    "ReadOnlyError",
    "RebaseFailedError",
    "RefNotFoundError",
    "RepoAvailability",
    "RepoStatus",
    "RepoUpdateRetryConfig",
    "Repository",
    "RepositoryConfig",
    "RepositoryNotFoundError",
    "S3Credentials",
    "S3Options",
    "S3StaticCredentials",
    "Server",
    "Session",
    "SessionMode",
    "SessionStateError",
    "SnapshotInfo",
    "SnapshotNotFoundError",
    "SpecVersion",
    "Storage",
    "StorageConcurrencySettings",
    "StorageError",
    "StorageRetriesSettings",
    "StorageSettings",
    "StorageTimeoutSettings",
    "StrictConflictDetector",
    "Update",
    "UpdateType",
    "VersionSelection",
    "VirtualChunkContainer",
    "VirtualChunkSpec",
    "__version__",
    "azure_anonymous_credentials",
    "azure_credentials",
    "azure_from_env_credentials",
    "azure_refreshable_credentials",
    "azure_static_credentials",
    "azure_storage",
    "containers_credentials",
    "gcs_credentials",
    "gcs_from_env_credentials",
    "gcs_refreshable_credentials",
    "gcs_static_credentials",
    "gcs_storage",
    "gcs_store",
    "hf_storage",
    "http_storage",
    "http_store",
    "in_memory_storage",
    "initialize_logs",
    "local_filesystem_storage",
    "local_filesystem_store",
    "print_debug_info",
    "r2_storage",
    "redirect_storage",
    "s3_anonymous_credentials",
    "s3_credentials",
    "s3_from_env_credentials",
    "s3_refreshable_credentials",
    "s3_static_credentials",
    "s3_storage",
    "s3_store",
    "serve",
    "set_logs_filter",
    "shutdown_telemetry",
    "spec_version",
    "supported_spec_versions",
    "tigris_storage",
    "upgrade_icechunk_repository",
    "user_agent",
]

_MODULES = (
    "compat",
    "config",
    "conflicts",
    "credentials",
    "dask",
    "distributed",
    "ops",
    "reports",
    "repository",
    "serving",
    "session",
    "snapshots",
    "storage",
    "store",
    "testing",
    "types",
    "virtual",
    "xarray",
)

# Names that version 1 of the reference had at this level are found, too, but are not listed.
_MODULE_OF = {
    name: module
    for module, names in (
        ("_config.manifest", "SplitSizesDict"),
        (
            "_exceptions",
            "AlreadyExistsError ConflictError ErrorKind FormatError IcechunkError "
            "InternalError InvalidInputError NodeNotFoundError NotFoundError "
            "OutcomeUnknownError ReadOnlyError RebaseFailedError RefNotFoundError "
            "RepositoryNotFoundError SessionStateError SnapshotNotFoundError StorageError",
        ),
        ("_native", "__version__"),
        (
            "_values",
            "ChunkStorageStats ChunkType RepoAvailability RepoStatus SessionMode "
            "SpecVersion",
        ),
        (
            "_versions",
            "print_debug_info spec_version supported_spec_versions "
            "upgrade_icechunk_repository user_agent",
        ),
        (
            "config",
            "Attribution CachingConfig CompressionAlgorithm CompressionConfig FeatureFlag "
            "ManifestConfig ManifestPreloadCondition ManifestPreloadConfig "
            "ManifestSplitCondition ManifestSplitDimCondition ManifestSplittingConfig "
            "ManifestVirtualChunkLocationCompressionConfig ObjectStoreConfig "
            "RepositoryConfig RepoUpdateRetryConfig from_dict initialize_logs "
            "set_logs_filter shutdown_telemetry to_dict",
        ),
        (
            "conflicts",
            "BasicConflictSolver Conflict ConflictDetector ConflictSolver ConflictType "
            "StrictConflictDetector VersionSelection",
        ),
        (
            "credentials",
            "AnyAzureCredential AnyAzureStaticCredential AnyCredential AnyGcsCredential "
            "AnyGcsStaticCredential AnyS3Credential AzureCredentials "
            "AzureRefreshableCredential AzureStaticCredentials Credentials "
            "GcsBearerCredential GcsCredentials GcsStaticCredentials S3Credentials "
            "S3StaticCredentials azure_anonymous_credentials azure_credentials "
            "azure_from_env_credentials azure_refreshable_credentials "
            "azure_static_credentials containers_credentials gcs_credentials "
            "gcs_from_env_credentials gcs_refreshable_credentials gcs_static_credentials "
            "s3_anonymous_credentials s3_credentials s3_from_env_credentials "
            "s3_refreshable_credentials s3_static_credentials",
        ),
        ("ops", "GCSummary Update UpdateType"),
        ("repository", "Repository"),
        ("serving", "Server serve"),
        ("session", "ForkAnswer ForkSession Session"),
        ("snapshots", "AncestryGraph Diff ManifestFileInfo SnapshotInfo"),
        (
            "storage",
            "AnyObjectStoreConfig ChecksumAlgorithm S3Options Storage "
            "StorageConcurrencySettings StorageRetriesSettings StorageSettings "
            "StorageTimeoutSettings azure_storage gcs_storage gcs_store hf_storage "
            "http_storage http_store in_memory_storage local_filesystem_storage "
            "local_filesystem_store r2_storage redirect_storage s3_storage s3_store "
            "tigris_storage",
        ),
        ("store", "IcechunkStore IcefieldStore"),
        ("types", "CommitMethod"),
        ("virtual", "VirtualChunkContainer VirtualChunkSpec"),
    )
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"icefield.{name}")
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'icefield' has no attribute {name!r}")
    value = getattr(import_module(f"icefield.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES, *_MODULE_OF})


def _is_command() -> bool:
    """Whether this process is the command `icefield`, which prints its log itself."""
    # While `python -m` looks for a module, its name is not there yet.
    name = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""
    return name == "icefield" or (name == "-m" and "icefield" in sys.orig_argv)


if ("ICEFIELD_LOG" in os.environ or "ICECHUNK_LOG" in os.environ) and not _is_command():
    from icefield._logs import initialize_logs as _initialize_logs

    _initialize_logs()
