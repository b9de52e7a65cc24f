"""Credentials of storages: anonymous, from the environment, a key, or a renewed key.

No representation of these objects shows a secret. Their pickles hold the secrets, and so do pickles
of a storage, repository, session or store with a key, unless it belongs to a storage
`without_secrets_in_pickles`. The pickle of a function (`get_credentials`) holds its name and the
arguments of a `functools.partial`, also for such a storage.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

from icefield import _urls
from icefield._credentials.azure import (
    AnyAzureCredential,
    AnyAzureStaticCredential,
    AzureCredentials,
    AzureRefreshableCredential,
    AzureStaticCredentials,
    azure_anonymous_credentials,
    azure_credentials,
    azure_from_env_credentials,
    azure_refreshable_credentials,
    azure_static_credentials,
)
from icefield._credentials.functions import Identity, refused, text
from icefield._credentials.gcs import (
    AnyGcsCredential,
    AnyGcsStaticCredential,
    GcsBearerCredential,
    GcsCredentials,
    GcsStaticCredentials,
    gcs_anonymous_credentials,
    gcs_credentials,
    gcs_from_env_credentials,
    gcs_refreshable_credentials,
    gcs_static_credentials,
)
from icefield._credentials.s3 import (
    AnyS3Credential,
    S3Credentials,
    S3StaticCredentials,
    s3_anonymous_credentials,
    s3_credentials,
    s3_from_env_credentials,
    s3_refreshable_credentials,
    s3_static_credentials,
)
from icefield._family import _Bare, _One, members

if TYPE_CHECKING:
    from icefield import _native

__all__ = [
    "AnyAzureCredential",
    "AnyAzureStaticCredential",
    "AnyCredential",
    "AnyGcsCredential",
    "AnyGcsStaticCredential",
    "AnyS3Credential",
    "AzureCredentials",
    "AzureRefreshableCredential",
    "AzureStaticCredentials",
    "Credentials",
    "GcsBearerCredential",
    "GcsCredentials",
    "GcsStaticCredentials",
    "HttpAccess",
    "LocalFileSystemAccess",
    "S3Credentials",
    "S3StaticCredentials",
    "azure_anonymous_credentials",
    "azure_credentials",
    "azure_from_env_credentials",
    "azure_refreshable_credentials",
    "azure_static_credentials",
    "containers_credentials",
    "gcs_anonymous_credentials",
    "gcs_credentials",
    "gcs_from_env_credentials",
    "gcs_refreshable_credentials",
    "gcs_static_credentials",
    "s3_anonymous_credentials",
    "s3_credentials",
    "s3_from_env_credentials",
    "s3_refreshable_credentials",
    "s3_static_credentials",
]


class Credentials:
    """Credentials for virtual chunks: one of the forms, by the service of their container."""

    S3: TypeAlias = "_AccessS3"
    Gcs: TypeAlias = "_AccessGcs"
    Azure: TypeAlias = "_AccessAzure"
    LocalFileSystemAccess: TypeAlias = "_AccessLocalFileSystemAccess"
    HttpAccess: TypeAlias = "_AccessHttpAccess"


class _AccessS3(_One[AnyS3Credential], Credentials):
    """Credentials of S3."""

    __slots__ = ()
    _class = S3Credentials
    _service = "s3"


class _AccessGcs(_One[AnyGcsCredential], Credentials):
    """Credentials of Google Cloud Storage."""

    __slots__ = ()
    _class = GcsCredentials
    _service = "gcs"


class _AccessAzure(_One[AnyAzureCredential], Credentials):
    """Credentials of Azure."""

    __slots__ = ()
    _class = AzureCredentials
    _service = "azure"


class _AccessLocalFileSystemAccess(_Bare, Credentials):
    """Permission to read files of this machine."""

    __slots__ = ()
    _service = "local"


class _AccessHttpAccess(_Bare, Credentials):
    """Permission to read from the web server. The container has the headers that it needs."""

    __slots__ = ()
    _service = "http"


AnyCredential: TypeAlias = (
    _AccessS3 | _AccessGcs | _AccessAzure | _AccessLocalFileSystemAccess | _AccessHttpAccess
)

members(
    Credentials,
    "_Access",
    _AccessS3,
    _AccessGcs,
    _AccessAzure,
    _AccessLocalFileSystemAccess,
    _AccessHttpAccess,
)

LocalFileSystemAccess = Credentials.LocalFileSystemAccess()
HttpAccess = Credentials.HttpAccess()


def containers_credentials(
    m: Mapping[
        str,
        AnyS3Credential
        | AnyGcsCredential
        | AnyAzureCredential
        | Credentials.LocalFileSystemAccess
        | Credentials.HttpAccess
        | None,
    ],
) -> dict[str, AnyCredential | None]:
    """Credentials for virtual chunks, by the prefixes of their containers: for `authorize_virtual_chunk_access`.

    A prefix may end with options that only the reader may set, as in
    `s3://archive/?endpoint=https://minio.example.org`: an endpoint in the configuration of the
    repository is refused unless it is given here, too. The options are `endpoint`, `region`,
    `path_style`, `preset`, `requester_pays` (S3), `endpoint`, `user_project` (Google), `account`,
    `endpoint` (Azure), `private`, `headers` (web servers).

    `None` stands for the credentials of the environment, or for none: those of the environment go
    only to the default server of a bucket.
    """
    return {prefix: _access(prefix, credential) for prefix, credential in m.items()}


def _access(prefix: str, credential: object) -> AnyCredential | None:
    match credential:
        case None:
            return None
        case Credentials():
            return cast(AnyCredential, credential)
        case S3Credentials():
            return _AccessS3(cast(AnyS3Credential, credential))
        case GcsCredentials():
            return _AccessGcs(cast(AnyGcsCredential, credential))
        case AzureCredentials():
            return _AccessAzure(cast(AnyAzureCredential, credential))
    raise refused(
        f"unknown credentials for {_urls.shown(prefix)}: a {type(credential).__name__}; make them with "
        "s3_credentials(…), gcs_credentials(…) or azure_credentials(…), or pass LocalFileSystemAccess or HttpAccess"
    )


def grants_of(access: Mapping[str, AnyCredential | None]) -> list[_native.Grant]:
    """The credentials for virtual chunks in the form of the native module."""
    grants: list[_native.Grant] = []
    for prefix, credential in access.items():
        text(prefix, "a prefix of virtual chunks")
        try:
            prefix.encode()
        except UnicodeEncodeError:
            raise refused(
                "a prefix of virtual chunks has no UTF-8 form: half of a surrogate pair is in it"
            ) from None
        known = _access(prefix, credential)
        document: Identity = {"service": "any" if known is None else known._service}
        function: Callable[[], str] | None = None
        if isinstance(known, (_AccessS3, _AccessGcs, _AccessAzure)):
            document["identity"], function = known._0._identity()
        grants.append((prefix, json.dumps(document), function))
    return grants
