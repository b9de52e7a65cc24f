"""What the format has only since its version 2: the names are here, and say so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from icefield._iterators import AsyncCloseableIterator
from icefield._repository.handle import Handle, needs_version_2

if TYPE_CHECKING:
    from icefield.ops import Update
    from icefield import RepoStatus
    from icefield.config import FeatureFlag
    from icefield.session import Session

__all__ = ["Later"]


class Later(Handle, connects=False):
    """Metadata, status, feature flags and the operations log of a repository, and sessions that
    move nodes.

    All of it raises a `FormatError` ("unsupported-spec-version"), because repositories of format
    version 1 have none.
    """

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the repository."""
        needs_version_2("the metadata of the repository")

    def get_metadata(self) -> dict[str, Any]:
        """The metadata of the repository."""
        needs_version_2("the metadata of the repository")

    async def get_metadata_async(self) -> dict[str, Any]:
        """As `get_metadata`, to be awaited."""
        needs_version_2("the metadata of the repository")

    def set_metadata(self, metadata: dict[str, Any]) -> None:
        """Replaces the metadata of the repository."""
        needs_version_2("the metadata of the repository")

    async def set_metadata_async(self, metadata: dict[str, Any]) -> None:
        """As `set_metadata`, to be awaited."""
        needs_version_2("the metadata of the repository")

    def update_metadata(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """Replaces some keys of the metadata of the repository, and returns it."""
        needs_version_2("the metadata of the repository")

    async def update_metadata_async(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """As `update_metadata`, to be awaited."""
        needs_version_2("the metadata of the repository")

    @property
    def status(self) -> RepoStatus:
        """Whether the repository can be written to."""
        needs_version_2("the status of the repository")

    def get_status(self) -> RepoStatus:
        """Whether the repository can be written to."""
        needs_version_2("the status of the repository")

    async def get_status_async(self) -> RepoStatus:
        """As `get_status`, to be awaited."""
        needs_version_2("the status of the repository")

    def set_status(self, status: RepoStatus) -> None:
        """Sets whether the repository can be written to."""
        needs_version_2("the status of the repository")

    async def set_status_async(self, status: RepoStatus) -> None:
        """As `set_status`, to be awaited."""
        needs_version_2("the status of the repository")

    def feature_flags(self) -> list[FeatureFlag]:
        """All feature flags."""
        needs_version_2("feature flags")

    async def feature_flags_async(self) -> list[FeatureFlag]:
        """As `feature_flags`, to be awaited."""
        needs_version_2("feature flags")

    def enabled_feature_flags(self) -> list[FeatureFlag]:
        """The feature flags that are on."""
        needs_version_2("feature flags")

    async def enabled_feature_flags_async(self) -> list[FeatureFlag]:
        """As `enabled_feature_flags`, to be awaited."""
        needs_version_2("feature flags")

    def disabled_feature_flags(self) -> list[FeatureFlag]:
        """The feature flags that are off."""
        needs_version_2("feature flags")

    async def disabled_feature_flags_async(self) -> list[FeatureFlag]:
        """As `disabled_feature_flags`, to be awaited."""
        needs_version_2("feature flags")

    def set_feature_flag(self, name: str, setting: bool | None) -> None:
        """Switches a feature flag on, off, or to its default (None)."""
        needs_version_2("feature flags")

    async def set_feature_flag_async(self, name: str, setting: bool | None) -> None:
        """As `set_feature_flag`, to be awaited."""
        needs_version_2("feature flags")

    def ops_log(self) -> Iterator[Update]:
        """What was done to the repository, newest first."""
        needs_version_2("the operations log")

    def ops_log_async(self) -> AsyncCloseableIterator[Update]:
        """As `ops_log`, for `async for`."""
        needs_version_2("the operations log")

    def inspect_repo_info(self) -> dict[str, Any]:
        """The contents of the repository info object."""
        needs_version_2("the repository info object")

    async def inspect_repo_info_async(self) -> dict[str, Any]:
        """As `inspect_repo_info`, to be awaited."""
        needs_version_2("the repository info object")

    def rearrange_session(self, branch: str) -> Session:
        """A session that moves nodes."""
        needs_version_2("moving nodes")

    async def rearrange_session_async(self, branch: str) -> Session:
        """As `rearrange_session`, to be awaited."""
        needs_version_2("moving nodes")
