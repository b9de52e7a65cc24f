"""The enumerations of a repository."""

from __future__ import annotations

from enum import Enum, IntEnum

__all__ = ["ChunkType", "RepoAvailability", "SessionMode", "SpecVersion"]


class ChunkType(IntEnum):
    """The storage of a chunk. The names in capitals are those of earlier versions."""

    uninitialized = 0
    """Not stored: the chunk was never written, and reads as the fill value."""
    native = 1
    """In an object of the repository."""
    virtual = 2
    """In an object outside the repository."""
    inline = 3
    """In a manifest."""

    UNINITIALIZED = 0
    NATIVE = 1
    VIRTUAL = 2
    INLINE = 3

    def __repr__(self) -> str:
        return f"ChunkType.{self.name}"

    __str__ = __repr__


_new_repositories = 1
"""The default format version of new repositories. `icefield.compat` sets another one."""


def make_repositories_of(version: int) -> None:
    """Sets the default format version of new repositories for this process."""
    global _new_repositories
    _new_repositories = version


class SpecVersion(IntEnum):
    """The version of the format that a repository is stored in."""

    v1 = 1
    v2 = 2

    @staticmethod
    def current() -> SpecVersion:
        """The version of new repositories: v1, which every release of every reader opens.

        After `import icefield.compat` it is v2, as in icechunk 2.3.
        """
        return SpecVersion(_new_repositories)

    def __repr__(self) -> str:
        return f"SpecVersion.{self.name}{' (current)' if self is self.current() else ''}"

    __str__ = __repr__


class RepoAvailability(IntEnum):
    """Whether a repository accepts changes (spec version 2)."""

    online = 0
    read_only = 1

    def __repr__(self) -> str:
        return f"RepoAvailability.{self.name}"

    __str__ = __repr__


class SessionMode(Enum):
    """The mode of a session."""

    readonly = 0
    """Reading."""
    writable = 1
    """Reading and writing."""
    rearrange = 2
    """Moving nodes (spec version 2)."""

    def __int__(self) -> int:
        return int(self.value)

    def __repr__(self) -> str:
        return f"SessionMode.{self.name}"

    __str__ = __repr__


for _name in __all__:
    globals()[_name].__module__ = "icefield"
del _name
