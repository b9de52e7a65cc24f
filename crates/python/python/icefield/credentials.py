"""Who asks a storage: nobody, whoever the environment says, a key, or a key that is renewed.

What these objects hold is shown by none of them, and pickled by all of them: a worker of another process needs it. If
a pickle must not hold a secret, use the environment of the worker (`from_env`) or a function (`get_credentials`), of
which the pickle has only the name.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from icefield import _display, _urls
from icefield._exceptions import ErrorKind, InvalidInputError
from icefield._family import Member, _Hidden, _set, members

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

Identity: TypeAlias = dict[str, Any]
"""Who asks, as the description of a storage has it."""


def _refused(message: str) -> InvalidInputError:
    return InvalidInputError(message, ErrorKind.INVALID_CREDENTIALS)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is a text, not a {type(value).__name__}")
    return value


def _expiry(value: object) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise TypeError("expires_after is a datetime with a time zone, such as datetime.now(UTC)")
    return value.astimezone(UTC)


def _microseconds(at: datetime | None) -> int | None:
    if at is None:
        return None
    return max(0, (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))


class S3StaticCredentials:
    """A key of S3. Its fields can be changed; a storage that was made of it keeps those that it had.

    `expires_after`, with a time zone, is when the key ceases to be good.
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
        """The name of the key."""
        return self._access_key_id

    @access_key_id.setter
    def access_key_id(self, value: str) -> None:
        self._access_key_id = _text(value, "access_key_id")

    @property
    def secret_access_key(self) -> str:
        """The key itself."""
        return self._secret_access_key

    @secret_access_key.setter
    def secret_access_key(self, value: str) -> None:
        self._secret_access_key = _text(value, "secret_access_key")

    @property
    def session_token(self) -> str | None:
        """The token of a temporary session."""
        return self._session_token

    @session_token.setter
    def session_token(self, value: str | None) -> None:
        self._session_token = None if value is None else _text(value, "session_token")

    @property
    def expires_after(self) -> datetime | None:
        """When the key ceases to be good, in UTC."""
        return self._expires_after

    @expires_after.setter
    def expires_after(self, value: datetime | None) -> None:
        self._expires_after = _expiry(value)

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
            "expires_after": _microseconds(self.expires_after),
        }


class GcsBearerCredential:
    """A token of Google Cloud Storage, and perhaps until when it is good."""

    __slots__ = ("_bearer", "_expires_after")

    def __init__(self, bearer: str, *, expires_after: datetime | None = None) -> None:
        self._bearer = _text(bearer, "bearer")
        self._expires_after = _expiry(expires_after)

    @property
    def bearer(self) -> str:
        """The token."""
        return self._bearer

    @property
    def expires_after(self) -> datetime | None:
        """When it ceases to be good, in UTC."""
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
        return {"bearer": self.bearer, "expires_after": _microseconds(self.expires_after)}


def _bearer(bearer: str, expires_after: datetime | None) -> GcsBearerCredential:
    return GcsBearerCredential(bearer, expires_after=expires_after)


class _Function(Member):
    """Keys that a function hands out: the pickle of the function, and a key that it has handed out already."""

    __slots__ = ("current", "pickled_function")
    __match_args__ = ("pickled_function", "current")
    _secret = True
    pickled_function: bytes
    current: Any

    def __init__(self, pickled_function: bytes, current: Any = None) -> None:
        if not isinstance(pickled_function, bytes):
            raise TypeError(
                "pickled_function is the pickle of a function: pass pickle.dumps(function), or use the function "
                "…_refreshable_credentials"
            )
        _set(self, "pickled_function", pickled_function)
        _set(self, "current", current)

    def _source(self, forms: tuple[type, ...]) -> _Source:
        return _Source(self.pickled_function, self.current, forms)


class _Source:
    """What the native side calls for a key: gives the one that is at hand first, if it is still good."""

    def __init__(self, pickled: bytes, current: Any, forms: tuple[type, ...]) -> None:
        self._pickled = pickled
        self._current = current
        self._forms = forms

    def __call__(self) -> str:
        given, self._current = self._current, None
        if given is None or _is_over(given.expires_after):
            given = pickle.loads(self._pickled)()
        if not isinstance(given, self._forms):
            wanted = " or ".join(form.__qualname__ for form in self._forms)
            raise TypeError(
                f"the function of credentials returned a {type(given).__name__}; it must return {wanted}"
            )
        return json.dumps(cast(Any, given)._document())


