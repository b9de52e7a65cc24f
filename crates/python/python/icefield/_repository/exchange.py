"""Imports from files and hierarchies of other formats, and exports to them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, Unpack, overload

from icefield import _native
from icefield._checks import exactly_one_version, text, truth
from icefield._exceptions import ErrorKind, InvalidInputError
from icefield._progress import Progress, Tell, told
from icefield._repository.exchange_options import (
    ImportOptions,
    RechunkOptions,
    Sources,
    import_document,
    rechunk_document,
)
from icefield._repository.handle import Handle
from icefield._values.imports import AbandonedImport, ImportPlan, ImportReport
from icefield._values.rechunk import RechunkPlan, RechunkReport
from icefield._values.reports import ExportReport

if TYPE_CHECKING:
    from icefield._place import Place

__all__ = ["Exchange", "export_document", "location_of", "sources_of"]

_Source = str | os.PathLike[str]


class Exchange(Handle):
    """Imports and exports. Each import is one commit; on a local disk, each export is atomic."""

    @overload
    def import_files(
        self, sources: Sources, *, plan: Literal[True], **options: Unpack[ImportOptions]
    ) -> ImportPlan: ...

    @overload
    def import_files(
        self, sources: Sources, *, plan: Literal[False] = False, **options: Unpack[ImportOptions]
    ) -> ImportReport: ...

    @overload
    def import_files(
        self, sources: Sources, *, plan: bool, **options: Unpack[ImportOptions]
    ) -> ImportPlan | ImportReport: ...

    def import_files(
        self, sources: Sources, *, plan: bool = False, **options: Unpack[ImportOptions]
    ) -> ImportPlan | ImportReport:
        """Imports Zarr hierarchies (v2, v3, NCZarr; directories, zip files, URLs), NetCDF, HDF5, GeoTIFF, DMR++ and kerchunk
        references, and copies GRIB of edition 2.

        `sources` are paths, URLs and patterns for them: `*`, `?`, `[abc]`, and `**` for any
        directories, for local files, in buckets and on web servers that list their directories
        (`s3://archive/2020/**/*.nc`). Matches are sorted by name.

        `variables` selects these arrays (or all below these groups) with the coordinates, bounds
        and grid mappings that they name, `drop` leaves nodes out, and `rename` renames nodes, and
        dimensions with their coordinates. `skip_unsupported` leaves out nodes that Zarr cannot
        express, which `ImportReport.omitted` names. `split_compound` imports an HDF5 array of
        compounds as a group with one array per member. The `overviews` of a TIFF file become
        groups; `"none"` leaves them out, and a number imports that overview instead of the image.

        With `virtual`, the import refers to chunks in their files, except those of the arrays in
        `copy`; readers then authorize the prefixes that `ImportReport.containers` lists. `concat`
        concatenates several sources along a dimension, and `append` appends them to the repository
        (labels must be in order, also within each source, unless `unordered`). The `order` of the
        sources is the given one, by name, or by the first values of their coordinates. Times in
        other units or calendars are converted exactly to those of the result, or to `time_units`. Overlapping coordinates fail
        the import, or it keeps the elements of the `first` or the `last` source; the same applies
        to messages of a GRIB file for the same element. Numbers with another packing or data type
        than in the first source are stored in its encoding, exactly or within `repack`; or `unpack`
        stores decoded numbers. With `missing="fill"`, arrays that some sources do not have are
        filled with the missing value. `attributes` selects the attributes of the result: those of
        the `first` source, `equal` ones (the import fails if any differ), or all that do not differ
        (`drop-conflicts`).

        `chunks`, `shards` and `codec` give the layout of new arrays, as in `rechunk`; coordinates
        keep their chunks. Virtual chunks keep their layout.

        `concat_new` makes each source one element of a new dimension, in the order of the values
        that `value_from` finds in their names (`pattern:air_m{}.nc`), in a global attribute or in a
        scalar variable; with `concat`, the sources with the same value are concatenated.
        `combine="by-coords"` arranges the sources as a grid by their coordinates, and fails if a
        file of the grid is missing. With `append` and `skip_existing`, sources whose coordinates
        the repository has already are skipped, so that one call can import new files every night.

        A second call continues an interrupted import, unless `resume` is False; `abandon_imports`
        discards it.

        With `plan`, the method writes nothing and returns the plan. If the sources have nothing
        new, there is no commit, and `ImportReport.snapshot_id` is None.

        After Ctrl-C or a cancelled `await`, it ends a moment later, without a commit unless that is
        already being published.
        """
        with told(options.get("progress")) as tell:
            return _imported(self._begin_import(sources, plan, options, tell).wait(), plan)

    @overload
    async def import_files_async(
        self, sources: Sources, *, plan: Literal[True], **options: Unpack[ImportOptions]
    ) -> ImportPlan: ...

    @overload
    async def import_files_async(
        self, sources: Sources, *, plan: Literal[False] = False, **options: Unpack[ImportOptions]
    ) -> ImportReport: ...

    @overload
    async def import_files_async(
        self, sources: Sources, *, plan: bool, **options: Unpack[ImportOptions]
    ) -> ImportPlan | ImportReport: ...

    async def import_files_async(
        self, sources: Sources, *, plan: bool = False, **options: Unpack[ImportOptions]
    ) -> ImportPlan | ImportReport:
        """The asynchronous form of `import_files`."""
        async with told(options.get("progress")) as tell:
            return _imported(await self._begin_import(sources, plan, options, tell), plan)

    def abandon_imports(self) -> list[AbandonedImport]:
        """Discards interrupted imports. Their stored chunks become garbage."""
        return _abandoned(_native.end_imports(self._repository).wait())

    async def abandon_imports_async(self) -> list[AbandonedImport]:
        """The asynchronous form of `abandon_imports`."""
        return _abandoned(await _native.end_imports(self._repository))

    @overload
    def rechunk(
        self, path: str, *, plan: Literal[True], **options: Unpack[RechunkOptions]
    ) -> RechunkPlan: ...

    @overload
    def rechunk(
        self, path: str, *, plan: Literal[False] = False, **options: Unpack[RechunkOptions]
    ) -> RechunkReport: ...

    @overload
    def rechunk(
        self, path: str, *, plan: bool, **options: Unpack[RechunkOptions]
    ) -> RechunkPlan | RechunkReport: ...

    def rechunk(
        self, path: str, *, plan: bool = False, **options: Unpack[RechunkOptions]
    ) -> RechunkPlan | RechunkReport:
        """Changes the `chunks`, `shards` or `codec` of an array, in one commit to `branch` (`main`).

        `chunks` and `shards` are lengths by the names of dimensions (`-1` or `"all"` is the length
        of the array; a dimension without a name goes by its number); `shards="none"` removes
        shards. `codec` is `keep`, `none`, `zstd:LEVEL`, `gzip:LEVEL` or `blosc:NAME:LEVEL`.
        Elements, attributes and names stay, and unwritten chunks stay unwritten.

        Chunks are decoded and encoded as a stream in bounded memory, on all processors. A
        concurrent commit that touches the array raises `ConflictError`. With `plan`, the method
        writes nothing and returns the plan. `RechunkReport.snapshot_id` is None if the array
        already has the layout.

        After Ctrl-C or a cancelled `await`, it ends a moment later, without a commit unless that is
        already being published.
        """
        with told(options.get("progress")) as tell:
            return _rechunked(self._begin_rechunk(path, plan, options, tell).wait(), plan)

    @overload
    async def rechunk_async(
        self, path: str, *, plan: Literal[True], **options: Unpack[RechunkOptions]
    ) -> RechunkPlan: ...

    @overload
    async def rechunk_async(
        self, path: str, *, plan: Literal[False] = False, **options: Unpack[RechunkOptions]
    ) -> RechunkReport: ...

    @overload
    async def rechunk_async(
        self, path: str, *, plan: bool, **options: Unpack[RechunkOptions]
    ) -> RechunkPlan | RechunkReport: ...

    async def rechunk_async(
        self, path: str, *, plan: bool = False, **options: Unpack[RechunkOptions]
    ) -> RechunkPlan | RechunkReport:
        """The asynchronous form of `rechunk`."""
        async with told(options.get("progress")) as tell:
            return _rechunked(await self._begin_rechunk(path, plan, options, tell), plan)

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
        """The asynchronous form of `export`."""
        where, document = self._destination(destination, format, zip)
        async with told(progress) as tell:
            session = await self._exported(branch, tag, snapshot_id)
            return _exported(await _native.export(session, where, document, tell))

    def _begin_import(
        self, sources: Sources, plan: bool, options: ImportOptions, tell: Tell | None
    ) -> _native.Task[str]:
        names = sources_of(sources)
        document = {**import_document(options, names), "plan": truth(plan, "plan")}
        return _native.import_files(self._repository, names, json.dumps(document), tell)

    def _begin_rechunk(
        self, path: str, plan: bool, options: RechunkOptions, tell: Tell | None
    ) -> _native.Task[str]:
        document = {**rechunk_document(options, text(path, "path")), "plan": truth(plan, "plan")}
        return _native.rechunk(self._repository, json.dumps(document), tell)

    def _exported(
        self, branch: str | None, tag: str | None, snapshot_id: str | None
    ) -> _native.Task[_native.Session]:
        if branch is None and tag is None and snapshot_id is None:
            branch = "main"
        kind, name = exactly_one_version(branch, tag, snapshot_id)
        return self._repository.readonly_session(kind, name, None)

    def _destination(self, destination: _Source, format: str, zip: bool) -> tuple[str, str]:
        """The destination of an export, and the document of its options."""
        where = location_of(destination, "destination")
        return where, export_document(self._place, text(format, "format"), truth(zip, "zip"))


def sources_of(given: object) -> list[str]:
    """Returns the paths and URLs of the sources."""
    if isinstance(given, str | bytes | os.PathLike) or not isinstance(given, Iterable):
        return [location_of(given, "sources")]
    return [location_of(source, "sources") for source in given]


def export_document(place: Place | None, format: str, zip: bool) -> str:
    """Returns what an export of a repository in a place is told."""
    repository = None if place is None else place.storage._local_path()
    return json.dumps({"format": format, "zip": zip, "repository": repository})


def location_of(given: object, name: str) -> str:
    """Returns a path or URL as text."""
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


def _abandoned(document: str) -> list[AbandonedImport]:
    return [AbandonedImport(**it) for it in json.loads(document)]


def _rechunked(document: str, plan: bool) -> RechunkPlan | RechunkReport:
    facts = json.loads(document)
    return RechunkPlan._of(facts) if plan else RechunkReport._of(facts)


def _exported(document: str) -> ExportReport:
    return ExportReport(**json.loads(document))
