"""The storage of a repository: its description and its credentials."""

from icefield._storage.storage import Storage
from icefield._storage.storage import _unpickled as _unpickled

__all__ = ["Storage"]
