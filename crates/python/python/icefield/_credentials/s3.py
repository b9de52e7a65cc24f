"""Credentials of S3."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias

from icefield import _display
from icefield._credentials.forms import (
    Asked,
    Function,
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
    refused,
    text,
)
from icefield._family import _Hidden, members

__all__ = [
    "AnyS3Credential",
    "S3Credentials",
    "S3StaticCredentials",
    "s3_anonymous_credentials",
    "s3_credentials",
    "s3_from_env_credentials",
    "s3_refreshable_credentials",
    "s3_static_credentials",
]


class S3StaticCredentials:
    """A key of S3. Its fields are mutable; a storage keeps the values that they had at its creation.

    `expires_after` is the time of its expiry, with a time zone.
    """

    __slots__ = ("_access_key_id", "_expires_after", "_secret_access_key", "_session_token")

    def __init__(
        self,
        access_key_id: str,
        secret_access_key: str,
        session_token: str | None = None,
        expires_after: datetime | None = None,
    ) -> None:
        self.access_key_id = access_key_id
        self.secret_access_key = secret_access_key
        self.session_token = session_token
        self.expires_after = expires_after

    @property
    def access_key_id(self) -> str:
        """The id of the key."""
        return self._access_key_id

    @access_key_id.setter
    def access_key_id(self, value: str) -> None:
        self._access_key_id = text(value, "access_key_id")

    @property
    def secret_access_key(self) -> str:
        """The secret key."""
        return self._secret_access_key

    @secret_access_key.setter
    def secret_access_key(self, value: str) -> None:
        self._secret_access_key = text(value, "secret_access_key")

    @property
    def session_token(self) -> str | None:
        """The token of a temporary session."""
        return self._session_token

    @session_token.setter
    def session_token(self, value: str | None) -> None:
        self._session_token = None if value is None else text(value, "session_token")

    @property
    def expires_after(self) -> datetime | None:
        """The time of the key's expiry, in UTC."""
        return self._expires_after

    @expires_after.setter
    def expires_after(self, value: datetime | None) -> None:
        self._expires_after = expiry(value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, S3StaticCredentials):
            return NotImplemented
        return self.__reduce__() == other.__reduce__()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (
            self.access_key_id,
            self.secret_access_key,
            self.session_token,
            self.expires_after,
        )
        return S3StaticCredentials, fields

    def _rows(self) -> list[tuple[str, object, str]]:
        hidden = _Hidden()
        return [
            ("access_key_id", f"{self.access_key_id[:4]}****", ""),
            ("secret_access_key", hidden, ""),
            ("session_token", None if self.session_token is None else hidden, ""),
            ("expires_after", self.expires_after, ""),
        ]

    def __repr__(self) -> str:
        return _display.lines("icefield.credentials.S3StaticCredentials", self._rows())

    def _repr_html_(self) -> str:
        return _display.table("icefield.credentials.S3StaticCredentials", self._rows())

    def _document(self) -> Identity:
        return {
            "access_key_id": self.access_key_id,
            "secret_access_key": self.secret_access_key,
            "session_token": self.session_token,
            "expires_after": microseconds(self.expires_after),
        }


class S3Credentials(_Credentials):
    """Credentials of S3: `S3Credentials.Static`, `.FromEnv`, `.Anonymous`, `.Refreshable`."""

    _service = "S3"

    FromEnv: TypeAlias = "_S3FromEnv"
    Anonymous: TypeAlias = "_S3Anonymous"
    Static: TypeAlias = "_S3Static"
    Refreshable: TypeAlias = "_S3Refreshable"


class _S3FromEnv(_FromEnv, S3Credentials):
    """Credentials from the environment: its variables, profiles, and the services of the machine."""

    __slots__ = ()


class _S3Anonymous(_Anonymous, S3Credentials):
    """No credentials: requests are not signed."""

    __slots__ = ()


class _S3Static(_Static[S3StaticCredentials], S3Credentials):
    """A key."""

    __slots__ = ()
    _class = S3StaticCredentials

    def _identity(self) -> Asked:
        return {"kind": "static"} | self._0._document(), None


class _S3Refreshable(Function, S3Credentials):
    """Keys from a function, which returns `S3StaticCredentials`."""

    __slots__ = ()
    _form = S3StaticCredentials


AnyS3Credential: TypeAlias = _S3Static | _S3Anonymous | _S3FromEnv | _S3Refreshable


def s3_refreshable_credentials(
    get_credentials: Callable[[], S3StaticCredentials],
    scatter_initial_credentials: bool = False,
) -> S3Credentials.Refreshable:
    """Credentials from a function, which is called again before they expire.

    The function must be picklable, and so defined at the top level of a module. Its state, such as
    the arguments of a `functools.partial`, is pickled with it, and must not be secret. It runs on a
    thread of its own. With `scatter_initial_credentials`, it is called at once, and its result is
    used and pickled until it expires, so that many workers need not call it at their start.
    """
    return _S3Refreshable._of(get_credentials, scatter_initial_credentials)


def s3_static_credentials(
    *,
    access_key_id: str,
    secret_access_key: str,
    session_token: str | None = None,
    expires_after: datetime | None = None,
) -> S3Credentials.Static:
    """A key of S3, with the token and the expiry of a temporary session if there is one."""
    return _S3Static(
        S3StaticCredentials(access_key_id, secret_access_key, session_token, expires_after)
    )


def s3_anonymous_credentials() -> S3Credentials.Anonymous:
    """No credentials: requests are not signed."""
    return _S3Anonymous()


def s3_from_env_credentials() -> S3Credentials.FromEnv:
    """Credentials from the environment of the process that uses the storage."""
    return _S3FromEnv()


def s3_credentials(
    *,
    access_key_id: str | None = None,
    secret_access_key: str | None = None,
    session_token: str | None = None,
    expires_after: datetime | None = None,
    anonymous: bool | None = None,
    from_env: bool | None = None,
    get_credentials: Callable[[], S3StaticCredentials] | None = None,
    scatter_initial_credentials: bool = False,
) -> AnyS3Credential:
    """Credentials of S3: a key, `anonymous`, `from_env`, or a function; from the environment if no argument is given.

    Raises `InvalidInputError`, a `ValueError`, if several are given, or only a part of a key.
    """
    key = (access_key_id, secret_access_key, session_token, expires_after)
    match chosen(
        "S3",
        {"a key": True if any(it is not None for it in key) else None},
        anonymous=anonymous,
        from_env=from_env,
        get_credentials=get_credentials,
    ):
        case "anonymous":
            return _S3Anonymous()
        case "get_credentials":
            assert get_credentials is not None
            return s3_refreshable_credentials(get_credentials, scatter_initial_credentials)
        case "a key":
            if not access_key_id or not secret_access_key:
                raise refused(
                    "a key of S3 is access_key_id and secret_access_key, and one of them is missing"
                )
            return s3_static_credentials(
                access_key_id=access_key_id,
                secret_access_key=secret_access_key,
                session_token=session_token,
                expires_after=expires_after,
            )
    return _S3FromEnv()


members(S3Credentials, "_S3", _S3FromEnv, _S3Anonymous, _S3Static, _S3Refreshable)
S3StaticCredentials.__module__ = "icefield"
