"""Data in from files and hierarchies of other formats, and out to them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, overload

from icefield import _native
from icefield._checks import exactly_one_version, text, texts, truth
from icefield._exceptions import ErrorKind, InvalidInputError
from icefield._progress import Progress, Tell, told
from icefield._repository.handle import Handle
from icefield._values.imports import ImportPlan, ImportReport
from icefield._values.reports import ExportReport

__all__ = ["Exchange"]

_Source = str | os.PathLike[str]
_Order = Literal["given", "name", "coordinate"]
_Overlap = Literal["refuse", "first", "last"]


class Exchange(Handle):
    """Imports and exports. Each import is one commit, and each export all or nothing on a local disk."""

    @overload
    def import_files(
        self,
        sources: _Source | Sequence[_Source],
        *,
        virtual: bool = False,
        branch: str = "main",
        group: str = "/",
        variables: Iterable[str] | None = None,
        drop: Iterable[str] = (),
        rename: Mapping[str, str] | None = None,
        concat: str | None = None,
        append: str | None = None,
        unordered: bool = False,
        order: _Order = "given",
        overlap: _Overlap = "refuse",
        time_units: str | None = None,
        copy: Iterable[str] = (),
        message: str | None = None,
        progress: Progress | None = None,
        plan: Literal[False] = False,
    ) -> ImportReport: ...

    @overload
    def import_files(
        self,
        sources: _Source | Sequence[_Source],
        *,
        virtual: bool = False,
        branch: str = "main",
        group: str = "/",
        variables: Iterable[str] | None = None,
        drop: Iterable[str] = (),
        rename: Mapping[str, str] | None = None,
        concat: str | None = None,
        append: str | None = None,
        unordered: bool = False,
        order: _Order = "given",
        overlap: _Overlap = "refuse",
        time_units: str | None = None,
        copy: Iterable[str] = (),
        message: str | None = None,
        progress: Progress | None = None,
        plan: Literal[True],
    ) -> ImportPlan: ...

    @overload
    def import_files(
        self,
        sources: _Source | Sequence[_Source],
        *,
        virtual: bool = False,
        branch: str = "main",
        group: str = "/",
        variables: Iterable[str] | None = None,
        drop: Iterable[str] = (),
        rename: Mapping[str, str] | None = None,
        concat: str | None = None,
        append: str | None = None,
        unordered: bool = False,
        order: _Order = "given",
        overlap: _Overlap = "refuse",
        time_units: str | None = None,
        copy: Iterable[str] = (),
        message: str | None = None,
        progress: Progress | None = None,
        plan: bool,
    ) -> ImportPlan | ImportReport: ...

    def import_files(
        self,
        sources: _Source | Sequence[_Source],
        *,
        virtual: bool = False,
        branch: str = "main",
        group: str = "/",
        variables: Iterable[str] | None = None,
        drop: Iterable[str] = (),
        rename: Mapping[str, str] | None = None,
        concat: str | None = None,
        append: str | None = None,
        unordered: bool = False,
        order: _Order = "given",
        overlap: _Overlap = "refuse",
        time_units: str | None = None,
        copy: Iterable[str] = (),
        message: str | None = None,
        progress: Progress | None = None,
        plan: bool = False,
    ) -> ImportPlan | ImportReport:
        """Imports Zarr hierarchies (v2, v3, NCZarr; directories, zip files, URLs), NetCDF, HDF5 and kerchunk references.

        `variables` leaves just these arrays (or all below these groups) with the coordinates, bounds and grid mappings that they
        name, `drop` leaves nodes out, and `rename` gives nodes other names, and dimensions those of their coordinates.

        With `virtual`, chunks stay where they are and are referred to, but those of the arrays in `copy`; readers then
        authorize the prefixes that `ImportReport.containers` lists. `concat` puts several sources behind one another along
        a dimension, `append` puts them behind what the repository has (labels must be in order, unless `unordered`): in
        the `order` in which they are given, of their names, or of the first values of their coordinates. Times in other
        units or calendars are converted exactly to those of the result, or to `time_units`. Where coordinates overlap,
        the import is refused, or keeps the elements of the `first` or the `last` source.

        With `plan`, nothing is written, and what would be done is returned. Where sources have nothing that is new, there
        is no commit, and `ImportReport.snapshot_id` is None.

        Interrupted by Ctrl-C or a cancelled `await`, it ends a moment later, and without a commit unless that is being
        published.
        """
        said = locals()
        with told(progress) as tell:
            return _imported(self._begin_import(said, tell).wait(), plan)

    @overload
    async def import_files_async(
        self,
        sources: _Source | Sequence[_Source],
        *,
        virtual: bool = False,
        branch: str = "main",
        group: str = "/",
        variables: Iterable[str] | None = None,
        drop: Iterable[str] = (),
        rename: Mapping[str, str] | None = None,
        concat: str | None = None,
        append: str | None = None,
        unordered: bool = False,
        order: _Order = "given",
        overlap: _Overlap = "refuse",
        time_units: str | None = None,
        copy: Iterable[str] = (),
        message: str | None = None,
        progress: Progress | None = None,
        plan: Literal[False] = False,
    ) -> ImportReport: ...

    @overload
    async def import_files_async(
        self,
        sources: _Source | Sequence[_Source],
        *,
        virtual: bool = False,
        branch: str = "main",
        group: str = "/",
        variables: Iterable[str] | None = None,
        drop: Iterable[str] = (),
        rename: Mapping[str, str] | None = None,
        concat: str | None = None,
        append: str | None = None,
        unordered: bool = False,
        order: _Order = "given",
        overlap: _Overlap = "refuse",
        time_units: str | None = None,
        copy: Iterable[str] = (),
        message: str | None = None,
        progress: Progress | None = None,
        plan: Literal[True],
    ) -> ImportPlan: ...

    @overload
    async def import_files_async(
        self,
        sources: _Source | Sequence[_Source],
        *,
        virtual: bool = False,
        branch: str = "main",
        group: str = "/",
        variables: Iterable[str] | None = None,
        drop: Iterable[str] = (),
        rename: Mapping[str, str] | None = None,
        concat: str | None = None,
        append: str | None = None,
        unordered: bool = False,
        order: _Order = "given",
        overlap: _Overlap = "refuse",
        time_units: str | None = None,
        copy: Iterable[str] = (),
        message: str | None = None,
        progress: Progress | None = None,
        plan: bool,
    ) -> ImportPlan | ImportReport: ...

    async def import_files_async(
        self,
        sources: _Source | Sequence[_Source],
        *,
        virtual: bool = False,
        branch: str = "main",
        group: str = "/",
        variables: Iterable[str] | None = None,
        drop: Iterable[str] = (),
        rename: Mapping[str, str] | None = None,
        concat: str | None = None,
        append: str | None = None,
        unordered: bool = False,
        order: _Order = "given",
        overlap: _Overlap = "refuse",
        time_units: str | None = None,
        copy: Iterable[str] = (),
        message: str | None = None,
        progress: Progress | None = None,
        plan: bool = False,
    ) -> ImportPlan | ImportReport:
        """As `import_files`, to be awaited."""
        said = locals()
        async with told(progress) as tell:
            return _imported(await self._begin_import(said, tell), plan)

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
        where, document = self._destination(destination, format, zip)
        with told(progress) as tell:
            session = self._exported(branch, tag, snapshot_id).wait()
            return _exported(_native.export(session, where, document, tell).wait())

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
        where, document = self._destination(destination, format, zip)
        async with told(progress) as tell:
            session = await self._exported(branch, tag, snapshot_id)
            return _exported(await _native.export(session, where, document, tell))

    def _begin_import(self, said: dict[str, Any], tell: Tell | None) -> _native.Task[str]:
        names = _sources(said["sources"])
        first = os.path.basename(names[0].split("?")[0].rstrip("/")) if names else ""
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        document = {
            "branch": text(said["branch"], "branch"),
            "group": text(said["group"], "group"),
            "message": text(said["message"] or f"Import {first}{more}", "message"),
            "variables": None
            if said["variables"] is None
            else texts(said["variables"], "variables"),
            "drop": texts(said["drop"], "drop"),
            "rename": _names(said["rename"]),
            "virtual": truth(said["virtual"], "virtual"),
            "copy": texts(said["copy"], "copy"),
            "append": None if said["append"] is None else text(said["append"], "append"),
            "concat": None if said["concat"] is None else text(said["concat"], "concat"),
            "unordered": truth(said["unordered"], "unordered"),
            "order": text(said["order"], "order"),
            "overlap": text(said["overlap"], "overlap"),
            "time_units": None
            if said["time_units"] is None
            else text(said["time_units"], "time_units"),
            "plan": truth(said["plan"], "plan"),
        }
        return _native.import_files(self._repository, names, json.dumps(document), tell)

    def _exported(
        self, branch: str | None, tag: str | None, snapshot_id: str | None
    ) -> _native.Task[_native.Session]:
        if branch is None and tag is None and snapshot_id is None:
            branch = "main"
        kind, name = exactly_one_version(branch, tag, snapshot_id)
        return self._repository.readonly_session(kind, name, None)

    def _destination(self, destination: _Source, format: str, zip: bool) -> tuple[str, str]:
        """Where an export goes, and the document that says how."""
        where = _location(destination, "destination")
        place = None if self._place is None else self._place.storage._local_path()
        document = {
            "format": text(format, "format"),
            "zip": truth(zip, "zip"),
            "repository": place,
        }
        return where, json.dumps(document)


def _sources(given: object) -> list[str]:
    if isinstance(given, str | bytes | os.PathLike) or not isinstance(given, Iterable):
        return [_location(given, "sources")]
    return [_location(source, "sources") for source in given]


def _names(given: object) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"`rename` must be names by paths, not {type(given).__name__}")
    return {text(path, "rename"): text(name, "rename") for path, name in given.items()}


def _location(given: object, name: str) -> str:
    if not isinstance(given, str | os.PathLike):
        raise TypeError(f"`{name}` must be paths or URLs, not {type(given).__name__}")
    location = text(os.fspath(given), name)
    if not location:
        raise InvalidInputError(
            f"`{name}` is empty: give a path or a URL ('.' is the working directory)",
            ErrorKind.INVALID_ARGUMENT,
        )
    return location


def _imported(document: str, plan: bool) -> ImportPlan | ImportReport:
    facts = json.loads(document)
    return ImportPlan._of(facts) if plan else ImportReport._of(facts)


def _exported(document: str) -> ExportReport:
    return ExportReport(**json.loads(document))
