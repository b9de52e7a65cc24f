"""What imports and rechunkings can be asked, and the documents that say so."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from icefield._checks import text, texts, truth
from icefield._progress import Progress

__all__ = [
    "ImportOptions",
    "Lengths",
    "RechunkOptions",
    "Sources",
    "import_document",
    "rechunk_document",
]

Sources: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Lengths: TypeAlias = Mapping[str, int | Literal["all"]]


class _Layout(TypedDict, total=False):
    """How chunks are cut and encoded, and where the commit goes."""

    chunks: Lengths | None
    """Elements of a chunk by the names of dimensions; -1 or `"all"` for the length of the array. Others stay."""
    shards: Lengths | Literal["none"] | None
    """Elements of a shard likewise, multiples of those of a chunk; `"none"` for no shards."""
    codec: str | None
    """`keep`, `none`, `zstd:LEVEL`, `gzip:LEVEL` or `blosc:NAME:LEVEL`."""
    branch: str
    """The branch to commit to; `main`."""
    message: str | None
    """The commit message."""
    progress: Progress | None
    """True for a bar, or a function that is called with what has been done."""


class RechunkOptions(_Layout, total=False):
    """The options of `Repository.rechunk`."""


class ImportOptions(_Layout, total=False):
    """The options of `Repository.import_files`."""

    virtual: bool
    """Refer to chunks where they lie."""
    copy: Iterable[str]
    """Paths of arrays that are copied all the same."""
    group: str
    """The group to import into; `/`."""
    variables: Iterable[str] | None
    """Paths of the arrays and groups that are imported; all by default."""
    drop: Iterable[str]
    """Paths of nodes that are left out."""
    rename: Mapping[str, str] | None
    """New names by paths."""
    skip_unsupported: bool
    """Leave out, and name, the nodes that cannot be imported."""
    split_compound: bool
    """Make a group of an HDF5 array of compounds, with an array of each member."""
    overviews: Literal["all", "none"] | int
    """Overviews of a TIFF file: in groups below the image, left out, or the one of this number in the place of the image."""
    concat: str | None
    """The dimension along which sources lie behind one another."""
    append: str | None
    """The dimension along which sources lie behind what is there."""
    concat_new: str | None
    """A new dimension of which each source is one element; with `concat`, the sources of each value lie behind one another."""
    value_from: str | None
    """Where values along the new dimension come from: `pattern:REGEX`, `attribute:NAME` or `variable:NAME`."""
    combine: Literal["nested", "by-coords"]
    """How sources belong together: as the options say, or as the values of their coordinates do; `nested`."""
    skip_existing: bool
    """Leave out sources whose coordinates along `append` are all there, and create what is not there at all."""
    resume: bool
    """Go on where an import of the same sources broke off, and leave what is needed for that; True."""
    unordered: bool
    """Take coordinates along that dimension as they come."""
    order: Literal["given", "name", "coordinate"]
    """The order of the sources; `given`."""
    overlap: Literal["refuse", "first", "last"]
    """What becomes of elements that overlap, and of messages of a GRIB file for one place; `refuse`."""
    time_units: str | None
    """Units of the time along the dimension; those of the first source by default."""
    repack: float | None
    """How far off numbers may be that a source stores otherwise than those it is put behind; they must be equal by default."""
    unpack: bool
    """Store decoded numbers, without `scale_factor` and `add_offset`, of arrays that sources pack or store otherwise."""
    missing: Literal["refuse", "fill"]
    """What becomes of arrays that some sources lack, or the repository; `refuse`."""
    attributes: Literal["first", "equal", "drop-conflicts"] | None
    """Which attributes the result has where they differ; those of groups from the first source, and those of arrays equal."""


def import_document(options: ImportOptions, names: list[str]) -> dict[str, Any]:
    """Returns what an import is told, with all defaults."""
    _check(options, ImportOptions, "import_files")
    first = os.path.basename(names[0].split("?")[0].rstrip("/")) if names else ""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    variables = options.get("variables")
    return {
        **_layout(options, f"Import {first}{more}"),
        "group": text(options.get("group", "/"), "group"),
        "variables": None if variables is None else texts(variables, "variables"),
        "drop": texts(options.get("drop", ()), "drop"),
        "rename": _names(options.get("rename")),
        "skip_unsupported": truth(options.get("skip_unsupported", False), "skip_unsupported"),
        "split_compound": truth(options.get("split_compound", False), "split_compound"),
        "overviews": _overviews(options.get("overviews", "all")),
        "virtual": truth(options.get("virtual", False), "virtual"),
        "copy": texts(options.get("copy", ()), "copy"),
        "append": _optional(options.get("append"), "append"),
        "concat": _optional(options.get("concat"), "concat"),
        "concat_new": _optional(options.get("concat_new"), "concat_new"),
        "value_from": _optional(options.get("value_from"), "value_from"),
        "combine": text(options.get("combine", "nested"), "combine"),
        "skip_existing": truth(options.get("skip_existing", False), "skip_existing"),
        "resume": truth(options.get("resume", True), "resume"),
        "unordered": truth(options.get("unordered", False), "unordered"),
        "order": text(options.get("order", "given"), "order"),
        "overlap": text(options.get("overlap", "refuse"), "overlap"),
        "time_units": _optional(options.get("time_units"), "time_units"),
        "repack": None if (repack := options.get("repack")) is None else _tolerance(repack),
        "unpack": truth(options.get("unpack", False), "unpack"),
        "missing": text(options.get("missing", "refuse"), "missing"),
        "attributes": _optional(options.get("attributes"), "attributes"),
    }


def _overviews(given: object) -> str | int:
    """A word, or the number of an overview."""
    if isinstance(given, str):
        return given
    if not isinstance(given, int) or isinstance(given, bool):
        raise TypeError(f"`overviews` must be a word or a number, not {type(given).__name__}")
    return given


def rechunk_document(options: RechunkOptions, path: str) -> dict[str, Any]:
    """Returns what a rechunking is told, with all defaults."""
    _check(options, RechunkOptions, "rechunk")
    return {**_layout(options, f"Rechunk {path}"), "path": path}


def _check(options: Mapping[str, object], known: type, function: str) -> None:
    """Refuses options that there are not, as Python does for keywords."""
    for name in options:
        if name not in known.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def _layout(options: _Layout, message: str) -> dict[str, Any]:
    shards = options.get("shards")
    return {
        "branch": text(options.get("branch", "main"), "branch"),
        "message": text(options.get("message") or message, "message"),
        "chunks": _lengths(options.get("chunks"), "chunks"),
        "shards": shards if shards == "none" else _lengths(shards, "shards"),
        "codec": _optional(options.get("codec"), "codec"),
    }


def _lengths(given: object, name: str) -> dict[str, str] | None:
    """Lengths by dimensions, as texts: what is wrong with them is said in one place."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise TypeError(f"`{name}` must be lengths by dimensions, not {type(given).__name__}")
    lengths = {}
    for dimension, length in given.items():
        if not isinstance(length, str):
            length = str(operator.index(length))
        lengths[text(dimension, name)] = length
    return lengths


def _optional(given: object, name: str) -> str | None:
    return None if given is None else text(given, name)


def _tolerance(given: float) -> float:
    tolerance = float(given)
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise ValueError(f"`repack` must be a number from 0 on, not {given}")
    return tolerance


def _names(given: object) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"`rename` must be names by paths, not {type(given).__name__}")
    return {text(path, "rename"): text(name, "rename") for path, name in given.items()}