def _is_over(at: datetime | None) -> bool:
    return at is not None and at <= datetime.now(UTC)


def _pickled(function: Callable[[], Any]) -> bytes:
    if not callable(function):
        raise TypeError(f"get_credentials is a function, not a {type(function).__name__}")
    try:
        return pickle.dumps(function)
    except Exception as error:
        raise _refused(
            f"the function of credentials {getattr(function, '__qualname__', function)!s} cannot be pickled, which "
            "other processes would need: define it with `def` at the top level of a module (no lambda, no function "
            "inside of another one), or pass functools.partial of such a function"
        ) from error


# --- S3


class S3Credentials:
    """Who asks a bucket of S3: `S3Credentials.Static`, `.FromEnv`, `.Anonymous`, `.Refreshable`."""

    FromEnv: TypeAlias = "_S3FromEnv"
    Anonymous: TypeAlias = "_S3Anonymous"
    Static: TypeAlias = "_S3Static"
    Refreshable: TypeAlias = "_S3Refreshable"


class _S3FromEnv(Member, S3Credentials):
    """Whoever the environment says: its variables, profiles, and the services of the machine."""

    __slots__ = ()

    def __init__(self) -> None:
        pass


class _S3Anonymous(Member, S3Credentials):
    """Nobody: requests are not signed."""

    __slots__ = ()

    def __init__(self) -> None:
        pass


class _S3Static(Member, S3Credentials):
    """A key."""

    __slots__ = ("_0",)
    __match_args__ = ("_0",)
    _0: S3StaticCredentials

    def __init__(self, _0: S3StaticCredentials) -> None:
        if not isinstance(_0, S3StaticCredentials):
            raise TypeError(f"a key of S3 is an S3StaticCredentials, not a {type(_0).__name__}")
        _set(self, "_0", _0)


class _S3Refreshable(_Function, S3Credentials):
    """Keys that a function hands out, which returns `S3StaticCredentials`."""

    __slots__ = ()


AnyS3Credential: TypeAlias = _S3Static | _S3Anonymous | _S3FromEnv | _S3Refreshable


def s3_refreshable_credentials(
    get_credentials: Callable[[], S3StaticCredentials],
    scatter_initial_credentials: bool = False,
) -> S3Credentials.Refreshable:
    """Credentials that a function hands out; it is called again before they expire.

    The function must be one that can be pickled: defined at the top level of a module. It runs on a thread of its own.
    With `scatter_initial_credentials` it is called at once, and what it returns is used, and pickled, until it expires:
    many workers then need not call it when they begin.
    """
    current = _checked(get_credentials, scatter_initial_credentials, (S3StaticCredentials,))
    return _S3Refreshable(_pickled(get_credentials), current)


def _checked(function: Callable[[], Any], scatter: bool, forms: tuple[type, ...]) -> Any:
    if not scatter:
        return None
    current = function()
    if not isinstance(current, forms):
        wanted = " or ".join(form.__qualname__ for form in forms)
        raise TypeError(f"get_credentials returned a {type(current).__name__}, not {wanted}")
    return current


def s3_static_credentials(
    *,
    access_key_id: str,
    secret_access_key: str,
    session_token: str | None = None,
    expires_after: datetime | None = None,
) -> S3Credentials.Static:
    """A key of S3, with the token of a temporary session and the time of its end if there are any."""
    return _S3Static(
        S3StaticCredentials(access_key_id, secret_access_key, session_token, expires_after)
    )


def s3_anonymous_credentials() -> S3Credentials.Anonymous:
    """Nobody: requests are not signed."""
    return _S3Anonymous()


def s3_from_env_credentials() -> S3Credentials.FromEnv:
    """Whoever the environment says, in the process that uses it."""
    return _S3FromEnv()


