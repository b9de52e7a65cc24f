"""Repositories: opening and creating them, and their sessions."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from icefield import _native
from icefield._checks import exactly_one_version, metadata_document, microseconds, text
from icefield._place import Place, missing
from icefield._repository.carrying import Carrying
from icefield._repository.checking import Checking
from icefield._repository.copies import Copies
from icefield._repository.exchange import Exchange
from icefield._repository.history import History
from icefield._repository.opening import (
    Access,
    begin_creation,
    begin_opening,
    cache_name,
    checked_config,
    known_version,
    native_storage,
    saved_config,
)
from icefield._repository.refs import Refs
from icefield._repository.repacking import Repacking
from icefield._repository.state import State
from icefield._repository.upkeep import Upkeep
from icefield._repository.windows import Windows
from icefield._values.enums import SpecVersion
from icefield.config import Attribution, RepositoryConfig
from icefield.session import Session
from icefield.storage import Storage, StorageSettings
from icefield.store import IcefieldStore

if TYPE_CHECKING:
    from icefield.conflicts import ConflictSolver
    from icefield.credentials import AnyCredential

__all__ = ["Repository"]


class Repository(
    Refs, History, Upkeep, Carrying, Windows, Exchange, Repacking, Copies, Checking, State
):
    """A repository: snapshots of a tree of Zarr groups and arrays, with branches and tags.

    Open one with `Repository.open`, create one with `Repository.create`. Methods that read or write
    storage have an asynchronous form whose name ends in `_async`. A repository pickles, unless its
    storage is in memory.
    """

    _attribution: Attribution | None
    _cache: str | None

    def __init__(self, repository: _native.Repository) -> None:
        self._repository = repository
        self._place = None
        self._defaults = {}
        self._attribution = None
        self._cache = None

    def __getattr__(self, name: str) -> Any:
        # Called only for missing attributes: the native side of an unpickled repository that was
        # not used yet.
        if name == "_repository" and "_place" in self.__dict__ and self._place is not None:
            self._repository = self._place.repository()
            return self._repository
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    async def _connect(self) -> None:
        if self._place is not None:
            self._repository = await self._place.repository_async()

    @classmethod
    def _of(
        cls,
        repository: _native.Repository,
        storage: Storage,
        access: Mapping[str, AnyCredential | None] | None,
        attribution: Attribution | None,
        cache: str | os.PathLike[str] | None,
    ) -> Self:
        if attribution is not None and not isinstance(attribution, Attribution):
            raise TypeError(f"`attribution` must be an Attribution, not {type(attribution).__name__}")
        made = cls(repository)
        made._cache = cache_name(cache)
        storage._meet(repository.config)
        made._place = Place(storage, None, access, repository)
        made._attribution = attribution
        return made

    def __repr__(self) -> str:
        place = self._place
        where = "" if place is None else f"storage: {place.storage}\n"
        # Showing an unpickled repository does not open it.
        opened = self.__dict__.get("_repository")
        version = "" if opened is None else f" (v{opened.spec_version()})"
        return f"<icefield.Repository{version}>\n{where}"

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        from icefield._pictures import repository_html

        return repository_html(self)

    def __getstate__(self) -> object:
        if self._place is None:
            raise missing()
        return {
            "place": self._place,
            "defaults": self._defaults,
            "attribution": self._attribution,
        }

    def __setstate__(self, state: object) -> None:
        if not isinstance(state, dict) or not {"place", "defaults"} <= state.keys():
            raise ValueError(
                "Invalid repository state: this is not the pickle of a repository of this version"
            )
        self._place = state["place"]
        self._defaults = dict(state["defaults"])
        self._attribution = state.get("attribution")
        # Another machine has other disks: its environment names its cache.
        self._cache = None

    # Creating and opening

    @classmethod
    def create(
        cls,
        storage: Storage,
        config: RepositoryConfig | None = None,
        authorize_virtual_chunk_access: dict[str, AnyCredential | None] | None = None,
        spec_version: SpecVersion | int | None = None,
        check_clean_root: bool = True,
        attribution: Attribution | None = None,
        *,
        cache: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Creates a repository, with a branch `main` and an empty snapshot.

        `config` is saved with it. `authorize_virtual_chunk_access` gives credentials for the
        virtual chunk containers, by the prefix of their URLs; other containers cannot be read.
        `spec_version` is the version of the format, by default `SpecVersion.current()`. A location
        that has a repository or, with `check_clean_root`, any object raises an `InvalidInputError`.
        """
        access, task = begin_creation(
            _native.Repository.create,
            storage,
            config,
            authorize_virtual_chunk_access,
            spec_version,
            check_clean_root,
            cache,
        )
        return cls._of(task.wait(), storage, access, attribution, cache)

    @classmethod
    async def create_async(
        cls,
        storage: Storage,
        config: RepositoryConfig | None = None,
        authorize_virtual_chunk_access: dict[str, AnyCredential | None] | None = None,
        spec_version: SpecVersion | int | None = None,
        check_clean_root: bool = True,
        attribution: Attribution | None = None,
        *,
        cache: str | os.PathLike[str] | None = None,
    ) -> Self:
        """The asynchronous form of `create`."""
        access, task = begin_creation(
            _native.Repository.create,
            storage,
            config,
            authorize_virtual_chunk_access,
            spec_version,
            check_clean_root,
            cache,
        )
        return cls._of(await task, storage, access, attribution, cache)

    @classmethod
    def open(
        cls,
        storage: Storage,
        config: RepositoryConfig | None = None,
        authorize_virtual_chunk_access: dict[str, AnyCredential | None] | None = None,
        attribution: Attribution | None = None,
        *,
        cache: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Opens a repository.

        The settings in `config` override those that are saved with the repository. A location
        without a repository raises a `RepositoryNotFoundError`.

        `cache` is a directory, or `"PATH,SIZE"` with a size such as `20GiB` (10 GiB if none is
        given), in which chunks and metadata that came over a network are kept for the next process;
        without it the variable ICEFIELD_CACHE names one, if it is set. Local storages have none.
        Pickles do not carry it: workers take the one of their environment.
        """
        access, task = begin_opening(
            storage, config, authorize_virtual_chunk_access, cache
        )
        return cls._of(task.wait(), storage, access, attribution, cache)

    @classmethod
    async def open_async(
        cls,
        storage: Storage,
        config: RepositoryConfig | None = None,
        authorize_virtual_chunk_access: dict[str, AnyCredential | None] | None = None,
        attribution: Attribution | None = None,
        *,
        cache: str | os.PathLike[str] | None = None,
    ) -> Self:
        """The asynchronous form of `open`."""
        access, task = begin_opening(
            storage, config, authorize_virtual_chunk_access, cache
        )
        return cls._of(await task, storage, access, attribution, cache)

    @classmethod
    def open_or_create(
        cls,
        storage: Storage,
        config: RepositoryConfig | None = None,
        authorize_virtual_chunk_access: dict[str, AnyCredential | None] | None = None,
        create_version: SpecVersion | int | None = None,
        check_clean_root: bool = True,
        attribution: Attribution | None = None,
        *,
        cache: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Opens a repository, or creates it if there is none. Several processes may do so at once."""
        access, task = begin_creation(
            _native.Repository.open_or_create,
            storage,
            config,
            authorize_virtual_chunk_access,
            create_version,
            check_clean_root,
            cache,
        )
        return cls._of(task.wait(), storage, access, attribution, cache)

    @classmethod
    async def open_or_create_async(
        cls,
        storage: Storage,
        config: RepositoryConfig | None = None,
        authorize_virtual_chunk_access: dict[str, AnyCredential | None] | None = None,
        create_version: SpecVersion | int | None = None,
        check_clean_root: bool = True,
        attribution: Attribution | None = None,
        *,
        cache: str | os.PathLike[str] | None = None,
    ) -> Self:
        """The asynchronous form of `open_or_create`."""
        access, task = begin_creation(
            _native.Repository.open_or_create,
            storage,
            config,
            authorize_virtual_chunk_access,
            create_version,
            check_clean_root,
            cache,
        )
        return cls._of(await task, storage, access, attribution, cache)

    @staticmethod
    def exists(storage: Storage, storage_settings: StorageSettings | None = None) -> bool:
        """Whether there is a repository."""
        return _native.Repository.exists(native_storage(storage, storage_settings)).wait()

    @staticmethod
    async def exists_async(
        storage: Storage, storage_settings: StorageSettings | None = None
    ) -> bool:
        """The asynchronous form of `exists`."""
        return await _native.Repository.exists(native_storage(storage, storage_settings))

    @staticmethod
    def fetch_spec_version(
        storage: Storage, storage_settings: StorageSettings | None = None
    ) -> SpecVersion | None:
        """The format version of the repository; None if there is none."""
        return known_version(
            _native.Repository.fetch_spec_version(
                native_storage(storage, storage_settings)
            ).wait()
        )

    @staticmethod
    async def fetch_spec_version_async(
        storage: Storage, storage_settings: StorageSettings | None = None
    ) -> SpecVersion | None:
        """The asynchronous form of `fetch_spec_version`."""
        return known_version(
            await _native.Repository.fetch_spec_version(native_storage(storage, storage_settings))
        )

    @staticmethod
    def fetch_config(storage: Storage) -> RepositoryConfig | None:
        """The configuration saved with the repository; None if none was."""
        return saved_config(_native.Repository.fetch_config(native_storage(storage)).wait())

    @staticmethod
    async def fetch_config_async(storage: Storage) -> RepositoryConfig | None:
        """The asynchronous form of `fetch_config`."""
        return saved_config(await _native.Repository.fetch_config(native_storage(storage)))

    def reopen(
        self,
        config: RepositoryConfig | None = None,
        authorize_virtual_chunk_access: dict[str, AnyCredential | None] | None = None,
    ) -> Self:
        """The same repository with other settings and credentials. Those that are not given stay."""
        access, task = self._begin_reopening(config, authorize_virtual_chunk_access)
        return type(self)._of(task.wait(), self.storage, access, self._attribution, self._cache)

    async def reopen_async(
        self,
        config: RepositoryConfig | None = None,
        authorize_virtual_chunk_access: dict[str, AnyCredential | None] | None = None,
    ) -> Self:
        """The asynchronous form of `reopen`."""
        access, task = self._begin_reopening(config, authorize_virtual_chunk_access)
        return type(self)._of(await task, self.storage, access, self._attribution, self._cache)

    def _begin_reopening(
        self, config: RepositoryConfig | None, access: Access
    ) -> tuple[Access, _native.Task[_native.Repository]]:
        if self._place is None:
            raise missing()
        merged = self._own_config()
        if config is not None:
            merged = merged.merge(checked_config(config)._unfilled())
        kept = self._place.access if access is None else access
        return begin_opening(self.storage, merged, kept, self._cache, warn=access is not None)

    # Properties

    @property
    def config(self) -> RepositoryConfig:
        """A copy of the settings in use.

        If `storage` is not set, it shows the defaults of the storage.
        """
        config = self._own_config()
        if self._place is not None:
            config._fill(self._place.storage.default_settings())
        return config

    def _own_config(self) -> RepositoryConfig:
        return RepositoryConfig._from_document(json.loads(self._repository.config()))

    def save_config(self) -> None:
        """Saves the settings in use with the repository, for later opens by all clients."""
        self._repository.save_config().wait()

    async def save_config_async(self) -> None:
        """The asynchronous form of `save_config`."""
        await self._repository.save_config()

    @property
    def storage(self) -> Storage:
        """The storage of the repository."""
        if self._place is None:
            raise missing()
        return self._place.storage

    @property
    def spec_version(self) -> SpecVersion:
        """The format version of the repository."""
        return SpecVersion(self._repository.spec_version())

    @property
    def authorized_virtual_container_prefixes(self) -> set[str]:
        """The prefixes of URLs for which credentials were given, without the options behind them."""
        if self._place is not None:
            return {prefix.partition("?")[0] for prefix in self._place.access or {}}
        return set(self._repository.granted_prefixes())

    @property
    def attribution(self) -> Attribution:
        """The credentials for virtual chunks that were given at opening."""
        return self._attribution or Attribution()

    def set_default_commit_metadata(self, metadata: dict[str, Any]) -> None:
        """Sets the default metadata of commits, for sessions opened from now on.

        Metadata of the commit itself overrides it.
        """
        document = metadata_document(metadata)
        self._defaults = json.loads(document) if document else {}

    def default_commit_metadata(self) -> dict[str, Any]:
        """The default metadata of commits."""
        return dict(self._defaults)

    # Sessions

    def readonly_session(
        self,
        branch: str | None = None,
        *,
        tag: str | None = None,
        snapshot_id: str | None = None,
        as_of: datetime.datetime | None = None,
    ) -> Session:
        """A session that reads one snapshot, given by one of branch, tag and snapshot id.

        `as_of`, allowed only with a branch, selects the newest snapshot written until then. A time
        without a time zone raises a `TypeError`, a time before the first snapshot a
        `SnapshotNotFoundError`.
        """
        return self._session(self._begin_reading(branch, tag, snapshot_id, as_of).wait())

    async def readonly_session_async(
        self,
        branch: str | None = None,
        *,
        tag: str | None = None,
        snapshot_id: str | None = None,
        as_of: datetime.datetime | None = None,
    ) -> Session:
        """The asynchronous form of `readonly_session`."""
        return self._session(await self._begin_reading(branch, tag, snapshot_id, as_of))

    def _begin_reading(
        self,
        branch: str | None,
        tag: str | None,
        snapshot_id: str | None,
        as_of: datetime.datetime | None,
    ) -> _native.Task[_native.Session]:
        time = None if as_of is None else microseconds(as_of, "as_of")
        kind, name = exactly_one_version(branch, tag, snapshot_id)
        if time is not None and kind != "branch":
            raise ValueError("as_of argument must be provided together with a branch name")
        return self._repository.readonly_session(kind, name, time)

    def writable_session(self, branch: str) -> Session:
        """A session that changes the newest snapshot of a branch, and commits to it."""
        return self._session(self._repository.writable_session(text(branch, "branch")).wait())

    async def writable_session_async(self, branch: str) -> Session:
        """The asynchronous form of `writable_session`."""
        return self._session(await self._repository.writable_session(text(branch, "branch")))

    def rearrange_session(self, branch: str) -> Session:
        """A session that only moves nodes, and commits to a branch.

        Writable sessions can move nodes, too, beside other changes. Needs a repository of format
        version 2.
        """
        return self._session(self._repository.rearrange_session(text(branch, "branch")).wait())

    async def rearrange_session_async(self, branch: str) -> Session:
        """The asynchronous form of `rearrange_session`."""
        return self._session(await self._repository.rearrange_session(text(branch, "branch")))

    def _session(self, native: _native.Session) -> Session:
        return Session._of(native, self._place, self._defaults)

    @contextmanager
    def transaction(
        self,
        branch: str,
        *,
        message: str,
        metadata: dict[str, Any] | None = None,
        rebase_with: ConflictSolver | None = None,
        rebase_tries: int = 1_000,
    ) -> Iterator[IcefieldStore]:
        """A store whose changes are committed to a branch at the end of the `with` block; not if
        the block raises.

        The arguments are those of `Session.commit`.
        """
        session = self.writable_session(branch)
        yield session.store
        session.commit(
            message, metadata, rebase_with=rebase_with, rebase_tries=rebase_tries
        )
