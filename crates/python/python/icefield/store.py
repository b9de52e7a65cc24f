"""The Zarr store of a session."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from zarr.core.common import BytesLike

from icefield import _native
from icefield._changes import changing
from icefield._checks import text, truth
from icefield._chunk_refs import ChunkReferences
from icefield._exceptions import (
    IcechunkError,
    InvalidInputError,
    ReadOnlyError,
    from_native,
)
from icefield._session_input import refuse_pickling
from icefield._store_input import (
    KeyNotFoundError,
    ReadOnlyStoreError,
    explained,
    memory_of,
    native_range,
    of_session,
    out_of_bounds,
    unencodable,
)
from icefield._store_reading import _Reading

if TYPE_CHECKING:
    from icefield.session import Session

__all__ = ["IcechunkStore", "IcefieldStore", "KeyNotFoundError", "ReadOnlyStoreError"]

_Task = _native.Task
_CHUNK = re.compile(r"(^|/)c(/\d+)+$")


class IcefieldStore(ChunkReferences, _Reading, Store):
    """A Zarr store over one session: it shows the session's snapshot and the changes made in it.

    `Session.store` returns it. Keys are those of Zarr format 3 with the default chunk key encoding
    (`zarr.json`, `path/zarr.json`, `path/c/0/1`). Setting another key raises an
    `InvalidInputError`; reading one finds nothing. `set` copies values unless their memory cannot
    change, and `get` returns values without a copy.

    A store of a read-only session or of a fork pickles. The store of a writable session does not:
    pickle a fork.
    """

    _store: _native.Store
    _session: Session

    def __init__(
        self,
        store: _native.Store,
        read_only: bool | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        from icefield.session import ForkSession, Session

        native = store.session
        owner = (ForkSession if native.is_fork else Session)(native)
        super().__init__(read_only=native.read_only if read_only is None else truth(read_only, "read_only"))
        self._session = owner
        self._store = store
        self._is_open = True

    @classmethod
    def _of(cls, session: Session, read_only: bool | None = None) -> IcefieldStore:
        """The store of a session, which is opened at first use if it was unpickled."""
        store = cls.__new__(cls)
        Store.__init__(store, read_only=bool(read_only))
        store._session = session
        if "_session" in session.__dict__:
            try:
                store._attach(read_only)
            except IcechunkError as error:
                # Of the parent of a forked process: it can be pickled here, and says so if it is used.
                if error.kind != "forked":
                    raise
                store._read_only = bool(read_only) or session._facts()[0]
        # Else the first `await` opens it.
        store._is_open = "_store" in store.__dict__
        return store

    async def _connect(self) -> None:
        if "_session" not in self._session.__dict__:
            await self._session._connect()
        self._attach()

    def _attach(self, read_only: bool | None = None) -> None:
        native = self._session._session
        self._store = self._session._native_store()
        if read_only is None and native.read_only:
            self._read_only = True

    def __getattr__(self, name: str) -> Any:
        # Only what is missing comes here: the native store of a store that was unpickled and not
        # yet used.
        if name == "_store" and "_session" in self.__dict__:
            self._attach()
            return self.__dict__["_store"]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # Identity and representation

    def __eq__(self, value: object) -> bool:
        return isinstance(value, IcefieldStore) and (
            self._session is value._session or self._session == value._session
        )

    def __repr__(self) -> str:
        lines = ["<icefield.IcefieldStore>"]
        try:
            read_only, snapshot_id, branch = self._session._facts()
            lines.append(f"read_only: {self._read_only or read_only}")
            lines += [f"snapshot_id: {snapshot_id}", f"branch: {branch}"]
        except IcechunkError as error:
            lines.append(f"not usable here: {error.message}")
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        from icefield._pictures import store_html

        return store_html(self)

    def __getstate__(self) -> object:
        session = self._session
        if not session._is_fork and not session._facts()[0]:
            refuse_pickling("The store of a writable session")
        return {"session": session, "read_only": self._read_only}

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, dict) or not {"session", "read_only"} <= state.keys():
            raise ValueError("Invalid state: this is not the pickle of a store of this version")
        Store.__init__(self, read_only=bool(state["read_only"]))
        self._session = state["session"]
        self._is_open = False

    async def _open(self) -> None:
        """Opens an unpickled store, which may send requests."""
        if not self._is_open and "_store" not in self.__dict__:
            await self._connect()
            if self._is_open:
                # Another task has opened it meanwhile.
                return
        await super()._open()

    def with_read_only(self, read_only: bool = False) -> Store:
        """The same store, with writes refused or allowed.

        A store of a read-only session refuses them in both cases.
        """
        store = IcefieldStore._of(self._session, truth(read_only, "read_only"))
        store._is_open = False
        return store

    @property
    def session(self) -> Session:
        """The session that the store shows."""
        return self._session

    @property
    def read_only(self) -> bool:
        """Whether writes are refused.

        They are if `with_read_only` asked for it, or if the session is read-only, as after its
        commit.
        """
        return self._read_only or self._session.read_only

    @property
    def supports_writes(self) -> bool:
        """True: the store has writes, which a read-only store refuses."""
        return True

    @property
    def supports_deletes(self) -> bool:
        """True: the store has deletions, which a read-only store refuses."""
        return True

    @property
    def supports_listing(self) -> bool:
        """True: the store lists its keys."""
        return True

    @property
    def supports_partial_writes(self) -> Literal[False]:
        """False: a write replaces the whole value of a key."""
        return False

    @property
    def supports_consolidated_metadata(self) -> bool:
        """False.

        The store reads the metadata of a snapshot at once anyway, and a consolidated copy would
        become stale.
        """
        return False

    @property
    def _changing(self) -> AbstractContextManager[None]:
        return self._session._changing

    def _check_writable(self) -> None:
        if self._read_only:
            self._refuse_write()

    def _refuse_write(self) -> NoReturn:
        raise ReadOnlyStoreError(
            "cannot write to read-only store: the store was opened in read-only mode and does "
            "not support writing; use "
            "the store of a session from Repository.writable_session",
            "read-only-store",
        )

    # Reading

    async def get(
        self,
        key: str,
        prototype: BufferPrototype,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """The value at a key, or a range of its bytes; None if there is none.

        A range that ends or starts beyond the end of the value raises an `InvalidInputError`.
        """
        if not self._is_open:
            await self._open()
        try:
            if byte_range is None:
                found = self._store.get_now(key)
            else:
                found = self._store.get_now(key, native_range(byte_range))
        except OverflowError:
            raise out_of_bounds(byte_range) from None
        except UnicodeEncodeError:
            raise unencodable(key) from None
        if isinstance(found, _Task):
            found = await found
        if found is None:
            return None
        # The prototype takes every buffer, whatever its annotation says.
        return prototype.buffer.from_bytes(found)  # type: ignore[arg-type]

    def get_sync(
        self,
        key: str,
        *,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """The blocking form of `get`."""
        try:
            if byte_range is None:
                found = self._store.get_now(key)
            else:
                found = self._store.get_now(key, native_range(byte_range))
        except OverflowError:
            raise out_of_bounds(byte_range) from None
        except UnicodeEncodeError:
            raise unencodable(key) from None
        if isinstance(found, _Task):
            found = found.wait()
        if found is None:
            return None
        buffer = (prototype or default_buffer_prototype()).buffer
        return buffer.from_bytes(found)  # type: ignore[arg-type]

    # Writing

    async def set(self, key: str, value: Buffer) -> None:
        """Sets the value at a key. The caller may change `value` afterwards."""
        if not self._is_open:
            await self._open()
        if self._read_only:
            self._refuse_write()
        try:
            with self._session._changing:
                task = self._store.set_now(key, memory_of(value, "set"))
                if task is not None:
                    await task
        except UnicodeEncodeError:
            raise unencodable(key) from None
        except InvalidInputError as error:
            raise explained(error, key, value) from None

    def set_sync(self, key: str, value: Buffer) -> None:
        """The blocking form of `set`."""
        if self._read_only:
            self._refuse_write()
        try:
            with self._session._changing:
                task = self._store.set_now(key, memory_of(value, "set_sync"))
                if task is not None:
                    task.wait()
        except UnicodeEncodeError:
            raise unencodable(key) from None
        except InvalidInputError as error:
            raise explained(error, key, value) from None

    @changing
    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Sets the value at a key that has none; does nothing if it has one."""
        self._check_writable()
        memory = memory_of(value, "set_if_not_exists")
        await self._ensure_open()
        try:
            await self._store.set_if_not_exists(text(key, "key"), memory)
        except InvalidInputError as error:
            raise explained(error, key, value) from None

    async def set_partial_values(
        self, key_start_values: Iterable[tuple[str, int, BytesLike]]
    ) -> None:
        """Not supported: raises a `SessionStateError`."""
        self._check_writable()
        raise from_native(
            "unimplemented",
            "`set_partial_values` is not supported: values are written whole; use `set`",
        )

    @changing
    async def delete(self, key: str) -> None:
        """Deletes a value.

        A key without a value is no error. Deleting the metadata document of a group deletes its
        children, too.
        """
        await self._ensure_open()
        self._check_deletable()
        try:
            await self._store.delete(text(key, "key"))
        except ReadOnlyError as error:
            if await self._store.exists(key):
                raise of_session(error) from None

    def _check_deletable(self) -> None:
        # The session decides: for a read-only one, deleting an absent key is no write.
        if self._read_only and not self._session.read_only:
            self._refuse_write()

    @changing
    def delete_sync(self, key: str) -> None:
        """The blocking form of `delete`."""
        self._check_deletable()
        try:
            self._store.delete(text(key, "key")).wait()
        except ReadOnlyError as error:
            if self._store.exists(key).wait():
                raise of_session(error) from None

    @changing
    async def delete_dir(self, prefix: str) -> None:
        """Deletes a group, an array, or the chunks whose keys have a prefix (`path/c/0`).

        "" and "/" are the root: everything.
        """
        await self._ensure_open()
        self._check_writable()
        await self._store.delete_dir(text(prefix, "prefix"))
        if _CHUNK.search(prefix):
            await self._store.delete(prefix)

    @changing
    async def clear(self) -> None:
        """Deletes everything in the session. The history of the repository stays."""
        await self._ensure_open()
        self._check_deletable()
        try:
            await self._store.delete_dir("")
        except ReadOnlyError as error:
            if not await self._store.is_empty(""):
                raise of_session(error) from None

    @changing
    def sync_clear(self) -> None:
        """The blocking form of `clear`."""
        self._check_deletable()
        try:
            self._store.delete_dir("").wait()
        except ReadOnlyError as error:
            if not self._store.is_empty("").wait():
                raise of_session(error) from None


IcechunkStore = IcefieldStore
