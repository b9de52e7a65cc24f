"""Imports by many processes: equal to the import by one, whatever happens to workers."""

from __future__ import annotations

import os
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import icefield as ic
import netCDF4
import numpy as np
import pytest
import xarray as xr
from distributed import Client
from icefield import _importing
from icefield.dask import import_files

import tasks
from contents import contents, opened
from making import all_workers, new, periods

FILES = int(os.environ.get("ICEFIELD_TEST_FILES", "60"))
"""2,000 take minutes."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files whose chunks are mostly at seams."""
    return periods(tmp_path_factory.mktemp("files"), FILES)


OPTIONS: dict[str, dict[str, Any]] = {
    "copied": {},
    "referred to": {"virtual": True, "copy": ["sst", "time"]},
    "laid out anew": {"chunks": {"time": 4, "x": 2}, "codec": "zstd:1", "drop": ["whole"]},
}


def by_one(tmp_path: Path, files: list[Path], options: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    place = tmp_path / "by one"
    report = new(place).import_files(files, concat="time", **options)
    return contents(place, report.containers), report


def assert_by_many(
    tmp_path: Path, files: list[Path], options: dict[str, Any], **where: Any
) -> ic.reports.ImportReport:
    """Imports in tasks, and compares what is there then with what one process makes, and the reports."""
    expected, alone = by_one(tmp_path, files, options)
    place = tmp_path / "by many"
    repo = new(place)
    session = repo.writable_session("main")
    report = import_files(files, session, concat="time", message="by many", **where, **options)
    assert report.snapshot_id == repo.lookup_branch("main") == session.snapshot_id
    assert len(list(repo.ancestry(branch="main"))) == len(list(opened(tmp_path / "by one", []).ancestry(branch="main")))
    found = contents(place, report.containers)
    assert found.keys() == expected.keys()
    assert found == expected
    for name in vars(alone):
        if name != "snapshot_id":
            assert getattr(report, name) == getattr(alone, name), name
    return report


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_workers_of_dask_import_what_one_process_does(
    tmp_path: Path, files: list[Path], client: Client, options: dict[str, Any]
) -> None:
    report = assert_by_many(tmp_path, files, options, client=client)
    assert report.assembled_chunks > 0
    assert report.converted_arrays == ["/time"]
    assert (report.virtual_chunks > 0) == ("virtual" in options)
    # Nothing of it stays on the workers.
    assert client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) == 0


def test_values_are_those_of_the_files(tmp_path: Path, files: list[Path], client: Client) -> None:
    place = tmp_path / "repository"
    session = new(place).writable_session("main")
    # The current client.
    with client.as_current():
        report = import_files(files, session, concat="time")
    # Without a message it is left to the caller.
    assert report.snapshot_id is None
    assert session.has_uncommitted_changes
    # Of a session with edits, only this process can read.
    found = xr.open_zarr(session.store, chunks=None, consolidated=False).load()
    assert len(found.time) == sum(1 + number % 2 for number in range(FILES))
    read = [xr.open_dataset(file).load() for file in files]
    expected = xr.concat(read, "time", data_vars="minimal", coords="minimal", compat="override")
    xr.testing.assert_equal(found, expected)


def test_a_worker_that_dies_is_replaced(
    tmp_path: Path, files: list[Path], client: Client, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_importing, "do_share", tasks.dying_share)
    assert_by_many(tmp_path, files, {}, client=client)
    assert (marks / "died").exists()


def test_tasks_of_dask_that_run_twice_are_there_once(
    tmp_path: Path, files: list[Path], client: Client, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_importing, "do_share", tasks.counted_share)
    all_workers(client, 4)
    assert_by_many(tmp_path, files, OPTIONS["referred to"], client=client, shares=12)
    assert len(list(marks.glob("by-*"))) > 1


def test_tasks_that_run_twice_are_there_once(tmp_path: Path, files: list[Path]) -> None:
    twice = tasks.Twice()
    assert_by_many(tmp_path, files, {}, executor=twice, shares=5)
    # Five surveys, what is compared, and five shares.
    assert twice.runs == 2 * 11


@pytest.mark.parametrize("kind", ["threads", "processes", "dask"])
def test_any_executor_will_do(tmp_path: Path, files: list[Path], client: Client, kind: str) -> None:
    made: dict[str, Any] = {
        "threads": lambda: ThreadPoolExecutor(2),
        "processes": lambda: ProcessPoolExecutor(2, get_context("spawn")),
        "dask": lambda: client.get_executor(),
    }
    executor: Executor
    with made[kind]() as executor:
        assert_by_many(tmp_path, files[:10], {}, executor=executor)


