"""What a rechunking does, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

__all__ = ["ArrayLayout", "RechunkPlan", "RechunkReport"]


@dataclass(frozen=True)
class ArrayLayout:
    """How the chunks of an array are laid out."""

    chunk_shape: list[int]
    """Elements of a chunk per dimension; inside of shards, if there are any."""
    shard_shape: list[int] | None
    """Elements of a shard per dimension."""
    codecs: list[str]
    """Names of the codecs, in the order of encoding; that of shards first."""


@dataclass(frozen=True)
class RechunkPlan:
    """What a rechunking would do; nothing was written to find it out."""

    is_needed: bool
    """Whether there is anything to do."""
    shape: list[int]
    """Elements per dimension."""
    before: ArrayLayout
    """The layout as it is."""
    after: ArrayLayout
    """The layout that was asked for."""
    chunks_before: int
    """Chunks, or shards, that exist."""
    bytes_before: int
    """Bytes of them."""
    chunks: int
    """Chunks, or shards, that there would be, if all elements are written."""
    element_bytes: int
    """Bytes of their elements before they are encoded."""
    decodes: int
    """Chunks that would be decoded if all existed: one counts as often as it is."""
    held_bytes: int
    """Bytes that would be held at least while that is done."""

    @classmethod
    def _of(cls, facts: dict[str, Any]) -> Self:
        return cls(**_laid_out(facts))


@dataclass(frozen=True)
class RechunkReport:
    """What a rechunking wrote in its one commit."""

    snapshot_id: str | None
    """The snapshot; None if the array has the layout already."""
    before: ArrayLayout
    """The layout as it was."""
    after: ArrayLayout
    """The layout as it is now."""
    chunks_before: int
    """Chunks, or shards, that there were."""
    bytes_before: int
    """Bytes of them."""
    chunks: int
    """Chunks, or shards, that were written."""
    bytes: int
    """Bytes of them."""
    decoded_chunks: int
    """Chunks that were decoded."""

    @classmethod
    def _of(cls, facts: dict[str, Any]) -> Self:
        return cls(**_laid_out(facts))


def _laid_out(facts: dict[str, Any]) -> dict[str, Any]:
    layouts = {name: ArrayLayout(**facts[name]) for name in ("before", "after")}
    return {**facts, **layouts}
