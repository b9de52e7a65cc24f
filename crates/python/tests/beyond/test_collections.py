"""Imports of many files: by patterns, along new dimensions, as grids, and of what is new."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import icefield as ic
import numpy as np
import pytest
import xarray as xr

from making import new
from servers import Bucket, WebServer, bucket


def ensemble(folder: Path) -> list[Path]:
    """Two members of three months each, in files of their own."""
    files = []
    for member in (1, 2):
        for month in (1, 2, 3):
            times = np.datetime64(f"2020-{month:02}-01", "ns") + np.arange(4) * np.timedelta64(1, "D")
            values = np.random.default_rng(member * 10 + month).normal(size=(4, 5))
            data = xr.Dataset(
                {"air": (("time", "x"), values)}, coords={"time": times, "x": np.arange(5.0)}
            )
            data.attrs["realization"] = member
            path = folder / f"air_m{member}_{month:02}.nc"
            encoding: dict[str, Any] = {
                "air": {"chunksizes": (3, 5), "zlib": True},
                "time": {"units": f"hours since 2020-{month:02}-01", "dtype": "i4"},
            }
            data.to_netcdf(path, encoding=encoding)
            files.append(path)
    return files


def read(repo: ic.Repository) -> xr.Dataset:
    """The dataset of the branch main."""
    store = repo.readonly_session("main").store
    data: xr.Dataset = xr.open_zarr(store, consolidated=False).load()
    return data


def expected(files: list[Path]) -> xr.Dataset:
    """What xarray makes of the ensemble."""
    nested = [files[:3], files[3:]]
    dims = ["member", "time"]
    found = xr.open_mfdataset(nested, combine="nested", concat_dim=dims, combine_attrs="drop").load()
    return found.assign_coords(member=[1, 2])


@pytest.mark.parametrize("value_from", ["pattern:air_m{}_??.nc", "pattern:m(\\d)_", "attribute:realization"])
def test_members_by_times(tmp_path: Path, value_from: str) -> None:
    files = ensemble(tmp_path)
    repo = new(tmp_path / "repository")
    report = repo.import_files(
        str(tmp_path / "air_*.nc"), concat="time", concat_new="member", value_from=value_from
    )
    assert report.new_arrays == 4 and report.resumed_chunks == 0
    xr.testing.assert_equal(read(repo), expected(files))
    assert repo.abandon_imports() == []


def test_a_grid_is_that_of_xarray(tmp_path: Path) -> None:
    files = []
    for y in (0, 1):
        for x in (0, 1, 2):
            data = xr.Dataset(
                {"air": (("y", "x"), np.full((2, 3), y * 10.0 + x))},
                coords={"y": [y * 2, y * 2 + 1], "x": x * 3 + np.arange(3)},
            )
            files.append(tmp_path / f"{x}{y}.nc")
            data.to_netcdf(files[-1])
    repo = new(tmp_path / "repository")
    repo.import_files(files, combine="by-coords")
    found = xr.open_mfdataset(files, combine="by_coords").load()
    xr.testing.assert_equal(read(repo), found)
    with pytest.raises(ic.IcechunkError, match=r"no grid: there is none with .*y = 2 … 3"):
        new(tmp_path / "other").import_files(files[:-1], combine="by-coords")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with bucket(monkeypatch) as found:
        yield found


MEMBERS: dict[str, Any] = {
    "concat": "time",
    "concat_new": "member",
    "value_from": "pattern:air_m{}_??.nc",
}


def test_patterns_in_a_bucket(tmp_path: Path, server: Bucket) -> None:
    files = ensemble(tmp_path)
    for path in files:
        server.store.put(f"archive/{path.stem[-2:]}/{path.name}", path.read_bytes())
    server.store.put("archive/readme.txt", b"no file of data")
    server.store.put("archive/01/air_m1_01.nc.md5", b"no file of data")
    at = f"s3://{server.name}/archive"
    query = f"?endpoint={server.endpoint}"
    for pattern in (f"{at}/**/*.nc", f"{at}/0[1-3]/air_m?_*.nc"):
        planned = new(tmp_path / "plan").import_files(pattern + query, plan=True, **MEMBERS)
        assert [it.elements for it in planned.sources] == [1, 1]
        (tmp_path / "plan").rename(tmp_path / f"plan{len(pattern)}")
    repo = new(tmp_path / "copied")
    repo.import_files(f"{at}/*/*.nc{query}", **MEMBERS)
    xr.testing.assert_equal(read(repo), expected(files))
    place = tmp_path / "referred"
    january = [f"{at}/01/*.nc{query}"]
    report = new(place).import_files(january, concat_new="member", value_from=MEMBERS["value_from"], virtual=True)
    assert report.virtual_chunks > 0 and report.containers == [f"{at}/01/"]
    access: dict[str, Any] = {report.containers[0] + query: ic.s3_from_env_credentials()}
    reader = ic.Repository.open(
        ic.local_filesystem_storage(str(place)), authorize_virtual_chunk_access=access
    )
    xr.testing.assert_equal(read(reader), expected(files).isel(time=slice(4)))
    with pytest.raises(ic.NotFoundError, match="matches"):
        repo.import_files(f"{at}/*/*.hdf{query}", **MEMBERS)


def test_patterns_on_a_web_server(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "of 2020").mkdir(parents=True)
    files = ensemble(folder / "of 2020")
    (folder / "readme.txt").write_text("no file of data")
    server = WebServer(folder)
    try:
        for number, pattern in enumerate(["**/*.nc", "*/air_m[12]_*.nc", "of%202020/*.nc"]):
            repo = new(tmp_path / str(number))
            repo.import_files(f"{server.url}/{pattern}", **MEMBERS)
            xr.testing.assert_equal(read(repo), expected(files))
        with pytest.raises(ic.NotFoundError, match="matches"):
            repo.import_files(f"{server.url}/*/*.hdf", **MEMBERS)
    finally:
        server.close()


def test_what_is_new_every_night(tmp_path: Path) -> None:
    files = ensemble(tmp_path)
    for path in files[3:]:
        path.unlink()
    files[2].rename(tmp_path / "later")
    repo = new(tmp_path / "repository")

    def nightly() -> Any:
        pattern = str(tmp_path / "air_*.nc")
        return repo.import_files(pattern, append="time", skip_existing=True)

    first = nightly()
    assert (first.new_arrays, first.skipped) == (3, [])
    again = nightly()
    assert again.snapshot_id is None and len(again.skipped) == 2
    (tmp_path / "later").rename(files[2])
    third = nightly()
    assert (third.extended_arrays, len(third.skipped)) == (["/air", "/time"], 2)
    xr.testing.assert_equal(read(repo), xr.open_mfdataset(files[:3], combine_attrs="drop").load())


def test_options_that_go_with_others(tmp_path: Path) -> None:
    files = ensemble(tmp_path)
    repo = new(tmp_path / "repository")
    cases: list[tuple[Any, str]] = [
        ({"concat_new": "member"}, "`concat_new` needs `value_from`"),
        ({"value_from": "attribute:x", "concat": "time"}, "needs `concat_new` or `append`"),
        ({"skip_existing": True, "concat": "time"}, "needs `append`"),
        ({"combine": "somehow"}, "`combine` is"),
        ({"concat_new": "member", "value_from": "x"}, "says no place for values"),
    ]
    for options, problem in cases:
        with pytest.raises(ic.IcechunkError, match=problem):
            repo.import_files(files, **options)
    with pytest.raises(ic.NotFoundError, match="matches"):
        repo.import_files(str(tmp_path / "*.hdf"), concat="time")
