"""The caches of a repository."""

from __future__ import annotations

from icefield._config.section import Section, whole

__all__ = ["CachingConfig"]

_MOST = 2**64 - 1


class CachingConfig(Section):
    """The sizes of the caches of one open repository, each in the unit in its name."""

    __slots__ = ()

    num_snapshot_nodes = whole(_MOST, 500_000, doc="Arrays and groups of snapshots.")
    num_chunk_refs = whole(_MOST, 15_000_000, doc="Chunk references of manifests.")
    num_transaction_changes = whole(_MOST, 0, doc="Changes of transaction logs.")
    num_bytes_attributes = whole(_MOST, 0, doc="Bytes of attributes.")
    num_bytes_chunks = whole(_MOST, 0, doc="Bytes of chunks.")

    def __init__(
        self,
        num_snapshot_nodes: int | None = None,
        num_chunk_refs: int | None = None,
        num_transaction_changes: int | None = None,
        num_bytes_attributes: int | None = None,
        num_bytes_chunks: int | None = None,
    ) -> None:
        self.num_snapshot_nodes = num_snapshot_nodes
        self.num_chunk_refs = num_chunk_refs
        self.num_transaction_changes = num_transaction_changes
        self.num_bytes_attributes = num_bytes_attributes
        self.num_bytes_chunks = num_bytes_chunks

    @staticmethod
    def default() -> CachingConfig:
        """A configuration without settings."""
        return CachingConfig()
