"""Branches and tags."""

from __future__ import annotations

from icefield._checks import text
from icefield._repository.handle import Handle

__all__ = ["Refs"]


class Refs(Handle):
    """The branches and tags of a repository.

    A name that does not exist raises a `RefNotFoundError`, a snapshot that does not a
    `SnapshotNotFoundError`.
    """

    def create_branch(self, branch: str, snapshot_id: str) -> None:
        """Creates a branch at a snapshot. If the branch exists, raises an error and leaves it unchanged."""
        self._repository.create_branch(
            text(branch, "branch"), text(snapshot_id, "snapshot_id")
        ).wait()

    async def create_branch_async(self, branch: str, snapshot_id: str) -> None:
        """The asynchronous form of `create_branch`."""
        await self._repository.create_branch(
            text(branch, "branch"), text(snapshot_id, "snapshot_id")
        )

    def list_branches(self) -> set[str]:
        """The names of all branches."""
        return set(self._repository.list_branches().wait())

    async def list_branches_async(self) -> set[str]:
        """The asynchronous form of `list_branches`."""
        return set(await self._repository.list_branches())

    def lookup_branch(self, branch: str) -> str:
        """The id of the snapshot that a branch points to."""
        return self._repository.lookup_branch(text(branch, "branch")).wait()

    async def lookup_branch_async(self, branch: str) -> str:
        """The asynchronous form of `lookup_branch`."""
        return await self._repository.lookup_branch(text(branch, "branch"))

    def reset_branch(
        self, branch: str, snapshot_id: str, *, from_snapshot_id: str | None = None
    ) -> None:
        """Moves a branch to a snapshot; commits after it are no longer reachable by the branch.

        With `from_snapshot_id`, raises a `ConflictError` if the branch does not point to that
        snapshot.
        """
        self._repository.reset_branch(
            text(branch, "branch"),
            text(snapshot_id, "snapshot_id"),
            _optional(from_snapshot_id),
        ).wait()

    async def reset_branch_async(
        self, branch: str, snapshot_id: str, *, from_snapshot_id: str | None = None
    ) -> None:
        """The asynchronous form of `reset_branch`."""
        await self._repository.reset_branch(
            text(branch, "branch"),
            text(snapshot_id, "snapshot_id"),
            _optional(from_snapshot_id),
        )

    def delete_branch(self, branch: str) -> None:
        """Deletes a branch, but not its snapshots. `main` cannot be deleted."""
        self._repository.delete_branch(text(branch, "branch")).wait()

    async def delete_branch_async(self, branch: str) -> None:
        """The asynchronous form of `delete_branch`."""
        await self._repository.delete_branch(text(branch, "branch"))

    def create_tag(self, tag: str, snapshot_id: str) -> None:
        """Creates a tag: a name for a snapshot that never moves.

        The name of a tag cannot be used again, even after the tag is deleted.
        """
        self._repository.create_tag(text(tag, "tag"), text(snapshot_id, "snapshot_id")).wait()

    async def create_tag_async(self, tag: str, snapshot_id: str) -> None:
        """The asynchronous form of `create_tag`."""
        await self._repository.create_tag(text(tag, "tag"), text(snapshot_id, "snapshot_id"))

    def list_tags(self) -> set[str]:
        """The names of all tags."""
        return set(self._repository.list_tags().wait())

    async def list_tags_async(self) -> set[str]:
        """The asynchronous form of `list_tags`."""
        return set(await self._repository.list_tags())

    def lookup_tag(self, tag: str) -> str:
        """The id of the snapshot that a tag points to."""
        return self._repository.lookup_tag(text(tag, "tag")).wait()

    async def lookup_tag_async(self, tag: str) -> str:
        """The asynchronous form of `lookup_tag`."""
        return await self._repository.lookup_tag(text(tag, "tag"))

    def delete_tag(self, tag: str) -> None:
        """Deletes a tag, but not its snapshot. Its name cannot be used again."""
        self._repository.delete_tag(text(tag, "tag")).wait()

    async def delete_tag_async(self, tag: str) -> None:
        """The asynchronous form of `delete_tag`."""
        await self._repository.delete_tag(text(tag, "tag"))


def _optional(snapshot_id: str | None) -> str | None:
    return None if snapshot_id is None else text(snapshot_id, "from_snapshot_id")
