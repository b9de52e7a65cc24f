"""Plans and reports of imports."""

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
    """An interrupted import that was discarded."""

    about: str
    """A description of the import."""
    branch: str
    """The branch of its commit."""
    objects: int
    """The number of its records that were deleted."""


@dataclass(frozen=True)
class OmittedNode:
    """A node of a source that an import leaves out, with everything below it."""

    path: str
    """Its path in the source."""
    source: str
    """The file of the node."""
    reason: str
    """The reason why Zarr cannot express it."""


@dataclass(frozen=True)
class ImportGap:
    """An unusually long step of a coordinate between two sources."""

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
    """An array that a source of an import does not have."""

    path: str
    """The array, by its path in the sources."""
    source: str
    """The source, or "the repository"."""
    filled: bool
    """Whether its missing elements are filled; otherwise the array does not have the dimension."""


@dataclass(frozen=True)
class DifferingAttribute:
    """An attribute with another value than in the earlier sources of an import."""

    path: str
    """The array or group, by its path in the sources."""
    name: str
    """The attribute."""
    source: str
    """The first source with another value."""
    kept: bool
    """Whether the value before that source is kept; otherwise the attribute is left out."""


@dataclass(frozen=True)
class PlannedSource:
    """The plan of an import for one source."""

    name: str
    """Its name in messages."""
    elements: int | None
    """Elements along the dimension; None if no array of the source has it."""
    left_out: int
    """Elements that would be left out because they overlap with others."""
    converted: list[str]
    """Paths of arrays with times that would be converted."""
    reencoded: list[str]
    """Paths of arrays with another encoding of numbers than in the result."""


@dataclass(frozen=True)
class PlannedArray:
    """The plan of an import for one array."""

    path: str
    """The path in the repository."""
    is_new: bool
    """Whether it would be created."""
    shape: list[int]
    """Elements per dimension."""
    chunk_shape: list[int]
    """Elements per chunk and dimension; within shards, if there are any."""
    shard_shape: list[int] | None
    """Elements per shard and dimension. If there are shards, the counts below are of shards, not of
    chunks within them.
    """
    codecs: list[str]
    """Names of the codecs, in the order of encoding; that of shards first."""
    copied_chunks: int
    """Chunks that would be copied unchanged."""
    copied_bytes: int
    """Their bytes."""
    virtual_chunks: int
    """Chunks that would become references to their files."""
    virtual_bytes: int
    """Their bytes."""
    compared_chunks: int
    """Chunks that would be compared with those of the repository."""
    compared_bytes: int
    """Their bytes."""
    assembled_chunks: int
    """Chunks that would be assembled from decoded elements and encoded."""
    assembled_bytes: int
    """Bytes of their elements before encoding."""
    decodes: int
    """Decodings of source chunks for that, if all chunks exist. A chunk that is decoded twice counts twice."""
    reasons: list[str]
    """The reasons for assembling chunks, for some sources."""
    reasons_in_all: int
    """The number of sources with such a reason."""


@dataclass(frozen=True)
class ImportPlan:
    """The plan of an import, which wrote nothing."""

    dimension: str | None
    """The dimension along which sources are joined, if there is one."""
    sources: list[PlannedSource]
    """The sources in order."""
    arrays: list[PlannedArray]
    """The arrays, by their paths in the repository."""
    new_groups: int
    """Groups that would be created."""
    kept_groups: list[str]
    """Paths of groups that would keep their attributes although a source has others."""
    gaps: list[ImportGap]
    """Unusually long steps of coordinates between sources."""
    lacking: list[LackingArray]
    """Arrays that sources do not have."""
    attributes: list[DifferingAttribute]
    """Attributes with different values in sources."""
    skipped: list[str]
    """Sources that the repository has already, which would be skipped."""
    warnings: list[str]
    """Notes for readers of the result."""
    omitted: list[OmittedNode]
    """Nodes that would be left out because Zarr cannot express them."""

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
    """The report of an import, which is one commit."""

    snapshot_id: str | None
    """The id of the snapshot; None if the sources have nothing new."""
    new_groups: int
    """Created groups."""
    new_arrays: int
    """Created arrays."""
    extended_arrays: list[str]
    """Paths of arrays that grew."""
    kept_groups: list[str]
    """Paths of groups that kept their attributes although a source has others."""
    chunks: int
    """Copied chunks."""
    bytes: int
    """Bytes of the copied chunks."""
    virtual_chunks: int
    """Virtual chunks, which refer to their files."""
    virtual_bytes: int
    """Bytes of the virtual chunks."""
    compared_chunks: int
    """Chunks that were equal to those of the repository."""
    assembled_chunks: int
    """Copied chunks that were assembled from decoded elements."""
    converted_arrays: list[str]
    """Paths in the sources of arrays with converted times."""
    reencoded_arrays: list[str]
    """Paths in the sources of arrays that a source encodes differently."""
    rounded_arrays: dict[str, float]
    """Paths in the sources of arrays with rounded numbers, and their largest rounding error."""
    gaps: list[ImportGap]
    """Unusually long steps of coordinates between sources."""
    lacking: list[LackingArray]
    """Arrays that sources do not have."""
    attributes: list[DifferingAttribute]
    """Attributes with different values in sources."""
    resumed_chunks: int
    """Copied chunks that an earlier attempt stored."""
    skipped: list[str]
    """Skipped sources, which the repository had already."""
    ignored: int
    """Files and directories that belong to no node, which were left out."""
    warnings: list[str]
    """Notes for readers of the result."""
    omitted: list[OmittedNode]
    """Nodes that were left out because Zarr cannot express them."""
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