def _one_way(service: str, ways: Mapping[str, bool]) -> str | None:
    """The one way to be known that was chosen.

    Raises `InvalidInputError`, a `ValueError`, if there are several.
    """
    chosen = [name for name, is_chosen in ways.items() if is_chosen]
    if len(chosen) > 1:
        raise _refused(
            f"conflicting credentials for {service}: {' and '.join(chosen)} were given; give only one of them"
        )
    return chosen[0] if chosen else None


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
    """Credentials of S3: a key, `anonymous`, `from_env`, or a function; of the environment if nothing is given.

    Raises `InvalidInputError`, a `ValueError`, if several are given, or half a key.
    """
    key = (access_key_id, secret_access_key, session_token, expires_after)
    ways = {
        "a key": any(it is not None for it in key),
        "anonymous": bool(anonymous),
        "from_env": bool(from_env),
        "get_credentials": get_credentials is not None,
    }
    match _one_way("S3", ways):
        case "anonymous":
            return _S3Anonymous()
        case "get_credentials":
            assert get_credentials is not None
            return s3_refreshable_credentials(get_credentials, scatter_initial_credentials)
        case "a key":
            if not access_key_id or not secret_access_key:
                raise _refused(
                    "a key of S3 is access_key_id and secret_access_key, and one of them is missing"
                )
            return s3_static_credentials(
                access_key_id=access_key_id,
                secret_access_key=secret_access_key,
                session_token=session_token,
                expires_after=expires_after,
            )
    if from_env is False:
        raise _refused("from_env is False and no other credentials for S3 are given; pass anonymous=True")
    return _S3FromEnv()


# --- Google Cloud Storage


class GcsStaticCredentials:
    """Credentials of Google that do not come from the environment: a file, its text, or a token."""

    ServiceAccount: TypeAlias = "_GcsStaticServiceAccount"
    ServiceAccountKey: TypeAlias = "_GcsStaticServiceAccountKey"
    ApplicationCredentials: TypeAlias = "_GcsStaticApplicationCredentials"
    BearerToken: TypeAlias = "_GcsStaticBearerToken"


class _OneText(Member):
    __slots__ = ("_0",)
    __match_args__ = ("_0",)
    _0: str

    def __init__(self, _0: str) -> None:
        _set(self, "_0", _text(_0, "it"))


class _GcsStaticServiceAccount(_OneText, GcsStaticCredentials):
    """The path of a file with the key of a service account. Whoever uses it must have the file."""

    __slots__ = ()


class _GcsStaticServiceAccountKey(_OneText, GcsStaticCredentials):
    """The key of a service account, as JSON."""

    __slots__ = ()
    _secret = True


class _GcsStaticApplicationCredentials(_OneText, GcsStaticCredentials):
    """The path of a file of application default credentials. Whoever uses it must have the file."""

    __slots__ = ()


class _GcsStaticBearerToken(_OneText, GcsStaticCredentials):
    """A token. It is not renewed."""

    __slots__ = ()
    _secret = True


AnyGcsStaticCredential: TypeAlias = (
    _GcsStaticServiceAccount
    | _GcsStaticServiceAccountKey
    | _GcsStaticApplicationCredentials
    | _GcsStaticBearerToken
)


class GcsCredentials:
    """Who asks Google Cloud Storage: `GcsCredentials.Static`, `.FromEnv`, `.Anonymous`, `.Refreshable`."""

    Anonymous: TypeAlias = "_GcsAnonymous"
    FromEnv: TypeAlias = "_GcsFromEnv"
    Static: TypeAlias = "_GcsStatic"
    Refreshable: TypeAlias = "_GcsRefreshable"


class _GcsAnonymous(Member, GcsCredentials):
    """Nobody."""

    __slots__ = ()

    def __init__(self) -> None:
        pass


class _GcsFromEnv(Member, GcsCredentials):
    """Whoever the environment says: application default credentials."""

    __slots__ = ()

    def __init__(self) -> None:
        pass


class _GcsStatic(Member, GcsCredentials):
    """A file, its text, or a token."""

    __slots__ = ("_0",)
    __match_args__ = ("_0",)
    _0: AnyGcsStaticCredential

    def __init__(self, _0: AnyGcsStaticCredential) -> None:
        if not isinstance(_0, GcsStaticCredentials):
            raise TypeError(f"it is one of GcsStaticCredentials, not a {type(_0).__name__}")
        _set(self, "_0", _0)


