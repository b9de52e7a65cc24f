"""The class of storages: connection, listings, representations, and pickles."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from icefield import _display, _urls
from icefield import _fork as _fork
from icefield import _native as native
from icefield._checks import text
from icefield._credentials.withheld import QUERY, without_key, without_keys
from icefield._exceptions import ErrorKind, InvalidInputError
from icefield._storage.constructors import _Constructors
from icefield._storage.description import Description, check_encodable
from icefield._storage_object import StorageObjectInfo
from icefield._storage_settings import (
    StorageConcurrencySettings,
    StorageRetriesSettings,
    StorageSettings,
    ineffective,
    native_settings,
    warn_of,
)

__all__ = ["Storage"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Storage(_Constructors):
    """The storage of a repository. The functions of `icefield.storage` create it; it connects at its first use.

    It pickles as its description, with the given keys, tokens, headers and queries of URLs, so that
    a worker needs no credentials of its own; every reader of the pickle has them.
    `without_secrets_in_pickles` leaves them out. Credentials of the environment are never copied:
    each process uses its own. The pickle of a credential function holds its name and its state (the
    arguments of a `functools.partial`). A storage in memory cannot be pickled. `repr`, errors and
    logs show no secrets.
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
    """The pickled form, if the credentials contain a function."""
    _source: Callable[[], str] | None
    _shown: dict[str, object]
    _handles: dict[str, tuple[int, native.Storage]]
    """The native storages by settings, each with the process that created it."""
    _pickles_secrets: bool
    _withheld: str | None
    """The parts that a pickle left out and the environment cannot replace."""

    def __new__(cls, *_: Any, **__: Any) -> Self:
        if cls is Storage:
            raise TypeError("a Storage is made by a function such as icefield.s3_storage(…)")
        return object.__new__(cls)

    @classmethod
    def _made(cls, description: Description, withheld: str | None = None) -> Storage:
        check_encodable(description.document, "")
        storage = object.__new__(Storage)
        storage._description = description.document
        storage._credentials = description.credentials
        storage._source = description.source
        storage._shown = {
            name: value for name, value in description.shown.items() if value is not None
        }
        storage._handles = {}
        storage._pickles_secrets = True
        storage._withheld = withheld
        # Created at once, so that an invalid description raises here.
        if withheld is None:
            storage._native()
        return storage

    def _kind(self) -> str:
        return str(self._description["type"])

    def _native(self, settings: StorageSettings | None = None) -> native.Storage:
        """The native storage, which its first use connects. Settings without effect give a warning, once."""
        if self._withheld is not None:
            raise InvalidInputError(
                f"the {self._withheld} of {self._shown.get('url')} was left out when this storage was pickled, because "
                "there may be a secret in it and the storage is one without_secrets_in_pickles(): pickle the storage "
                "that this one was made of, or make the storage in the process that uses it",
                ErrorKind.PICKLE,
            )
        if settings is not None:
            warn_of(
                ineffective(settings, self._kind(), self.default_settings()), self._shown_place()
            )
        found = {} if settings is None else native_settings(settings, self._kind())
        key = json.dumps(found, sort_keys=True)
        pid, handle = self._handles.get(key, (0, None))
        # A storage in memory cannot be recreated: in a forked child, its native side raises.
        if handle is None or (pid != os.getpid() and self._kind() != "memory"):
            description = self._description
            if found:
                description = description | {"settings": description.get("settings", {}) | found}
            handle = native.Storage(json.dumps(description), self._source)
            self._handles[key] = (os.getpid(), handle)
        return handle

    def _meet(self, config: Callable[[], str]) -> None:
        """Warns once of settings without effect in the configuration of a repository in this storage."""
        document = config()
        if '"storage":null' in document.replace(" ", ""):
            return
        settings = StorageSettings._from_document(json.loads(document).get("storage") or {})
        warn_of(ineffective(settings, self._kind(), self.default_settings()), self._shown_place())

    def _directory(self) -> tuple[int, int] | None:
        """The device and inode of a local storage.

        While a repository of a removed directory is open, a directory in its place has others.
        """
        if self._kind() != "local":
            return None
        try:
            found = os.stat(self._description["path"])
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _shown_place(self) -> str:
        return str(self._shown["type"])

    def default_settings(self) -> StorageSettings:
        """The default settings of this storage. None stands for the default of the setting."""
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

        Raises `InvalidInputError` for a setting without effect on this storage, `StorageError` if
        the storage fails.
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
        function = without_key(function)
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

    def without_secrets_in_pickles(self) -> Storage:
        """The same storage with pickles that hold no secrets, also for its repositories, sessions, stores and forks.

        The pickles leave out keys and tokens, including those for virtual chunks; results of
        credential functions; headers that carry credentials or have names of keys; and queries of
        URLs, without which a storage refuses to connect. The process that unpickles uses the
        credentials of its environment instead of keys. A function (`get_credentials`) and its state
        stay. Use this for pickles that other parties than your own workers may read. A storage in
        memory keeps its memory, and still cannot be pickled.
        """
        storage = object.__new__(Storage)
        for name in ("_credentials", "_description", "_shown", "_source", "_withheld"):
            setattr(storage, name, getattr(self, name))
        # Including the connections, which hold the contents of a storage in memory.
        storage._handles = self._handles
        storage._pickles_secrets = False
        return storage

    def __copy__(self) -> Storage:
        return self

    def __deepcopy__(self, _: Any) -> Storage:
        return self


def _unpickled(
    description: dict[str, Any],
    shown: dict[str, object],
    credentials: Any,
    pickles_secrets: bool,
    withheld: str | None = None,
) -> Storage:
    source = None if credentials is None else credentials._identity()[1]
    storage = Storage._made(Description(description, shown, credentials, source), withheld)
    storage._pickles_secrets = pickles_secrets
    return storage


Storage.__module__ = "icefield"
# The public name, which pickles use.
_unpickled.__module__ = "icefield._storage"