def test_files_by_reference_lie_in_any_folder(
    tmp_path: Path, files: list[Path], client: Client
) -> None:
    moved = []
    for number, file in enumerate(files[:6]):
        moved.append(tmp_path / f"folder {number}" / file.name)
        moved[-1].parent.mkdir()
        moved[-1].write_bytes(file.read_bytes())
    report = assert_by_many(tmp_path, moved, OPTIONS["referred to"], client=client, shares=6)
    assert len(report.containers) > 1
    assert report.compared_chunks > 0


def test_an_append_fills_the_last_chunk_up(tmp_path: Path, files: list[Path]) -> None:
    expected, _ = by_one(tmp_path, files[:12], {})
    place = tmp_path / "repository"
    repo = new(place)
    repo.import_files(files[:5], concat="time")
    with ThreadPoolExecutor(2) as threads:
        for _ in range(2):
            session = repo.writable_session("main")
            report = import_files(
                files[:12], session, None, threads, append="time", overlap="first", message="more"
            )
    assert contents(place, []) == expected
    # The second time there is nothing new.
    assert report.snapshot_id is None
    assert not session.has_uncommitted_changes


def test_relative_paths_are_those_of_the_caller(
    tmp_path: Path, files: list[Path], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files[0].parent)
    repo = new(tmp_path / "repository")
    names = [file.name for file in files[:3]]
    report = import_files(names, repo.writable_session("main"), client, concat="time", message="three")
    assert report.snapshot_id == repo.lookup_branch("main")


