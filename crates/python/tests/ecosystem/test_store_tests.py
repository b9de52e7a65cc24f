"""zarr-python's own tests of a store."""

from pathlib import Path
from typing import Any

import pytest
from chosen import NAME, ic
from key_mapped import KeyMapped, key_mapped, prepared
from zarr.abc.store import SupportsDeleteSync, SupportsGetSync, SupportsSetSync
from zarr.core.buffer import Buffer, cpu, default_buffer_prototype
from zarr.testing.store import StoreTests


def _store_class() -> type[KeyMapped]:
    repository = ic.Repository.create(ic.in_memory_storage())
    return key_mapped(repository.writable_session("main").store)


# What the reference fails, and why; it has no synchronous path either, so 13 more are skipped there. Ours has to
# pass all of them.
_REFERENCE_FAILS = {
    "test_serializable_store": "a store that was pickled does not equal the one that it was made from",
    "test_getsize_raises": "getsize of a missing key is 0",
    "test_read_only_store_raises": "with_read_only(True) of a writable session goes on writing",
    "test_with_read_only_store": "with_read_only(True) of a writable session goes on writing",
}


@pytest.fixture(autouse=True)
def _expected(request: pytest.FixtureRequest) -> None:
    reason = _REFERENCE_FAILS.get(request.node.originalname)
    if NAME == "icechunk" and reason is not None:
        request.node.add_marker(pytest.mark.xfail(reason=reason, strict=True))


class TestStore(StoreTests[KeyMapped, cpu.Buffer]):
    """On a fork, which is the writable store that pickles, of a repository on a local disk."""

    store_cls = _store_class()
    buffer_cls = cpu.Buffer

    @pytest.fixture
    def store_kwargs(self, tmp_path: Path) -> dict[str, Any]:
        repository = ic.Repository.create(ic.local_filesystem_storage(str(tmp_path / "repo")))
        return prepared(repository.writable_session("main").fork().store)

    async def set(self, store: KeyMapped, key: str, value: Buffer) -> None:
        # Behind the store there is no directory to write into: the session is the only way in.
        await store.set(key, value)

    async def get(self, store: KeyMapped, key: str) -> Buffer:
        value = await store.get(key, default_buffer_prototype())
        assert value is not None
        return value

    def test_store_repr(self, store: KeyMapped) -> None:
        assert type(store.inner).__name__ in repr(store.inner)

    def test_store_supports_writes(self, store: KeyMapped) -> None:
        assert store.inner.supports_writes

    def test_store_supports_listing(self, store: KeyMapped) -> None:
        assert store.inner.supports_listing

    def test_store_supports_deletes(self, store: KeyMapped) -> None:
        assert store.inner.supports_deletes


def test_the_store_has_the_synchronous_path(local: "ic.Repository") -> None:
    """Without it zarr-python skips a sixth of the tests above, silently."""
    store = local.writable_session("main").store
    has = [isinstance(store, each) for each in (SupportsGetSync, SupportsSetSync, SupportsDeleteSync)]
    assert has == [NAME == "icefield"] * 3
