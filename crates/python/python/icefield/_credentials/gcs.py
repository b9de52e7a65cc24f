"""Credentials of Google Cloud Storage."""

from __future__ import annotations

import json
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
from icefield._family import members

__all__ = [
    "AnyGcsCredential",
    "AnyGcsStaticCredential",
    "GcsBearerCredential",
    "GcsCredentials",
    "GcsStaticCredentials",
    "gcs_anonymous_credentials",
    "gcs_credentials",
    "gcs_from_env_credentials",
    "gcs_refreshable_credentials",
    "gcs_static_credentials",
]


class GcsBearerCredential:
    """A token of Google Cloud Storage, with an optional expiry."""

    __slots__ = ("_bearer", "_expires_after")

    def __init__(self, bearer: str, *, expires_after: datetime | None = None) -> None:
        self._bearer = text(bearer, "bearer")
        self._expires_after = expiry(expires_after)

    @property
    def bearer(self) -> str:
        """The token."""
        return self._bearer

    @property
    def expires_after(self) -> datetime | None:
        """The time of its expiry, in UTC."""
        return self._expires_after

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GcsBearerCredential):
            return NotImplemented
        return (self.bearer, self.expires_after) == (other.bearer, other.expires_after)

    def __hash__(self) -> int:
        return hash((self.bearer, self.expires_after))

    def __reduce__(self) -> tuple[Any, ...]:
        return _bearer, (self.bearer, self.expires_after)

    def __repr__(self) -> str:
        return f"icefield.GcsBearerCredential(****, expires_after={self.expires_after!r})"

    def _document(self) -> Identity:
        return {"bearer": self.bearer, "expires_after": microseconds(self.expires_after)}


def _bearer(bearer: str, expires_after: datetime | None) -> GcsBearerCredential:
    return GcsBearerCredential(bearer, expires_after=expires_after)


class GcsStaticCredentials:
    """Static credentials of Google: a file, its text, or a token."""

    ServiceAccount: TypeAlias = "_GcsStaticServiceAccount"
    ServiceAccountKey: TypeAlias = "_GcsStaticServiceAccountKey"
    ApplicationCredentials: TypeAlias = "_GcsStaticApplicationCredentials"
    BearerToken: TypeAlias = "_GcsStaticBearerToken"


class _GcsStaticServiceAccount(OneText, GcsStaticCredentials):
    """The path of a file with the key of a service account. Every process that uses it needs the file."""

    __slots__ = ()

    def _identity(self) -> Identity:
        return {"kind": "file", "path": self._0}


class _GcsStaticServiceAccountKey(OneText, GcsStaticCredentials):
    """The key of a service account, as JSON."""

    __slots__ = ()
    _secret = True

    def _identity(self) -> Identity:
        return {"kind": "key", "json": self._0}


class _GcsStaticApplicationCredentials(OneText, GcsStaticCredentials):
    """The path of a file of application default credentials. Every process that uses it needs the file."""

    __slots__ = ()

    def _identity(self) -> Identity:
        return {"kind": "file", "path": self._0}


class _GcsStaticBearerToken(OneText, GcsStaticCredentials):
    """A token. It is not renewed."""

    __slots__ = ()
    _secret = True

    def _identity(self) -> Identity:
        return {"kind": "static", "bearer": self._0, "expires_after": None}


AnyGcsStaticCredential: TypeAlias = (
    _GcsStaticServiceAccount
    | _GcsStaticServiceAccountKey
    | _GcsStaticApplicationCredentials
    | _GcsStaticBearerToken
)


class GcsCredentials(_Credentials):
    """Credentials of Google Cloud Storage: `GcsCredentials.Static`, `.FromEnv`, `.Anonymous`, `.Refreshable`."""

    _service = "Google Cloud Storage"

    Anonymous: TypeAlias = "_GcsAnonymous"
    FromEnv: TypeAlias = "_GcsFromEnv"
    Static: TypeAlias = "_GcsStatic"
    Refreshable: TypeAlias = "_GcsRefreshable"


class _GcsAnonymous(_Anonymous, GcsCredentials):
    """No credentials."""

    __slots__ = ()


class _GcsFromEnv(_FromEnv, GcsCredentials):
    """Credentials from the environment: application default credentials."""

    __slots__ = ()


class _GcsStatic(_Static[AnyGcsStaticCredential], GcsCredentials):
    """A file, its text, or a token."""

    __slots__ = ()
    _class = GcsStaticCredentials

    def _identity(self) -> Asked:
        return self._0._identity(), None