def test_after_an_error_the_session_is_as_it_was(
    tmp_path: Path, files: list[Path], client: Client
) -> None:
    damaged = tmp_path / "damaged.nc"
    whole = files[3].read_bytes()
    damaged.write_bytes(whole[: len(whole) // 2])
    repo = new(tmp_path / "repository")
    session = repo.writable_session("main")
    for several in ([*files[:3], damaged], [*files[:3], tmp_path / "none.nc"], files[1::-1]):
        with pytest.raises(ic.IcechunkError) as caught:
            import_files(several, session, client, concat="time", message="not to be")
        assert type(caught.value) is not ic.IcechunkError
        assert not session.has_uncommitted_changes
    # A chunk that only a share reads.
    other = tmp_path / "other.nc"
    other.write_bytes(files[1].read_bytes())
    with netCDF4.Dataset(other, "a") as file:
        file["mask"][1, 2] = 9
    with pytest.raises(ic.InvalidInputError, match=r"other\.nc.*"):
        import_files([files[0], other], session, client, concat="time")
    assert not session.has_uncommitted_changes
    import_files(files[:2], session, client, concat="time", message="both")
    assert session.read_only


def test_what_cannot_be_asked(tmp_path: Path, files: list[Path], client: Client) -> None:
    repo = new(tmp_path / "repository")
    session = repo.writable_session("main")
    wrong: Any
    for wrong, error, said in (
        ({"branch": "main"}, TypeError, "takes no 'branch'"),
        ({"progress": print}, TypeError, "takes no 'progress'"),
        ({"colour": 1}, TypeError, "unexpected keyword argument 'colour'"),
        ({"shares": 0}, ic.InvalidInputError, "`shares` is 0"),
        ({"executor": ThreadPoolExecutor(1)}, TypeError, "pass one of them"),
        ({"order": "size"}, ic.InvalidInputError, "it can be given"),
    ):
        with pytest.raises(error, match=said):
            import_files(files[:2], session, client, concat="time", **wrong)
    with pytest.raises(ic.SessionStateError, match="read-only"):
        import_files(files[:2], repo.readonly_session("main"), client, concat="time")
    assert not session.has_uncommitted_changes


def test_memory_is_shared_with_threads_only(files: list[Path]) -> None:
    repo = ic.Repository.create(ic.in_memory_storage())
    session = repo.writable_session("main")
    with ProcessPoolExecutor(1, get_context("spawn")) as processes:
        with pytest.raises(ic.IcechunkError, match="memory"):
            import_files(files[:2], session, None, processes, concat="time")
    with ThreadPoolExecutor(2) as threads:
        import_files(files[:2], session, None, threads, concat="time", message="two")
    assert xr.open_zarr(repo.readonly_session("main").store, consolidated=False).sst.shape == (3, 2, 3)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_plan_by_many_is_that_of_one_process(
    tmp_path: Path, files: list[Path], client: Client, options: dict[str, Any]
) -> None:
    repo = new(tmp_path / "repository")
    expected = repo.import_files(files[:20], concat="time", plan=True, **options)
    session = repo.writable_session("main")
    plan = import_files(files[:20], session, client, shares=6, concat="time", plan=True, **options)
    assert plan == expected
    assert any(array.copied_bytes + array.virtual_bytes + array.assembled_bytes for array in plan.arrays)
    # Nothing was done.
    assert not session.has_uncommitted_changes
    assert len(list(repo.ancestry(branch="main"))) == 1
    import_files(files[:20], session, client, concat="time", message="all", **options)
    # An append has nothing to do then.
    session = repo.writable_session("main")
    more: dict[str, Any] = {**options, "append": "time", "skip_existing": True}
    for name in ("chunks", "codec"):
        more.pop(name, None)
    plan = import_files(files[:20], session, client, plan=True, **more)
    assert len(plan.skipped) == 20 and not plan.arrays


def varied(place: Path) -> list[Path]:
    """Months of which each packs its numbers in a way of its own, and some lack an array."""
    made = []
    encodings: list[dict[str, Any]] = [
        {"dtype": "i2", "scale_factor": 0.5, "add_offset": 100.0, "_FillValue": -32768},
        {"dtype": "f4", "_FillValue": np.float32(-9)},
        {"dtype": "i4", "scale_factor": 0.25, "_FillValue": -7},
    ]
    for month in range(9):
        times = np.datetime64(f"2020-{1 + month:02}-01", "ns") + np.arange(3 + month % 2) * np.timedelta64(1, "D")
        values = 100 + np.round(np.random.default_rng(month).normal(size=(len(times), 4)) * 20) / 2
        values[0, month % 4] = np.nan
        data = xr.Dataset(
            {"air": (("time", "x"), values)}, coords={"time": times, "x": np.arange(4.0)}
        )
        if month % 4 != 2:
            data["rain"] = ("time", np.full(len(times), month, "f4"))
        made.append(place / f"{month}.nc")
        encoding = {"air": {**encodings[month % 3], "chunksizes": (3, 2), "zlib": True}}
        data.to_netcdf(made[-1], encoding=encoding)
    return made


@pytest.mark.parametrize("options", [{}, {"unpack": True}, {"repack": 0.25}], ids=["exact", "unpack", "repack"])
def test_other_encodings_and_missing_arrays_are_imported_by_many(
    tmp_path: Path, client: Client, options: dict[str, Any]
) -> None:
    files = varied(tmp_path)
    report = assert_by_many(tmp_path, files, {**options, "missing": "fill"}, client=client, shares=5)
    assert "/air" in report.reencoded_arrays
    assert {lacking.path for lacking in report.lacking} == {"/rain"}


def grid(place: Path) -> list[Path]:
    """Members of an ensemble by months."""
    made = []
    for member in (1, 2, 3):
        for month in (1, 2):
            times = np.datetime64(f"2020-{month:02}-01", "ns") + np.arange(4) * np.timedelta64(1, "D")
            data = xr.Dataset(
                {"air": (("time", "x"), np.random.default_rng(10 * member + month).normal(size=(4, 5)))},
                coords={"time": times, "x": np.arange(5.0) + 5 * member},
            )
            made.append(place / f"m{member}_{month:02}.nc")
            data.to_netcdf(made[-1], encoding={"air": {"chunksizes": (3, 5), "zlib": True}})
    return made


def test_files_that_are_combined_by_values_are_imported_by_many(tmp_path: Path, client: Client) -> None:
    files = grid(tmp_path)
    names = [str(file) for file in files]
    cases: list[dict[str, Any]] = [
        {"concat": None, "combine": "by-coords"},
        {"concat_new": "member", "value_from": "pattern:m{}_*.nc", "drop": ["x"]},
    ]
    for number, options in enumerate(cases):
        told = {"concat": "time", **options}
        alone = tmp_path / f"alone {number}"
        expected = new(alone).import_files(names, **told)
        shared = tmp_path / f"shared {number}"
        session = new(shared).writable_session("main")
        report = import_files(names, session, client, shares=4, message="by many", **told)
        assert contents(shared, []) == contents(alone, [])
        for name in vars(expected):
            if name != "snapshot_id":
                assert getattr(report, name) == getattr(expected, name), name
