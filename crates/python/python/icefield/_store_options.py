"""The stores of containers of virtual chunks: one form for each service."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from pathlib import PurePath
from typing import Any, TypeAlias

from icefield import _display, _urls
from icefield._config.section import Section, Setting, text, truth, whole
from icefield._family import Member, _Hidden, _set, members

__all__ = ["AnyObjectStoreConfig", "ChecksumAlgorithm", "ObjectStoreConfig", "S3Options"]


class ChecksumAlgorithm(IntEnum):
    """A digest with which the store checks uploads."""

    Crc32 = 0
    Crc32c = 1
    Crc64Nvme = 2
    Sha1 = 3
    Sha256 = 4

    def __repr__(self) -> str:
        return f"ChecksumAlgorithm.{self.name}"

    __str__ = __repr__


ChecksumAlgorithm.__module__ = "icefield"

_WRITTEN = {
    ChecksumAlgorithm.Crc32: "crc32",
    ChecksumAlgorithm.Crc32c: "crc32c",
    ChecksumAlgorithm.Crc64Nvme: "crc64_nvme",
    ChecksumAlgorithm.Sha1: "sha1",
    ChecksumAlgorithm.Sha256: "sha256",
}
_READ = {name: algorithm for algorithm, name in _WRITTEN.items()}


def _checked_algorithm(name: str, value: Any) -> ChecksumAlgorithm:
    if not isinstance(value, ChecksumAlgorithm):
        raise TypeError(f"{name} is a ChecksumAlgorithm, not a {type(value).__name__}")
    return value


class S3Options(Section):
    """Access to a bucket of S3, or of a server with its protocol.

    - `region`: its region; that of the environment if unset.
    - `endpoint_url`: the server, if it is not Amazon's. It begins with `https://`; with `http://` only if `allow_http`.
    - `anonymous`: requests are not signed.
    - `force_path_style`: the bucket is in the path of URLs. If False, it is where an `endpoint_url` is given.
    - `network_stream_timeout_seconds`: without any byte of an answer that has begun; 0 for no limit.
    - `requester_pays`: agrees to pay for requests.
    - `checksum_algorithm`: uploads carry this digest. Sha1 is not supported.
    """

    __slots__ = ()
    _whole = True

    region = text(doc="The region of the bucket.")
    endpoint_url = text(doc="The server, if it is not Amazon's.")
    allow_http = truth(doc="Whether the endpoint may be one without TLS.")
    anonymous = truth(doc="Whether requests go unsigned.")
    force_path_style = truth(doc="Whether the bucket is in the path of URLs.")
    network_stream_timeout_seconds = whole(2**32 - 1, doc="Seconds without any byte of an answer.")
    requester_pays = truth(doc="Whether the requester pays.")
    checksum_algorithm: Setting[ChecksumAlgorithm] = Setting(
        _checked_algorithm,
        lambda it: _WRITTEN[it],
        lambda it: _READ[it],
        None,
        "The digest of uploads.",
    )

    def __init__(
        self,
        region: str | None = None,
        endpoint_url: str | None = None,
        allow_http: bool = False,
        anonymous: bool = False,
        force_path_style: bool = False,
        network_stream_timeout_seconds: int | None = None,
        requester_pays: bool = False,
        checksum_algorithm: ChecksumAlgorithm | None = None,
    ) -> None:
        self.region = region
        self.endpoint_url = endpoint_url
        self.allow_http = allow_http
        self.anonymous = anonymous
        self.force_path_style = force_path_style
        self.network_stream_timeout_seconds = network_stream_timeout_seconds
        self.requester_pays = requester_pays
        self.checksum_algorithm = checksum_algorithm

    def _hidden(self) -> list[tuple[str, object]]:
        shown = dict(self._values)
        if "endpoint_url" in shown:
            shown["endpoint_url"] = _urls.shown(shown["endpoint_url"])
        return [(it.name, shown.get(it.name)) for it in type(self)._settings]

    def _shown(self) -> list[tuple[str, object]]:
        return [(name, value) for name, value in self._hidden() if value is not None]

    def _effective(self) -> list[tuple[str, object, str]]:
        return [(name, value, "") for name, value in self._hidden()]


class ObjectStoreConfig:
    """The store of a container of virtual chunks. One of its forms: `ObjectStoreConfig.S3`, `.Gcs`, …"""

    __slots__ = ()

    InMemory: TypeAlias = "_StoreInMemory"
    LocalFileSystem: TypeAlias = "_StoreLocalFileSystem"
    S3Compatible: TypeAlias = "_StoreS3Compatible"
    S3: TypeAlias = "_StoreS3"
    Gcs: TypeAlias = "_StoreGcs"
    Azure: TypeAlias = "_StoreAzure"
    Tigris: TypeAlias = "_StoreTigris"
    Http: TypeAlias = "_StoreHttp"

    def __new__(cls, *_: Any, **__: Any) -> ObjectStoreConfig:
        if cls is ObjectStoreConfig:
            raise TypeError("make one of the forms, such as ObjectStoreConfig.S3(S3Options())")
        return super().__new__(cls)

    def _repr_html_(self) -> str:
        return _display.table("icefield.ObjectStoreConfig", [])

    def _to_document(self) -> Any:
        raise NotImplementedError

    @staticmethod
    def _from_document(document: Any) -> AnyObjectStoreConfig:
        tag: str
        value: Any = None
        if isinstance(document, str):
            tag = document
        else:
            tag, value = next(iter(document.items()))
        match tag:
            case "in_memory":
                return _StoreInMemory()
            case "local_file_system":
                return _StoreLocalFileSystem(value)
            case "s3":
                return _StoreS3(S3Options._from_document(value or {}))
            case "s3_compatible":
                return _StoreS3Compatible(S3Options._from_document(value or {}))
            case "tigris":
                return _StoreTigris(S3Options._from_document(value or {}))
            case "gcs":
                return _StoreGcs(value or {})
            case "azure":
                return _StoreAzure(value or {})
            case "http":
                options = dict(value or {})
                headers = options.pop("headers", None)
                return _StoreHttp(options, headers)
        raise _urls.refused(f"there is no store of the kind {tag!r}")


class _StoreInMemory(Member, ObjectStoreConfig):
    """The memory of a process. Nothing can be read from it: the form exists for old configurations."""

    __slots__ = ()

    def __init__(self) -> None:
        pass

    def _to_document(self) -> Any:
        return "in_memory"


class _StoreLocalFileSystem(Member, ObjectStoreConfig):
    """A directory of this machine."""

    __slots__ = ("_0",)
    __match_args__ = ("_0",)
    _0: PurePath

    def __init__(self, _0: str | PurePath) -> None:
        _set(self, "_0", PurePath(_0))

    def _to_document(self) -> Any:
        return {"local_file_system": str(self._0)}


class _OfS3(Member, ObjectStoreConfig):
    __slots__ = ("_0",)
    __match_args__ = ("_0",)
    _0: S3Options

    def __init__(self, _0: S3Options) -> None:
        if not isinstance(_0, S3Options):
            raise TypeError(f"the options of S3 are S3Options, not a {type(_0).__name__}")
        _set(self, "_0", _0)

    def _document(self) -> dict[str, Any]:
        return self._0._to_document()


class _StoreS3(_OfS3):
    """Amazon S3."""

    __slots__ = ()

    def _to_document(self) -> Any:
        return {"s3": self._document()}


class _StoreS3Compatible(_OfS3):
    """A server with the protocol of S3."""

    __slots__ = ()

    def _to_document(self) -> Any:
        return {"s3_compatible": self._document()}


class _StoreTigris(_OfS3):
    """Tigris."""

    __slots__ = ()

    def _to_document(self) -> Any:
        return {"tigris": self._document()}


class _StoreGcs(Member, ObjectStoreConfig):
    """Google Cloud Storage."""

    __slots__ = ("_options",)
    __match_args__ = ("_0",)
    _options: dict[str, str]

    def __init__(self, _0: Mapping[str, str] | None = None) -> None:
        _set(self, "_options", _texts(_0, "the options of Google Cloud Storage"))

    @property
    def _0(self) -> dict[str, str]:
        """The options, a copy."""
        return dict(self._options)

    def _rows(self) -> list[tuple[str, object, str]]:
        return [("options", _without_secrets(self._options), "")]

    def _to_document(self) -> Any:
        return {"gcs": self._0}


class _StoreAzure(Member, ObjectStoreConfig):
    """Azure Blob Storage."""

    __slots__ = ("_options",)
    __match_args__ = ("_0",)
    _options: dict[str, str]

    def __init__(self, _0: Mapping[str, str] | None = None) -> None:
        _set(self, "_options", _texts(_0, "the options of Azure"))

    @property
    def _0(self) -> dict[str, str]:
        """The options, a copy."""
        return dict(self._options)

    def _rows(self) -> list[tuple[str, object, str]]:
        return [("options", _without_secrets(self._options), "")]

    def _to_document(self) -> Any:
        return {"azure": self._0}


class _StoreHttp(Member, ObjectStoreConfig):
    """A web server. The headers become part of the repository's configuration, which every reader sees."""

    __slots__ = ("_headers", "_options")
    __match_args__ = ("_0", "_1")
    _headers: dict[str, str]
    _options: dict[str, str]

    def __init__(
        self, _0: Mapping[str, str] | None = None, _1: Mapping[str, str] | None = None
    ) -> None:
        _set(self, "_options", _texts(_0, "the options of a web server"))
        _set(self, "_headers", _urls.headers(_1, "headers"))

    @property
    def _0(self) -> dict[str, str]:
        """The options, a copy."""
        return dict(self._options)

    @property
    def _1(self) -> dict[str, str]:
        """The headers, a copy."""
        return dict(self._headers)

    def _rows(self) -> list[tuple[str, object, str]]:
        headers = {name: _Hidden() for name in self._headers}
        return [("opts", _without_secrets(self._options), ""), ("headers", headers, "")]

    def _to_document(self) -> Any:
        document: dict[str, Any] = self._0
        if self._headers:
            document["headers"] = self._1
        return {"http": document}


AnyObjectStoreConfig: TypeAlias = (
    _StoreInMemory
    | _StoreLocalFileSystem
    | _StoreS3
    | _StoreS3Compatible
    | _StoreGcs
    | _StoreAzure
    | _StoreTigris
    | _StoreHttp
)


def _texts(given: Mapping[str, str] | None, what: str) -> dict[str, str]:
    found = dict(given or {})
    for name, value in found.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"{what} are a mapping from names to texts")
    return found


def _without_secrets(options: Mapping[str, str]) -> dict[str, object]:
    shown: dict[str, object] = {}
    for name, value in options.items():
        if _urls.secret_name(name):
            shown[name] = _Hidden()
        else:
            shown[name] = _urls.shown(value) if "://" in value else value
    return shown


members(
    ObjectStoreConfig,
    "_Store",
    _StoreInMemory,
    _StoreLocalFileSystem,
    _StoreS3,
    _StoreS3Compatible,
    _StoreGcs,
    _StoreAzure,
    _StoreTigris,
    _StoreHttp,
)
