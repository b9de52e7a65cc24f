"""A place where a repository is kept: its description, and who asks it."""

from icefield._storage.storage import Storage
from icefield._storage.storage import _unpickled as _unpickled

__all__ = ["Storage"]
