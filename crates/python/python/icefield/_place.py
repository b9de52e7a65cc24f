"""The arguments of an open repository, with which another process can open it again.

That happens at the first use of an unpickled object.
"""

from __future__ import annotations

import json
import pickle
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from icefield import _fork as _fork
from icefield import _native
from icefield._credentials.withheld import without_key
from icefield._exceptions import from_native
from icefield._late import forget_lock, shared

if TYPE_CHECKING:
    from icefield.credentials import AnyCredential
    from icefield.storage import Storage, StorageSettings

__all__ = ["Place", "forget_all", "grants", "missing"]

_KEPT = 16
_open: OrderedDict[bytes, _native.Task[_native.Repository]] = OrderedDict()
"""The repositories that this process has opened, or is opening, for unpickled objects.

The key is the pickle of their `Place`, and the identity of its directory on a local disk.

The order is that of the last use.

A worker that gets a thousand pickled stores of one repository opens it once.
"""


def forget_all() -> None:
    """Removes, in a forked child, the repositories that its parent has opened."""
    forget_lock()
    _open.clear()


class Place:
    """The storage, configuration and credentials of one open repository.

    The pickle is small: it has neither read nor written data. A storage in memory refuses to
    pickle.
    """

    __slots__ = ("_repository", "_used_config", "access", "config", "storage")

    def __init__(
        self,
        storage: Storage,
        config: str | None,
        access: Mapping[str, AnyCredential | None] | None,
        repository: _native.Repository | None = None,
    ) -> None:
        self.storage = storage
        self.config = config
        self.access = None if access is None else dict(access)
        self._repository = repository
        self._used_config = config if repository is None else repository.config()

    def repository(self) -> _native.Repository:
        """The open repository; the first call opens it if this was unpickled."""
        if self._repository is None:
            with self._opening() as task:
                self._repository = task.wait()
        return self._repository

    async def repository_async(self) -> _native.Repository:
        """The asynchronous form of `repository`."""
        if self._repository is None:
            with self._opening() as task:
                self._repository = await task
        return self._repository

    @contextmanager
    def _opening(self) -> Iterator[_native.Task[_native.Repository]]:
        key = pickle.dumps((self.storage, self.config, self.access, self.storage._directory()))
        with shared(_open, key, self._begin) as task:
            yield task
        # It may be gone: another caller gave up and removed it, or newer entries replaced it.
        with suppress(KeyError):
            _open.move_to_end(key)
        while len(_open) > _KEPT:
            _open.popitem(last=False)

    def _begin(self, cache: str | None = None) -> _native.Task[_native.Repository]:
        return _native.Repository.open(
            self.storage._native(self._storage_settings()),
            self.config,
            grants(self.access),
            for_all=True,
            cache=cache,
        )

    def __deepcopy__(self, _: Any) -> Place:
        # The same repository, with the keys that a pickle may leave out.
        return self

    def _storage_settings(self) -> StorageSettings | None:
        from icefield.config import RepositoryConfig

        if self.config is None:
            return None
        return RepositoryConfig._from_document(json.loads(self.config)).storage

    def __reduce__(self) -> tuple[Any, ...]:
        # The configuration in use, so that the other side needs nothing that was passed by the
        # opener.
        access = self.access
        if access is not None and not self.storage._pickles_secrets:
            access = {prefix: without_key(credential) for prefix, credential in access.items()}
        return Place, (self.storage, self._used_config, access)


def grants(access: Mapping[str, AnyCredential | None] | None) -> list[_native.Grant]:
    """The credentials for virtual chunks in the form of the native module."""
    from icefield.credentials import grants_of

    if access is None:
        return []
    if not isinstance(access, Mapping):
        raise TypeError(
            "`authorize_virtual_chunk_access` must be a dict from URL prefixes to credentials, not "
            f"{type(access).__name__}"
        )
    return grants_of(access)


def missing() -> Exception:
    """The error for an object that does not know its repository."""
    return from_native(
        "pickle",
        "this session does not know where its repository is, so it cannot be pickled; take it "
        "from a Repository",
    )
