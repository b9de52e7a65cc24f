"""Storages of repositories and of virtual chunks.

Each function returns at once: the storage connects at its first use. Every argument takes effect,
or raises an `InvalidInputError` (a `ValueError`) that names it. Neither representations nor errors
show secrets; see `Storage` for the contents of pickles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from icefield._checks import truth
from icefield._latency_storage import LatencyStorage
from icefield._notices import IcefieldWarning
from icefield._storage import Storage
from icefield._storage.s3_buckets import (
    hf_storage,
    r2_storage,
    s3_object_store_storage,
    s3_storage,
    tigris_storage,
)
from icefield._storage_object import StorageObjectInfo
from icefield._storage_settings import (
    StorageConcurrencySettings,
    StorageRetriesSettings,
    StorageSettings,
    StorageTimeoutSettings,
)
from icefield._store_options import (
    AnyObjectStoreConfig,
    ChecksumAlgorithm,
    ObjectStoreConfig,
    S3Options,
)
from icefield._values import ChunkType
from icefield.credentials import (
    GcsBearerCredential,
    azure_credentials,
    gcs_credentials,
)

__all__ = [
    "AnyObjectStoreConfig",
    "ChecksumAlgorithm",
    "ChunkType",
    "IcefieldWarning",
    "LatencyStorage",
    "ObjectStoreConfig",
    "S3Options",
    "Storage",
    "StorageConcurrencySettings",
    "StorageObjectInfo",
    "StorageRetriesSettings",
    "StorageSettings",
    "StorageTimeoutSettings",
    "azure_storage",
    "azure_store",
    "gcs_storage",
    "gcs_store",
    "hf_storage",
    "http_storage",
    "http_store",
    "in_memory_storage",
    "local_filesystem_storage",
    "local_filesystem_store",
    "r2_storage",
    "redirect_storage",
    "s3_object_store_storage",
    "s3_storage",
    "s3_store",
    "tigris_storage",
]


def in_memory_storage() -> Storage:
    """A new, empty storage in the memory of this process, for tests. Its contents are lost when it is dropped."""
    return Storage.new_in_memory()


def local_filesystem_storage(
    path: str, *, locks: Literal["detect", "trusted"] = "detect"
) -> Storage:
    """A directory, created at the first write.

    Commits are safe on a local disk, from any number of threads and processes, and on network file
    systems whose servers keep the locks. On others, such as sshfs, commits are refused unless
    `locks="trusted"` states that locks reach all writing machines, or that only one machine writes.
    If the statement is wrong, acknowledged commits can be lost.

    A relative path is resolved in the current working directory. URLs, an empty path, and names
    that are not UTF-8 raise an `InvalidInputError`.
    """
    return Storage.new_local_filesystem(path, locks=locks)


def gcs_storage(
    *,
    bucket: str,
    prefix: str | None,
    service_account_file: str | None = None,
    service_account_key: str | None = None,
    application_credentials: str | None = None,
    bearer_token: str | None = None,
    anonymous: bool | None = None,
    from_env: bool | None = None,
    config: dict[str, str] | None = None,
    get_credentials: Callable[[], GcsBearerCredential] | None = None,
    scatter_initial_credentials: bool = False,
    read_headers: dict[str, str] | None = None,
    write_headers: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
) -> Storage:
    """A bucket of Google Cloud Storage.

    Credentials are the path of a file, its text, a token, `anonymous`, `from_env` or a function; those of the
    environment if nothing is given. `config` may have `google_base_url` (without TLS: and `allow_http`),
    `user_project`, `google_skip_signature`, `timeout` and `read_timeout`. Headers are refused.
    """
    credentials = gcs_credentials(
        service_account_file=service_account_file,
        service_account_key=service_account_key,
        application_credentials=application_credentials,
        bearer_token=bearer_token,
        from_env=from_env,
        anonymous=anonymous,
        get_credentials=get_credentials,
        scatter_initial_credentials=scatter_initial_credentials,
    )
    return Storage.new_gcs(
        bucket,
        prefix,
        credentials,
        config=config,
        read_headers=read_headers,
        write_headers=write_headers,
        headers=headers,
    )


def azure_storage(
    *,
    account: str,
    container: str,
    prefix: str,
    access_key: str | None = None,
    sas_token: str | None = None,
    bearer_token: str | None = None,
    from_env: bool | None = None,
    anonymous: bool | None = None,
    config: dict[str, str] | None = None,
) -> Storage:
    """A container of Azure Blob Storage.

    Credentials are a key of the account, a signature, a token, `anonymous` or `from_env`; those of the environment if
    nothing is given. `config` may have `azure_endpoint` (without TLS: and `allow_http`), `azure_skip_signature`,
    `azure_client_id`, `azure_client_secret` and `azure_tenant_id`, `timeout` and `read_timeout`.
    """
    credentials = azure_credentials(
        access_key=access_key,
        sas_token=sas_token,
        bearer_token=bearer_token,
        from_env=from_env,
        anonymous=anonymous,
    )
    return Storage.new_azure_blob(account, container, prefix, credentials, config=config)


def http_storage(
    base_url: str,
    opts: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
) -> Storage:
    """A read-only storage of the files below a URL of a web server.

    A user and password in the URL are sent as a header, and not shown. `opts` may have `allow_http`, `timeout`,
    `connect_timeout`, `read_timeout` (times such as `5s`) and `user_agent`. `headers` are sent with each request.
    """
    return Storage.new_http(base_url, opts, headers)


def redirect_storage(base_url: str) -> Storage:
    """The storage that a web server redirects to, resolved at the first use.

    The server answers with a redirect to a public bucket or web server: `s3://…`, `gs://…`,
    `az://…`, `https://…`. No credentials are sent there. A redirect to this machine or to its local
    network is refused.
    """
    return Storage.new_redirect(base_url)


def s3_store(
    region: str | None = None,
    endpoint_url: str | None = None,
    allow_http: bool = False,
    anonymous: bool = False,
    s3_compatible: bool = False,
    force_path_style: bool = False,
    network_stream_timeout_seconds: int = 60,
    requester_pays: bool = False,
    checksum_algorithm: ChecksumAlgorithm | None = None,
) -> ObjectStoreConfig.S3Compatible | ObjectStoreConfig.S3:
    """The store of a container of virtual chunks in S3; with `s3_compatible`, in a server with its protocol."""
    options = S3Options(
        region=region,
        endpoint_url=endpoint_url,
        allow_http=allow_http,
        anonymous=anonymous,
        force_path_style=force_path_style,
        network_stream_timeout_seconds=network_stream_timeout_seconds,
        requester_pays=requester_pays,
        checksum_algorithm=checksum_algorithm,
    )
    if truth(s3_compatible, "s3_compatible"):
        return ObjectStoreConfig.S3Compatible(options)
    return ObjectStoreConfig.S3(options)


def gcs_store(opts: dict[str, str] | None = None) -> ObjectStoreConfig.Gcs:
    """The store of a container of virtual chunks in Google Cloud Storage; `opts` as `config` of `gcs_storage`."""
    return ObjectStoreConfig.Gcs(opts)


def azure_store(*, account: str, config: dict[str, str] | None = None) -> ObjectStoreConfig.Azure:
    """The store of a container of virtual chunks in Azure; `config` as that of `azure_storage`."""
    return ObjectStoreConfig.Azure({"account": account, **(config or {})})


def http_store(
    opts: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
) -> ObjectStoreConfig.Http:
    """The store of virtual chunks on a web server; `opts` as those of `http_storage`.

    `headers` become a part of the repository's configuration: every reader of the repository can
    read them.
    """
    return ObjectStoreConfig.Http(opts, headers)


def local_filesystem_store(path: str) -> ObjectStoreConfig.LocalFileSystem:
    """A directory of this machine with virtual chunks."""
    return ObjectStoreConfig.LocalFileSystem(path)
