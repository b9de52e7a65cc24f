"""Exports by many processes: byte for byte what one process writes, whatever happens to workers."""

from __future__ import annotations

from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import icefield as ic
import numpy as np
import pytest
import zarr
from distributed import Client
from icefield import _exporting
from icefield.dask import export

import tasks
from making import new


def cube(place: Path) -> ic.Repository:
    """A repository with arrays of several chunks, of which some were never written, one of texts, and one without dimensions."""
    repo = new(place)
    session = repo.writable_session("main")
    root = zarr.create_group(session.store, attributes={"title": "a cube"})
    air: Any = root.create_array("air", shape=(40, 60), chunks=(4, 10), dtype="f4", dimension_names=["t", "x"])
    air[:30] = np.random.default_rng(1).normal(size=(30, 60))
    root.create_array("t", shape=(40,), chunks=(40,), dtype="i8", dimension_names=["t"])[:] = np.arange(40)
    root.create_array("number", shape=(), dtype="i4")[...] = 7
    session.commit("a cube")
    return repo


def tree(place: Path) -> dict[str, bytes]:
    """All files below a directory."""
    return {
        str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()
    }


def directories(place: Path) -> list[str]:
    """All directories below one."""
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_dir())


@pytest.mark.parametrize("on", ["dask", "threads", "processes", "twice"])
@pytest.mark.parametrize("format", ["zarr3", "zarr2", "nczarr"])
def test_an_export_in_shares_is_that_of_one_process(
    tmp_path: Path, client: Client, on: str, format: str
) -> None:
    repo = cube(tmp_path / "repository")
    alone = repo.export(tmp_path / "alone", format=format)
    made: dict[str, Any] = {
        "threads": lambda: ThreadPoolExecutor(2),
        "processes": lambda: ProcessPoolExecutor(2, get_context("spawn")),
        "twice": tasks.Twice,
    }
    executor: Executor | None = made[on]() if on in made else None
    where: dict[str, Any] = {"client": client} if executor is None else {"executor": executor}
    session = repo.readonly_session("main")
    # A new directory, and one that is there.
    (tmp_path / "there").mkdir()
    for name in ("shared", "there"):
        report = export(session, tmp_path / name, shares=7, format=format, **where)
        assert report == alone
        assert tree(tmp_path / name) == tree(tmp_path / "alone")
        assert directories(tmp_path / name) == directories(tmp_path / "alone")
    assert {path.name for path in tmp_path.iterdir()} == {"repository", "alone", "shared", "there"}
    if executor is not None:
        executor.shutdown()


def test_a_worker_that_dies_is_replaced(
    tmp_path: Path, client: Client, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = cube(tmp_path / "repository")
    alone = repo.export(tmp_path / "alone")
    monkeypatch.setattr(_exporting, "write_part", tasks.dying_part)
    assert export(repo.readonly_session("main"), tmp_path / "shared", client, shares=8) == alone
    assert (marks / "died-in-export").exists()
    assert tree(tmp_path / "shared") == tree(tmp_path / "alone")
    client.wait_for_workers(4)


def test_parts_that_dask_does_twice_are_there_once(
    tmp_path: Path, client: Client, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = cube(tmp_path / "repository")
    alone = repo.export(tmp_path / "alone")
    monkeypatch.setattr(_exporting, "write_part", tasks.doubled_part)
    client.wait_for_workers(4)
    assert export(repo.readonly_session("main"), tmp_path / "shared", client, shares=12) == alone
    assert tree(tmp_path / "shared") == tree(tmp_path / "alone")
    assert len(list(marks.glob("export-by-*"))) > 1
    # Nothing of it stays on the scheduler.
    assert client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) == 0


def test_uncommitted_edits_are_exported_too(tmp_path: Path, client: Client) -> None:
    repo = cube(tmp_path / "repository")
    session = repo.writable_session("main")
    zarr.open_array(session.store, path="air", mode="r+")[39, 59] = 5
    export(session, tmp_path / "shared", client, shares=3)
    found: Any = zarr.open_array(tmp_path / "shared", path="air", mode="r")
    assert found[39, 59] == 5
    # The session is as it was.
    assert session.has_uncommitted_changes
    session.commit("five")
    repo.export(tmp_path / "alone")
    assert tree(tmp_path / "shared") == tree(tmp_path / "alone")


def test_after_an_error_nothing_is_there(
    tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = cube(tmp_path / "repository")
    session = repo.readonly_session("main")
    with monkeypatch.context() as patch:
        patch.setattr(_exporting, "write_part", tasks.failing_part)
        for where in ({"client": client}, {"executor": ThreadPoolExecutor(1)}):
            with pytest.raises(OSError, match="disk of this worker"):
                export(session, tmp_path / "shared", shares=8, **where)
            assert [path.name for path in tmp_path.iterdir()] == ["repository"]
    export(session, tmp_path / "shared", client)
    with pytest.raises(ic.AlreadyExistsError, match="not an empty directory"):
        export(session, tmp_path / "shared", client)


def test_relative_paths_are_those_of_the_caller(
    tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = cube(tmp_path / "repository")
    monkeypatch.chdir(tmp_path)
    export(repo.readonly_session("main"), "shared", client)
    repo.export("alone")
    assert tree(tmp_path / "shared") == tree(tmp_path / "alone")


def test_what_cannot_be_asked(tmp_path: Path, client: Client) -> None:
    repo = cube(tmp_path / "repository")
    session = repo.readonly_session("main")
    with pytest.raises(ic.IcechunkError, match="in one pass"):
        export(session, tmp_path / "all.zip", client)
    with pytest.raises(ic.InvalidInputError, match="none of the formats"):
        export(session, tmp_path / "out", client, format="csv")
    with pytest.raises(ic.InvalidInputError, match="lies in the repository"):
        export(session, tmp_path / "repository" / "out", client)
    with pytest.raises(TypeError, match="pass one of them"):
        export(session, tmp_path / "out", client, ThreadPoolExecutor(1))
    with pytest.raises(ic.InvalidInputError, match="`shares` is 0"):
        export(session, tmp_path / "out", client, shares=0)
    assert [path.name for path in tmp_path.iterdir()] == ["repository"]
