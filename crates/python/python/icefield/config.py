"""The configuration of repositories, and of the logs of this package."""

from __future__ import annotations

from icefield._config.attribution import Attribution
from icefield._config.caching import CachingConfig
from icefield._config.compression import CompressionAlgorithm, CompressionConfig
from icefield._config.conditions import ManifestPreloadCondition, ManifestSplitCondition
from icefield._config.dimensions import ManifestSplitDimCondition
from icefield._config.manifest import (
    ManifestConfig,
    ManifestPreloadConfig,
    ManifestSplittingConfig,
    ManifestSplitValues,
    ManifestVirtualChunkLocationCompressionConfig,
    SplitSizesDict,
)
from icefield._config.repository import RepositoryConfig, RepoUpdateRetryConfig
from icefield._logs import initialize_logs, set_logs_filter, shutdown_telemetry
from icefield._store_options import ObjectStoreConfig
from icefield._values import FeatureFlag

__all__ = [
    "Attribution",
    "CachingConfig",
    "CompressionAlgorithm",
    "CompressionConfig",
    "FeatureFlag",
    "ManifestConfig",
    "ManifestPreloadCondition",
    "ManifestPreloadConfig",
    "ManifestSplitCondition",
    "ManifestSplitDimCondition",
    "ManifestSplitValues",
    "ManifestSplittingConfig",
    "ManifestVirtualChunkLocationCompressionConfig",
    "ObjectStoreConfig",
    "RepoUpdateRetryConfig",
    "RepositoryConfig",
    "SplitSizesDict",
    "from_dict",
    "initialize_logs",
    "set_logs_filter",
    "shutdown_telemetry",
    "to_dict",
]


def from_dict(split_sizes: SplitSizesDict) -> ManifestSplittingConfig:
    """The rules of splitting from a dictionary of dictionaries, in their order."""
    return ManifestSplittingConfig.from_dict(split_sizes)


def to_dict(config: ManifestSplittingConfig) -> SplitSizesDict:
    """The rules of splitting as a dictionary of dictionaries; empty if none are set."""
    return config.to_dict()