class _GcsRefreshable(_Function, GcsCredentials):
    """Tokens that a function hands out, which returns `GcsBearerCredential`."""

    __slots__ = ()


AnyGcsCredential: TypeAlias = _GcsAnonymous | _GcsFromEnv | _GcsStatic | _GcsRefreshable


def gcs_static_credentials(
    *,
    service_account_file: str | None = None,
    service_account_key: str | None = None,
    application_credentials: str | None = None,
    bearer_token: str | None = None,
) -> AnyGcsStaticCredential:
    """Credentials of Google: the path of a file, its text, or a token.

    Raises `InvalidInputError`, a `ValueError`, unless exactly one of them is given, and the file or the text is a JSON
    object with a type.
    """
    ways = {
        "service_account_file": service_account_file is not None,
        "service_account_key": service_account_key is not None,
        "application_credentials": application_credentials is not None,
        "bearer_token": bearer_token is not None,
    }
    way = _one_way("Google Cloud Storage", ways)
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
    raise _refused(f"no credentials for Google Cloud Storage are given; give one of {', '.join(ways)}")


def _check_file(path: str, name: str) -> None:
    try:
        with open(_text(path, name), encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise _refused(f"{name}: {path} cannot be read: {reason}") from None
    _check_key(text, f"{name}: {path}")


def _check_key(text: str, name: str) -> None:
    try:
        value = json.loads(_text(text, name))
    except ValueError:
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise _refused(
            f'{name} is no JSON object with a "type", such as "service_account"; pass what Google\'s console hands out'
        )


def gcs_refreshable_credentials(
    get_credentials: Callable[[], GcsBearerCredential],
    scatter_initial_credentials: bool = False,
) -> GcsCredentials.Refreshable:
    """Tokens that a function hands out; see `s3_refreshable_credentials`."""
    current = _checked(get_credentials, scatter_initial_credentials, (GcsBearerCredential,))
    return _GcsRefreshable(_pickled(get_credentials), current)


def gcs_anonymous_credentials() -> GcsCredentials.Anonymous:
    """Nobody."""
    return _GcsAnonymous()


def gcs_from_env_credentials() -> GcsCredentials.FromEnv:
    """Application default credentials, in the process that uses them."""
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
    """Credentials of Google Cloud Storage; of the environment if nothing is given.

    Raises `InvalidInputError`, a `ValueError`, if several are given.
    """
    static = {
        "service_account_file": service_account_file,
        "service_account_key": service_account_key,
        "application_credentials": application_credentials,
        "bearer_token": bearer_token,
    }
    ways = {name: value is not None for name, value in static.items()} | {
        "anonymous": bool(anonymous),
        "from_env": bool(from_env),
        "get_credentials": get_credentials is not None,
    }
    way = _one_way("Google Cloud Storage", ways)
    if way == "anonymous":
        return _GcsAnonymous()
    if get_credentials is not None:
        return gcs_refreshable_credentials(get_credentials, scatter_initial_credentials)
    if way in static:
        return _GcsStatic(gcs_static_credentials(**static))
    if from_env is False:
        raise _refused(
            "from_env is False and no other credentials for Google Cloud Storage are given; pass anonymous=True"
        )
    return _GcsFromEnv()


# --- Azure


class AzureRefreshableCredential:
    """What a function of Azure credentials returns: an access key, a SAS token or a bearer token, with its end."""

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
            "expires_after": _microseconds(self.expires_after),
        }


def _azure_new(form: Any, secret: str, expires_after: datetime | None) -> Any:
    return form(secret, expires_after=expires_after)


class _AzureNewAccessKey(_AzureNew):
    """A key of the account, in base 64."""

    __slots__ = ("expires_after", "key")
    __match_args__ = ("key", "expires_after")
    _form = "access_key"
    key: str

    def __init__(self, key: str, *, expires_after: datetime | None = None) -> None:
        _set(self, "key", _text(key, "key"))
        _set(self, "expires_after", _expiry(expires_after))


