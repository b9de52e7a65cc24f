"""The state of a repository of format version 2 as a whole: metadata, status, feature flags, operations log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from icefield._checks import from_microseconds, metadata_document, microseconds, text, truth
from icefield._iterators import AsyncCloseableIterator, CloseableIterator
from icefield._repository.handle import Handle
from icefield._values import FeatureFlag, RepoAvailability, RepoStatus, Update, UpdateType

if TYPE_CHECKING:
    from icefield import _native

__all__ = ["State"]


class State(Handle):
    """Metadata, status, feature flags and the operations log of a repository.

    Repositories of format version 1 have none of these: the methods raise a `FormatError`
    ("unsupported-spec-version").
    """

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the repository."""
        return self.get_metadata()

    def get_metadata(self) -> dict[str, Any]:
        """The metadata of the repository."""
        return _object(self._repository.metadata().wait())

    async def get_metadata_async(self) -> dict[str, Any]:
        """The asynchronous form of `get_metadata`."""
        return _object(await self._repository.metadata())

    def set_metadata(self, metadata: dict[str, Any]) -> None:
        """Replaces the metadata of the repository."""
        self._repository.set_metadata(_document(metadata)).wait()

    async def set_metadata_async(self, metadata: dict[str, Any]) -> None:
        """The asynchronous form of `set_metadata`."""
        await self._repository.set_metadata(_document(metadata))

    def update_metadata(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """Replaces some keys of the metadata of the repository, and returns all of it.

        Keys that other clients set concurrently stay.
        """
        return _object(self._repository.update_metadata(_document(metadata)).wait())

    async def update_metadata_async(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """The asynchronous form of `update_metadata`."""
        return _object(await self._repository.update_metadata(_document(metadata)))

    @property
    def status(self) -> RepoStatus:
        """Whether the repository can be written to."""
        return self.get_status()

    def get_status(self) -> RepoStatus:
        """Whether the repository can be written to."""
        return _status(*self._repository.status().wait())

    async def get_status_async(self) -> RepoStatus:
        """The asynchronous form of `get_status`."""
        return _status(*await self._repository.status())

    def set_status(self, status: RepoStatus) -> None:
        """Sets whether the repository can be written to.

        While it is read-only, every write raises a `ReadOnlyError`, including commits of open
        sessions.
        """
        self._begin_status(status).wait()

    async def set_status_async(self, status: RepoStatus) -> None:
        """The asynchronous form of `set_status`."""
        await self._begin_status(status)

    def _begin_status(self, status: RepoStatus) -> _native.Task[None]:
        if not isinstance(status, RepoStatus):
            raise TypeError(f"`status` must be a RepoStatus, not {type(status).__name__}")
        reason = status.limited_availability_reason
        return self._repository.set_status(
            status.availability is RepoAvailability.online,
            microseconds(status.set_at, "set_at"),
            None if reason is None else text(reason, "limited_availability_reason"),
        )

    def feature_flags(self) -> list[FeatureFlag]:
        """All feature flags."""
        return _flags(self._repository.feature_flags().wait())

    async def feature_flags_async(self) -> list[FeatureFlag]:
        """The asynchronous form of `feature_flags`."""
        return _flags(await self._repository.feature_flags())

    def enabled_feature_flags(self) -> list[FeatureFlag]:
        """The feature flags that are on."""
        return [it for it in self.feature_flags() if it.enabled]

    async def enabled_feature_flags_async(self) -> list[FeatureFlag]:
        """The asynchronous form of `enabled_feature_flags`."""
        return [it for it in await self.feature_flags_async() if it.enabled]

    def disabled_feature_flags(self) -> list[FeatureFlag]:
        """The feature flags that are off."""
        return [it for it in self.feature_flags() if not it.enabled]

    async def disabled_feature_flags_async(self) -> list[FeatureFlag]:
        """The asynchronous form of `disabled_feature_flags`."""
        return [it for it in await self.feature_flags_async() if not it.enabled]

    def set_feature_flag(self, name: str, setting: bool | None) -> None:
        """Switches a feature flag on, off, or to its default (None)."""
        self._begin_flag(name, setting).wait()

    async def set_feature_flag_async(self, name: str, setting: bool | None) -> None:
        """The asynchronous form of `set_feature_flag`."""
        await self._begin_flag(name, setting)

    def _begin_flag(self, name: str, setting: bool | None) -> _native.Task[None]:
        value = None if setting is None else truth(setting, "setting")
        return self._repository.set_feature_flag(text(name, "name"), value)

    def ops_log(self) -> Iterator[Update]:
        """The operations log of the repository, newest entry first.

        It ends early if an object with older entries is missing.
        """
        updates = CloseableIterator(self._repository.operations(), _update)
        updates._fill()
        return updates

    def ops_log_async(self) -> AsyncCloseableIterator[Update]:
        """The form of `ops_log` for `async for`."""
        return AsyncCloseableIterator(self._begun(lambda: self._repository.operations()), _update)


def _document(metadata: dict[str, Any]) -> str:
    document = metadata_document(metadata)
    if document is None:
        raise TypeError("`metadata` must be a dict, not NoneType")
    return document


def _object(document: str) -> dict[str, Any]:
    found = json.loads(document)
    assert isinstance(found, dict)
    return found


def _status(availability: int, set_at: int, reason: str | None) -> RepoStatus:
    return RepoStatus(RepoAvailability(availability), from_microseconds(set_at), reason)


def _flags(rows: list[tuple[int, str, bool, bool | None]]) -> list[FeatureFlag]:
    return [
        FeatureFlag(id=number, name=name, default_enabled=default, setting=setting)
        for number, name, default, setting in rows
    ]


def _update(row: tuple[str, str, int, str | None]) -> Update:
    kind, document, updated_at, backup = row
    fields = _object(document)
    if kind == "RepoStatusChanged":
        fields = {"status": _status(**fields)}
    return Update(
        kind=getattr(UpdateType, kind)(**fields),
        updated_at=from_microseconds(updated_at),
        backup_path=backup,
    )
