"""The native module of the reference, which is private to it, and from which programs import all the same."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from under_test import MODULE

NATIVE = importlib.import_module(f"{MODULE}._icechunk_python")

# The names that public programs import: errors, credentials, configurations, results, and what they name in annotations.
NAMES = """
    AncestryGraph AsyncCloseableIterator Attribution AzureCredentials AzureRefreshableCredential
    AzureStaticCredentials BasicConflictSolver CachingConfig ChecksumAlgorithm ChunkStorageStats ChunkType
    CompressionAlgorithm CompressionConfig Conflict ConflictDetector ConflictError ConflictSolver ConflictType
    Credentials Diff FeatureFlag GCSummary GcsBearerCredential GcsCredentials GcsStaticCredentials IcechunkError
    LatencyStorage ManifestConfig ManifestFileInfo ManifestPreloadCondition ManifestPreloadConfig
    ManifestSplitCondition ManifestSplitDimCondition ManifestSplittingConfig
    ManifestVirtualChunkLocationCompressionConfig ObjectStoreConfig RebaseFailedError RepoAvailability RepoStatus
    RepoUpdateRetryConfig RepositoryConfig S3Credentials S3Options S3StaticCredentials SessionMode SnapshotInfo
    SpecVersion Storage StorageConcurrencySettings StorageObjectInfo StorageRetriesSettings StorageSettings
    StorageTimeoutSettings Update UpdateType VersionSelection VirtualChunkContainer VirtualChunkSpec
    initialize_logs set_logs_filter shutdown_telemetry spec_version user_agent
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_that_of_the_package(ic: Any, name: str) -> None:
    found = getattr(NATIVE, name)
    assert found.__name__ == name
    public = getattr(ic, name, found)
    # A version of the format may be given by a function around the native one.
    assert public is found or not isinstance(found, type)


def test_the_classes_behind_the_public_ones(ic: Any, repo: Any) -> None:
    session = repo.readonly_session("main")
    assert isinstance(repo._repository, NATIVE.PyRepository)
    assert isinstance(session._session, NATIVE.PySession)
    assert isinstance(session.store._store, NATIVE.PyStore)


def test_the_kinds_of_errors(ic: Any) -> None:
    assert set(NATIVE._all_error_kinds()) == {str(kind) for kind in ic.ErrorKind}
