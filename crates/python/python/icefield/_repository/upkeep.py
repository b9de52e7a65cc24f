"""Maintenance: expiration, garbage collection, statistics, and manifests."""

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
    """Expiration, garbage collection, statistics, and rewriting of manifests."""

    def expire_snapshots(
        self,
        older_than: datetime.datetime,
        *,
        delete_expired_branches: bool = False,
        delete_expired_tags: bool = False,
    ) -> set[str]:
        """Removes snapshots older than a time (with a time zone) from the histories, and returns their ids.

        The first snapshot of the repository and the tips of branches and tags stay, unless expired
        branches (never `main`) and tags are deleted, too. Only the next garbage collection deletes
        objects from the storage, and another branch or tag may still reach a returned id. After
        Ctrl-C or a cancelled `await`, it ends a moment later: completed steps stay, and a second
        call continues.
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
        """The asynchronous form of `expire_snapshots`."""
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
        """Deletes objects that nothing refers to and that are older than a time (with a time zone).

        Nothing refers to the chunks of an open session until it commits. Objects younger than an
        hour therefore stay, whatever the given time: an older session has a lease, which protects
        its chunks. `force` also deletes younger objects, which is safe only while no other client
        writes to the repository. The time is compared with times of the storage's clock. After
        Ctrl-C or a cancelled `await`, it ends a moment later and blocks no other collection; a
        second call continues. `dry_run` only counts. The `max_…` limits are checked and have no
        other effect: this implementation bounds its memory by itself.
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
        """The asynchronous form of `garbage_collect`."""
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
        """The asynchronous form of `chunk_storage_stats`."""
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
        """The asynchronous form of `total_chunks_storage`."""
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
        """Rewrites all manifests of a branch, split by the rules of the configuration, and commits;
        returns the snapshot id.

        After Ctrl-C or a cancelled `await`, it ends a moment later, without a commit unless that is
        already being published. With the `commit_method` "amend", the new snapshot replaces the
        last commit of the branch, as in `Session.amend`; format version 1 has no amended commits,
        and raises a `FormatError`.
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
        """The asynchronous form of `rewrite_manifests`."""
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
