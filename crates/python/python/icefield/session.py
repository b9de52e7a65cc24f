"""Sessions: one snapshot of a repository to read, or to change and commit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

from icefield import _native
from icefield._answers import ForkAnswer
from icefield._changes import NOT_KEPT, Changes, changing
from icefield._checks import (
    check_snapshot_id,
    metadata_document,
    older_positional,
    text,
    truth,
    whole,
)
from icefield._exceptions import (
    ErrorKind,
    IcechunkError,
    InternalError,
    InvalidInputError,
    from_native,
)
from icefield._late import shared
from icefield._notices import notice
from icefield._place import Place, missing
from icefield._session_input import (
    refuse_pickling,
    returned_forks,
    solver_document,
)
from icefield._session_nodes import _Nodes
from icefield._values.diff import Diff
from icefield._values.enums import SessionMode
from icefield.store import IcefieldStore

if TYPE_CHECKING:
    from icefield.config import RepositoryConfig
    from icefield.conflicts import ConflictSolver

__all__ = ["ForkAnswer", "ForkSession", "Session", "SessionMode"]

_MOST_TRIES = 2**16 - 1
_LARGE_FORK = 4 * 2**20


_Facts: TypeAlias = tuple[bool, str, str | None]
"""Whether the session is read-only, its snapshot, and its branch."""


class Session(_Nodes):
    """One snapshot of a repository, and the changes made to it that are not yet committed.

    `Repository.readonly_session` and `Repository.writable_session` create it. Several threads may
    use it. After a commit, it is read-only and shows the new snapshot. A read-only session pickles;
    a writable one does not, see `fork`.
    """

    _session: _native.Session
    _place: Place | None
    _defaults: dict[str, Any]
    _pickled: str | bytes
    _known: _Facts | None
    """The last known state, for a forked child, in which the native session is unavailable."""
    _is_fork = False
    _changing: AbstractContextManager[None] = NOT_KEPT

    def __init__(self, session: _native.Session) -> None:
        self._session = session
        self._place = None
        self._defaults = {}
        self._known = None
        self._facts()

    @classmethod
    def _of(
        cls, session: _native.Session, place: Place | None, defaults: Mapping[str, Any]
    ) -> Session:
        made = cls(session)
        made._place = place
        made._defaults = dict(defaults)
        return made

    def __getattr__(self, name: str) -> Any:
        # Only what is missing comes here: the native session of one that was unpickled and not yet
        # used.
        if name == "_session" and "_place" in self.__dict__:
            assert self._place is not None
            repository = self._place.repository()
            with self._opening(repository) as task:
                return self._set(task.wait())
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    async def _connect(self) -> None:
        assert self._place is not None
        repository = await self._place.repository_async()
        with self._opening(repository) as task:
            self._set(await task)

    def _opening(
        self, repository: _native.Repository
    ) -> AbstractContextManager[_native.Task[_native.Session]]:
        """The task that opens the session, shared by all callers."""
        return shared(self.__dict__, "_under_way", lambda: self._begin_opening(repository))

    def _begin_opening(self, repository: _native.Repository) -> _native.Task[_native.Session]:
        return repository.readonly_session("snapshot", str(self._pickled), None, for_all=True)

    def _set(self, opened: _native.Session) -> _native.Session:
        """The native session to use from now on.

        If it was opened twice, because a caller gave up, all use the first: writes to the second
        would be lost.
        """
        return cast("_native.Session", self.__dict__.setdefault("_session", opened))

    def _native_store(self) -> _native.Store:
        """The native store of the session, which its Python stores share."""
        store: _native.Store | None = self.__dict__.get("_shared_store")
        if store is None:
            store = self.__dict__.setdefault("_shared_store", _native.Store(self._session))
        return cast("_native.Store", store)

    def _facts(self) -> _Facts:
        """The state of the session, without opening it if it was not used yet; in a forked child,
        the last known one.
        """
        if "_session" not in self.__dict__ and not self._is_fork:
            return True, str(self._pickled), None
        try:
            native = self._session
            self._known = (native.read_only, native.snapshot_id, native.branch)
        except IcechunkError as error:
            if error.kind != "forked" or self._known is None:
                raise
        return self._known

    # Identity and representation

    def __eq__(self, value: object) -> bool:
        return isinstance(value, Session) and self._session is value._session

    def __repr__(self) -> str:
        lines = [f"<icefield.session.{type(self).__name__}>"]
        try:
            read_only, snapshot_id, branch = self._facts()
            lines += [f"read_only: {read_only}", f"snapshot_id: {snapshot_id}"]
            if not read_only:
                lines.append(f"branch: {branch}")
                lines.append(f"has_uncommitted_changes: {self.has_uncommitted_changes}")
        except IcechunkError as error:
            # In a forked child, or if an unpickled session cannot be opened.
            lines.append(f"not usable here: {error.message}")
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        from icefield._pictures import session_html

        return session_html(self)

    def __getstate__(self) -> object:
        read_only, snapshot_id, _ = self._facts()
        if not read_only:
            refuse_pickling("A writable session")
        if self._place is None:
            raise missing()
        return {"place": self._place, "pickled": snapshot_id}

    def __setstate__(self, state: object) -> None:
        if (
            not isinstance(state, dict)
            or not isinstance(state.get("place"), Place)
            or not isinstance(state.get("pickled"), bytes if self._is_fork else str)
            or not state["pickled"]
        ):
            raise ValueError("Invalid state: this is not the pickle of a session of this version")
        if not self._is_fork:
            check_snapshot_id(state["pickled"])
        self._place = state["place"]
        self._defaults = {}
        self._known = None
        self._pickled = state["pickled"]

    def allow_pickling(self) -> NoReturn:
        """No longer supported: raises a `RuntimeError` that names the replacement."""
        raise RuntimeError(
            "allow_pickling has been removed; use Session.fork() for writes in other processes, or "
            "icefield.xarray.to_icechunk"
        )

    # State

    @property
    def read_only(self) -> bool:
        """Whether the session is read-only."""
        if "_session" not in self.__dict__:
            return not self._is_fork
        return self._session.read_only

    @property
    def mode(self) -> SessionMode:
        """The mode of the session."""
        if self.read_only:
            return SessionMode.readonly
        if "_session" in self.__dict__ and self._session.is_rearranging():
            return SessionMode.rearrange
        return SessionMode.writable

    @property
    def snapshot_id(self) -> str:
        """The id of the snapshot that the session is based on."""
        return self._session.snapshot_id

    @property
    def branch(self) -> str | None:
        """The branch that a commit goes to; None if the session is read-only or a fork."""
        return self._session.branch

    @property
    def has_uncommitted_changes(self) -> bool:
        """Whether the session has uncommitted changes."""
        return self._session.has_changes

    @property
    def store(self) -> IcefieldStore:
        """The Zarr store of the session."""
        return IcefieldStore._of(self)

    @property
    def config(self) -> RepositoryConfig:
        """A copy of the configuration in use."""
        from icefield.config import RepositoryConfig

        return RepositoryConfig._from_document(json.loads(self._session.config()))

    def status(self) -> Diff:
        """The uncommitted changes.

        For shifted arrays, this reads their manifests and lists the chunks that differ.
        """
        return Diff._from_native(self._session.status().wait())

    async def status_async(self) -> Diff:
        """The asynchronous form of `status`."""
        return Diff._from_native(await self._session.status())

    @changing
    def discard_changes(self) -> None:
        """Discards all uncommitted changes."""
        self._session.discard_changes()

    # Commits

    @changing
    def merge(self, *others: ForkSession | ForkAnswer) -> None:
        """Merges the changes of forks of this session, or of their answers.

        Forks that wrote different values to the same chunk or metadata document, or of which one
        deleted a node that another changed, raise a `SessionStateError` ("merge-failed"). So does a
        fork of another session or of an older snapshot. Nothing is merged then. A second merge of a
        fork merges its later writes.
        """
        self._session.merge(returned_forks(others)).wait()

    @changing
    async def merge_async(self, *others: ForkSession | ForkAnswer) -> None:
        """The asynchronous form of `merge`."""
        await self._session.merge(returned_forks(others))

    @older_positional("rebase_with", "rebase_tries")
    def commit(
        self,
        message: str,
        metadata: dict[str, Any] | None = None,
        *,
        rebase_with: ConflictSolver | None = None,
        rebase_tries: int = 1_000,
        allow_empty: bool = False,
    ) -> str:
        """Publishes the changes as a new snapshot of the branch and returns its id; the session is
        read-only then.

        If a concurrent commit came first, it raises a `ConflictError`. With `rebase_with`, it
        rebases up to `rebase_tries` times (at most 65535) instead, and raises a `RebaseFailedError`
        if the solver leaves conflicts. Without changes, it raises a `SessionStateError` unless
        `allow_empty`. `metadata` has JSON values by string keys, added to the default commit
        metadata of the repository.

        Ctrl-C raises at once, but the commit goes on to its end. The process waits for it before it
        ends, for at most 10 seconds. Once the commit has landed, `session.read_only` is true and
        `session.snapshot_id` is the new snapshot.
        """
        return self._committed(
            self._begin_commit(message, metadata, rebase_with, rebase_tries, allow_empty).wait()
        )

    @older_positional("rebase_with", "rebase_tries")
    async def commit_async(
        self,
        message: str,
        metadata: dict[str, Any] | None = None,
        *,
        rebase_with: ConflictSolver | None = None,
        rebase_tries: int = 1_000,
        allow_empty: bool = False,
    ) -> str:
        """As `commit`, to be awaited.

        A cancellation does not stop a commit, which goes on to its end. After a cancellation, await
        another method of the session, or read `session.read_only` (true after a commit) and
        `session.snapshot_id`.
        """
        return self._committed(
            await self._begin_commit(message, metadata, rebase_with, rebase_tries, allow_empty)
        )

    def _committed(self, snapshot_id: str) -> str:
        self._known = (True, snapshot_id, None)
        return snapshot_id

    def _begin_commit(
        self,
        message: str,
        metadata: dict[str, Any] | None,
        solver: ConflictSolver | None,
        tries: int,
        allow_empty: bool,
    ) -> _native.Task[str]:
        return self._session.commit(
            text(message, "message"),
            self._described(metadata),
            None if solver is None else solver_document(solver, "rebase_with"),
            whole(tries, "rebase_tries", "invalid-commit-configuration", 0, _MOST_TRIES),
            truth(allow_empty, "allow_empty"),
        )

    def amend(
        self,
        message: str,
        *,
        metadata: dict[str, Any] | None = None,
        allow_empty: bool = False,
    ) -> str:
        """Replaces the last commit of the branch with a snapshot that has the changes of both, and
        returns its id; the session is read-only then.

        The session must be based on that last commit: if another commit or amend came first, it
        raises a `ConflictError`, stays writable, and is not rebased. Message and metadata are those
        given here, added to the default commit metadata of the repository. Without changes, it
        raises a `SessionStateError` unless `allow_empty`. Tags and other branches stay at the old
        snapshot. The first snapshot of a repository cannot be amended.

        Ctrl-C raises at once, as with `commit`. Repositories of format version 1 raise a `FormatError`.
        """
        return self._committed(self._begin_amend(message, metadata, allow_empty).wait())

    async def amend_async(
        self,
        message: str,
        *,
        metadata: dict[str, Any] | None = None,
        allow_empty: bool = False,
    ) -> str:
        """The asynchronous form of `amend`. As with `commit_async`, a cancellation does not stop it."""
        return self._committed(await self._begin_amend(message, metadata, allow_empty))

    def _begin_amend(
        self, message: str, metadata: dict[str, Any] | None, allow_empty: bool
    ) -> _native.Task[str]:
        return self._session.amend(
            text(message, "message"),
            self._described(metadata),
            truth(allow_empty, "allow_empty"),
        )

    def _described(self, metadata: Mapping[str, Any] | None) -> str | None:
        """The metadata of a commit: the defaults of the repository, replaced key by key."""
        if metadata is not None and not isinstance(metadata, Mapping):
            raise TypeError(f"`metadata` must be a dict, not {type(metadata).__name__}")
        return metadata_document({**self._defaults, **(metadata or {})} or None)

    @older_positional("metadata")
    def flush(self, message: str, *, metadata: dict[str, Any] | None = None) -> str:
        """Saves the changes as a snapshot on no branch, and returns its id; the session is read-only then.

        Create a branch or tag at it before the next garbage collection deletes it.
        """
        return self._committed(
            self._session.flush(text(message, "message"), self._described(metadata)).wait()
        )

    @older_positional("metadata")
    async def flush_async(self, message: str, *, metadata: dict[str, Any] | None = None) -> str:
        """The asynchronous form of `flush`."""
        return self._committed(
            await self._session.flush(text(message, "message"), self._described(metadata))
        )

    def rebase(self, solver: ConflictSolver) -> None:
        """Rebases the session onto the newest snapshot of its branch.

        Raises a `RebaseFailedError` if the solver leaves conflicts; the session then keeps its base
        and its changes.
        """
        self._begin_rebase(solver).wait()

    async def rebase_async(self, solver: ConflictSolver) -> None:
        """The asynchronous form of `rebase`."""
        await self._begin_rebase(solver)

    def _begin_rebase(self, solver: ConflictSolver) -> _native.Task[None]:
        document = solver_document(solver, "solver")
        if self._is_fork:
            raise from_native(
                "commit-not-allowed",
                "this session is a fork, and forks are not rebased: merge it into the session that it was forked "
                "from, and rebase that",
            )
        return self._session.rebase(document)

    def fork(self) -> ForkSession:
        """A copy of the session for another process, to be pickled, written to, and merged back.

        A read-only session raises a `SessionStateError`: it can be pickled as it is.
        """
        forked = ForkSession(self._session.fork())
        forked._place = self._place
        forked._defaults = dict(self._defaults)
        return forked


class ForkSession(Session):
    """A copy of a writable session that pickles. `Session.merge` takes its writes back.

    It cannot be committed, flushed or rebased. Its pickle holds all changes that it shows,
    including those from before the fork; the pickle of its `answer` does not.
    """

    _is_fork = True
    _changing: Changes

    def __init__(self, session: _native.Session) -> None:
        super().__init__(session)
        self._changing = Changes()

    def __getstate__(self) -> object:
        if self._place is None:
            raise missing()
        # Checked first, so that a pickle that will fail writes nothing.
        self._place.storage.__reduce__()
        if "_session" not in self.__dict__:
            return {"place": self._place, "pickled": self._pickled}
        pickled = self._changing.kept()
        if pickled is None:
            pickled = self._changing.keeping(lambda: self._session.to_bytes().wait())
            if len(pickled) > _LARGE_FORK:
                notice(
                    f"a pickle of this fork has {len(pickled) / 2**20:.1f} MiB, and each task that gets one has to "
                    "carry it: commit or flush large changes before the session is forked",
                    stacklevel=2,
                )
        return {"place": self._place, "pickled": pickled}

    def __setstate__(self, state: object) -> None:
        super().__setstate__(state)
        self._changing = Changes()

    def answer(self) -> ForkAnswer:
        """The edits of the fork, to be pickled and merged into the session that was forked.

        The answer has the edits at the time when it is pickled or merged, not at the time of this
        call: pickle it once the work is done. Its pickle has the size of the fork's own changes,
        whereas the pickle of the fork also holds earlier ones. The session takes the answer until
        it is changed and forked again; later, merge it into a fork that was created together with
        this one, and that fork into the session. To read the changes, or to write more, send the
        fork itself.
        """
        return ForkAnswer(self)

    def _returned(self) -> _native.Session | bytes:
        """The object to merge. An unopened fork is merged in its serialized form, because its
        repository may need other credentials than the fork has.
        """
        if "_session" in self.__dict__:
            return self._session
        assert isinstance(self._pickled, bytes)
        return self._pickled

    def _begin_opening(self, repository: _native.Repository) -> _native.Task[_native.Session]:
        assert isinstance(self._pickled, bytes)
        return repository.open_fork(self._pickled, for_all=True)

    @contextmanager
    def _opening(self, repository: _native.Repository) -> Iterator[_native.Task[_native.Session]]:
        try:
            with super()._opening(repository) as task:
                yield task
        except InternalError as error:
            if error.kind != "pickle":
                raise
            raise InvalidInputError(
                f"this fork cannot be opened: {error.message}. Send it again, whole, and by the same version of "
                "icefield on both sides",
                ErrorKind.PICKLE,
            ) from None