class _AzureNewSasToken(_AzureNew):
    """A shared access signature."""

    __slots__ = ("expires_after", "token")
    __match_args__ = ("token", "expires_after")
    _form = "sas_token"
    token: str

    def __init__(self, token: str, *, expires_after: datetime | None = None) -> None:
        _set(self, "token", _text(token, "token"))
        _set(self, "expires_after", _expiry(expires_after))


class _AzureNewBearerToken(_AzureNew):
    """A bearer token."""

    __slots__ = ("bearer", "expires_after")
    __match_args__ = ("bearer", "expires_after")
    _form = "bearer_token"
    bearer: str

    def __init__(self, bearer: str, *, expires_after: datetime | None = None) -> None:
        _set(self, "bearer", _text(bearer, "bearer"))
        _set(self, "expires_after", _expiry(expires_after))


class AzureStaticCredentials:
    """Credentials of Azure that do not change."""

    AccessKey: TypeAlias = "_AzureStaticAccessKey"
    SasToken: TypeAlias = "_AzureStaticSasToken"
    BearerToken: TypeAlias = "_AzureStaticBearerToken"


class _AzureOne(_OneText, AzureStaticCredentials):
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


class AzureCredentials:
    """Who asks Azure: `AzureCredentials.Static`, `.FromEnv`, `.Anonymous`, `.Refreshable`."""

    Anonymous: TypeAlias = "_AzureAnonymous"
    FromEnv: TypeAlias = "_AzureFromEnv"
    Static: TypeAlias = "_AzureStatic"
    Refreshable: TypeAlias = "_AzureRefreshable"


class _AzureAnonymous(Member, AzureCredentials):
    """Nobody."""

    __slots__ = ()

    def __init__(self) -> None:
        pass


class _AzureFromEnv(Member, AzureCredentials):
    """Whoever the variables `AZURE_…` of the environment say."""

    __slots__ = ()

    def __init__(self) -> None:
        pass


class _AzureStatic(Member, AzureCredentials):
    """Credentials that do not change."""

    __slots__ = ("_0",)
    __match_args__ = ("_0",)
    _0: AnyAzureStaticCredential

    def __init__(self, _0: AnyAzureStaticCredential) -> None:
        if not isinstance(_0, AzureStaticCredentials):
            raise TypeError(f"it is one of AzureStaticCredentials, not a {type(_0).__name__}")
        _set(self, "_0", _0)


class _AzureRefreshable(_Function, AzureCredentials):
    """Credentials that a function hands out, which returns one of `AzureRefreshableCredential`."""

    __slots__ = ()


AnyAzureCredential: TypeAlias = _AzureFromEnv | _AzureAnonymous | _AzureStatic | _AzureRefreshable
_AnyAzureRefreshable: TypeAlias = _AzureNewAccessKey | _AzureNewSasToken | _AzureNewBearerToken


