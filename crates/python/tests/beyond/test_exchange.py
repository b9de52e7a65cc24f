"""Imports and exports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icefield as ic
import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr
from icefield.credentials import Credentials

from making import new, values, write


def written(path: Path, start: float) -> Path:
    """A NetCDF file with four times from `start` on."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 3)
        times: Any = file.createVariable("time", "f8", ("time",), chunksizes=(4,))
        times.units = "days since 2000-01-01"
        times[:] = start + np.arange(4.0)
        data: Any = file.createVariable("sst", "f4", ("time", "x"), chunksizes=(2, 3), zlib=True)
        data[:] = start + np.arange(12.0).reshape(4, 3)
    return path


def read(repo: ic.Repository) -> Any:
    """The dataset of the branch main."""
    store = repo.readonly_session("main").store
    return xr.open_zarr(store, consolidated=False, decode_times=False)


@pytest.mark.parametrize("format", ["zarr3", "zarr2", "nczarr"])
@pytest.mark.parametrize("zip", [False, True], ids=["directory", "zip"])
def test_what_is_exported_can_be_imported(
    tmp_path: Path, repo: ic.Repository, format: str, zip: bool
) -> None:
    place = tmp_path / ("out.zip" if zip else "out")
    report = repo.export(place, format=format, zip=zip)
    assert (report.arrays, report.chunks) == (1, 4)
    other = new(tmp_path / "other")
    imported = other.import_files(place)
    assert imported.new_arrays == 1
    np.testing.assert_array_equal(values(other), values(repo))


def test_zarr_reads_an_export(tmp_path: Path, repo: ic.Repository) -> None:
    repo.export(tmp_path / "three")
    repo.export(tmp_path / "two", format="zarr2")
    for name, format in (("three", 3), ("two", 2)):
        array = zarr.open_array(tmp_path / name, path="x", mode="r")
        assert array.metadata.zarr_format == format
        np.testing.assert_array_equal(array[:], values(repo))


def test_an_export_of_an_older_version(tmp_path: Path, repo: ic.Repository) -> None:
    older = repo.lookup_branch("main")
    write(repo, "main", slice(0, 40), 5.0)
    repo.export(tmp_path / "out", snapshot_id=older)
    assert zarr.open_array(tmp_path / "out", path="x", mode="r")[0] == 1.0


def test_a_version_with_nothing_in_it(tmp_path: Path, repo: ic.Repository) -> None:
    first = list(repo.ancestry(branch="main"))[-1]
    with pytest.raises(ic.NotFoundError, match="nothing to export"):
        repo.export(tmp_path / "out", snapshot_id=first.id)


def test_netcdf_files_behind_one_another(tmp_path: Path) -> None:
    files = [written(tmp_path / f"{at}.nc", 4.0 * at) for at in range(3)]
    repo = new(tmp_path / "repository")
    report = repo.import_files(files, concat="time")
    assert report.virtual_chunks == 0
    np.testing.assert_array_equal(read(repo)["time"], np.arange(12.0))
    assert report.snapshot_id == repo.lookup_branch("main")


def test_netcdf_files_by_reference(tmp_path: Path) -> None:
    file = written(tmp_path / "0.nc", 0.0)
    place = tmp_path / "repository"
    report = new(place).import_files(file, virtual=True)
    assert report.virtual_chunks > 0
    access: dict[str, Any] = {it: Credentials.LocalFileSystemAccess() for it in report.containers}
    reader = ic.Repository.open(
        ic.local_filesystem_storage(str(place)), authorize_virtual_chunk_access=access
    )
    np.testing.assert_array_equal(read(reader)["sst"][:, 0], [0.0, 3.0, 6.0, 9.0])


@pytest.mark.parametrize("virtual", [False, True])
def test_records_that_lag_do_not_move_what_follows(tmp_path: Path, virtual: bool) -> None:
    files = []
    for start, count in ((0, 3), (5, 5)):
        files.append(tmp_path / f"{start}.nc")
        with netCDF4.Dataset(files[-1], "w") as file:
            file.createDimension("time", None)
            file.createVariable("time", "i4", ("time",))[:] = np.arange(start, start + 5)
            data: Any = file.createVariable("v", "i4", ("time",), chunksizes=(1,), fill_value=-1)
            data[:count] = np.arange(start, start + count)
    place = tmp_path / "repository"
    report = new(place).import_files(files, concat="time", virtual=virtual)
    access: dict[str, Any] = {it: Credentials.LocalFileSystemAccess() for it in report.containers}
    reader = ic.Repository.open(
        ic.local_filesystem_storage(str(place)), authorize_virtual_chunk_access=access
    )
    root = zarr.open_group(reader.readonly_session("main").store, mode="r")
    found: Any = root["v"]
    np.testing.assert_array_equal(found[:], [0, 1, 2, -1, -1, 5, 6, 7, 8, 9])


