"""Repositories over HTTP from a Python process."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from pathlib import Path

import icefield as ic
import numpy as np
import pytest
import zarr
from obstore.store import HTTPStore

from making import new, write


def get(url: str, **headers: str) -> bytes:
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return bytes(response.read())


def status(url: str, **headers: str) -> int:
    try:
        get(url, **headers)
    except urllib.error.HTTPError as error:
        return error.code
    return 200


def gone(url: str) -> bool:
    try:
        get(url)
    except urllib.error.HTTPError:
        return False
    except urllib.error.URLError:
        return True
    return False


def test_a_repository_is_plain_zarr_until_the_end(repo: ic.Repository) -> None:
    old = repo.lookup_branch("main")
    with ic.serve(repo) as url:
        assert url.startswith("http://127.0.0.1:") and url.endswith("/")
        document = json.loads(get(f"{url}main/x/zarr.json"))
        assert document["shape"] == [40]
        # The server follows the branch; the snapshot stays.
        write(repo, "main", slice(0, 10), 2.0)
        assert json.loads(get(f"{url}{old}/x/zarr.json")) == document
        there = HTTPStore.from_url(f"{url}main", client_options={"allow_http": True})
        store = zarr.storage.ObjectStore(there, read_only=True)
        found = zarr.open_array(store, path="x", mode="r")[:]
        assert np.array_equal(found, [2.0] * 10 + [1.0] * 30)
        assert status(f"{url}main/nowhere/zarr.json") == 404
    assert gone(f"{url}main/x/zarr.json")


def test_paths_and_several_repositories(tmp_path: Path) -> None:
    for name in ("a", "b"):
        session = new(tmp_path / name).writable_session("main")
        zarr.create_group(session.store, attributes={"name": name})
        session.commit(name)
    server = ic.serve(tmp_path / "a", str(tmp_path / "b"))
    with server as url:
        assert sorted(server.urls) == ["a", "b"]
        for name, base in server.urls.items():
            assert base == f"{url}{name}/"
            assert json.loads(get(f"{base}main/zarr.json"))["attributes"] == {"name": name}
        assert b"<html" in get(server.explorer)
    server.stop()
    with ic.serve(ic.local_filesystem_storage(str(tmp_path / "a"))) as url:
        assert json.loads(get(f"{url}main/zarr.json"))["attributes"] == {"name": "a"}


def test_it_stops_when_an_exception_ends_the_block(repo: ic.Repository) -> None:
    with pytest.raises(ZeroDivisionError), ic.serve(repo) as url:
        _ = 1 / 0
    assert gone(url)


def test_it_serves_an_event_loop(repo: ic.Repository) -> None:
    async def work() -> str:
        async with ic.serve(repo) as url:
            assert await asyncio.to_thread(status, f"{url}main/x/zarr.json") == 200
            return url

    assert gone(asyncio.run(work()))


def test_a_token_is_needed_where_one_is_set(repo: ic.Repository) -> None:
    token = "0123456789abcdef"
    with ic.serve(repo, token=token) as url:
        place = f"{url}main/x/zarr.json"
        assert status(place) == 401
        assert status(place, Authorization=f"Bearer {token}") == 200


def test_bad_arguments(repo: ic.Repository, tmp_path: Path) -> None:
    with pytest.raises(ic.InvalidInputError, match="no repository"):
        ic.serve()
    with pytest.raises(ic.InvalidInputError, match="no token is set"):
        ic.serve(repo, host="0.0.0.0")
    with pytest.raises(ic.InvalidInputError, match="no token is set"):
        ic.serve(repo, hosts=["data.example.org"])
    with pytest.raises(ic.InvalidInputError, match="fewer than 16"):
        ic.serve(repo, token="secret")
    with pytest.raises(ic.InvalidInputError, match="IP address"):
        ic.serve(repo, host="localhost")
    with pytest.raises(ic.InvalidInputError):
        ic.serve(repo, port=65536)
    with pytest.raises(ic.InvalidInputError, match="URL"):
        ic.serve("s3://bucket/repository")
    with pytest.raises(ic.RepositoryNotFoundError):
        ic.serve(tmp_path / "nowhere")
    with pytest.raises(TypeError, match="Repository, a Storage or a path"):
        ic.serve(7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="list of texts"):
        ic.serve(repo, cors="*")
    server = ic.serve(repo)
    with server as url:
        port = int(url.split(":")[2].strip("/"))
        with pytest.raises(ic.IcechunkError, match="cannot be listened on"):
            ic.serve(repo, port=port)
