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
from icefield.reports import DifferingAttribute, LackingArray, OmittedNode

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


def test_files_that_lack_a_variable_and_differ_in_attributes(tmp_path: Path) -> None:
    files = [written(tmp_path / f"{at}.nc", 4.0 * at) for at in range(2)]
    with netCDF4.Dataset(files[1], "a") as file:
        file.history = "made in May"
        file["sst"].note = "second"
        rain: Any = file.createVariable("rain", "f4", ("time",), fill_value=np.float32(-1))
        rain[:] = 1.0
    repo = new(tmp_path / "repository")
    with pytest.raises(ic.InvalidInputError, match="note"):
        repo.import_files(files, concat="time", missing="fill")
    plan = repo.import_files(
        files, concat="time", missing="fill", attributes="drop-conflicts", plan=True
    )
    assert plan.lacking == [LackingArray("/rain", files[0].as_uri(), True)]
    report = repo.import_files(files, concat="time", missing="fill", attributes="first")
    assert report.lacking == plan.lacking
    second = files[1].as_uri()
    assert report.attributes == [
        DifferingAttribute("/", "history", second, True),
        DifferingAttribute("/sst", "note", second, True),
    ]
    parts = [xr.open_dataset(file, decode_times=False) for file in files]
    wanted = xr.concat(parts, "time", data_vars="minimal", combine_attrs="override")
    xr.testing.assert_identical(wanted.load(), read(repo).load())
    with pytest.raises(ic.InvalidInputError, match="missing"):
        repo.import_files(files, concat="time", missing="ignore")  # type: ignore[call-overload]
    with pytest.raises(ic.InvalidInputError, match="needs `concat` or `append`"):
        repo.import_files(files[0], group="/other", attributes="equal")


