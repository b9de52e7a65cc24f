"""Entries of the operations log (spec version 2)."""

from __future__ import annotations

import datetime
from inspect import Parameter, Signature
from typing import Any, ClassVar

from icefield import _display
from icefield._values.enums import RepoAvailability
from icefield._values.value import Value

__all__ = ["FeatureFlag", "RepoStatus", "Update", "UpdateType"]


class RepoStatus(Value):
    """Whether a repository accepts changes, since when, and the reason if not. The time defaults to now."""

    __slots__ = ("availability", "limited_availability_reason", "set_at")
    _names = ("availability", "set_at", "limited_availability_reason")

    availability: RepoAvailability
    set_at: datetime.datetime
    limited_availability_reason: str | None

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        availability: RepoAvailability,
        set_at: datetime.datetime | None = None,
        limited_availability_reason: str | None = None,
    ) -> None:
        if not isinstance(availability, RepoAvailability):
            raise TypeError(
                f"availability is a RepoAvailability, not a {type(availability).__name__}"
            )
        self.availability = availability
        self.set_at = set_at or datetime.datetime.now(datetime.UTC)
        self.limited_availability_reason = limited_availability_reason


class FeatureFlag(Value):
    """An operation that a repository may forbid (spec version 2)."""

    __slots__ = ("_default_enabled", "_enabled", "_id", "_name", "_setting")
    _names = ("id", "name", "default_enabled", "setting", "enabled")

    def __init__(self, *, id: int, name: str, default_enabled: bool, setting: bool | None) -> None:
        self._id = id
        self._name = name
        self._default_enabled = default_enabled
        self._setting = setting

    def __repr__(self) -> str:
        # Without derived fields.
        return _display.call(
            "icefield.FeatureFlag", ((key, it) for key, it, _ in self._fields() if key != "enabled")
        )

    @property
    def id(self) -> int:
        """The number of the flag."""
        return self._id

    @property
    def name(self) -> str:
        """The name of the flag."""
        return self._name

    @property
    def default_enabled(self) -> bool:
        """Whether the operation is allowed by default."""
        return self._default_enabled

    @property
    def setting(self) -> bool | None:
        """The set value; None if the flag is not set."""
        return self._setting

    @property
    def enabled(self) -> bool:
        """Whether the operation is allowed."""
        return self._default_enabled if self._setting is None else self._setting


class UpdateType(Value):
    """The kind of an operation: one of the nested classes."""

    __slots__ = ("_given",)

    _given: tuple[Any, ...]
    _types: ClassVar[tuple[type, ...]] = ()

    def __init__(self, *values: Any, **named: Any) -> None:
        if type(self) is UpdateType:
            raise TypeError("an UpdateType is one of its nested classes, such as UpdateType.GCRan")
        names = self._names
        given = dict(zip(names, values, strict=False)) | named
        if len(values) + len(named) != len(names) or set(given) != set(names):
            raise TypeError(f"{type(self).__qualname__} takes {', '.join(names) or 'nothing'}")
        for name, allowed in zip(names, self._types, strict=True):
            if not isinstance(given[name], allowed):
                raise TypeError(f"{name} is a {allowed}, not a {type(given[name]).__name__}")
        self._given = tuple(given[name] for name in names)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given

    __str__ = Value.__repr__


def _field(place: int, name: str) -> property:
    def get(update: UpdateType) -> Any:
        return update._given[place]

    get.__name__ = name
    return property(get)


def _nest(name: str, doc: str, /, **fields: Any) -> None:
    """Defines `UpdateType.<name>`, which cannot be nested in the class that it is derived from."""
    members: dict[str, Any] = {
        "__slots__": (),
        "__doc__": doc,
        "__qualname__": f"UpdateType.{name}",
        "__match_args__": tuple(fields),
        "__signature__": Signature(
            [Parameter(it, Parameter.POSITIONAL_OR_KEYWORD) for it in fields]
        ),
        "_names": tuple(fields),
        "_types": tuple(fields.values()),
    }
    for place, field in enumerate(fields):
        members[field] = _field(place, field)
    setattr(UpdateType, name, type(name, (UpdateType,), members))


_nest("RepoInitialized", "The repository was made.")
_nest("RepoMigrated", "The format was changed.", from_version=int, to_version=int)
_nest("RepoStatusChanged", "The status was changed.", status=RepoStatus)
_nest("ConfigChanged", "The configuration was saved.")
_nest("MetadataChanged", "The metadata of the repository was changed.")
_nest("TagCreated", "A tag was made.", name=str)
_nest("TagDeleted", "A tag was deleted.", name=str, previous_snap_id=str)
_nest("BranchCreated", "A branch was made.", name=str)
_nest("BranchDeleted", "A branch was deleted.", name=str, previous_snap_id=str)
_nest("BranchReset", "A branch was moved by hand.", name=str, previous_snap_id=str)
_nest("NewCommit", "A commit to a branch.", branch=str, new_snap_id=str)
_nest(
    "CommitAmended",
    "The last commit of a branch was replaced.",
    branch=str,
    previous_snap_id=str,
    new_snap_id=str,
)
_nest("NewDetachedSnapshot", "A snapshot on no branch was written.", new_snap_id=str)
_nest("GCRan", "Garbage was collected.")
_nest("ExpirationRan", "Old snapshots were taken out of the history.")
_nest("FeatureFlagChanged", "A feature flag was set.", id=int, new_value=bool | None)


class Update(Value):
    """One entry of the log: the operation, its time, and the object with the state before it."""

    __slots__ = ("_backup_path", "_kind", "_updated_at")
    _names = ("kind", "updated_at", "backup_path")

    def __init__(
        self, *, kind: UpdateType, updated_at: datetime.datetime, backup_path: str | None
    ) -> None:
        self._kind = kind
        self._updated_at = updated_at
        self._backup_path = backup_path

    @property
    def kind(self) -> UpdateType:
        """The operation."""
        return self._kind

    @property
    def updated_at(self) -> datetime.datetime:
        """The time of the operation (UTC)."""
        return self._updated_at

    @property
    def backup_path(self) -> str | None:
        """The object with the state before it; None for the newest entry."""
        return self._backup_path

    def __repr__(self) -> str:
        return _display.call("icefield.Update", ((key, it) for key, it, _ in self._fields()))
