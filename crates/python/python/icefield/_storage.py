"""A place where a repository is kept: its description, and who asks it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Self
from urllib.parse import unquote

from icefield import _client_options, _display, _urls
from icefield import _fork as _fork
from icefield import _native as native
from icefield._checks import text
from icefield._credentials.azure import AnyAzureCredential, AzureCredentials
from icefield._credentials.forms import identity_of
from icefield._credentials.gcs import AnyGcsCredential, GcsCredentials
from icefield._credentials.s3 import AnyS3Credential, S3Credentials
from icefield._credentials.withheld import QUERY, without_keys
from icefield._exceptions import ErrorKind, InvalidInputError, StorageError
from icefield._storage_object import StorageObjectInfo
from icefield._storage_settings import (
    StorageConcurrencySettings,
    StorageRetriesSettings,
    StorageSettings,
    ineffective,
    native_settings,
    warn_of,
)
from icefield._store_options import ChecksumAlgorithm, S3Options

__all__ = ["Storage"]

_CHECKSUMS = {
    ChecksumAlgorithm.Crc32: "crc32",
    ChecksumAlgorithm.Crc32c: "crc32c",
    ChecksumAlgorithm.Crc64Nvme: "crc64_nvme",
    ChecksumAlgorithm.Sha256: "sha256",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")

Headers = dict[str, str] | None


class Storage:
    """A place where a repository is kept. Made by the functions of `icefield.storage`; connects at its first use.

    It pickles as its description. Credentials of the environment are those of the process that uses them; of a
    function of credentials its name is pickled; keys that were passed as values are not, so that another process asks
    with the credentials of its environment, nor are headers whose names speak of keys, and queries of URLs, unless
    `with_secrets_in_pickles` says otherwise. A storage in memory cannot be pickled.
    """

    __slots__ = (
        "__weakref__",
        "_credentials",
        "_description",
        "_handles",
        "_pickles_secrets",
        "_shown",
        "_source",
        "_withheld",
    )

    _description: dict[str, Any]
    _credentials: Any
    """What is pickled for the sake of the function in it, if there is one."""
    _source: Callable[[], str] | None
    _shown: dict[str, object]
    _handles: dict[str, tuple[int, native.Storage]]
    """The native side, by settings, with the process that made it."""
    _pickles_secrets: bool
    _withheld: str | None
    """What a pickle left out that nothing of the environment can replace."""

    def __new__(cls, *_: Any, **__: Any) -> Self:
        if cls is Storage:
            raise TypeError("a Storage is made by a function such as icefield.s3_storage(…)")
        return object.__new__(cls)

    @classmethod
    def _made(
        cls,
        description: dict[str, Any],
        shown: dict[str, object],
        credentials: Any = None,
        source: Callable[[], str] | None = None,
        withheld: str | None = None,
    ) -> Storage:
        _check_encodable(description, "")
        storage = object.__new__(Storage)
        storage._description = description
        storage._credentials = credentials
        storage._source = source
        storage._shown = {name: value for name, value in shown.items() if value is not None}
        storage._handles = {}
        storage._pickles_secrets = False
        storage._withheld = withheld
        # Made at once, so that what is wrong with the description shows here.
        if withheld is None:
            storage._native()
        return storage

    @classmethod
    def new_in_memory(cls) -> Storage:
        """A storage in the memory of this process: empty, and gone when nobody holds it any more."""
        return cls._made({"type": "memory"}, {"type": "in-memory"})

    @classmethod
    def new_local_filesystem(cls, path: str) -> Storage:
        """A directory, made at the first write. Commits are safe there, from any number of processes."""
        absolute = _directory(path)
        return cls._made(
            {"type": "local", "path": absolute}, {"type": "local filesystem", "path": absolute}
        )

    @classmethod
    def new_s3(
        cls,
        config: S3Options,
        bucket: str,
        prefix: str | None,
        credentials: AnyS3Credential | None = None,
        legacy_rooted_keys: bool | None = None,
        *,
        read_headers: Headers = None,
        write_headers: Headers = None,
        headers: Headers = None,
    ) -> Storage:
        """A bucket of S3, or of a server that speaks its protocol; see `icefield.s3_storage`."""
        given = _Headers(headers, read_headers, write_headers)
        return cls._s3(
            "S3 (native)", config, bucket, prefix, credentials, legacy_rooted_keys, given
        )

    @classmethod
    def new_s3_object_store(
        cls,
        config: S3Options,
        bucket: str,
        prefix: str | None,
        credentials: AnyS3Credential | None = None,
        *,
        read_headers: Headers = None,
        write_headers: Headers = None,
        headers: Headers = None,
    ) -> Storage:
        """The same as `new_s3`: there is one client of S3 here."""
        given = _Headers(headers, read_headers, write_headers)
        return cls._s3("S3 (object store)", config, bucket, prefix, credentials, None, given)

    @classmethod
    def new_tigris(
        cls,
        config: S3Options,
        bucket: str,
        prefix: str | None,
        use_weak_consistency: bool,
        credentials: AnyS3Credential | None = None,
        legacy_rooted_keys: bool | None = None,
        *,
        read_headers: Headers = None,
        write_headers: Headers = None,
        headers: Headers = None,
    ) -> Storage:
        """A bucket of Tigris; see `icefield.tigris_storage`."""
        if not use_weak_consistency and config.region is None:
            raise StorageError(
                "a bucket of Tigris needs its region, where all reads and writes go so that they are consistent: pass "
                "region=…, or use_weak_consistency=True for reading only what the nearest region knows",
                ErrorKind.STORAGE_CONFIG,
            )
        given = _Headers(headers, read_headers, write_headers)
        extra: dict[str, Any] = {"preset": "tigris", "read_only": bool(use_weak_consistency)}
        if not use_weak_consistency:
            here = {"x-tigris-regions": str(config.region)}
            given.read = here | {"cache-control": "no-cache"} | given.read
            given.write = here | given.write
        endpoint = config.endpoint_url or "https://t3.storage.dev"
        return cls._s3(
            "S3 (native)",
            config,
            bucket,
            prefix,
            credentials,
            legacy_rooted_keys,
            given,
            endpoint=endpoint,
            extra=extra,
        )

    @classmethod
    def new_r2(
        cls,
        config: S3Options,
        bucket: str | None = None,
        prefix: str | None = None,
        account_id: str | None = None,
        credentials: AnyS3Credential | None = None,
        legacy_rooted_keys: bool | None = None,
        *,
        read_headers: Headers = None,
        write_headers: Headers = None,
        headers: Headers = None,
    ) -> Storage:
        """A bucket of Cloudflare R2; see `icefield.r2_storage`."""
        if not bucket:
            bucket, _, prefix = (prefix or "").strip("/").partition("/")
        if not bucket:
            raise StorageError(
                "a bucket of R2 needs its name: pass bucket=…, or prefix='bucket/prefix'",
                ErrorKind.STORAGE_CONFIG,
            )
        endpoint = config.endpoint_url
        if endpoint is None:
            if not account_id:
                raise StorageError(
                    "a bucket of R2 needs account_id=… or endpoint_url=…", ErrorKind.STORAGE_CONFIG
                )
            endpoint = f"https://{account_id}.r2.cloudflarestorage.com"
        return cls._s3(
            "S3 (native)",
            config,
            bucket,
            prefix,
            credentials,
            legacy_rooted_keys,
            _Headers(headers, read_headers, write_headers),
            endpoint=endpoint,
            region=config.region or "auto",
            extra={"preset": "r2", "path_style": True},
        )

    @classmethod
    def new_hf(
        cls,
        config: S3Options,
        bucket: str,
        prefix: str | None,
        namespace: str,
        credentials: AnyS3Credential | None = None,
        legacy_rooted_keys: bool | None = None,
        *,
        read_headers: Headers = None,
        write_headers: Headers = None,
        headers: Headers = None,
    ) -> Storage:
        """A storage bucket of Hugging Face; see `icefield.hf_storage`."""
        if not namespace or namespace.strip("/") != namespace or set("?#@ ") & set(namespace):
            raise _urls.refused(f"namespace {namespace!r} is no name of a user or an organisation")
        return cls._s3(
            "S3 (native)",
            config,
            bucket,
            prefix,
            credentials,
            legacy_rooted_keys,
            _Headers(headers, read_headers, write_headers),
            endpoint=config.endpoint_url or f"https://s3.hf.co/{namespace}",
            region=config.region or "us-east-1",
            extra={"path_style": True},
        )

    @classmethod
    def _s3(
        cls,
        kind: str,
        config: S3Options,
        bucket: str,
        prefix: str | None,
        credentials: AnyS3Credential | None,
        legacy_rooted_keys: bool | None,
        given: _Headers,
        *,
        endpoint: str | None = None,
        region: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Storage:
        if not isinstance(config, S3Options):
            raise TypeError(f"config is an S3Options, not a {type(config).__name__}")
        endpoint = endpoint or config.endpoint_url
        _urls.checked_endpoint(endpoint, bool(config.allow_http))
        checksum = config.checksum_algorithm
        if checksum is not None and checksum not in _CHECKSUMS:
            raise _urls.refused(
                f"checksum_algorithm {checksum!r} is not supported; use Crc32, Crc32c, Crc64Nvme or Sha256"
            )
        prefix = _prefix(prefix)
        if legacy_rooted_keys and prefix:
            raise StorageError(
                "legacy_rooted_keys is only for an empty prefix: leave it out",
                ErrorKind.STORAGE_CONFIG,
            )
        if legacy_rooted_keys:
            raise _urls.refused(
                "legacy_rooted_keys=True is not supported: keys with a leading slash are not read here. Copy the "
                "objects to keys without one, and leave it out"
            )
        if config.anonymous:
            if credentials is not None and not isinstance(credentials, S3Credentials.Anonymous):
                raise _urls.refused(
                    "anonymous is True, and there are credentials; give one of them"
                )
            credentials = S3Credentials.Anonymous()
        who: S3Credentials = S3Credentials.FromEnv() if credentials is None else credentials
        identity, source = identity_of(who, S3Credentials)
        region = region or config.region
        path_style = bool(config.force_path_style) or bool((extra or {}).get("path_style"))
        description = {
            "type": "s3",
            "bucket": _name(bucket, "bucket"),
            "prefix": prefix,
            "region": region,
            "endpoint": endpoint,
            "allow_http": bool(config.allow_http),
            "path_style": path_style or None,
            "requester_pays": bool(config.requester_pays),
            "checksum": None if checksum is None else _CHECKSUMS[checksum],
            "stall_timeout": config.network_stream_timeout_seconds,
            "read_headers": given.read,
            "write_headers": given.write,
            "credentials": identity,
        } | dict(extra or {})
        shown: dict[str, object] = {
            "type": kind,
            "bucket": bucket,
            "prefix": prefix or None,
            "region": region,
            "endpoint_url": endpoint and _urls.shown(endpoint),
            "force_path_style": path_style or None,
        }
        return cls._made(description, shown, who, source)

    @classmethod
    def new_gcs(
        cls,
        bucket: str,
        prefix: str | None,
        credentials: AnyGcsCredential | None = None,
        *,
        config: dict[str, str] | None = None,
        read_headers: Headers = None,
        write_headers: Headers = None,
        headers: Headers = None,
    ) -> Storage:
        """A bucket of Google Cloud Storage; see `icefield.gcs_storage`."""
        for name, given in (
            ("headers", headers),
            ("read_headers", read_headers),
            ("write_headers", write_headers),
        ):
            if given:
                raise _urls.refused(
                    f"{name} is not supported for Google Cloud Storage, whose client sends only its own: leave it out "
                    "(for the project that pays, pass config={'user_project': …})"
                )
        who: GcsCredentials = GcsCredentials.FromEnv() if credentials is None else credentials
        identity, source = identity_of(who, GcsCredentials)
        prefix = _prefix(prefix)
        description: dict[str, Any] = {
            "type": "gcs",
            "bucket": _name(bucket, "bucket"),
            "prefix": prefix,
            "credentials": identity,
        }
        settings: dict[str, Any] = {}
        _client_options.gcs(config, description, settings)
        description["settings"] = settings
        endpoint = description.get("endpoint")
        shown: dict[str, object] = {
            "type": "GCS",
            "bucket": bucket,
            "prefix": prefix or None,
            "endpoint_url": endpoint and _urls.shown(endpoint),
        }
        return cls._made(description, shown, who, source)

    @classmethod
    def new_azure_blob(
        cls,
        account: str,
        container: str,
        prefix: str,
        credentials: AnyAzureCredential | None = None,
        *,
        config: dict[str, str] | None = None,
    ) -> Storage:
        """A container of Azure Blob Storage; see `icefield.azure_storage`."""
        if not isinstance(prefix, str):
            raise TypeError(f"prefix is a text, not a {type(prefix).__name__}")
        who: AzureCredentials = AzureCredentials.FromEnv() if credentials is None else credentials
        identity, source = identity_of(who, AzureCredentials)
        prefix = _prefix(prefix)
        description: dict[str, Any] = {
            "type": "azure",
            "account": _name(account, "account"),
            "container": _name(container, "container"),
            "prefix": prefix,
            "credentials": identity,
        }
        settings: dict[str, Any] = {}
        _client_options.azure(config, description, settings)
        description["settings"] = settings
        endpoint = description.get("endpoint")
        shown: dict[str, object] = {
            "type": "Azure",
            "account": account,
            "container": container,
            "prefix": prefix or None,
            "endpoint_url": endpoint and _urls.shown(endpoint),
        }
        return cls._made(description, shown, who, source)

    @classmethod
    def new_http(
        cls,
        base_url: str,
        config: dict[str, str] | None = None,
        headers: Headers = None,
    ) -> Storage:
        """What a web server offers below a URL, for reading; see `icefield.http_storage`."""
        url, login = _urls.without_user(base_url, "base_url")
        description: dict[str, Any] = {
            "type": "http",
            "url": url,
            "headers": login | _urls.headers(headers, "headers"),
        }
        settings: dict[str, Any] = {}
        _client_options.http(config, description, settings)
        description["settings"] = settings
        return cls._made(description, {"type": "HTTP", "url": _urls.shown(url)})

    @classmethod
    def new_redirect(cls, base_url: str) -> Storage:
        """The place that a web server leads to; see `icefield.redirect_storage`."""
        url, login = _urls.without_user(base_url, "base_url")
        if login:
            raise _urls.refused(
                f"base_url {_urls.shown(base_url)} has a user in it: a redirect is asked for without credentials"
            )
        return cls._made(
            {"type": "redirect", "url": url}, {"type": "redirect", "url": _urls.shown(url)}
        )

    def _kind(self) -> str:
        return str(self._description["type"])

    def _native(self, settings: StorageSettings | None = None) -> native.Storage:
        """The native side, connected by whoever uses it first. Settings without effect give a warning, once."""
        if self._withheld is not None:
            raise InvalidInputError(
                f"the {self._withheld} of {self._shown.get('url')} was left out when this storage was pickled, because "
                "there may be a secret in it: pickle storage.with_secrets_in_pickles() (or what was opened with it), "
                "or make the storage in the process that uses it",
                ErrorKind.PICKLE,
            )
        if settings is not None:
            warn_of(
                ineffective(settings, self._kind(), self.default_settings()), self._shown_place()
            )
        found = {} if settings is None else native_settings(settings, self._kind())
        key = json.dumps(found, sort_keys=True)
        pid, handle = self._handles.get(key, (0, None))
        # A memory cannot be had again: in a forked child, its native side says so.
        if handle is None or (pid != os.getpid() and self._kind() != "memory"):
            description = self._description
            if found:
                description = description | {"settings": description.get("settings", {}) | found}
            handle = native.Storage(json.dumps(description), self._source)
            self._handles[key] = (os.getpid(), handle)
        return handle

    def _meet(self, config: Callable[[], str]) -> None:
        """Warns of settings without effect in the configuration of a repository that is kept here, once."""
        document = config()
        if '"storage":null' in document.replace(" ", ""):
            return
        settings = StorageSettings._from_document(json.loads(document).get("storage") or {})
        warn_of(ineffective(settings, self._kind(), self.default_settings()), self._shown_place())

    def _shown_place(self) -> str:
        return str(self._shown["type"])

    def default_settings(self) -> StorageSettings:
        """The settings that this storage uses where nothing is set. None stands for the default of the setting."""
        if self._kind() not in ("memory", "local"):
            return StorageSettings()
        local = self._kind() == "local"
        return StorageSettings(
            concurrency=StorageConcurrencySettings(5, 4096 if local else 1),
            retries=StorageRetriesSettings(1, 0, 0),
            unsafe_use_conditional_update=False if local else None,
            unsafe_use_metadata=False if local else None,
        )

    def list_objects(
        self, settings: StorageSettings | None = None, prefix: str | None = None
    ) -> list[tuple[str, int]]:
        """The objects below a prefix: their keys (below the prefix, in byte order) and sizes in bytes.

        Raises `InvalidInputError` for a setting that has no effect here, `StorageError` if the storage fails.
        """
        return [(key, size) for key, size, _ in self._objects(settings, prefix)]

    def list_objects_metadata(
        self, settings: StorageSettings | None = None, prefix: str | None = None
    ) -> list[StorageObjectInfo]:
        """The objects below a prefix, with their sizes and times; otherwise as `list_objects`."""
        return [
            StorageObjectInfo(key, size, _EPOCH + timedelta(microseconds=at))
            for key, size, at in self._objects(settings, prefix)
        ]

    def _objects(
        self, settings: StorageSettings | None, prefix: str | None
    ) -> Iterator[tuple[str, int, int]]:
        if settings is not None:
            if not isinstance(settings, StorageSettings):
                raise TypeError(f"settings is a StorageSettings, not a {type(settings).__name__}")
            problems = ineffective(settings, self._kind(), self.default_settings())
            if problems:
                raise _urls.refused(f"settings: {'; '.join(problems)}. Leave it out")
        stream = self._native(settings).list(text(prefix or "", "prefix"))
        while (batch := stream.next().wait()) is not None:
            yield from batch

    def __repr__(self) -> str:
        return _display.lines("icefield.Storage", self._rows()) + "\n"

    def _repr_html_(self) -> str:
        return _display.table("icefield.Storage", self._rows())

    def _rows(self) -> list[tuple[str, object, str]]:
        return [(name, value, "") for name, value in self._shown.items()]

    def _local_path(self) -> str | None:
        """The directory, if it is one on the local disk."""
        path = self._description.get("path")
        return path if isinstance(path, str) else None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._kind() == "memory":
            raise InvalidInputError(
                "a storage in memory cannot be pickled: another process would see an empty one. Use "
                "local_filesystem_storage(path), or a bucket, for work in several processes",
                ErrorKind.PICKLE,
            )
        function = None if self._source is None else self._credentials
        if self._pickles_secrets:
            return _unpickled, (self._description, self._shown, function, True, self._withheld)
        description, out = without_keys(self._description)
        shown = self._shown
        if "credentials" in out:
            shown = shown | {
                "credentials": "those of the environment; a key was left out of the pickle"
            }
        if headers := ", ".join(sorted(out - {"credentials", QUERY})):
            shown = shown | {"headers": f"without {headers}, left out of the pickle"}
        withheld = QUERY if QUERY in out else self._withheld
        return _unpickled, (description, shown, function, False, withheld)

    def with_secrets_in_pickles(self) -> Storage:
        """The same place, whose pickles, and those of repositories, sessions and stores in it, hold the keys it has, with
        headers and queries of URLs that may have some.

        Whoever can read such a pickle has the keys. For workers whose environment has no credentials; a function
        (`get_credentials`) or credentials of the environment need no secret in a pickle.
        """
        storage = self._made(
            self._description, self._shown, self._credentials, self._source, self._withheld
        )
        storage._pickles_secrets = True
        return storage

    def __copy__(self) -> Storage:
        return self

    def __deepcopy__(self, _: Any) -> Storage:
        return self


Storage.__module__ = "icefield"


def _unpickled(
    description: dict[str, Any],
    shown: dict[str, object],
    credentials: Any,
    pickles_secrets: bool,
    withheld: str | None = None,
) -> Storage:
    source = None if credentials is None else credentials._identity()[1]
    storage = Storage._made(description, shown, credentials, source, withheld)
    storage._pickles_secrets = pickles_secrets
    return storage


class _Headers:
    """Headers of requests that read, and of those that write."""

    def __init__(self, both: Headers, read: Headers, write: Headers) -> None:
        shared = _urls.headers(both, "headers")
        self.read = shared | _urls.headers(read, "read_headers")
        self.write = shared | _urls.headers(write, "write_headers")


def _check_encodable(value: object, where: str) -> None:
    """Refuses texts that another process cannot be told. They may be secret, so that only their names are said."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _urls.refused(
                f"{where} has no UTF-8 form: half of a surrogate pair is in it"
            ) from None
    elif isinstance(value, dict):
        for name, it in value.items():
            _check_encodable(it, f"{where}.{name}" if where else str(name))


