"""Other chunks, shards and codecs, of imports and of arrays that are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icefield as ic
import numpy as np
import pytest
import xarray as xr
import zarr

from making import new


def dataset() -> xr.Dataset:
    """Numbers in chunks of 3 x 4, with coordinates."""
    values = np.arange(10.0 * 12).reshape(10, 12)
    data = xr.Dataset(
        {"t2m": (("time", "x"), values)}, coords={"time": np.arange(10), "x": np.arange(12.0)}
    )
    data.t2m.encoding = {"chunks": (3, 4)}
    return data


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    dataset().to_zarr(tmp_path / "tree", consolidated=False)
    return tmp_path / "tree"


def read(session: ic.Session) -> xr.Dataset:
    data: xr.Dataset = xr.open_zarr(session.store, consolidated=False).load()
    return data


def array(session: ic.Session, path: str = "t2m") -> Any:
    return zarr.open_array(session.store, path=path, mode="r")


def test_an_array_is_rechunked_in_one_commit(tmp_path: Path, tree: Path) -> None:
    repo = new(tmp_path / "repository")
    before = repo.import_files(tree).snapshot_id
    plan = repo.rechunk("/t2m", chunks={"time": -1, "x": 1}, codec="gzip:1", plan=True)
    assert repo.lookup_branch("main") == before
    assert plan.is_needed and plan.shape == [10, 12]
    assert (plan.before.chunk_shape, plan.after.chunk_shape) == ([3, 4], [10, 1])
    assert (plan.chunks_before, plan.decodes, plan.chunks) == (12, 12, 12)
    assert plan.after.codecs[-1] == "gzip"

    report = repo.rechunk(
        "/t2m", chunks={"time": -1, "x": 1}, codec="gzip:1", message="by column"
    )
    assert report.snapshot_id == repo.lookup_branch("main") != before
    assert (report.decoded_chunks, report.chunks) == (12, 12)
    assert next(iter(repo.ancestry(branch="main"))).message == "by column"
    session = repo.readonly_session("main")
    assert array(session).chunks == (10, 1)
    xr.testing.assert_identical(read(session), dataset())
    again = repo.rechunk("t2m", chunks={"time": "all"})
    assert again.snapshot_id is None


async def test_shards_are_awaited(tmp_path: Path, tree: Path) -> None:
    repo = new(tmp_path / "repository")
    repo.import_files(tree)
    shards = {"time": 6, "x": 12}
    report = await repo.rechunk_async("/t2m", chunks={"x": 6}, shards=shards, codec="blosc:lz4:3")
    assert report.after.shard_shape == [6, 12]
    session = repo.readonly_session("main")
    assert (array(session).chunks, array(session).shards) == ((3, 6), (6, 12))
    xr.testing.assert_identical(read(session), dataset())
    plan = await repo.rechunk_async("/t2m", shards="none", plan=True)
    assert plan.after.shard_shape is None


def test_a_session_is_rechunked_with_what_it_wrote(tmp_path: Path, tree: Path) -> None:
    repo = new(tmp_path / "repository")
    repo.import_files(tree)
    session = repo.writable_session("main")
    zarr.open_array(session.store, path="t2m")[0, 0] = 99
    report = session.rechunk("/t2m", chunks={"time": 5, "x": 5})
    assert report.snapshot_id is None and session.has_uncommitted_changes
    expected = dataset()
    expected.t2m[0, 0] = 99
    assert array(session).chunks == (5, 5)
    xr.testing.assert_identical(read(session), expected)

    # A commit of another session that wrote to the array is a conflict.
    other = repo.writable_session("main")
    zarr.open_array(other.store, path="t2m")[9, 11] = 1
    other.commit("other")
    with pytest.raises(ic.ConflictError):
        session.commit("rechunked")
    with pytest.raises(ic.RebaseFailedError):
        session.rebase(ic.StrictConflictDetector())


def test_an_import_is_laid_out(tmp_path: Path, tree: Path) -> None:
    repo = new(tmp_path / "repository")
    options: Any = {"chunks": {"time": 4}, "shards": {"time": 8}, "codec": "zstd:5"}
    plan = repo.import_files(tree, plan=True, **options)
    t2m = next(it for it in plan.arrays if it.path == "/t2m")
    assert (t2m.chunk_shape, t2m.shard_shape) == ([4, 4], [8, 4])
    assert t2m.assembled_chunks == 6 and t2m.decodes == 12 and t2m.reasons
    report = repo.import_files(tree, **options)
    assert report.assembled_chunks == sum(it.assembled_chunks for it in plan.arrays)
    session = repo.readonly_session("main")
    assert array(session).shards == (8, 4)
    # Coordinates keep their chunks.
    assert array(session, "time").chunks == (10,)
    xr.testing.assert_identical(read(session), dataset())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "chunks"),
        ({"chunks": {"y": 1}}, "'y'|\"y\""),
        ({"chunks": {"time": 0}}, "at least 1"),
        ({"chunks": {"time": "long"}}, "long"),
        ({"shards": {"time": 4}}, "multiple"),
        ({"codec": "zip"}, "blosc"),
    ],
)
def test_what_cannot_be_is_named(
    tmp_path: Path, tree: Path, options: dict[str, Any], said: str
) -> None:
    repo = new(tmp_path / "repository")
    before = repo.import_files(tree).snapshot_id
    with pytest.raises(ic.IcechunkError, match=said):
        repo.rechunk("/t2m", **options)
    assert repo.lookup_branch("main") == before


def test_options_that_there_are_not_are_refused(tmp_path: Path, tree: Path) -> None:
    repo = new(tmp_path / "repository")
    wrong: Any = {"chunk": {"time": 1}}
    with pytest.raises(TypeError, match="'chunk'"):
        repo.import_files(tree, **wrong)
    with pytest.raises(TypeError, match="'chunk'"):
        repo.rechunk("/t2m", **wrong)
    for lengths in ([1, 2], {"time": 1.5}, {1: 2}):
        wrong = {"chunks": lengths}
        with pytest.raises(TypeError):
            repo.rechunk("/t2m", **wrong)
    repo.import_files(tree)
    with pytest.raises(ic.IcechunkError, match="append"):
        repo.import_files(tree, append="time", unordered=True, chunks={"time": 1})
