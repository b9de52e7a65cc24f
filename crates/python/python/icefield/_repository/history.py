"""Snapshots: their history, their differences, and their contents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar, cast

from icefield._checks import exactly_one_version, text, truth
from icefield._iterators import AsyncCloseableIterator, CloseableIterator
from icefield._repository.handle import Handle
from icefield._values import AncestryGraph, Diff, ManifestFileInfo, SnapshotInfo

__all__ = ["History"]

_F = TypeVar("_F", bound=Callable[..., Any])


def _text_on_request(method: _F) -> _F:
    """Lets an inspection also take `pretty`, and then return a JSON string, as version 1 did."""

    def shown(found: dict[str, Any], pretty: object) -> str:
        return json.dumps(found, indent=2 if pretty else None)

    if method.__name__.endswith("_async"):

        @wraps(method)
        async def later(*args: Any, **kwargs: Any) -> Any:
            pretty = kwargs.pop("pretty", None)
            found = await method(*args, **kwargs)
            return found if pretty is None else shown(found, pretty)

        return cast(_F, later)

    @wraps(method)
    def now(*args: Any, **kwargs: Any) -> Any:
        pretty = kwargs.pop("pretty", None)
        found = method(*args, **kwargs)
        return found if pretty is None else shown(found, pretty)

    return cast(_F, now)


class History(Handle):
    """The snapshots of a repository."""

    def _snapshot(self, row: tuple[str, str | None, int, str, str]) -> SnapshotInfo:
        return SnapshotInfo._from_native(row, lambda: self.list_manifest_files(row[0]))

    def ancestry(
        self,
        *,
        branch: str | None = None,
        tag: str | None = None,
        snapshot_id: str | None = None,
    ) -> Iterator[SnapshotInfo]:
        """A snapshot, given by one of branch, tag and snapshot id, and its ancestors, newest first."""
        version = exactly_one_version(branch, tag, snapshot_id)
        snapshots = CloseableIterator(
            self._repository.ancestry(*version), self._snapshot
        )
        snapshots._fill()
        return snapshots

    def async_ancestry(
        self,
        *,
        branch: str | None = None,
        tag: str | None = None,
        snapshot_id: str | None = None,
    ) -> AsyncCloseableIterator[SnapshotInfo]:
        """The form of `ancestry` for `async for`."""
        version = exactly_one_version(branch, tag, snapshot_id)
        return AsyncCloseableIterator(
            self._begun(lambda: self._repository.ancestry(*version)), self._snapshot
        )

    def ancestry_graph(
        self,
        *,
        branch: str | None = None,
        tag: str | None = None,
        snapshot_id: str | None = None,
        plain: bool = False,
    ) -> AncestryGraph:
        """The graph of the history of one branch, tag or snapshot, or of all branches if none is given.

        `print` shows it with colours, unless `plain`; a notebook shows it as an SVG.
        """
        plain = truth(plain, "plain")
        branches = self._repository.list_branches().wait()
        tags = self._repository.list_tags().wait()
        snapshots: dict[str, SnapshotInfo] = {}
        for tip in _tips(branches, branch, tag, snapshot_id):
            rows = CloseableIterator(self._repository.ancestry(*tip), self._snapshot)
            for row in rows:
                if row.id in snapshots:
                    rows.close()
                    break
                snapshots[row.id] = row
        heads = {name: self._repository.lookup_branch(name) for name in branches}
        marks = {name: self._repository.lookup_tag(name) for name in tags}
        return AncestryGraph._of(
            snapshots.values(),
            {name: task.wait() for name, task in heads.items()},
            {name: task.wait() for name, task in marks.items()},
            plain=plain,
        )

    async def ancestry_graph_async(
        self,
        *,
        branch: str | None = None,
        tag: str | None = None,
        snapshot_id: str | None = None,
        plain: bool = False,
    ) -> AncestryGraph:
        """The asynchronous form of `ancestry_graph`."""
        plain = truth(plain, "plain")
        branches = await self._repository.list_branches()
        tags = await self._repository.list_tags()
        snapshots: dict[str, SnapshotInfo] = {}
        for tip in _tips(branches, branch, tag, snapshot_id):
            rows = AsyncCloseableIterator(self._repository.ancestry(*tip), self._snapshot)
            async for row in rows:
                if row.id in snapshots:
                    await rows.aclose()
                    break
                snapshots[row.id] = row
        heads = {name: self._repository.lookup_branch(name) for name in branches}
        marks = {name: self._repository.lookup_tag(name) for name in tags}
        return AncestryGraph._of(
            snapshots.values(),
            {name: await task for name, task in heads.items()},
            {name: await task for name, task in marks.items()},
            plain=plain,
        )

    def lookup_snapshot(self, snapshot_id: str) -> SnapshotInfo:
        """The id, parent, time, message and metadata of a snapshot."""
        return self._snapshot(
            self._repository.lookup_snapshot(text(snapshot_id, "snapshot_id")).wait()
        )

    async def lookup_snapshot_async(self, snapshot_id: str) -> SnapshotInfo:
        """The asynchronous form of `lookup_snapshot`."""
        return self._snapshot(
            await self._repository.lookup_snapshot(text(snapshot_id, "snapshot_id"))
        )

    def list_manifest_files(self, snapshot_id: str) -> list[ManifestFileInfo]:
        """The manifests that a snapshot uses."""
        task = self._repository.list_manifest_files(text(snapshot_id, "snapshot_id"))
        return [ManifestFileInfo._from_native(row) for row in task.wait()]

    async def list_manifest_files_async(self, snapshot_id: str) -> list[ManifestFileInfo]:
        """The asynchronous form of `list_manifest_files`."""
        task = self._repository.list_manifest_files(text(snapshot_id, "snapshot_id"))
        return [ManifestFileInfo._from_native(row) for row in await task]

    def diff(
        self,
        *,
        from_branch: str | None = None,
        from_tag: str | None = None,
        from_snapshot_id: str | None = None,
        to_branch: str | None = None,
        to_tag: str | None = None,
        to_snapshot_id: str | None = None,
    ) -> Diff:
        """The differences between two snapshots, as the changes from the first to the second.

        Give one of the three for each side. Any two snapshots of the repository can be compared:
        neither has to be an ancestor of the other.
        """
        start = exactly_one_version(from_branch, from_tag, from_snapshot_id, "from_")
        end = exactly_one_version(to_branch, to_tag, to_snapshot_id, "to_")
        return Diff._from_native(self._repository.diff(start, end).wait())

    async def diff_async(
        self,
        *,
        from_branch: str | None = None,
        from_tag: str | None = None,
        from_snapshot_id: str | None = None,
        to_branch: str | None = None,
        to_tag: str | None = None,
        to_snapshot_id: str | None = None,
    ) -> Diff:
        """The asynchronous form of `diff`."""
        start = exactly_one_version(from_branch, from_tag, from_snapshot_id, "from_")
        end = exactly_one_version(to_branch, to_tag, to_snapshot_id, "to_")
        return Diff._from_native(await self._repository.diff(start, end))

    @_text_on_request
    def inspect_snapshot(self, snapshot_id: str) -> dict[str, Any]:
        """The contents of a snapshot object. With `pretty` (True or False), as a JSON text."""
        return _object(
            self._repository.inspect_snapshot(text(snapshot_id, "snapshot_id")).wait()
        )

    @_text_on_request
    async def inspect_snapshot_async(self, snapshot_id: str) -> dict[str, Any]:
        """The asynchronous form of `inspect_snapshot`."""
        return _object(await self._repository.inspect_snapshot(text(snapshot_id, "snapshot_id")))

    @_text_on_request
    def inspect_manifest(self, manifest_id: str) -> dict[str, Any]:
        """The contents of a manifest object, counted by array."""
        return _object(
            self._repository.inspect_manifest(text(manifest_id, "manifest_id")).wait()
        )

    @_text_on_request
    async def inspect_manifest_async(self, manifest_id: str) -> dict[str, Any]:
        """The asynchronous form of `inspect_manifest`."""
        return _object(await self._repository.inspect_manifest(text(manifest_id, "manifest_id")))

    @_text_on_request
    def inspect_transaction_log(self, snapshot_id: str) -> dict[str, Any]:
        """The contents of the transaction log of a commit."""
        return _object(
            self._repository.inspect_transaction_log(text(snapshot_id, "snapshot_id")).wait()
        )

    @_text_on_request
    async def inspect_transaction_log_async(self, snapshot_id: str) -> dict[str, Any]:
        """The asynchronous form of `inspect_transaction_log`."""
        return _object(
            await self._repository.inspect_transaction_log(text(snapshot_id, "snapshot_id"))
        )

    @_text_on_request
    def inspect_repo_info(self) -> dict[str, Any]:
        """The contents of the object `repo`, in which format version 2 keeps the state of the repository.

        Version 1 has none, and raises a `FormatError`.
        """
        return _object(self._repository.inspect_repo_info().wait())

    @_text_on_request
    async def inspect_repo_info_async(self) -> dict[str, Any]:
        """The asynchronous form of `inspect_repo_info`."""
        return _object(await self._repository.inspect_repo_info())


def _tips(
    branches: list[str], branch: str | None, tag: str | None, snapshot_id: str | None
) -> list[tuple[str, str]]:
    """The tips of the graph: the given revision, or all branches."""
    if branch is tag is snapshot_id is None:
        return [("branch", name) for name in sorted(branches)]
    return [exactly_one_version(branch, tag, snapshot_id)]


def _object(document: str) -> dict[str, Any]:
    found = json.loads(document)
    assert isinstance(found, dict)
    return found