def packed(path: Path, start: float, scale: float, step: float) -> Path:
    """A NetCDF file with four temperatures, packed in steps of `scale`."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        times: Any = file.createVariable("time", "f8", ("time",))
        times.units = "days since 2000-01-01"
        times[:] = start + np.arange(4.0)
        data: Any = file.createVariable("sst", "i2", ("time",), fill_value=np.int16(-1))
        data.scale_factor = scale
        data[:] = np.ma.masked_equal(20.0 + step * np.arange(4.0), 20.0 + step)
    return path


def test_files_that_pack_numbers_otherwise(tmp_path: Path) -> None:
    files = [
        packed(tmp_path / "0.nc", 0.0, 0.5, 0.5),
        packed(tmp_path / "1.nc", 4.0, 0.25, 1.0),
        packed(tmp_path / "2.nc", 8.0, 0.25, 0.25),
    ]
    parts = [xr.open_dataset(file, decode_times=False).load() for file in files]
    repo = new(tmp_path / "exact")
    report = repo.import_files(files[:2], concat="time")
    assert (report.reencoded_arrays, report.rounded_arrays) == (["/sst"], {})
    xr.testing.assert_identical(xr.concat(parts[:2], "time"), read(repo).load())
    assert read(repo)["sst"].encoding["scale_factor"] == 0.5
    with pytest.raises(ic.IcechunkError, match=r"/sst of .*2\.nc .* at \[3\], it holds 20.75"):
        repo.import_files(files[2], append="time")
    report = repo.import_files(files[2], append="time", repack=0.25)
    assert report.rounded_arrays == {"/sst": 0.25}

    repo = new(tmp_path / "unpacked")
    plan = repo.import_files(files, concat="time", unpack=True, plan=True)
    assert [source.reencoded for source in plan.sources] == [["/sst"]] * 3
    repo.import_files(files, concat="time", unpack=True)
    found = read(repo).load()
    xr.testing.assert_identical(xr.concat(parts, "time"), found)
    assert found["sst"].encoding["dtype"] == "f8"
    assert "scale_factor" not in found["sst"].encoding
    with pytest.raises(ValueError, match="repack"):
        repo.import_files(files, concat="time", repack=-1.0)
    with pytest.raises(ic.InvalidInputError, match="one of the two"):
        repo.import_files(files, concat="time", repack=0.1, unpack=True)


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


def month(path: Path, number: int) -> Path:
    """A month of six-hourly fields, in hours since its own beginning, as xarray writes it."""
    first = np.datetime64(f"2020-{number:02}-01", "ns")
    times = first + np.arange([124, 116, 124][number - 1]) * np.timedelta64(6, "h")
    values = np.random.default_rng(number).integers(0, 300, (len(times), 5), dtype="i2")
    data = xr.Dataset({"air": (("time", "x"), values)}, coords={"time": times})
    encoding: dict[str, Any] = {
        "air": {"chunksizes": (31, 5), "zlib": True},
        "time": {"units": f"hours since 2020-{number:02}-01", "dtype": "i4"},
    }
    data.to_netcdf(path, encoding=encoding)
    return path


def test_months_as_xarray_writes_them(tmp_path: Path) -> None:
    files = [month(tmp_path / f"{number}.nc", number) for number in (1, 2, 3)]
    repo = new(tmp_path / "repository")
    before = repo.lookup_branch("main")
    plan = repo.import_files(files[::-1], concat="time", order="name", plan=True)
    assert repo.lookup_branch("main") == before
    assert plan.dimension == "time"
    assert [(it.elements, it.left_out) for it in plan.sources] == [(124, 0), (116, 0), (124, 0)]
    assert [bool(it.converted) for it in plan.sources] == [False, True, True]
    air = next(it for it in plan.arrays if it.path == "/air")
    assert (air.is_new, air.shape, air.chunk_shape) == (True, [364, 5], [31, 5])
    assert air.assembled_chunks > 0 and air.reasons

    report = repo.import_files(files[::-1], concat="time", order="coordinate")
    assert report.snapshot_id == repo.lookup_branch("main")
    assert report.assembled_chunks == sum(it.assembled_chunks for it in plan.arrays)
    assert report.chunks > 0 and not report.gaps
    store = repo.readonly_session("main").store
    found = xr.open_zarr(store, consolidated=False)
    xr.testing.assert_identical(found.load(), xr.open_mfdataset(files).load())


def test_what_overlaps_is_kept_once(tmp_path: Path) -> None:
    files = [written(tmp_path / f"{at}.nc", at) for at in (0.0, 2.0)]
    repo = new(tmp_path / "repository")
    with pytest.raises(ic.IcechunkError, match="overlap"):
        repo.import_files(files, concat="time")
    repo.import_files(files, concat="time", overlap="last")
    np.testing.assert_array_equal(read(repo)["time"], np.arange(6.0))
    # The same again: there is nothing to add.
    tip = repo.lookup_branch("main")
    again = repo.import_files(files[1], append="time", overlap="first")
    assert again.snapshot_id is None and repo.lookup_branch("main") == tip


def test_a_part_with_other_names(tmp_path: Path) -> None:
    data = xr.Dataset(
        {"air": (("time", "x"), np.ones((2, 3))), "sea": (("time",), np.zeros(2))},
        coords={"time": [0, 1], "lon": (("x",), [1.0, 2.0, 3.0]), "x": [0, 1, 2]},
    )
    data.to_netcdf(tmp_path / "0.nc")
    repo = new(tmp_path / "repository")
    repo.import_files(tmp_path / "0.nc", variables=["air"], rename={"air": "t", "x": "column"})
    found = xr.open_zarr(repo.readonly_session("main").store, consolidated=False)
    expected = data[["air"]].rename({"air": "t", "x": "column"})
    xr.testing.assert_equal(found.load(), expected)
    with pytest.raises(ic.IcechunkError, match="/sky is to be left out, and no source has it"):
        repo.import_files(tmp_path / "0.nc", group="again", drop=["sky"])


def test_what_zarr_has_no_words_for_is_left_out_and_named(tmp_path: Path) -> None:
    path = written(tmp_path / "0.nc", 0.0)
    with netCDF4.Dataset(path, "a") as file:
        ragged = file.createVLType("i4", "ragged")
        file.createVariable("inner/both", ragged, ("x",))
    repo = new(tmp_path / "repository")
    before = repo.lookup_branch("main")
    with pytest.raises(ic.IcechunkError, match="/inner/both"):
        repo.import_files(path)
    assert repo.lookup_branch("main") == before
    plan = repo.import_files(path, skip_unsupported=True, plan=True)
    report = repo.import_files(path, skip_unsupported=True)
    assert plan.omitted == report.omitted
    [node] = report.omitted
    assert isinstance(node, OmittedNode)
    assert (node.path, node.source.endswith("0.nc")) == ("/inner/both", True)
    assert "variable length" in node.reason
    np.testing.assert_array_equal(read(repo)["time"], np.arange(4.0))
    report = repo.import_files(path, group="dropped", drop=["inner/both"])
    assert report.omitted == []


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"unordered": True}, "unordered"),
        ({"order": "name"}, "order"),
        ({"order": "size", "concat": "time"}, "order"),
        ({"overlap": "first"}, "overlap"),
        ({"overlap": "both", "concat": "time"}, "overlap"),
        ({"time_units": "days since 2000-01-01"}, "time_units"),
        ({"copy": ["sst"]}, "copy"),
        ({"rename": {"/": "a"}}, "rename"),
        ({"rename": {"sst": ""}}, "sst"),
    ],
)
def test_what_an_import_cannot_be_told(
    tmp_path: Path, arguments: dict[str, Any], name: str
) -> None:
    file = written(tmp_path / "0.nc", 0.0)
    repo = new(tmp_path / "repository")
    with pytest.raises(ic.IcechunkError, match=name):
        repo.import_files(file, **arguments)


async def test_a_plan_is_awaited(tmp_path: Path) -> None:
    file = written(tmp_path / "0.nc", 0.0)
    plan = await new(tmp_path / "repository").import_files_async(file, plan=True)
    assert {it.path for it in plan.arrays} == {"/sst", "/time"}


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
        ({"sources": "x", "order": 1}, "order"),
        ({"sources": "x", "variables": "abc"}, "variables"),
        ({"sources": "x", "drop": 3}, "drop"),
        ({"sources": "x", "rename": ["a"]}, "rename"),
        ({"sources": "x", "rename": {"a": 1}}, "rename"),
        ({"sources": "x", "skip_unsupported": 1}, "skip_unsupported"),
        ({"sources": "x", "split_compound": 1}, "split_compound"),
        ({"sources": "x", "overviews": True}, "overviews"),
        ({"sources": "x", "overlap": None}, "overlap"),
        ({"sources": "x", "time_units": 1}, "time_units"),
        ({"sources": "x", "plan": "no"}, "plan"),
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


def test_other_archives(tmp_path: Path) -> None:
    fixtures = Path(__file__).resolve().parents[4] / "crates" / "ingest" / "tests" / "fixtures"
    repo = new(tmp_path / "repository")
    image = fixtures / "geotiff" / "cog.tif"
    report = repo.import_files(image, group="image", virtual=True)
    assert (report.new_arrays, report.virtual_chunks) == (10, 10)
    repo.import_files(image, group="overview", overviews=1)
    store = repo.readonly_session("main").store
    assert zarr.open_array(store, path="overview/band_data", mode="r").shape == (2, 20, 18)
    wrong: dict[str, Any] = {"group": "other", "overviews": "some"}
    with pytest.raises(ic.InvalidInputError, match="`overviews` is"):
        repo.import_files(image, **wrong)

    compounds = fixtures / "hdf5" / "fixture-split.h5"
    report = repo.import_files(
        compounds, group="tracks", split_compound=True, skip_unsupported=True
    )
    assert [node.path for node in report.omitted] == ["/g/ragged/list"]
    document = fixtures / "dmrpp" / "every_kind.h5.dmrpp"
    report = repo.import_files(document, group="document", virtual=True, copy=["mask"])
    assert report.virtual_chunks == 31


def test_messages_become_hypercubes(tmp_path: Path) -> None:
    folder = Path(__file__).resolve().parents[4] / "crates" / "ingest" / "tests" / "fixtures" / "grib"
    repo = new(tmp_path / "repository")
    report = repo.import_files(folder / "forecast.grib2")
    assert report.new_arrays == 11
    assert any("tp has 2 of 4 messages" in said for said in report.warnings)
    found = xr.open_zarr(repo.readonly_session("main").store, consolidated=False, decode_timedelta=True)
    assert found.t.dims == ("time", "step", "isobaricInhPa", "latitude", "longitude")
    assert found.t2m.shape == (2, 2, 4, 6)
    assert found.valid_time.values[1, 1] == np.datetime64("2024-02-29T18:00", "ns")
    assert np.isnan(found.tp.values[:, 0]).all() and not np.isnan(found.tp.values[:, 1]).any()

    twice = folder / "twice.grib2"
    with pytest.raises(ic.IcechunkError, match="message 2 .*same t, time, step"):
        repo.import_files(twice, group="twice")
    repo.import_files(twice, group="twice", overlap="first")
    with pytest.raises(ic.IcechunkError, match="no codec of Zarr"):
        repo.import_files(folder / "step_0.grib2", group="virtual", virtual=True)
