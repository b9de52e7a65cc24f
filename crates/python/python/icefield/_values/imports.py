"""What an import does, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

__all__ = [
    "AbandonedImport",
    "DifferingAttribute",
    "ImportGap",
    "ImportPlan",
    "ImportReport",
    "LackingArray",
    "OmittedNode",
    "PlannedArray",
    "PlannedSource",
]


@dataclass(frozen=True)
class AbandonedImport:
    """An import that broke off and was ended."""

    about: str
    """What was imported, in words."""
    branch: str
    """The branch that it would have been committed to."""
    objects: int
    """Objects that it had left to go on, which were removed."""


@dataclass(frozen=True)
class OmittedNode:
    """A node of a source that an import leaves out, with all that is below it."""

    path: str
    """Its path in the source."""
    source: str
    """The file that has it."""
    reason: str
    """Why Zarr has no words for it."""


@dataclass(frozen=True)
class ImportGap:
    """A step of the coordinate from one source to the next that is longer than is usual."""

    path: str
    """The coordinate, by its path in the sources."""
    before: str
    """The source before it."""
    after: str
    """The source after it."""
    start: str
    """The last value before it."""
    end: str
    """The first value after it."""
    units: str | None
    """The units of both."""


@dataclass(frozen=True)
class LackingArray:
    """An array that a source of an import lacks."""

    path: str
    """The array, by its path in the sources."""
    source: str
    """The source, or "the repository"."""
    filled: bool
    """Whether its elements read as missing there; otherwise it does not have the dimension."""


@dataclass(frozen=True)
class DifferingAttribute:
    """An attribute that a source of an import has otherwise than those before it."""

    path: str
    """The array or group, by its path in the sources."""
    name: str
    """The attribute."""
    source: str
    """The first source that has it otherwise."""
    kept: bool
    """Whether the value before that source is kept; otherwise the attribute is left out."""


@dataclass(frozen=True)
class PlannedSource:
    """What an import would take of a source."""

    name: str
    """What messages call it."""
    elements: int | None
    """Elements along the dimension; None if nothing of it has the dimension."""
    left_out: int
    """Elements that would be left out because they overlap others."""
    converted: list[str]
    """Paths of arrays whose times would be converted."""
    reencoded: list[str]
    """Paths of arrays whose numbers it stores otherwise than the result would."""


@dataclass(frozen=True)
class PlannedArray:
    """What an import would do with the chunks of an array."""

    path: str
    """The path in the repository."""
    is_new: bool
    """Whether it would be created."""
    shape: list[int]
    """Elements per dimension."""
    chunk_shape: list[int]
    """Elements per chunk and dimension; inside of shards, if there are any."""
    shard_shape: list[int] | None
    """Elements per shard and dimension. Where there are shards, they are counted, and not the chunks in them."""
    codecs: list[str]
    """Names of the codecs, in the order of encoding; that of shards first."""
    copied_chunks: int
    """Chunks that would be copied as they are."""
    copied_bytes: int
    """Bytes of them."""
    virtual_chunks: int
    """Chunks that would be referred to where they lie."""
    virtual_bytes: int
    """Bytes of them."""
    compared_chunks: int
    """Chunks that would be compared with those that are there."""
    compared_bytes: int
    """Bytes of them."""
    assembled_chunks: int
    """Chunks that would be put together of decoded elements and encoded."""
    assembled_bytes: int
    """Bytes of their elements before that."""
    decodes: int
    """Chunks of sources that would be decoded for that, if all existed: one counts as often as it is."""
    reasons: list[str]
    """Why, of some sources."""
    reasons_in_all: int
    """Sources for which there is a reason."""


@dataclass(frozen=True)
class ImportPlan:
    """What an import would do; nothing was written to find it out."""

    dimension: str | None
    """Along which the sources lie behind one another, if they do."""
    sources: list[PlannedSource]
    """The sources in order."""
    arrays: list[PlannedArray]
    """The arrays, by their paths in the repository."""
    new_groups: int
    """Groups that would be created."""
    kept_groups: list[str]
    """Paths of groups that would stay as they are though a source says something else of them."""
    gaps: list[ImportGap]
    """Steps from one source to the next that are longer than is usual."""
    lacking: list[LackingArray]
    """Arrays that sources lack."""
    attributes: list[DifferingAttribute]
    """Attributes that sources have otherwise than those before them."""
    skipped: list[str]
    """Sources that are there already, and would be left out."""
    warnings: list[str]
    """What a reader of the result should know."""
    omitted: list[OmittedNode]
    """Nodes that would be left out because Zarr has no words for them."""

    @classmethod
    def _of(cls, facts: dict[str, Any]) -> Self:
        lists = {
            "omitted": [OmittedNode(**node) for node in facts["omitted"]],
            "sources": [PlannedSource(**source) for source in facts["sources"]],
            "arrays": [PlannedArray(**array) for array in facts["arrays"]],
            "gaps": [ImportGap(**gap) for gap in facts["gaps"]],
            "lacking": [LackingArray(**one) for one in facts["lacking"]],
            "attributes": [DifferingAttribute(**one) for one in facts["attributes"]],
        }
        return cls(**{**facts, **lists})


@dataclass(frozen=True)
class ImportReport:
    """What an import wrote in its one commit."""

    snapshot_id: str | None
    """The snapshot; None if sources have nothing that is new."""
    new_groups: int
    """Groups that were not there before."""
    new_arrays: int
    """Arrays that were not there before."""
    extended_arrays: list[str]
    """Paths of arrays that grew."""
    kept_groups: list[str]
    """Paths of groups that stayed as they were though a source says something else of them."""
    chunks: int
    """Chunks that were copied."""
    bytes: int
    """Bytes of chunks that were copied."""
    virtual_chunks: int
    """Chunks that are referred to where they lie."""
    virtual_bytes: int
    """Bytes of chunks that are referred to."""
    compared_chunks: int
    """Chunks that were found equal to those that are there."""
    assembled_chunks: int
    """Of the chunks that were copied, those that were put together of decoded elements."""
    converted_arrays: list[str]
    """Paths in the sources of arrays whose times were converted."""
    reencoded_arrays: list[str]
    """Paths in the sources of arrays whose numbers some source stored otherwise."""
    rounded_arrays: dict[str, float]
    """Paths in the sources of arrays of which numbers were rounded, and how far off the worst of them is."""
    gaps: list[ImportGap]
    """Steps from one source to the next that are longer than is usual."""
    lacking: list[LackingArray]
    """Arrays that sources lack."""
    attributes: list[DifferingAttribute]
    """Attributes that sources have otherwise than those before them."""
    resumed_chunks: int
    """Of the chunks that were copied, those that an earlier attempt had stored."""
    skipped: list[str]
    """Sources that were there already, and were left out."""
    ignored: int
    """Files and directories of no node, which were left out."""
    warnings: list[str]
    """What a reader of the result should know."""
    omitted: list[OmittedNode]
    """Nodes that were left out because Zarr has no words for them."""
    containers: list[str]
    """Prefixes of URLs that readers have to authorize with `authorize_virtual_chunk_access` to read virtual chunks."""

    @classmethod
    def _of(cls, facts: dict[str, Any]) -> Self:
        lists = {
            "omitted": [OmittedNode(**node) for node in facts["omitted"]],
            "gaps": [ImportGap(**gap) for gap in facts["gaps"]],
            "lacking": [LackingArray(**one) for one in facts["lacking"]],
            "attributes": [DifferingAttribute(**one) for one in facts["attributes"]],
        }
        return cls(**{**facts, **lists})