def test_references_are_not_followed_without_leave(tmp_path: Path) -> None:
    place = tmp_path / "repository"
    new(place).import_files(written(tmp_path / "0.nc", 0.0), virtual=True)
    reader = ic.Repository.open(ic.local_filesystem_storage(str(place)))
    with pytest.raises(ic.IcechunkError, match="not granted"):
        read(reader)["sst"].load()


def test_an_append_goes_behind_what_is_there(tmp_path: Path) -> None:
    repo = new(tmp_path / "repository")
    repo.import_files(written(tmp_path / "0.nc", 0.0))
    repo.import_files(written(tmp_path / "1.nc", 4.0), append="time")
    np.testing.assert_array_equal(read(repo)["time"], np.arange(8.0))


def test_an_append_out_of_order_is_refused(tmp_path: Path) -> None:
    repo = new(tmp_path / "repository")
    repo.import_files(written(tmp_path / "0.nc", 10.0))
    before = repo.lookup_branch("main")
    with pytest.raises(ic.IcechunkError, match="time"):
        repo.import_files(written(tmp_path / "1.nc", 0.0), append="time")
    assert repo.lookup_branch("main") == before


def test_several_files_need_a_dimension(tmp_path: Path) -> None:
    files = [written(tmp_path / f"{at}.nc", 4.0 * at) for at in range(2)]
    with pytest.raises(ic.IcechunkError, match="concat"):
        new(tmp_path / "repository").import_files(files)


def test_into_a_group(tmp_path: Path) -> None:
    repo = new(tmp_path / "repository")
    repo.import_files(written(tmp_path / "0.nc", 0.0), group="/ocean/daily", message="a day")
    root = zarr.open_group(repo.readonly_session("main").store, mode="r")
    assert "sst" in root["ocean/daily"]  # type: ignore[operator]
    assert next(iter(repo.ancestry(branch="main"))).message == "a day"


def test_nothing_there(tmp_path: Path, repo: ic.Repository) -> None:
    with pytest.raises(ic.IcechunkError, match="missing"):
        repo.import_files(tmp_path / "missing.nc")
    with pytest.raises(ic.IcechunkError, match="at least one"):
        repo.import_files([])


def test_formats_and_places_that_are_none(tmp_path: Path, repo: ic.Repository) -> None:
    with pytest.raises(ic.IcechunkError, match="zarr3"):
        repo.export(tmp_path / "out", format="tiff")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "something").write_text("mine")
    with pytest.raises(ic.IcechunkError):
        repo.export(tmp_path / "full")
    assert (tmp_path / "full" / "something").read_text() == "mine"


async def test_both_awaited(tmp_path: Path, repo: ic.Repository) -> None:
    report = await repo.export_async(tmp_path / "out")
    other = new(tmp_path / "other")
    assert (await other.import_files_async(tmp_path / "out")).chunks == report.chunks


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"sources": 3}, "sources"),
        ({"sources": [3]}, "sources"),
        ({"sources": b"x"}, "sources"),
        ({"sources": "x", "copy": "abc"}, "copy"),
        ({"sources": "x", "copy": 3}, "copy"),
        ({"sources": "x", "append": 3}, "append"),
        ({"sources": "x", "concat": 3}, "concat"),
        ({"sources": "x", "message": 3}, "message"),
        ({"sources": "x", "virtual": "false"}, "virtual"),
        ({"sources": "x", "virtual": None}, "virtual"),
        ({"sources": "x", "unordered": 1}, "unordered"),
    ],
)
def test_what_an_import_is_not_told_by(
    repo: ic.Repository, arguments: dict[str, Any], name: str
) -> None:
    with pytest.raises(TypeError, match=f"`{name}`"):
        repo.import_files(**arguments)


def test_an_empty_place_is_none(repo: ic.Repository) -> None:
    with pytest.raises(ic.InvalidInputError, match="`destination` is empty"):
        repo.export("")
    with pytest.raises(ic.InvalidInputError, match="`sources` is empty"):
        repo.import_files("")
    with pytest.raises(TypeError, match="`destination`"):
        repo.export(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [None, "no", 1], ids=repr)
def test_an_export_is_zipped_or_not(tmp_path: Path, repo: ic.Repository, given: Any) -> None:
    with pytest.raises(TypeError, match="`zip` must be True or False"):
        repo.export(tmp_path / "out", zip=given)
    assert not (tmp_path / "out").exists()
