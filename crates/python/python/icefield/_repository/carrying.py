"""Applying changes of one history to another: merge, cherry-pick, revert."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from icefield import _native
from icefield._checks import exactly_one_version, metadata_document, text
from icefield._conflicts import ConflictSolver, StrictConflictDetector
from icefield._repository.handle import Handle

if TYPE_CHECKING:
    from icefield._native import Session as NativeSession

__all__ = ["Carrying"]


class Carrying(Handle):
    """Merges, cherry-picks and reverts. Each creates one commit on a branch, and copies no data.

    If the solver leaves conflicts, the method raises a `RebaseFailedError` with all of them, and
    changes nothing. If the branch moves meanwhile, the commit is rebased, unless there are
    conflicts. For a `BasicConflictSolver`, the changes of the branch are ours, and the applied
    changes are theirs.
    """

    def merge(
        self,
        *,
        branch: str | None = None,
        tag: str | None = None,
        snapshot_id: str | None = None,
        into: str = "main",
        message: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        solver: ConflictSolver | None = None,
    ) -> str | None:
        """Applies to the branch `into` the changes of another history since the two diverged.

        Returns the id of the new snapshot, or None if there are no changes to apply. Without
        `solver`, strict conflict detection applies.
        """
        version = exactly_one_version(branch, tag, snapshot_id)
        return self._carry("merge", version, into, message, metadata, solver)

    def cherry_pick(
        self,
        snapshot_id: str,
        *,
        onto: str = "main",
        message: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        solver: ConflictSolver | None = None,
    ) -> str | None:
        """Applies the changes of one snapshot. Returns the new snapshot, or None if the branch has
        all of them already.
        """
        version = ("snapshot", text(snapshot_id, "snapshot_id"))
        return self._carry("cherry-pick", version, onto, message, metadata, solver)

    def revert(
        self,
        snapshot_id: str,
        *,
        on: str = "main",
        message: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        solver: ConflictSolver | None = None,
    ) -> str | None:
        """Undoes the changes of one snapshot; later changes stay. Returns the new snapshot, or None."""
        version = ("snapshot", text(snapshot_id, "snapshot_id"))
        return self._carry("revert", version, on, message, metadata, solver)

    async def merge_async(
        self,
        *,
        branch: str | None = None,
        tag: str | None = None,
        snapshot_id: str | None = None,
        into: str = "main",
        message: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        solver: ConflictSolver | None = None,
    ) -> str | None:
        """The asynchronous form of `merge`."""
        version = exactly_one_version(branch, tag, snapshot_id)
        return await self._carry_async("merge", version, into, message, metadata, solver)

    async def cherry_pick_async(
        self,
        snapshot_id: str,
        *,
        onto: str = "main",
        message: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        solver: ConflictSolver | None = None,
    ) -> str | None:
        """The asynchronous form of `cherry_pick`."""
        version = ("snapshot", text(snapshot_id, "snapshot_id"))
        return await self._carry_async("cherry-pick", version, onto, message, metadata, solver)

    async def revert_async(
        self,
        snapshot_id: str,
        *,
        on: str = "main",
        message: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        solver: ConflictSolver | None = None,
    ) -> str | None:
        """The asynchronous form of `revert`."""
        version = ("snapshot", text(snapshot_id, "snapshot_id"))
        return await self._carry_async("revert", version, on, message, metadata, solver)

    def _carry(
        self,
        kind: str,
        version: tuple[str, str],
        branch: str,
        message: str | None,
        metadata: Mapping[str, Any] | None,
        solver: ConflictSolver | None,
    ) -> str | None:
        document = metadata_document(self._with_defaults(metadata))
        rules = _rules(solver)
        session = self._repository.writable_session(text(branch, "branch")).wait()
        source = self._source(version)
        source_id = source if isinstance(source, str) else source.wait()
        if not _native.carry(session, kind, source_id, rules).wait():
            return None
        said = message or _message(kind, version, branch)
        return _committing(session, said, document).wait()

    async def _carry_async(
        self,
        kind: str,
        version: tuple[str, str],
        branch: str,
        message: str | None,
        metadata: Mapping[str, Any] | None,
        solver: ConflictSolver | None,
    ) -> str | None:
        document = metadata_document(self._with_defaults(metadata))
        rules = _rules(solver)
        session = await self._repository.writable_session(text(branch, "branch"))
        source = self._source(version)
        source_id = source if isinstance(source, str) else await source
        if not await _native.carry(session, kind, source_id, rules):
            return None
        said = message or _message(kind, version, branch)
        return await _committing(session, said, document)

    def _source(self, version: tuple[str, str]) -> str | _native.Task[str]:
        kind, name = version
        if kind == "branch":
            return self._repository.lookup_branch(name)
        if kind == "tag":
            return self._repository.lookup_tag(name)
        return name


def _rules(solver: ConflictSolver | None) -> str:
    if solver is None:
        return StrictConflictDetector()._to_document()
    if not isinstance(solver, ConflictSolver):
        raise TypeError(
            f"`solver` must be a ConflictSolver or None, not {type(solver).__name__}"
        )
    return solver._to_document()


def _message(kind: str, version: tuple[str, str], branch: str) -> str:
    if kind == "merge":
        return f"Merge {version[1]} into {branch}"
    return f"{kind.capitalize()} {version[1]}"


def _committing(
    session: NativeSession, message: str, metadata: str | None
) -> _native.Task[str]:
    # The commit is rebased onto concurrent commits, unless there are conflicts.
    return session.commit(message, metadata, _rules(None), 1000, False)
