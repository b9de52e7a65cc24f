"""How the tests make and read repositories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icefield as ic
import numpy as np
import zarr


def new(path: Path) -> ic.Repository:
    """A new repository in a directory."""
    return ic.Repository.create(ic.local_filesystem_storage(str(path)))


def array(session: ic.Session, path: str, length: int) -> Any:
    """A new array of doubles along `time`, in chunks of 10."""
    return zarr.create_array(
        session.store,
        name=path,
        shape=(length,),
        chunks=(10,),
        dtype="f8",
        dimension_names=["time"],
        fill_value=np.nan,
    )


def opened(session: ic.Session, path: str) -> Any:
    """An array of a session, to read and write."""
    mode: Any = "r" if session.read_only else "r+"
    return zarr.open_array(session.store, path=path, mode=mode)


def values(repo: ic.Repository, path: str = "x", branch: str = "main") -> Any:
    """The elements of an array at the tip of a branch."""
    return opened(repo.readonly_session(branch), path)[:]


def write(repo: ic.Repository, branch: str, place: slice, value: float, path: str = "x") -> str:
    """Commits one value at a place."""
    session = repo.writable_session(branch)
    opened(session, path)[place] = value
    return session.commit(f"{value} to {path}")