class _GcsRefreshable(Function, GcsCredentials):
    """Tokens from a function, which returns `GcsBearerCredential`."""

    __slots__ = ()
    _form = GcsBearerCredential


AnyGcsCredential: TypeAlias = _GcsAnonymous | _GcsFromEnv | _GcsStatic | _GcsRefreshable


def gcs_static_credentials(
    *,
    service_account_file: str | None = None,
    service_account_key: str | None = None,
    application_credentials: str | None = None,
    bearer_token: str | None = None,
) -> AnyGcsStaticCredential:
    """Credentials of Google: the path of a file, its text, or a token.

    Raises `InvalidInputError`, a `ValueError`, unless exactly one argument is given, and the file
    or the text is a JSON object with a type.
    """
    ways = {
        "service_account_file": service_account_file is not None,
        "service_account_key": service_account_key is not None,
        "application_credentials": application_credentials is not None,
        "bearer_token": bearer_token is not None,
    }
    way = one_way("Google Cloud Storage", ways)
    if service_account_file is not None:
        _check_file(service_account_file, "service_account_file")
        return _GcsStaticServiceAccount(service_account_file)
    if service_account_key is not None:
        _check_key(service_account_key, "service_account_key")
        return _GcsStaticServiceAccountKey(service_account_key)
    if application_credentials is not None:
        _check_file(application_credentials, "application_credentials")
        return _GcsStaticApplicationCredentials(application_credentials)
    if bearer_token is not None:
        return _GcsStaticBearerToken(bearer_token)
    assert way is None
    raise refused(
        f"no credentials for Google Cloud Storage are given; give one of {', '.join(ways)}"
    )


def _check_file(path: str, name: str) -> None:
    try:
        with open(text(path, name), encoding="utf-8") as file:
            said = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise refused(f"{name}: {path} cannot be read: {reason}") from None
    _check_key(said, f"{name}: {path}")


def _check_key(said: str, name: str) -> None:
    try:
        value = json.loads(text(said, name))
    except ValueError:
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise refused(
            f'{name} is no JSON object with a "type", such as "service_account"; pass what Google\'s console hands out'
        )


def gcs_refreshable_credentials(
    get_credentials: Callable[[], GcsBearerCredential],
    scatter_initial_credentials: bool = False,
) -> GcsCredentials.Refreshable:
    """Tokens from a function; see `s3_refreshable_credentials`."""
    return _GcsRefreshable._of(get_credentials, scatter_initial_credentials)


def gcs_anonymous_credentials() -> GcsCredentials.Anonymous:
    """No credentials."""
    return _GcsAnonymous()


def gcs_from_env_credentials() -> GcsCredentials.FromEnv:
    """Application default credentials of the process that uses the storage."""
    return _GcsFromEnv()


def gcs_credentials(
    *,
    service_account_file: str | None = None,
    service_account_key: str | None = None,
    application_credentials: str | None = None,
    bearer_token: str | None = None,
    from_env: bool | None = None,
    anonymous: bool | None = None,
    get_credentials: Callable[[], GcsBearerCredential] | None = None,
    scatter_initial_credentials: bool = False,
) -> AnyGcsCredential:
    """Credentials of Google Cloud Storage; from the environment if no argument is given.

    Raises `InvalidInputError`, a `ValueError`, if several are given.
    """
    static = {
        "service_account_file": service_account_file,
        "service_account_key": service_account_key,
        "application_credentials": application_credentials,
        "bearer_token": bearer_token,
    }
    way = chosen(
        "Google Cloud Storage",
        static,
        anonymous=anonymous,
        from_env=from_env,
        get_credentials=get_credentials,
    )
    if way == "anonymous":
        return _GcsAnonymous()
    if get_credentials is not None:
        return gcs_refreshable_credentials(get_credentials, scatter_initial_credentials)
    if way in static:
        return _GcsStatic(gcs_static_credentials(**static))
    return _GcsFromEnv()


members(
    GcsStaticCredentials,
    "_GcsStatic",
    _GcsStaticServiceAccount,
    _GcsStaticServiceAccountKey,
    _GcsStaticApplicationCredentials,
    _GcsStaticBearerToken,
)
members(GcsCredentials, "_Gcs", _GcsAnonymous, _GcsFromEnv, _GcsStatic, _GcsRefreshable)
GcsBearerCredential.__module__ = "icefield"
