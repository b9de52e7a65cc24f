import datetime
from typing import final

from icefield._values.enums import RepoAvailability
from icefield._values.value import Value

__all__ = ["FeatureFlag", "RepoStatus", "Update", "UpdateType"]

class RepoStatus(Value):
    availability: RepoAvailability
    set_at: datetime.datetime
    limited_availability_reason: str | None
    def __init__(
        self,
        availability: RepoAvailability,
        set_at: datetime.datetime | None = None,
        limited_availability_reason: str | None = None,
    ) -> None: ...

class FeatureFlag(Value):
    def __init__(
        self, *, id: int, name: str, default_enabled: bool, setting: bool | None
    ) -> None: ...
    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def default_enabled(self) -> bool: ...
    @property
    def setting(self) -> bool | None: ...
    @property
    def enabled(self) -> bool: ...

class UpdateType(Value):
    @final
    class RepoInitialized(UpdateType):
        """The repository was created."""
        def __init__(self) -> None: ...

    @final
    class RepoMigrated(UpdateType):
        """The format version was changed."""
        def __init__(self, from_version: int, to_version: int) -> None: ...
        @property
        def from_version(self) -> int: ...
        @property
        def to_version(self) -> int: ...

    @final
    class RepoStatusChanged(UpdateType):
        """The status was changed."""
        def __init__(self, status: RepoStatus) -> None: ...
        @property
        def status(self) -> RepoStatus: ...

    @final
    class ConfigChanged(UpdateType):
        """The configuration was saved."""
        def __init__(self) -> None: ...

    @final
    class MetadataChanged(UpdateType):
        """The metadata of the repository was changed."""
        def __init__(self) -> None: ...

    @final
    class TagCreated(UpdateType):
        """A tag was created."""
        def __init__(self, name: str) -> None: ...
        @property
        def name(self) -> str: ...

    @final
    class TagDeleted(UpdateType):
        """A tag was deleted."""
        def __init__(self, name: str, previous_snap_id: str) -> None: ...
        @property
        def name(self) -> str: ...
        @property
        def previous_snap_id(self) -> str: ...

    @final
    class BranchCreated(UpdateType):
        """A branch was created."""
        def __init__(self, name: str) -> None: ...
        @property
        def name(self) -> str: ...

    @final
    class BranchDeleted(UpdateType):
        """A branch was deleted."""
        def __init__(self, name: str, previous_snap_id: str) -> None: ...
        @property
        def name(self) -> str: ...
        @property
        def previous_snap_id(self) -> str: ...

    @final
    class BranchReset(UpdateType):
        """A branch was reset to another snapshot."""
        def __init__(self, name: str, previous_snap_id: str) -> None: ...
        @property
        def name(self) -> str: ...
        @property
        def previous_snap_id(self) -> str: ...

    @final
    class NewCommit(UpdateType):
        """A commit to a branch."""
        def __init__(self, branch: str, new_snap_id: str) -> None: ...
        @property
        def branch(self) -> str: ...
        @property
        def new_snap_id(self) -> str: ...

    @final
    class CommitAmended(UpdateType):
        """The last commit of a branch was replaced."""
        def __init__(self, branch: str, previous_snap_id: str, new_snap_id: str) -> None: ...
        @property
        def branch(self) -> str: ...
        @property
        def previous_snap_id(self) -> str: ...
        @property
        def new_snap_id(self) -> str: ...

    @final
    class NewDetachedSnapshot(UpdateType):
        """A snapshot on no branch was written."""
        def __init__(self, new_snap_id: str) -> None: ...
        @property
        def new_snap_id(self) -> str: ...

    @final
    class GCRan(UpdateType):
        """Garbage was collected."""
        def __init__(self) -> None: ...

    @final
    class ExpirationRan(UpdateType):
        """Old snapshots were removed from the histories."""
        def __init__(self) -> None: ...

    @final
    class FeatureFlagChanged(UpdateType):
        """A feature flag was set."""
        def __init__(self, id: int, new_value: bool | None) -> None: ...
        @property
        def id(self) -> int: ...
        @property
        def new_value(self) -> bool | None: ...

class Update(Value):
    def __init__(
        self, *, kind: UpdateType, updated_at: datetime.datetime, backup_path: str | None
    ) -> None: ...
    @property
    def kind(self) -> UpdateType: ...
    @property
    def updated_at(self) -> datetime.datetime: ...
    @property
    def backup_path(self) -> str | None: ...
