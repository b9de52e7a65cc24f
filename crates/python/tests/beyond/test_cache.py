"""A cache on the local disk, of what is read over a network."""

from __future__ import annotations

import asyncio
import hashlib
import pickle
import re
import threading
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import icefield as ic
import numpy as np
import pytest
import zarr

from making import new

VALUES = np.random.default_rng(1).random(4000)


class Server:
    """A web server that shows a directory, and what it was asked for."""

    def __init__(self, directory: Path) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                asked.append(self.path)
                path = directory / self.path.lstrip("/")
                if not path.is_file():
                    self.send_error(404)
                    return
                data = path.read_bytes()
                tag = f'"{hashlib.sha256(data).hexdigest()}"'
                if self.headers.get("If-None-Match") == tag:
                    self.send_response(304)
                    self.send_header("ETag", tag)
                    self.end_headers()
                    return
                size, start, end = len(data), 0, len(data)
                if wanted := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
                    start = int(wanted[1])
                    end = min(int(wanted[2]) + 1, size) if wanted[2] else size
                    self.send_response(206)
                    self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
                else:
                    self.send_response(200)
                self.send_header("ETag", tag)
                self.send_header("Last-Modified", formatdate(path.stat().st_mtime, usegmt=True))
                self.send_header("Content-Length", str(end - start))
                self.end_headers()
                self.wfile.write(data[start:end])

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def since(self) -> set[str]:
        """The folders of the objects that were asked for since the last question."""
        found = {path.split("/")[1] for path in self.asked}
        self.asked.clear()
        return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    repo = new(tmp_path / "repository")
    session = repo.writable_session("main")
    zarr.create_group(session.store)
    made = zarr.create_array(session.store, name="x", shape=(4000,), chunks=(1000,), dtype="f8")
    made[:] = VALUES
    session.commit("the first")
    server = Server(tmp_path / "repository")
    yield server
    server.server.shutdown()
    server.server.server_close()


def values(repo: ic.Repository) -> np.ndarray:
    group = zarr.open_group(repo.readonly_session("main").store, mode="r")
    found = group["x"]
    assert isinstance(found, zarr.Array)
    return np.asarray(found[:])


def test_what_was_read_is_not_asked_for_again(server: Server, tmp_path: Path) -> None:
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
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = ic.http_storage(server.url)
    pickled = pickle.dumps(ic.Repository.open(storage, cache=tmp_path / "cache"))
    monkeypatch.setenv("ICEFIELD_CACHE", f"{tmp_path / 'other'},10MB")
    assert (values(pickle.loads(pickled)) == VALUES).all()
    assert (tmp_path / "other").is_dir()
    server.since()
    assert (values(ic.Repository.open(storage)) == VALUES).all()
    assert not server.since() & {"chunks", "manifests"}


def test_a_cache_that_cannot_be_is_named(server: Server, tmp_path: Path) -> None:
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
