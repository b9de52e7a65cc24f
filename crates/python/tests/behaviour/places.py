"""Files that virtual chunks refer to, beside a repository that may read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from making import Keys, array_document, create, group_document
from under_test import ic

CONTENT = bytes(range(200))
ITEMS = {
    "zarr.json": group_document(),
    "a/zarr.json": array_document((80,), (10,)),
    "b/zarr.json": array_document((4, 4), (2, 2)),
}


class Place:
    """A directory with a file to refer to, and a repository that may read it."""

    def __init__(self, root: Path, *, granted: bool = True, name: str | None = None) -> None:
        self.directory = root / "data"
        self.directory.mkdir()
        (self.directory / "f.bin").write_bytes(CONTENT)
        self.prefix = f"file://{self.directory}/"
        self.location = f"{self.prefix}f.bin"
        config = ic.RepositoryConfig.default()
        store = ic.local_filesystem_store(str(self.directory))
        config.set_virtual_chunk_container(ic.VirtualChunkContainer(self.prefix, store, name=name))
        self.access = {self.prefix: ic.Credentials.LocalFileSystemAccess()}
        self.storage = ic.in_memory_storage()
        self.repo = create(
            self.storage, config, authorize_virtual_chunk_access=self.access if granted else None
        )
        self.session = self.repo.writable_session("main")
        self.store = self.session.store
        self.keys = Keys(self.store)
        for key, data in ITEMS.items():
            self.keys.put(key, data)

    def refer(self, key: str = "a/c/0", **more: Any) -> None:
        given: dict[str, Any] = {"offset": 10, "length": 10, **more}
        location = given.pop("location", self.location)
        self.store.set_virtual_ref(key, location, **given)
