"""Rechunkings and copies of virtual chunks by many processes: equal to those by one."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import icefield as ic
import numpy as np
import pytest
import zarr
from distributed import Client
from icefield.dask import materialize, rechunk
from zarr.core.buffer import default_buffer_prototype

import tasks
from contents import contents, opened
from making import new


def cube(place: Path) -> ic.Repository:
    """A repository with an array of 40 x 60 numbers, of which some chunks were never written."""
    repo = new(place)
    session = repo.writable_session("main")
    made = zarr.create_array(
        session.store, name="a", shape=(40, 60), chunks=(4, 10), dtype="i4", dimension_names=["t", "x"]
    )
    made[:20] = np.arange(20 * 60).reshape(20, 60)
    made[30:, :30] = 7
    session.commit("an array")
    return repo


@pytest.mark.parametrize("on", ["dask", "threads", "twice"])
@pytest.mark.parametrize(
    "layout",
    [
        {"chunks": {"t": 6, "x": 15}},
        {"chunks": {"t": -1, "x": 5}, "codec": "zstd:1"},
        {"chunks": {"t": 4, "x": 10}, "shards": {"t": 20, "x": 20}},
    ],
    ids=["chunks", "a series", "shards"],
)
def test_a_rechunking_in_shares_is_that_of_one_process(
    tmp_path: Path, client: Client, on: str, layout: dict[str, Any]
) -> None:
    alone = cube(tmp_path / "alone").rechunk("/a", **layout)
    repo = cube(tmp_path / "shared")
    session = repo.writable_session("main")
    executor: Executor | None = {"threads": ThreadPoolExecutor(2), "twice": tasks.Twice()}.get(on)
    where: dict[str, Any] = {"client": client} if executor is None else {"executor": executor}
    report = rechunk("/a", session, shares=5, message="in shares", **where, **layout)
    assert report.snapshot_id == repo.lookup_branch("main")
    assert contents(tmp_path / "shared", []) == contents(tmp_path / "alone", [])
    for name in vars(alone):
        if name != "snapshot_id":
            assert getattr(report, name) == getattr(alone, name), name


def test_a_rechunking_without_a_message_is_left_to_the_caller(tmp_path: Path) -> None:
    repo = cube(tmp_path / "repository")
    session = repo.writable_session("main")
    zarr.open_array(session.store, path="a", mode="r+")[39, 59] = 5
    with ThreadPoolExecutor(2) as threads:
        report = rechunk("/a", session, None, threads, chunks={"t": 8})
        assert report.snapshot_id is None
        assert (report.chunks_before, report.chunks) == (40, 25)
        found: Any = zarr.open_array(session.store, path="a", mode="r")
        assert (found.chunks, found[39, 59], found[39, 29], found[25, 0]) == ((8, 10), 5, 7, 0)
        session.commit("eight")
        # The layout is there already.
        session = repo.writable_session("main")
        report = rechunk("/a", session, None, threads, chunks={"t": 8}, message="none")
        assert report.snapshot_id is None and not session.has_uncommitted_changes


def test_what_cannot_be_rechunked_is_named(tmp_path: Path, client: Client) -> None:
    repo = cube(tmp_path / "repository")
    session = repo.writable_session("main")
    wrong: Any
    for wrong, error in (({"chunks": {"z": 1}}, "z"), ({"branch": "main"}, "takes no 'branch'")):
        with pytest.raises((ic.InvalidInputError, TypeError), match=error):
            rechunk("/a", session, client, **wrong)
    with pytest.raises(ic.NotFoundError):
        rechunk("/none", session, client, codec="none")
    assert not session.has_uncommitted_changes
    # A chunk that no worker can decode.
    damaged = default_buffer_prototype().buffer.from_bytes(b"no chunk")
    asyncio.run(session.store.set("a/c/3/3", damaged))
    with pytest.raises(ic.IcechunkError, match=r"3, 3.* of /a"):
        rechunk("/a", session, client, codec="none")
    session.discard_changes()
    report = rechunk("/a", session, client, codec="none", message="none")
    assert report.snapshot_id == repo.lookup_branch("main")


@pytest.mark.parametrize("on", ["dask", "threads", "twice"])
def test_virtual_chunks_are_copied_by_workers(tmp_path: Path, client: Client, on: str) -> None:
    cube(tmp_path / "cube").export(tmp_path / "out.zip", zip=True)
    place = tmp_path / "repository"
    imported = new(place).import_files(tmp_path / "out.zip", virtual=True)
    assert imported.virtual_chunks > 20
    before = contents(place, imported.containers)
    assert before["references"]
    repo = opened(place, imported.containers)
    session = repo.writable_session("main")
    executor: Executor | None = {"threads": ThreadPoolExecutor(2), "twice": tasks.Twice()}.get(on)
    where: dict[str, Any] = {"client": client} if executor is None else {"executor": executor}
    report = materialize(session, shares=7, message="copied", **where)
    assert report.snapshot_id == repo.lookup_branch("main")
    assert report.chunks == imported.virtual_chunks
    assert report.bytes == imported.virtual_bytes
    # No reader follows references any more.
    assert contents(place, []) == {**before, "references": []}
    session = repo.writable_session("main")
    assert materialize(session, "/a", message="none", **where).snapshot_id is None
    with pytest.raises(ic.NotFoundError):
        materialize(session, "/none", **where)
