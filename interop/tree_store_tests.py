"""zarr-python's own tests of stores, on ours. Run by pytest, see `tree_store_suite.py`."""

from pathlib import Path

import pytest
from tree_store import TreeStore
from zarr.core.buffer import cpu
from zarr.testing.store import StoreTests


class TestTreeStore(StoreTests[TreeStore, cpu.Buffer]):
    store_cls, buffer_cls = TreeStore, cpu.Buffer

    async def get(self, store, key):
        """Reads behind the store's back."""
        return self.buffer_cls.from_bytes((Path(store.root) / key).read_bytes())

    async def set(self, store, key, value):
        """Writes behind the store's back."""
        path = Path(store.root) / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value.to_bytes())

    @pytest.fixture
    def store_kwargs(self, tmp_path):
        return {"root": str(tmp_path)}

    def test_store_repr(self, store):
        assert str(store) == f"tree://{store.root}"

    def test_store_supports_writes(self, store):
        assert store.supports_writes

    def test_store_supports_listing(self, store):
        assert store.supports_listing
