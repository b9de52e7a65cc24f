"""Plans and reports of rechunkings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

__all__ = ["ArrayLayout", "RechunkPlan", "RechunkReport"]


@dataclass(frozen=True)
class ArrayLayout:
    """The chunk layout of an array."""

    chunk_shape: list[int]
    """Elements of a chunk per dimension; within shards, if there are any."""
    shard_shape: list[int] | None
    """Elements of a shard per dimension."""
    codecs: list[str]
    """Names of the codecs, in the order of encoding; that of shards first."""


@dataclass(frozen=True)
class RechunkPlan:
    """The plan of a rechunking, which wrote nothing."""

    is_needed: bool
    """Whether there is anything to do."""
    shape: list[int]
    """Elements per dimension."""
    before: ArrayLayout
    """The current layout."""
    after: ArrayLayout
    """The requested layout."""
    chunks_before: int
    """Existing chunks, or shards."""
    bytes_before: int
    """Their bytes."""
    chunks: int
    """Chunks, or shards, of the new layout, if all elements are written."""
    element_bytes: int
    """Bytes of their elements before encoding."""
    decodes: int
    """Decodings of chunks, if all chunks exist. A chunk that is decoded twice counts twice."""
    held_bytes: int
    """Bytes of memory that the work would need at least."""

    @classmethod
    def _of(cls, facts: dict[str, Any]) -> Self:
        return cls(**_laid_out(facts))


@dataclass(frozen=True)
class RechunkReport:
    """The report of a rechunking, which is one commit."""

    snapshot_id: str | None
    """The id of the snapshot; None if the array already had the layout."""
    before: ArrayLayout
    """The old layout."""
    after: ArrayLayout
    """The new layout."""
    chunks_before: int
    """Chunks, or shards, of the old layout."""
    bytes_before: int
    """Their bytes."""
    chunks: int
    """Written chunks, or shards."""
    bytes: int
    """Their bytes."""
    decoded_chunks: int
    """Decodings of chunks."""

    @classmethod
    def _of(cls, facts: dict[str, Any]) -> Self:
        return cls(**_laid_out(facts))


def _laid_out(facts: dict[str, Any]) -> dict[str, Any]:
    layouts = {name: ArrayLayout(**facts[name]) for name in ("before", "after")}
    return {**facts, **layouts}
