"""Data in from files and hierarchies of other formats, and out to them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Literal, Unpack, overload

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

__all__ = ["Exchange", "sources_of"]

_Source = str | os.PathLike[str]


class Exchange(Handle):
    """Imports and exports. Each import is one commit, and each export all or nothing on a local disk."""

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

        `sources` are paths, URLs and patterns for them: `*`, `?`, `[abc]`, and `**` for any directories, of local files, in
        buckets and on web servers that list their directories (`s3://archive/2020/**/*.nc`). What matches is sorted by name.

        `variables` leaves just these arrays (or all below these groups) with the coordinates, bounds and grid mappings that they
        name, `drop` leaves nodes out, and `rename` gives nodes other names, and dimensions those of their coordinates.
        `skip_unsupported` leaves out what Zarr has no words for; `ImportReport.omitted` names each such node.
        `split_compound` makes a group of an HDF5 array of compounds, with an array of each member. Of a TIFF file,
        `overviews` become groups; `"none"` leaves them out, and a number takes that one in the place of the image.

        With `virtual`, chunks stay where they are and are referred to, but those of the arrays in `copy`; readers then
        authorize the prefixes that `ImportReport.containers` lists. `concat` puts several sources behind one another along
        a dimension, `append` puts them behind what the repository has (labels must be in order, unless `unordered`): in
        the `order` in which they are given, of their names, or of the first values of their coordinates. Times in other
        units or calendars are converted exactly to those of the result, or to `time_units`. Where coordinates overlap,
        the import is refused, or keeps the elements of the `first` or the `last` source; so it does with messages
        that a GRIB file has for one place. Numbers that a source packs or
        types otherwise than the first are stored as there: exactly, or no farther off than `repack`; or `unpack` stores decoded
        numbers. With `missing="fill"`, arrays that some
        sources lack read as missing there. `attributes` says which the result has where they differ: those of the `first`
        source, only `equal` ones (else the import is refused), or all but those that differ (`drop-conflicts`).

        `chunks`, `shards` and `codec` say how the chunks of new arrays are cut and encoded, as in `rechunk`; coordinates keep
        their chunks. What stays where it is keeps both.

        `concat_new` makes each source one element of a new dimension, in the order of the values that `value_from` finds in
        their names (`pattern:air_m{}.nc`), in a global attribute or in a scalar variable; with `concat`, the sources of each
        value lie behind one another. `combine="by-coords"` finds out from the coordinates how the sources form a grid, and
        refuses one with a file missing. With `append` and `skip_existing`, sources that are there already, by value, are left
        out, so that one call imports what is new, every night.

        An import that broke off goes on where it was if it is called again, unless `resume` is False; `abandon_imports` ends
        it.

        With `plan`, nothing is written, and what would be done is returned. Where sources have nothing that is new, there
        is no commit, and `ImportReport.snapshot_id` is None.

        Interrupted by Ctrl-C or a cancelled `await`, it ends a moment later, and without a commit unless that is being
        published.
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
        """As `import_files`, to be awaited."""
        async with told(options.get("progress")) as tell:
            return _imported(await self._begin_import(sources, plan, options, tell), plan)

    def abandon_imports(self) -> list[AbandonedImport]:
        """Ends imports that broke off; what they had stored is garbage from then on."""
        return _abandoned(_native.end_imports(self._repository).wait())

    async def abandon_imports_async(self) -> list[AbandonedImport]:
        """As `abandon_imports`, to be awaited."""
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
        """Gives an array other `chunks`, `shards` or another `codec`, in one commit to `branch` (`main`).

        `chunks` and `shards` are lengths by the names of dimensions (`-1` or `"all"`: the length of the array; a dimension without
        a name has its number); `shards="none"` leaves shards out. `codec` is `keep`, `none`, `zstd:LEVEL`, `gzip:LEVEL` or
        `blosc:NAME:LEVEL`. Elements, attributes and names stay, and so does what was never written.

        Chunks are decoded and encoded as a stream in bounded memory, on all processors. A commit of another session that touches
        the array meanwhile raises `ConflictError`. With `plan`, nothing is written, and what would be done is returned.
        `RechunkReport.snapshot_id` is None if the array has the layout already.

        Interrupted by Ctrl-C or a cancelled `await`, it ends a moment later, and without a commit unless that is being
        published.
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
        """As `rechunk`, to be awaited."""
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
        """As `export`, to be awaited."""
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
        """Where an export goes, and the document that says how."""
        where = _location(destination, "destination")
        place = None if self._place is None else self._place.storage._local_path()
        document = {
            "format": text(format, "format"),
            "zip": truth(zip, "zip"),
            "repository": place,
        }
        return where, json.dumps(document)


def sources_of(given: object) -> list[str]:
    """Returns the paths and URLs of what is to be imported."""
    if isinstance(given, str | bytes | os.PathLike) or not isinstance(given, Iterable):
        return [_location(given, "sources")]
    return [_location(source, "sources") for source in given]


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


def _abandoned(document: str) -> list[AbandonedImport]:
    return [AbandonedImport(**it) for it in json.loads(document)]


def _rechunked(document: str, plan: bool) -> RechunkPlan | RechunkReport:
    facts = json.loads(document)
    return RechunkPlan._of(facts) if plan else RechunkReport._of(facts)


def _exported(document: str) -> ExportReport:
    return ExportReport(**json.loads(document))
