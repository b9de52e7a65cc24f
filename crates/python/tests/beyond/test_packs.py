"""Small chunks that share objects."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import icefield as ic
import numpy as np
import pytest
import zarr

from making import opened
from servers import bucket

CHUNKS = 40


def packed(path: Path) -> ic.Repository:
    """A repository whose sessions pack small chunks, in the place of the default of a local disk."""
    config = ic.RepositoryConfig()
    config.packed_chunk_threshold_bytes = 2**20
    storage = ic.local_filesystem_storage(str(path))
    return ic.Repository.create(storage, config=config)


def objects(path: Path) -> int:
    return len(list((path / "chunks").iterdir()))


def data() -> Any:
    return np.random.default_rng(1).integers(0, 256, (CHUNKS, 600), dtype="uint8")


def filled(repo: ic.Repository, values: Any) -> None:
    session = repo.writable_session("main")
    array = zarr.create_array(
        session.store, name="x", shape=values.shape, chunks=(1, 600), dtype="uint8", compressors=None,
        dimension_names=["step", "cell"],
    )
    array[:] = values
    np.testing.assert_array_equal(opened(session, "x")[:], values)
    session.commit("chunks")


def test_chunks_share_objects_as_the_configuration_says(tmp_path: Path) -> None:
    repo = packed(tmp_path / "repository")
    assert repo.config.packed_chunk_threshold_bytes == 2**20
    values = data()
    filled(repo, values)
    assert objects(tmp_path / "repository") == 1
    again = ic.Repository.open(ic.local_filesystem_storage(str(tmp_path / "repository")))
    np.testing.assert_array_equal(opened(again.readonly_session("main"), "x")[:], values)


@pytest.mark.parametrize(("threshold", "count"), [(None, 1), (0, CHUNKS)])
def test_buckets_have_packs_unless_the_configuration_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, threshold: int | None, count: int
) -> None:
    with bucket(monkeypatch) as found:
        storage = ic.s3_storage(
            bucket=found.name, prefix="repository", region="us-east-1", endpoint_url=found.endpoint, allow_http=True,
            force_path_style=True, from_env=True,
        )
        config = ic.RepositoryConfig()
        config.packed_chunk_threshold_bytes = threshold
        repo = ic.Repository.create(storage, config=config)
        values = data()
        filled(repo, values)
        assert len(list(storage.list_objects(prefix="chunks"))) == count
        session = repo.writable_session("main")
        fork = pickle.loads(pickle.dumps(session.fork()))
        opened(fork, "x")[:5] = 7
        session.merge(pickle.loads(pickle.dumps(fork)))
        session.commit("of a fork")
        values[:5] = 7
        again = ic.Repository.open(storage)
        np.testing.assert_array_equal(opened(again.readonly_session("main"), "x")[:], values)


def test_forks_take_stored_chunks_along(tmp_path: Path) -> None:
    repo = packed(tmp_path / "repository")
    values = data()
    filled(repo, values)
    session = repo.writable_session("main")
    fork = pickle.loads(pickle.dumps(session.fork()))
    opened(fork, "x")[:5] = 7
    session.merge(pickle.loads(pickle.dumps(fork)))
    session.commit("of a fork")
    values[:5] = 7
    np.testing.assert_array_equal(opened(repo.readonly_session("main"), "x")[:], values)


def test_a_repository_is_repacked(tmp_path: Path) -> None:
    repo = packed(tmp_path / "repository")
    values = data()
    filled(repo, values)
    session = repo.writable_session("main")
    values[:30] = values[:30][::-1].copy()
    array = opened(session, "x")
    for step in reversed(range(30)):
        array[step] = values[step]
    session.commit("most of it again")
    tip = repo.lookup_branch("main")
    plan = repo.repack(dry_run=True)
    assert (plan.snapshot_id, plan.chunks, plan.bytes) == (None, 10, 6000)
    assert (plan.objects_before, plan.bytes_before, plan.live_bytes_before) == (1, 24_000, 6000)
    assert repo.lookup_branch("main") == tip
    report = repo.repack(message="again")
    assert report.snapshot_id == repo.lookup_branch("main") != tip
    assert (report.arrays, report.chunks, report.objects) == (["/x"], 10, 1)
    assert next(iter(repo.ancestry(branch="main"))).message == "again"
    ordered = repo.repack(["x"], order=["cell", "step"])
    assert ordered.chunks == CHUNKS
    assert repo.repack(["/x"], order=["cell", "step"]).snapshot_id is None
    np.testing.assert_array_equal(opened(repo.readonly_session("main"), "x")[:], values)
    assert repo.fsck().sound


async def test_the_asynchronous_form_does_the_same(tmp_path: Path) -> None:
    repo = packed(tmp_path / "repository")
    filled(repo, data())
    report = await repo.repack_async(small=True)
    assert report.snapshot_id is None


def test_wrong_options_are_named(tmp_path: Path) -> None:
    repo = packed(tmp_path / "repository")
    filled(repo, data())
    with pytest.raises(ValueError, match="exclude each other"):
        repo.repack(order=["step"], z_order=True)
    for below in (0, -5):
        with pytest.raises(ValueError, match="from 1 on"):
            repo.repack(below=below)
    with pytest.raises(TypeError, match="no 'plan'"):
        repo.repack(plan=True)  # type: ignore[call-arg]
    with pytest.raises(ic.IcechunkError, match="no array has a dimension height"):
        repo.repack(order=["height"])
    config = ic.RepositoryConfig()
    with pytest.raises(ic.IcechunkError, match="pack_size_bytes cannot be 1"):
        config.pack_size_bytes = 1
