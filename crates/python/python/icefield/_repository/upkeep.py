"""Upkeep: what is forgotten, deleted, counted and rewritten."""

from __future__ import annotations

import datetime
import warnings
from typing import TYPE_CHECKING, Any

from icefield._checks import metadata_document, microseconds, text, truth, whole
from icefield._repository.handle import Handle
from icefield._values.upkeep import ChunkStorageStats, GCSummary

if TYPE_CHECKING:
    from icefield import _native
    from icefield.types import CommitMethod

__all__ = ["Upkeep"]


class Upkeep(Handle):
    """Expiry, garbage collection, statistics, and new manifests."""

    def expire_snapshots(
        self,
        older_than: datetime.datetime,
        *,
        delete_expired_branches: bool = False,
        delete_expired_tags: bool = False,
    ) -> set[str]:
        """Takes snapshots older than a time (which needs a time zone) out of the history; returns
        their ids.

        The first snapshot of the repository and what a branch or tag is at stay, unless such
        branches (never `main`) and tags are deleted, too. Nothing is deleted from the storage
        before the next garbage collection, and ids that are returned may still be reachable by
        another branch or tag. Interrupted by Ctrl-C or a cancelled `await`, it ends a moment later:
        what it has done stays, and doing it again goes on.
        """
        return set(
            self._begin_expiry(older_than, delete_expired_branches, delete_expired_tags).wait()
        )

    async def expire_snapshots_async(
        self,
        older_than: datetime.datetime,
        *,
        delete_expired_branches: bool = False,
        delete_expired_tags: bool = False,
    ) -> set[str]:
        """As `expire_snapshots`, to be awaited."""
        return set(
            await self._begin_expiry(older_than, delete_expired_branches, delete_expired_tags)
        )

    def _begin_expiry(
        self, older_than: datetime.datetime, branches: bool, tags: bool
    ) -> _native.Task[list[str]]:
        return self._repository.expire_snapshots(
            microseconds(older_than, "older_than"),
            truth(branches, "delete_expired_branches"),
            truth(tags, "delete_expired_tags"),
        )

    def garbage_collect(
        self,
        delete_object_older_than: datetime.datetime,
        *,
        dry_run: bool = False,
        max_snapshots_in_memory: int = 50,
        max_compressed_manifest_mem_bytes: int = 512 * 1024 * 1024,
        max_decoded_manifest_mem_bytes: int = 4 * 1024 * 1024 * 1024,
        max_concurrent_manifest_fetches: int = 500,
        max_concurrent_deletes: int = 10,
        max_consecutive_delete_failures: int = 50,
        max_concurrent_listings: int | None = None,
        force: bool = False,
    ) -> GCSummary:
        """Deletes objects that nothing refers to and that are older than a time (which needs a time
        zone).

        Chunks of a session that is still being written are referred to by nothing until it commits.
        So what is younger than an hour stays, whatever the time given: by then a session has
        a lease, which is respected. `force` deletes younger objects, too: only for repositories that
        nobody writes to meanwhile. The time is compared with times that the storage's clock gave.
        Interrupted by Ctrl-C or a cancelled `await`, it ends a moment later and keeps no other collection waiting; doing it
        again goes on. `dry_run` only counts. The `max_…` limits are
        checked and otherwise not used: this implementation bounds its memory by itself.
        """
        return GCSummary._from_native(
            self._begin_collection(delete_object_older_than, dry_run, force, locals()).wait()
        )

    async def garbage_collect_async(
        self,
        delete_object_older_than: datetime.datetime,
        *,
        dry_run: bool = False,
        max_snapshots_in_memory: int = 50,
        max_compressed_manifest_mem_bytes: int = 512 * 1024 * 1024,
        max_decoded_manifest_mem_bytes: int = 4 * 1024 * 1024 * 1024,
        max_concurrent_manifest_fetches: int = 500,
        max_concurrent_deletes: int = 10,
        max_consecutive_delete_failures: int = 50,
        max_concurrent_listings: int | None = None,
        force: bool = False,
    ) -> GCSummary:
        """As `garbage_collect`, to be awaited."""
        return GCSummary._from_native(
            await self._begin_collection(delete_object_older_than, dry_run, force, locals())
        )

    def _begin_collection(
        self, older_than: datetime.datetime, dry_run: bool, force: bool, limits: dict[str, Any]
    ) -> _native.Task[dict[str, int]]:
        _check_limits(limits)
        return self._repository.garbage_collect(
            microseconds(older_than, "delete_object_older_than"),
            truth(dry_run, "dry_run"),
            truth(force, "force"),
        )

    def chunk_storage_stats(
        self,
        *,
        max_snapshots_in_memory: int = 50,
        max_compressed_manifest_mem_bytes: int = 512 * 1024 * 1024,
        max_decoded_manifest_mem_bytes: int = 4 * 1024 * 1024 * 1024,
        max_concurrent_manifest_fetches: int = 500,
    ) -> ChunkStorageStats:
        """The bytes of all chunks of all snapshots that a branch or tag reaches, each counted once.
        """
        _check_limits(locals())
        return ChunkStorageStats._from_native(self._repository.chunk_storage_stats().wait())

    async def chunk_storage_stats_async(
        self,
        *,
        max_snapshots_in_memory: int = 50,
        max_compressed_manifest_mem_bytes: int = 512 * 1024 * 1024,
        max_decoded_manifest_mem_bytes: int = 4 * 1024 * 1024 * 1024,
        max_concurrent_manifest_fetches: int = 500,
    ) -> ChunkStorageStats:
        """As `chunk_storage_stats`, to be awaited."""
        _check_limits(locals())
        return ChunkStorageStats._from_native(await self._repository.chunk_storage_stats())

    def total_chunks_storage(
        self,
        *,
        max_snapshots_in_memory: int = 50,
        max_compressed_manifest_mem_bytes: int = 512 * 1024 * 1024,
        max_decoded_manifest_mem_bytes: int = 4 * 1024 * 1024 * 1024,
        max_concurrent_manifest_fetches: int = 500,
    ) -> int:
        """The bytes of native chunks only. Deprecated: use `chunk_storage_stats().native_bytes`."""
        _check_limits(locals())
        _warn_total()
        return ChunkStorageStats._from_native(
            self._repository.chunk_storage_stats().wait()
        ).native_bytes

    async def total_chunks_storage_async(
        self,
        *,
        max_snapshots_in_memory: int = 50,
        max_compressed_manifest_mem_bytes: int = 512 * 1024 * 1024,
        max_decoded_manifest_mem_bytes: int = 4 * 1024 * 1024 * 1024,
        max_concurrent_manifest_fetches: int = 500,
    ) -> int:
        """As `total_chunks_storage`, to be awaited."""
        _check_limits(locals())
        _warn_total()
        return ChunkStorageStats._from_native(
            await self._repository.chunk_storage_stats()
        ).native_bytes

    def rewrite_manifests(
        self,
        message: str,
        *,
        branch: str,
        metadata: dict[str, Any] | None = None,
        commit_method: CommitMethod = "new_commit",
    ) -> str:
        """Writes all manifests of a branch anew, split as the configuration says, and commits;
        returns the snapshot id.

        Interrupted by Ctrl-C or a cancelled `await`, it ends a moment later, and without a commit unless
        that is being published. With the `commit_method` "amend", the new snapshot takes the place of the last
        commit of the branch, as `Session.amend` says; format version 1 has no such thing, and raises a `FormatError`.
        """
        return self._begin_rewrite(message, branch, metadata, commit_method).wait()

    async def rewrite_manifests_async(
        self,
        message: str,
        *,
        branch: str,
        metadata: dict[str, Any] | None = None,
        commit_method: CommitMethod = "new_commit",
    ) -> str:
        """As `rewrite_manifests`, to be awaited."""
        return await self._begin_rewrite(message, branch, metadata, commit_method)

    def _begin_rewrite(
        self, message: str, branch: str, metadata: dict[str, Any] | None, method: str
    ) -> _native.Task[str]:
        if method not in ("new_commit", "amend"):
            raise ValueError(
                f"Invalid commit method: {method!r}. Expected 'new_commit' or 'amend'."
            )
        return self._repository.rewrite_manifests(
            text(message, "message"),
            text(branch, "branch"),
            metadata_document(self._with_defaults(metadata)),
            method == "amend",
        )


def _check_limits(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if name.startswith("max_") and value is not None:
            whole(value, name, "invalid-commit-configuration", 1)


def _warn_total() -> None:
    warnings.warn(
        "`total_chunks_storage` counts native chunks only; use "
        "`chunk_storage_stats().native_bytes`, which says so, or "
        "`.total_bytes()` for all chunks",
        DeprecationWarning,
        stacklevel=3,
    )
