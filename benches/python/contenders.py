"""Who is measured: each makes, fills and reads a store in a fresh directory.

What is timed as a write ends where the bytes are with the kernel, the same for all three: `LocalStore` and icechunk
never flush, icefield flushes at commit (one `fsync` for each of the few files of a commit, one `syncfs` for many). So
commits are a case of their own, and no other case waits for the disk.
"""

import importlib
import importlib.util
import os
from pathlib import Path
from typing import Any, Protocol

import zarr
from zarr.abc.store import Store
from zarr.storage import LocalStore

__all__ = ["Contender", "Plain", "Transactional", "contenders", "versions"]


class Contender(Protocol):
    name: str
    module: str
    flushes: str

    def create(self, path: Path) -> Store:
        """A writable store in a directory that does not exist yet."""
        ...

    def commit(self) -> None:
        """Makes what was written since `create` visible to `reader`."""
        ...

    def reader(self, path: Path) -> Store:
        """A store that knows nothing of what was written, but reads it."""
        ...


class Plain:
    """zarr-python's own store of files."""

    name = "LocalStore"
    module = "zarr"
    flushes = "never"

    def create(self, path: Path) -> Store:
        return LocalStore(path)

    def commit(self) -> None:
        """There is nothing to do: every write was visible at once."""

    def reader(self, path: Path) -> Store:
        return LocalStore(path, read_only=True)


class Transactional:
    """A repository on a local disk, by icefield or by the reference."""

    def __init__(self, module: str, flushes: str) -> None:
        self.name = module
        self.module = module
        self.flushes = flushes
        # The reference warns, at every opening, that its local storage is not safe.
        os.environ.setdefault("ICECHUNK_LOG", "error")
        self._api: Any = importlib.import_module(module)
        self._session: Any = None

    def create(self, path: Path) -> Store:
        repository = self._api.Repository.create(self._api.local_filesystem_storage(str(path)))
        self._session = repository.writable_session("main")
        store: Store = self._session.store
        return store

    def commit(self) -> None:
        self._session.commit("a round")

    def reader(self, path: Path) -> Store:
        repository = self._api.Repository.open(self._api.local_filesystem_storage(str(path)))
        store: Store = repository.readonly_session("main").store
        return store

    @property
    def optimized(self) -> bool:
        """Whether the native module was built with optimisations, as far as it says so."""
        native = getattr(self._api, "_native", None)
        return bool(getattr(native, "_optimized", True))


def contenders(names: list[str]) -> list[Contender]:
    """Those of `names` that are installed. icefield must be."""
    known: list[Contender] = []
    for name in names:
        if name == "LocalStore":
            known.append(Plain())
        elif name == "icefield":
            known.append(Transactional(name, "at commit"))
        elif name == "icechunk":
            if importlib.util.find_spec(name) is not None:
                known.append(Transactional(name, "never"))
        else:
            raise ValueError(
                f"no contender is called {name!r}; there are icefield, icechunk and LocalStore"
            )
    return known


def versions() -> dict[str, str]:
    """What was measured: module and version."""
    found = {"zarr": zarr.__version__}
    for name in ("icefield", "icechunk"):
        if importlib.util.find_spec(name) is not None:
            found[name] = str(getattr(importlib.import_module(name), "__version__", "unknown"))
    return found