def azure_static_credentials(
    *,
    access_key: str | None = None,
    sas_token: str | None = None,
    bearer_token: str | None = None,
) -> AnyAzureStaticCredential:
    """Credentials of Azure that do not change.

    Raises `InvalidInputError`, a `ValueError`, unless exactly one of them is given.
    """
    _one_way(
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
    raise _refused("no credentials for Azure are given; give access_key, sas_token or bearer_token")


def azure_refreshable_credentials(
    get_credentials: Callable[[], AzureRefreshableCredential],
    scatter_initial_credentials: bool = False,
) -> AzureCredentials.Refreshable:
    """Credentials that a function hands out; see `s3_refreshable_credentials`."""
    current = _checked(get_credentials, scatter_initial_credentials, (AzureRefreshableCredential,))
    return _AzureRefreshable(_pickled(get_credentials), current)


def azure_from_env_credentials() -> AzureCredentials.FromEnv:
    """Whoever the environment says, in the process that uses it."""
    return _AzureFromEnv()


def azure_anonymous_credentials() -> AzureCredentials.Anonymous:
    """Nobody."""
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
    """Credentials of Azure; of the environment if nothing is given.

    Raises `InvalidInputError`, a `ValueError`, if several are given.
    """
    static = {"access_key": access_key, "sas_token": sas_token, "bearer_token": bearer_token}
    ways = {name: value is not None for name, value in static.items()} | {
        "anonymous": bool(anonymous),
        "from_env": bool(from_env),
        "get_credentials": get_credentials is not None,
    }
    way = _one_way("Azure", ways)
    if way == "anonymous":
        return _AzureAnonymous()
    if get_credentials is not None:
        return azure_refreshable_credentials(get_credentials, scatter_initial_credentials)
    if way in static:
        return _AzureStatic(azure_static_credentials(**static))
    if from_env is False:
        raise _refused(
            "from_env is False and no other credentials for Azure are given; pass anonymous=True"
        )
    return _AzureFromEnv()


# --- Containers of virtual chunks


class Credentials:
    """Who asks for virtual chunks: one of the forms, by the service of their container."""

    S3: TypeAlias = "_AccessS3"
    Gcs: TypeAlias = "_AccessGcs"
    Azure: TypeAlias = "_AccessAzure"
    LocalFileSystemAccess: TypeAlias = "_AccessLocalFileSystemAccess"
    HttpAccess: TypeAlias = "_AccessHttpAccess"


class _Access(Member, Credentials):
    __slots__ = ("_0",)
    __match_args__ = ("_0",)


class _AccessS3(_Access):
    """Who asks S3."""

    __slots__ = ()
    _0: AnyS3Credential

    def __init__(self, _0: AnyS3Credential) -> None:
        if not isinstance(_0, S3Credentials):
            raise TypeError(f"it is one of S3Credentials, not a {type(_0).__name__}")
        _set(self, "_0", _0)


class _AccessGcs(_Access):
    """Who asks Google Cloud Storage."""

    __slots__ = ()
    _0: AnyGcsCredential

    def __init__(self, _0: GcsCredentials) -> None:
        if not isinstance(_0, GcsCredentials):
            raise TypeError(f"it is one of GcsCredentials, not a {type(_0).__name__}")
        _set(self, "_0", _0)


class _AccessAzure(_Access):
    """Who asks Azure."""

    __slots__ = ()
    _0: AnyAzureCredential

    def __init__(self, _0: AzureCredentials) -> None:
        if not isinstance(_0, AzureCredentials):
            raise TypeError(f"it is one of AzureCredentials, not a {type(_0).__name__}")
        _set(self, "_0", _0)


class _AccessLocalFileSystemAccess(Member, Credentials):
    """Files of this machine may be read."""

    __slots__ = ()

    def __init__(self) -> None:
        pass


class _AccessHttpAccess(Member, Credentials):
    """The web server may be read. Headers that it needs are in the container."""

    __slots__ = ()

    def __init__(self) -> None:
        pass


AnyCredential: TypeAlias = (
    _AccessS3 | _AccessGcs | _AccessAzure | _AccessLocalFileSystemAccess | _AccessHttpAccess
)

for _family, _prefix, _forms in (
    (S3Credentials, "_S3", (_S3FromEnv, _S3Anonymous, _S3Static, _S3Refreshable)),
    (
        GcsStaticCredentials,
        "_GcsStatic",
        (
            _GcsStaticServiceAccount,
            _GcsStaticServiceAccountKey,
            _GcsStaticApplicationCredentials,
            _GcsStaticBearerToken,
        ),
    ),
    (GcsCredentials, "_Gcs", (_GcsAnonymous, _GcsFromEnv, _GcsStatic, _GcsRefreshable)),
    (
        AzureRefreshableCredential,
        "_AzureNew",
        (_AzureNewAccessKey, _AzureNewSasToken, _AzureNewBearerToken),
    ),
    (
        AzureStaticCredentials,
        "_AzureStatic",
        (_AzureStaticAccessKey, _AzureStaticSasToken, _AzureStaticBearerToken),
    ),
    (AzureCredentials, "_Azure", (_AzureAnonymous, _AzureFromEnv, _AzureStatic, _AzureRefreshable)),
    (
        Credentials,
        "_Access",
        (
            _AccessS3,
            _AccessGcs,
            _AccessAzure,
            _AccessLocalFileSystemAccess,
            _AccessHttpAccess,
        ),
    ),
):
    members(_family, _prefix, *cast("tuple[type, ...]", _forms))
for _public in (S3StaticCredentials, GcsBearerCredential):
    _public.__module__ = "icefield"
del _family, _prefix, _forms, _public

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
    """Who asks for virtual chunks, by the prefixes of their containers: for `authorize_virtual_chunk_access`.

    `None` stands for the environment, or nobody: a container that names its server, where whoever can write to the
    repository could have credentials sent to, is asked by nobody.
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
            return _AccessGcs(credential)
        case AzureCredentials():
            return _AccessAzure(credential)
    raise _refused(
        f"unknown credentials for {_urls.shown(prefix)}: a {type(credential).__name__}; make them with "
        "s3_credentials(…), gcs_credentials(…) or azure_credentials(…), or pass LocalFileSystemAccess or HttpAccess"
    )


def grants_of(access: Mapping[str, AnyCredential | None]) -> list[_native.Grant]:
    """What the native side calls credentials for virtual chunks."""
    grants: list[_native.Grant] = []
    for prefix, credential in access.items():
        _text(prefix, "a prefix of virtual chunks")
        known = _access(prefix, credential)
        function: Callable[[], str] | None = None
        document: Identity
        match known:
            case None:
                document = {"service": "any"}
            case _AccessS3():
                identity, function = s3_identity(known._0)
                document = {"service": "s3", "identity": identity}
            case _AccessGcs():
                identity, function = gcs_identity(known._0)
                document = {"service": "gcs", "identity": identity}
            case _AccessAzure():
                identity, function = azure_identity(known._0)
                document = {"service": "azure", "identity": identity}
            case _AccessLocalFileSystemAccess():
                document = {"service": "local"}
            case _:
                document = {"service": "http"}
        grants.append((prefix, json.dumps(document), function))
    return grants


def s3_identity(credential: S3Credentials) -> tuple[Identity, Callable[[], str] | None]:
    """Who asks S3, as a description has it, and the function of keys if there is one."""
    match credential:
        case _S3FromEnv():
            return {"kind": "environment"}, None
        case _S3Anonymous():
            return {"kind": "anonymous"}, None
        case _S3Static():
            return {"kind": "static"} | credential._0._document(), None
        case _S3Refreshable():
            return {"kind": "function"}, credential._source((S3StaticCredentials,))
    raise TypeError(f"credentials of S3 are S3Credentials, not a {type(credential).__name__}")


def gcs_identity(credential: GcsCredentials) -> tuple[Identity, Callable[[], str] | None]:
    """Who asks Google Cloud Storage, as a description has it, and the function of tokens if there is one."""
    match credential:
        case _GcsFromEnv():
            return {"kind": "environment"}, None
        case _GcsAnonymous():
            return {"kind": "anonymous"}, None
        case _GcsRefreshable():
            return {"kind": "function"}, credential._source((GcsBearerCredential,))
        case _GcsStatic(_GcsStaticServiceAccountKey(text)):
            return {"kind": "key", "json": text}, None
        case _GcsStatic(_GcsStaticBearerToken(text)):
            return {"kind": "static", "bearer": text, "expires_after": None}, None
        case _GcsStatic(_GcsStaticServiceAccount(text) | _GcsStaticApplicationCredentials(text)):
            return {"kind": "file", "path": text}, None
    raise TypeError(
        f"credentials of Google Cloud Storage are GcsCredentials, not a {type(credential).__name__}"
    )


def azure_identity(credential: AzureCredentials) -> tuple[Identity, Callable[[], str] | None]:
    """Who asks Azure, as a description has it, and the function of credentials if there is one."""
    match credential:
        case _AzureFromEnv():
            return {"kind": "environment"}, None
        case _AzureAnonymous():
            return {"kind": "anonymous"}, None
        case _AzureRefreshable():
            return {"kind": "function"}, credential._source((AzureRefreshableCredential,))
        case _AzureStatic():
            static = credential._0
            return {
                "kind": "static",
                "form": static._form,
                "secret": static._0,
                "expires_after": None,
            }, None
    raise TypeError(f"credentials of Azure are AzureCredentials, not a {type(credential).__name__}")