def _directory(path: object) -> str:
    """The absolute path, if it is one that other processes can be told."""
    given = os.fsdecode(path)  # type: ignore[arg-type]
    if not given:
        raise _urls.refused("the path of a directory is empty: give one ('.' is the working directory)")
    if found := _SCHEME.match(given):
        if found[1].lower() == "file":
            how = f"give the path: {unquote(given[found.end() :])!r}"
        else:
            how = f"make a storage of {found[0]} by its own function, such as s3_storage or http_storage"
        raise _urls.refused(f"{_urls.shown(given)} is a URL, not the path of a directory: {how}")
    absolute = os.path.abspath(given)
    try:
        absolute.encode()
    except UnicodeEncodeError:
        raise _urls.refused(
            f"the path {absolute!r} is not UTF-8, and cannot be written into the description of a storage: rename the "
            "directory, or make a link to it whose name is UTF-8"
        ) from None
    return absolute


def _name(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, not a {type(value).__name__}")
    if not value or set("/?# ") & set(value):
        raise _urls.refused(f"{what} {value!r} is no name of one")
    return value


def _prefix(prefix: str | None) -> str:
    if prefix is None:
        return ""
    if not isinstance(prefix, str):
        raise TypeError(f"prefix is a text or None, not a {type(prefix).__name__}")
    if prefix.startswith("/") and prefix.strip("/"):
        raise _urls.refused(
            f"prefix {prefix!r} begins with a slash, which object stores would take for a part of the name: write "
            f"{prefix.strip('/')!r}"
        )
    return prefix.strip("/")
