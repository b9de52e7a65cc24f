"""Copies of a repository, copies in an earlier version of the format, and bundles."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from icefield import _native
from icefield._checks import text, texts, truth, whole
from icefield._exceptions import AlreadyExistsError, ErrorKind, InvalidInputError
from icefield._progress import Progress, told
from icefield._repository.handle import Handle
from icefield._values.reports import BundleReport, CopyReport, DowngradeReport, NotCarried

if TYPE_CHECKING:
    from icefield._values.enums import SpecVersion
    from icefield.storage import Storage

__all__ = ["Copies"]

_Path = str | os.PathLike[str]


class Copies(Handle):
    """Copies and bundles. Ids stay; objects that exist at the destination are not copied again."""

    def copy(
        self,
        destination: Storage,
        *,
        refs: Iterable[str] = (),
        depth: int | None = None,
        force: bool = False,
        spec_version: SpecVersion | int | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> CopyReport:
        """Copies the repository to another storage. A second call copies only new objects.

        `refs` names the branches and tags to copy (`NAME`, `branch:NAME`, `tag:NAME`; by default
        all), and `depth` limits each to its newest snapshots. Branches of the destination are only
        moved forward, unless `force` moves them in any direction and replaces the configuration,
        metadata and feature flags. The copy has the format version of the source; `spec_version=2`
        makes a copy of version 2 from a source of version 1, and `downgrade` one of version 1 from
        a source of version 2. With `dry_run`, the method writes nothing.
        """
        said = _part(refs, depth, force=force, dry_run=dry_run, spec_version=_version(spec_version))
        with told(progress) as tell:
            task = _native.copy(self._repository, destination._native(), said, tell)
            return CopyReport._of(json.loads(task.wait()))

    async def copy_async(
        self,
        destination: Storage,
        *,
        refs: Iterable[str] = (),
        depth: int | None = None,
        force: bool = False,
        spec_version: SpecVersion | int | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> CopyReport:
        """The asynchronous form of `copy`."""
        said = _part(refs, depth, force=force, dry_run=dry_run, spec_version=_version(spec_version))
        async with told(progress) as tell:
            task = _native.copy(self._repository, destination._native(), said, tell)
            return CopyReport._of(json.loads(await task))

    def downgrade(
        self,
        destination: Storage,
        *,
        refs: Iterable[str] = (),
        depth: int | None = None,
        leave_out: bool = False,
        force: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> DowngradeReport:
        """Copies this repository of format version 2 as one of version 1. The source does not change.

        Parts that readers would miss raise an error of the kind `UNSUPPORTED_OPERATION_FOR_VERSION`
        before anything is written: arrays with rectilinear or unreadable chunk grids, locations of
        virtual chunks that version 1 cannot express, and names of refs with a slash. With
        `leave_out`, the branches and tags that reach them are left out instead.
        `DowngradeReport.not_carried` lists everything else that version 1 has no place for. `refs`,
        `depth`, `force` and `dry_run` are those of `copy`.
        """
        said = _part(refs, depth, force=force, dry_run=dry_run, leave_out=truth(leave_out, "leave_out"))
        with told(progress) as tell:
            task = _native.downgrade(self._repository, destination._native(), said, tell)
            return _downgraded(task.wait())

    async def downgrade_async(
        self,
        destination: Storage,
        *,
        refs: Iterable[str] = (),
        depth: int | None = None,
        leave_out: bool = False,
        force: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> DowngradeReport:
        """The asynchronous form of `downgrade`."""
        said = _part(refs, depth, force=force, dry_run=dry_run, leave_out=truth(leave_out, "leave_out"))
        async with told(progress) as tell:
            task = _native.downgrade(self._repository, destination._native(), said, tell)
            return _downgraded(await task)

    def bundle(
        self,
        file: _Path,
        *,
        refs: Iterable[str] = (),
        depth: int | None = None,
        since: str | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> BundleReport:
        """Writes the repository into one file, a tar file that `unbundle` checks and reads.

        `refs` and `depth` are those of `copy`. `since` is the id of a snapshot: objects that it
        reaches are left out, and the repository that reads the bundle must have them. The file
        appears once it is complete, and replaces another file only with `force`.
        """
        new = _NewFile(file, truth(force, "force"))
        said = _part(refs, depth, since=since, described=self._described())
        with new as path, told(progress) as tell:
            report = _bundled(_native.bundle(self._repository, path, said, tell).wait())
            new.publish()
            return report

    async def bundle_async(
        self,
        file: _Path,
        *,
        refs: Iterable[str] = (),
        depth: int | None = None,
        since: str | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> BundleReport:
        """The asynchronous form of `bundle`."""
        new = _NewFile(file, truth(force, "force"))
        said = _part(refs, depth, since=since, described=self._described())
        with new as path:
            async with told(progress) as tell:
                report = _bundled(await _native.bundle(self._repository, path, said, tell))
                new.publish()
                return report

    @staticmethod
    def unbundle(
        file: _Path,
        destination: Storage,
        *,
        force: bool = False,
        progress: Progress | None = None,
    ) -> CopyReport:
        """Reads a bundle into a repository, which is created if there is none. The whole bundle is
        checked before anything is written.

        Branches of the destination are only moved forward, unless `force` moves them in any
        direction.
        """
        path = _path(file)
        with told(progress) as tell:
            task = _native.unbundle(path, destination._native(), truth(force, "force"), tell)
            return CopyReport._of(json.loads(task.wait()))

    @staticmethod
    async def unbundle_async(
        file: _Path,
        destination: Storage,
        *,
        force: bool = False,
        progress: Progress | None = None,
    ) -> CopyReport:
        """The asynchronous form of `unbundle`."""
        path = _path(file)
        async with told(progress) as tell:
            task = _native.unbundle(path, destination._native(), truth(force, "force"), tell)
            return CopyReport._of(json.loads(await task))

    def _described(self) -> str | None:
        """The location of the repository, if that is a path."""
        return None if self._place is None else self._place.storage._local_path()


class _NewFile:
    """A file that is written under a temporary name, and renamed once it is complete."""

    def __init__(self, name: _Path, replaces: bool) -> None:
        self._name = _path(name)
        self._replaces = replaces
        folder, last = os.path.split(self._name)
        self._beside = os.path.join(folder, f".{last}.{secrets.token_hex(4)}.partial")

    def __enter__(self) -> str:
        if not self._replaces and os.path.lexists(self._name):
            raise self._exists()
        return self._beside

    def __exit__(self, *_: object) -> None:
        # The removal fails harmlessly if the file was renamed.
        if os.path.lexists(self._beside):
            os.unlink(self._beside)

    def publish(self) -> None:
        if self._replaces:
            os.replace(self._beside, self._name)
            return
        try:
            # A hard link never replaces an existing file, not even a concurrent one.
            os.link(self._beside, self._name)
        except FileExistsError:
            raise self._exists() from None
        except OSError:
            # This file system has no hard links: the check at the start must suffice.
            if os.path.lexists(self._name):
                raise self._exists() from None
            os.rename(self._beside, self._name)

    def _exists(self) -> AlreadyExistsError:
        return AlreadyExistsError(
            f"{self._name} exists already: choose another name, or replace it with `force`",
            ErrorKind.NODE_ALREADY_EXISTS,
        )


def _path(given: object) -> str:
    if not isinstance(given, str | os.PathLike):
        raise TypeError(f"`file` must be a path, not {type(given).__name__}")
    path = text(os.fspath(given), "file")
    if not os.path.basename(path):
        raise InvalidInputError(f"`file` is {path!r}, which is not the name of a file", ErrorKind.INVALID_ARGUMENT)
    return path


def _part(refs: Iterable[str], depth: int | None, **more: Any) -> str:
    for name in ("force", "dry_run"):
        if name in more:
            more[name] = truth(more[name], name)
    if more.get("since") is not None:
        more["since"] = text(more["since"], "since")
    document = {
        "refs": texts(refs, "refs"),
        "depth": None if depth is None else whole(depth, "depth", "invalid-argument", 1),
    }
    return json.dumps(document | more)


def _version(given: object) -> int | None:
    return None if given is None else whole(given, "spec_version", "invalid-argument", 1, 2)


def _downgraded(document: str) -> DowngradeReport:
    facts = json.loads(document)
    not_carried = [NotCarried(**it) for it in facts["not_carried"]]
    return DowngradeReport._of(facts, not_carried=not_carried, left_out=facts["left_out"])


def _bundled(document: str) -> BundleReport:
    facts = json.loads(document)
    return BundleReport(
        spec_version=facts["spec_version"],
        chunks=facts["chunks"]["objects"],
        bytes=facts["chunks"]["bytes"],
        snapshots=facts["snapshots"]["objects"],
        refs=facts["refs"],
        since=facts["since"],
        facts=facts,
    )
