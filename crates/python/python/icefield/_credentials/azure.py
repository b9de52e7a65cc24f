"""Credentials of Azure Blob Storage."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias

from icefield._credentials.forms import (
    Asked,
    Function,
    OneText,
    _Anonymous,
    _Credentials,
    _FromEnv,
    _Static,
)
from icefield._credentials.functions import (
    Identity,
    chosen,
    expiry,
    microseconds,
    one_way,
    refused,
    text,
)
from icefield._family import Member, _set, members

__all__ = [
    "AnyAzureCredential",
    "AnyAzureStaticCredential",
    "AzureCredentials",
    "AzureRefreshableCredential",
    "AzureStaticCredentials",
    "azure_anonymous_credentials",
    "azure_credentials",
    "azure_from_env_credentials",
    "azure_refreshable_credentials",
    "azure_static_credentials",
]


class AzureRefreshableCredential:
    """The result of a credential function for Azure: an access key, a SAS token or a bearer token, with its expiry."""

    AccessKey: TypeAlias = "_AzureNewAccessKey"
    SasToken: TypeAlias = "_AzureNewSasToken"
    BearerToken: TypeAlias = "_AzureNewBearerToken"


class _AzureNew(Member, AzureRefreshableCredential):
    __slots__ = ()
    _secret = True
    expires_after: datetime | None
    _form = ""

    def __reduce__(self) -> tuple[Any, ...]:
        name, _ = self.__match_args__
        return _azure_new, (type(self), getattr(self, name), self.expires_after)

    def _document(self) -> Identity:
        name, _ = self.__match_args__
        return {
            "form": self._form,
            "secret": getattr(self, name),
            "expires_after": microseconds(self.expires_after),
        }


def _azure_new(form: Any, secret: str, expires_after: datetime | None) -> Any:
    return form(secret, expires_after=expires_after)


class _AzureNewAccessKey(_AzureNew):
    """A key of the account, in base 64."""

    __slots__ = ("expires_after", "key")
    __match_args__ = ("key", "expires_after")
    _form = "access_key"
    key: str

    def __init__(self, key: str, expires_after: datetime | None = None) -> None:
        _set(self, "key", text(key, "key"))
        _set(self, "expires_after", expiry(expires_after))


class _AzureNewSasToken(_AzureNew):
    """A shared access signature."""

    __slots__ = ("expires_after", "token")
    __match_args__ = ("token", "expires_after")
    _form = "sas_token"
    token: str

    def __init__(self, token: str, expires_after: datetime | None = None) -> None:
        _set(self, "token", text(token, "token"))
        _set(self, "expires_after", expiry(expires_after))


class _AzureNewBearerToken(_AzureNew):
    """A bearer token."""

    __slots__ = ("bearer", "expires_after")
    __match_args__ = ("bearer", "expires_after")
    _form = "bearer_token"
    bearer: str

    def __init__(self, bearer: str, expires_after: datetime | None = None) -> None:
        _set(self, "bearer", text(bearer, "bearer"))
        _set(self, "expires_after", expiry(expires_after))


class AzureStaticCredentials:
    """Static credentials of Azure."""

    AccessKey: TypeAlias = "_AzureStaticAccessKey"
    SasToken: TypeAlias = "_AzureStaticSasToken"
    BearerToken: TypeAlias = "_AzureStaticBearerToken"


class _AzureOne(OneText, AzureStaticCredentials):
    __slots__ = ()
    _secret = True
    _form = ""


class _AzureStaticAccessKey(_AzureOne):
    """A key of the account, in base 64."""

    __slots__ = ()
    _form = "access_key"


class _AzureStaticSasToken(_AzureOne):
    """A shared access signature: `sv=…&sig=…`."""

    __slots__ = ()
    _form = "sas_token"


class _AzureStaticBearerToken(_AzureOne):
    """A bearer token. It is not renewed."""

    __slots__ = ()
    _form = "bearer_token"


AnyAzureStaticCredential: TypeAlias = (
    _AzureStaticAccessKey | _AzureStaticSasToken | _AzureStaticBearerToken
)


class AzureCredentials(_Credentials):
    """Credentials of Azure: `AzureCredentials.Static`, `.FromEnv`, `.Anonymous`, `.Refreshable`."""

    _service = "Azure"

    Anonymous: TypeAlias = "_AzureAnonymous"
    FromEnv: TypeAlias = "_AzureFromEnv"
    Static: TypeAlias = "_AzureStatic"
    Refreshable: TypeAlias = "_AzureRefreshable"


class _AzureAnonymous(_Anonymous, AzureCredentials):
    """No credentials."""

    __slots__ = ()


class _AzureFromEnv(_FromEnv, AzureCredentials):
    """Credentials from the environment variables `AZURE_…`."""

    __slots__ = ()


class _AzureStatic(_Static[AnyAzureStaticCredential], AzureCredentials):
    """Static credentials."""

    __slots__ = ()
    _class = AzureStaticCredentials

    def _identity(self) -> Asked:
        static = {"form": self._0._form, "secret": self._0._0}
        return {"kind": "static", "expires_after": None} | static, None


class _AzureRefreshable(Function, AzureCredentials):
    """Credentials from a function, which returns one of `AzureRefreshableCredential`."""

    __slots__ = ()
    _form = AzureRefreshableCredential


AnyAzureCredential: TypeAlias = _AzureFromEnv | _AzureAnonymous | _AzureStatic | _AzureRefreshable
_AnyAzureRefreshable: TypeAlias = _AzureNewAccessKey | _AzureNewSasToken | _AzureNewBearerToken


def azure_static_credentials(
    *,
    access_key: str | None = None,
    sas_token: str | None = None,
    bearer_token: str | None = None,
) -> AnyAzureStaticCredential:
    """Static credentials of Azure.

    Raises `InvalidInputError`, a `ValueError`, unless exactly one argument is given.
    """
    one_way(
        "Azure",
        {
            "access_key": access_key is not None,
            "sas_token": sas_token is not None,
            "bearer_token": bearer_token is not None,
        },
    )
    if access_key is not None:
        return _AzureStaticAccessKey(access_key)
    if sas_token is not None:
        return _AzureStaticSasToken(sas_token)
    if bearer_token is not None:
        return _AzureStaticBearerToken(bearer_token)
    raise refused("no credentials for Azure are given; give access_key, sas_token or bearer_token")


def azure_refreshable_credentials(
    get_credentials: Callable[[], AzureRefreshableCredential],
    scatter_initial_credentials: bool = False,
) -> AzureCredentials.Refreshable:
    """Credentials from a function; see `s3_refreshable_credentials`."""
    return _AzureRefreshable._of(get_credentials, scatter_initial_credentials)


def azure_from_env_credentials() -> AzureCredentials.FromEnv:
    """Credentials from the environment of the process that uses the storage."""
    return _AzureFromEnv()


def azure_anonymous_credentials() -> AzureCredentials.Anonymous:
    """No credentials."""
    return _AzureAnonymous()


def azure_credentials(
    *,
    access_key: str | None = None,
    sas_token: str | None = None,
    bearer_token: str | None = None,
    from_env: bool | None = None,
    anonymous: bool | None = None,
    get_credentials: Callable[[], AzureRefreshableCredential] | None = None,
    scatter_initial_credentials: bool = False,
) -> AnyAzureCredential:
    """Credentials of Azure; from the environment if no argument is given.

    Raises `InvalidInputError`, a `ValueError`, if several are given.
    """
    static = {"access_key": access_key, "sas_token": sas_token, "bearer_token": bearer_token}
    way = chosen(
        "Azure",
        static,
        anonymous=anonymous,
        from_env=from_env,
        get_credentials=get_credentials,
    )
    if way == "anonymous":
        return _AzureAnonymous()
    if get_credentials is not None:
        return azure_refreshable_credentials(get_credentials, scatter_initial_credentials)
    if way in static:
        return _AzureStatic(azure_static_credentials(**static))
    return _AzureFromEnv()


members(
    AzureRefreshableCredential,
    "_AzureNew",
    _AzureNewAccessKey,
    _AzureNewSasToken,
    _AzureNewBearerToken,
)
members(
    AzureStaticCredentials,
    "_AzureStatic",
    _AzureStaticAccessKey,
    _AzureStaticSasToken,
    _AzureStaticBearerToken,
)
members(AzureCredentials, "_Azure", _AzureAnonymous, _AzureFromEnv, _AzureStatic, _AzureRefreshable)
