"""A cache on the local disk, of what is read over a network."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from pathlib import Path

import icefield as ic
import numpy as np
import pytest
import zarr

from making import new
from servers import WebServer

VALUES = np.random.default_rng(1).random(4000)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebServer]:
    repo = new(tmp_path / "repository")
    session = repo.writable_session("main")
    zarr.create_group(session.store)
    made = zarr.create_array(session.store, name="x", shape=(4000,), chunks=(1000,), dtype="f8")
    made[:] = VALUES
    session.commit("the first")
    server = WebServer(tmp_path / "repository")
    yield server
    server.close()


def values(repo: ic.Repository) -> np.ndarray:
    group = zarr.open_group(repo.readonly_session("main").store, mode="r")
    found = group["x"]
    assert isinstance(found, zarr.Array)
    return np.asarray(found[:])


def test_what_was_read_is_not_asked_for_again(server: WebServer, tmp_path: Path) -> None:
    storage = ic.http_storage(server.url)
    cache = tmp_path / "cache"
    for given in (cache, f"{cache},64MiB"):
        repo = ic.Repository.open(storage, cache=given)
        assert (values(repo) == VALUES).all()
    assert {"chunks", "manifests", "snapshots"} <= server.since()
    repo = ic.Repository.open(storage, cache=str(cache))
    assert (values(repo) == VALUES).all()
    again = server.since()
    assert not again & {"chunks", "manifests"}
    assert "refs" in again
    repo = asyncio.run(ic.Repository.open_async(storage, cache=str(cache)))
    assert not server.since() & {"chunks", "manifests"}
    assert (values(repo.reopen()) == VALUES).all()
    assert not server.since() & {"chunks", "manifests"}
    assert (values(ic.Repository.open(storage)) == VALUES).all()
    assert {"chunks", "manifests"} <= server.since()


def test_the_environment_names_a_cache_also_for_what_is_unpickled(
    server: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = ic.http_storage(server.url)
    pickled = pickle.dumps(ic.Repository.open(storage, cache=tmp_path / "cache"))
    monkeypatch.setenv("ICEFIELD_CACHE", f"{tmp_path / 'other'},10MB")
    assert (values(pickle.loads(pickled)) == VALUES).all()
    assert (tmp_path / "other").is_dir()
    server.since()
    assert (values(ic.Repository.open(storage)) == VALUES).all()
    assert not server.since() & {"chunks", "manifests"}


def test_a_cache_that_cannot_be_is_named(server: WebServer, tmp_path: Path) -> None:
    storage = ic.http_storage(server.url)
    (tmp_path / "file").write_text("mine")
    for bad, word in [
        (str(tmp_path / "file"), "cannot be made"),
        (f"{tmp_path / 'c'},1kB", "too few"),
        (f"{tmp_path / 'c'},much", "no size"),
        (",1GiB", "names no directory"),
    ]:
        with pytest.raises(ic.IcechunkError, match=word):
            ic.Repository.open(storage, cache=bad)
    with pytest.raises(TypeError, match="bytes"):
        ic.Repository.open(storage, cache=b"cache")  # type: ignore[arg-type]


def test_a_local_repository_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = ic.local_filesystem_storage(str(tmp_path / "repository"))
    repo = ic.Repository.create(storage, cache=tmp_path / "cache")
    assert repo.list_branches() == {"main"}
    assert not (tmp_path / "cache").exists()
    # Nor is a misspelt one in its way.
    monkeypatch.setenv("ICEFIELD_CACHE", f"{tmp_path / 'cache'},much")
    assert ic.Repository.open(storage).list_branches() == {"main"}
