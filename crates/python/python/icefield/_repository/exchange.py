"""Data in from files and hierarchies of other formats, and out to them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from icefield import _native
from icefield._checks import exactly_one_version, text
from icefield._progress import Progress, told
from icefield._repository.handle import Handle
from icefield._values.reports import ExportReport, ImportReport

__all__ = ["Exchange"]

_Source = str | os.PathLike[str]


class Exchange(Handle):
    """Imports and exports. Each import is one commit, and each export all or nothing on a local disk."""

    def import_files(
        self,
        sources: _Source | Sequence[_Source],
        *,
        virtual: bool = False,
        branch: str = "main",
        group: str = "/",
        concat: str | None = None,
        append: str | None = None,
        unordered: bool = False,
        copy: Iterable[str] = (),
        message: str | None = None,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Imports Zarr hierarchies (v2, v3, NCZarr; directories, zip files, URLs), NetCDF, HDF5 and kerchunk references.

        With `virtual`, chunks stay where they are and are referred to, but those of the arrays in `copy`; readers then
        authorize the prefixes that `ImportReport.containers` lists. `concat` puts several sources behind one another along
        a dimension, `append` puts them behind what the repository has (labels must be in order, unless `unordered`).
        """
        return _imported(self._begin_import(locals()).wait())

    async def import_files_async(
        self,
        sources: _Source | Sequence[_Source],
        *,
        virtual: bool = False,
        branch: str = "main",
        group: str = "/",
        concat: str | None = None,
        append: str | None = None,
        unordered: bool = False,
        copy: Iterable[str] = (),
        message: str | None = None,
        progress: Progress | None = None,
    ) -> ImportReport:
        """As `import_files`, to be awaited."""
        return _imported(await self._begin_import(locals()))

    def export(
        self,
        destination: _Source,
        *,
        branch: str | None = None,
        tag: str | None = None,
        snapshot_id: str | None = None,
        format: str = "zarr3",
        zip: bool = False,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Writes a version to a directory, a zip file or a bucket, as `zarr3`, `zarr2` or `nczarr`."""
        session = self._exported(branch, tag, snapshot_id).wait()
        return _exported(self._begin_export(session, destination, format, zip, progress).wait())

    async def export_async(
        self,
        destination: _Source,
        *,
        branch: str | None = None,
        tag: str | None = None,
        snapshot_id: str | None = None,
        format: str = "zarr3",
        zip: bool = False,
        progress: Progress | None = None,
    ) -> ExportReport:
        """As `export`, to be awaited."""
        session = await self._exported(branch, tag, snapshot_id)
        return _exported(await self._begin_export(session, destination, format, zip, progress))

    def _begin_import(self, said: dict[str, Any]) -> _native.Task[str]:
        given = said["sources"]
        sources = [given] if isinstance(given, str | os.PathLike) else list(given)
        names = [text(os.fspath(source), "sources") for source in sources]
        first = os.path.basename(names[0].split("?")[0].rstrip("/")) if names else ""
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        document = {
            "branch": text(said["branch"], "branch"),
            "group": text(said["group"], "group"),
            "message": said["message"] or f"Import {first}{more}",
            "virtual": bool(said["virtual"]),
            "copy": [text(path, "copy") for path in said["copy"]],
            "append": said["append"],
            "concat": said["concat"],
            "unordered": bool(said["unordered"]),
        }
        return _native.import_files(
            self._repository, names, json.dumps(document), told(said["progress"])
        )

    def _exported(
        self, branch: str | None, tag: str | None, snapshot_id: str | None
    ) -> _native.Task[_native.Session]:
        if branch is None and tag is None and snapshot_id is None:
            branch = "main"
        kind, name = exactly_one_version(branch, tag, snapshot_id)
        return self._repository.readonly_session(kind, name, None)

    def _begin_export(
        self,
        session: _native.Session,
        destination: _Source,
        format: str,
        zip: bool,
        progress: Progress | None,
    ) -> _native.Task[str]:
        place = None if self._place is None else self._place.storage._local_path()
        document = {"format": text(format, "format"), "zip": bool(zip), "repository": place}
        return _native.export(
            session, os.fspath(destination), json.dumps(document), told(progress)
        )


def _imported(document: str) -> ImportReport:
    return ImportReport(**json.loads(document))


def _exported(document: str) -> ExportReport:
    return ExportReport(**json.loads(document))
