"""Conversions of the arguments for opening and creating, for the native module."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from icefield import _native
from icefield._checks import truth, whole
from icefield._place import grants
from icefield._values import SpecVersion
from icefield.config import RepositoryConfig
from icefield.storage import Storage, StorageSettings

if TYPE_CHECKING:
    from icefield.credentials import AnyCredential

__all__ = [
    "Access",
    "begin_creation",
    "begin_opening",
    "cache_name",
    "checked_config",
    "known_version",
    "native_storage",
    "saved_config",
]

Access = Mapping[str, "AnyCredential | None"] | None


def begin_creation(
    create: Any,
    storage: Storage,
    config: RepositoryConfig | None,
    access: Access,
    version: SpecVersion | int | None,
    check_clean_root: bool,
    cache: str | os.PathLike[str] | None,
) -> tuple[Access, _native.Task[_native.Repository]]:
    number = _version(version)
    _warn_of_none(access)
    config = None if config is None else checked_config(config)._unfilled()
    document = _config_document(config)
    task = create(
        native_storage(storage, None if config is None else config.storage),
        document,
        grants(access),
        not truth(check_clean_root, "check_clean_root"),
        number,
        cache_name(cache),
    )
    return access, task


def begin_opening(
    storage: Storage,
    config: RepositoryConfig | None,
    access: Access,
    cache: str | os.PathLike[str] | None,
    *,
    warn: bool = True,
) -> tuple[Access, _native.Task[_native.Repository]]:
    if warn:
        _warn_of_none(access)
    config = None if config is None else checked_config(config)._unfilled()
    document = _config_document(config)
    return access, _native.Repository.open(
        native_storage(storage, None if config is None else config.storage),
        document,
        grants(access),
        cache=cache_name(cache),
    )


def cache_name(cache: str | os.PathLike[str] | None) -> str | None:
    """What the native side takes: PATH or PATH,SIZE."""
    if cache is None:
        return None
    name = os.fspath(cache)
    if not isinstance(name, str):
        raise TypeError("`cache` must be a path as text, or `PATH,SIZE`, not bytes")
    return name


def native_storage(
    storage: Storage, settings: StorageSettings | None = None
) -> _native.Storage:
    if not isinstance(storage, Storage):
        raise TypeError(
            "`storage` must be a Storage, such as local_filesystem_storage(path), not "
            f"{type(storage).__name__}"
        )
    return storage._native(settings)


def checked_config(config: RepositoryConfig) -> RepositoryConfig:
    """The configuration. Raises `TypeError` for any other value."""
    if not isinstance(config, RepositoryConfig):
        raise TypeError(f"`config` must be a RepositoryConfig, not {type(config).__name__}")
    return config


def _config_document(config: RepositoryConfig | None) -> str | None:
    return None if config is None else json.dumps(config._to_document())


def saved_config(document: str | None) -> RepositoryConfig | None:
    """The configuration of a stored document; None if none is stored."""
    return None if document is None else RepositoryConfig._from_document(json.loads(document))


def known_version(number: int | None) -> SpecVersion | None:
    """The format version of a number; None if there is no repository."""
    return None if number is None else SpecVersion(number)


def _version(version: SpecVersion | int | None) -> int:
    """The number of the format version of a new repository."""
    if version is None:
        return int(SpecVersion.current())
    number = whole(version, "spec_version", "unsupported-spec-version", 0, 255)
    if number not in (1, 2):
        raise ValueError(f"Unsupported version {number}; the format versions are 1 and 2")
    return number


def _warn_of_none(access: Access) -> None:
    """`None` as a credential uses the credentials of the environment, which the call does not show."""
    if not isinstance(access, Mapping):
        return
    for prefix, credential in access.items():
        if credential is None:
            warnings.warn(
                f"None as the credential of `{prefix}` in authorize_virtual_chunk_access is "
                "deprecated, because it "
                "silently uses credentials of the environment, or none; say which, for example "
                f"{_instead(str(prefix))}",
                DeprecationWarning,
                stacklevel=4,
            )


def _instead(prefix: str) -> str:
    """The explicit credential that is equivalent to None for a container."""
    return {
        "s3": "Credentials.S3(S3Credentials.FromEnv())",
        "tigris": "Credentials.S3(S3Credentials.FromEnv())",
        "gs": "Credentials.Gcs(GcsCredentials.Anonymous())",
        "gcs": "Credentials.Gcs(GcsCredentials.Anonymous())",
        "az": "Credentials.Azure(AzureCredentials.FromEnv())",
        "azure": "Credentials.Azure(AzureCredentials.FromEnv())",
        "abfs": "Credentials.Azure(AzureCredentials.FromEnv())",
        "file": "credentials.LocalFileSystemAccess",
        "http": "credentials.HttpAccess",
        "https": "credentials.HttpAccess",
    }.get(prefix.partition("://")[0], "an object of icefield.credentials")
