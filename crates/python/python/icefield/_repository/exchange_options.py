"""The options of imports and rechunkings, and their JSON documents."""

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
    """The options of layout and commit."""

    chunks: Lengths | None
    """Lengths of chunks by the names of dimensions; -1 or `"all"` for the length of the array.
    Other dimensions keep theirs.
    """
    shards: Lengths | Literal["none"] | None
    """Lengths of shards, multiples of the lengths of chunks; `"none"` for no shards."""
    codec: str | None
    """`keep`, `none`, `zstd:LEVEL`, `gzip:LEVEL` or `blosc:NAME:LEVEL`."""
    branch: str
    """The branch to commit to; `main`."""
    message: str | None
    """The commit message."""
    progress: Progress | None
    """True for a progress bar, or a function that is called with the progress."""


class RechunkOptions(_Layout, total=False):
    """The options of `Repository.rechunk`."""


class ImportOptions(_Layout, total=False):
    """The options of `Repository.import_files`."""

    virtual: bool
    """Refer to chunks in their files instead of copying them."""
    copy: Iterable[str]
    """Paths of arrays that are copied nevertheless."""
    group: str
    """The group to import into; `/`."""
    variables: Iterable[str] | None
    """Paths of the arrays and groups to import; all by default."""
    drop: Iterable[str]
    """Paths of nodes to leave out."""
    rename: Mapping[str, str] | None
    """New names by path."""
    skip_unsupported: bool
    """Leave out, and name, the nodes that cannot be imported."""
    split_compound: bool
    """Import an HDF5 array of compounds as a group with one array per member."""
    overviews: Literal["all", "none"] | int
    """The overviews of a TIFF file to import: `"all"`, in groups; `"none"`; or the number of one
    that replaces the image.
    """
    concat: str | None
    """The dimension along which sources are concatenated."""
    append: str | None
    """The dimension along which sources are appended to the repository."""
    concat_new: str | None
    """A new dimension of which each source is one element; with `concat`, sources with the same
    value are concatenated.
    """
    value_from: str | None
    """The origin of the values along the new dimension: `pattern:REGEX`, `attribute:NAME` or `variable:NAME`."""
    combine: Literal["nested", "by-coords"]
    """The arrangement of sources: by the options (`nested`, the default) or by the values of
    coordinates (`by-coords`).
    """
    skip_existing: bool
    """Skip sources whose coordinates along `append` are all in the repository; create arrays that do not exist."""
    resume: bool
    """Continue an interrupted import of the same sources, and keep a record from which an import
    can continue; True by default.
    """
    unordered: bool
    """Accept coordinates along that dimension in any order."""
    order: Literal["given", "name", "coordinate"]
    """The order of the sources; `given` by default."""
    overlap: Literal["refuse", "first", "last"]
    """The treatment of overlapping elements, and of messages of a GRIB file for the same element;
    `refuse` by default.
    """
    time_units: str | None
    """Units of time along the dimension; those of the first source by default."""
    repack: float | None
    """The largest difference of decoded numbers that are stored in another encoding than in their
    source; 0 by default.
    """
    unpack: bool
    """Store decoded numbers, without `scale_factor` and `add_offset`, for arrays that a source
    packs or encodes differently.
    """
    missing: Literal["refuse", "fill"]
    """The treatment of arrays that some sources, or the repository, do not have; `refuse` by default."""
    attributes: Literal["first", "equal", "drop-conflicts"] | None
    """The attributes of the result where sources differ. By default, groups have those of the first
    source, and those of arrays must be equal.
    """


def import_document(options: ImportOptions, names: list[str]) -> dict[str, Any]:
    """Returns the options of an import, with all defaults."""
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
    """Returns the options of a rechunking, with all defaults."""
    _check(options, RechunkOptions, "rechunk")
    return {**_layout(options, f"Rechunk {path}"), "path": path}


def _check(options: Mapping[str, object], known: type, function: str) -> None:
    """Raises for unknown options, as Python does for keyword arguments."""
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
    """Lengths by dimension, as strings, so that one parser reports all errors."""
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
