"""What xarray writes comes back: whole, appended to, by region, eagerly and through dask."""

import dask.array
import numpy as np
import pytest
import xarray as xr
import zarr
from chosen import NAME, ic, store_dask, to_icechunk

DAYS = 4


def _weather(first_day: int = 0, days: int = DAYS, *, value: float = 0.0) -> xr.Dataset:
    """Temperatures, one more for each cell, on a grid of `days` by 3 by 5; text and times as coordinates."""
    cells = np.arange(days * 15, dtype="float64").reshape(days, 3, 5) + first_day * 15 + value
    times = np.datetime64("2026-01-01", "ns") + np.arange(first_day, first_day + days).astype(
        "timedelta64[D]"
    )
    return xr.Dataset(
        {
            "temperature": (("time", "y", "x"), cells, {"units": "K"}),
            "station": (("y",), np.array([1, 2, 3], dtype="int32")),
        },
        coords={"time": times, "x": np.linspace(0, 1, 5)},
        attrs={"title": "Weather", "version": 1},
    )


def _read(repository: "ic.Repository", group: str | None = None) -> xr.Dataset:
    store = repository.readonly_session("main").store
    with xr.open_zarr(store, consolidated=False, group=group) as dataset:
        read: xr.Dataset = dataset.load()
    return read


def test_to_zarr_and_back(repository: "ic.Repository") -> None:
    session = repository.writable_session("main")
    _weather().to_zarr(session.store, zarr_format=3, consolidated=False)
    session.commit("weather")
    xr.testing.assert_identical(_read(repository), _weather())


def test_to_zarr_appends(repository: "ic.Repository") -> None:
    for first in (0, DAYS, 2 * DAYS):
        session = repository.writable_session("main")
        if first == 0:
            _weather().to_zarr(session.store, consolidated=False, mode="w")
        else:
            _weather(first).to_zarr(session.store, consolidated=False, append_dim="time")
        session.commit(f"from day {first}")
    xr.testing.assert_identical(_read(repository), _weather(0, 3 * DAYS))
    assert [info.message for info in repository.ancestry(branch="main")][:3] == [
        "from day 8",
        "from day 4",
        "from day 0",
    ]


def test_to_zarr_writes_a_region(repository: "ic.Repository") -> None:
    session = repository.writable_session("main")
    encoding = {"temperature": {"chunks": (1, 3, 5)}}
    _weather().to_zarr(session.store, consolidated=False, encoding=encoding)
    session.commit("weather")

    session = repository.writable_session("main")
    part = _weather(value=100.0).isel(time=slice(1, 3)).drop_vars(["x", "station"])
    part.to_zarr(session.store, consolidated=False, region={"time": slice(1, 3)})
    assert not session.status().updated_arrays
    assert set(session.status().updated_chunks) >= {"/temperature"}
    session.commit("two days again")

    expected = _weather()
    expected["temperature"][1:3] += 100.0
    xr.testing.assert_identical(_read(repository), expected)


def test_to_zarr_finds_its_region(repository: "ic.Repository") -> None:
    session = repository.writable_session("main")
    _weather().to_zarr(
        session.store, consolidated=False, encoding={"temperature": {"chunks": (1, 3, 5)}}
    )
    session.commit("weather")

    session = repository.writable_session("main")
    part = _weather(value=7.0).isel(time=slice(2, 4)).drop_vars(["station"])
    part.to_zarr(session.store, consolidated=False, region="auto")
    session.commit("the last two days")

    expected = _weather()
    expected["temperature"][2:4] += 7.0
    xr.testing.assert_identical(_read(repository), expected)


def test_to_zarr_through_dask_threads(repository: "ic.Repository") -> None:
    session = repository.writable_session("main")
    _weather().chunk({"time": 1}).to_zarr(session.store, consolidated=False)
    session.commit("weather")
    xr.testing.assert_identical(_read(repository), _weather())


def test_a_tree_of_datasets(repository: "ic.Repository") -> None:
    tree = xr.DataTree.from_dict({"/": _weather(), "/warmer": _weather(value=2.0)})
    session = repository.writable_session("main")
    tree.to_zarr(session.store, consolidated=False)
    session.commit("tree")
    store = repository.readonly_session("main").store
    with xr.open_datatree(store, engine="zarr", consolidated=False) as read:
        xr.testing.assert_identical(read.load(), tree)


def test_an_older_version_stays(repository: "ic.Repository") -> None:
    session = repository.writable_session("main")
    _weather().to_zarr(session.store, consolidated=False)
    first = session.commit("first")
    session = repository.writable_session("main")
    _weather(value=5.0).to_zarr(session.store, consolidated=False, mode="w")
    session.commit("second")

    old = repository.readonly_session(snapshot_id=first).store
    xr.testing.assert_identical(xr.open_zarr(old, consolidated=False).load(), _weather())
    xr.testing.assert_identical(_read(repository), _weather(value=5.0))


@pytest.mark.parametrize("dask_chunks", [None, {"time": 1}], ids=["eager", "dask"])
def test_to_icechunk(local: "ic.Repository", dask_chunks: dict[str, int] | None) -> None:
    weather = _weather() if dask_chunks is None else _weather().chunk(dask_chunks)
    session = local.writable_session("main")
    to_icechunk(weather, session)
    session.commit("weather")
    xr.testing.assert_identical(_read(local), _weather())


@pytest.mark.parametrize("dask_chunks", [None, {"time": 1}], ids=["eager", "dask"])
def test_to_icechunk_appends(local: "ic.Repository", dask_chunks: dict[str, int] | None) -> None:
    for first in (0, DAYS):
        weather = _weather(first) if dask_chunks is None else _weather(first).chunk(dask_chunks)
        session = local.writable_session("main")
        if first == 0:
            to_icechunk(weather, session, mode="w", encoding={"temperature": {"chunks": (1, 3, 5)}})
        else:
            to_icechunk(weather, session, append_dim="time")
        session.commit(f"from day {first}")
    xr.testing.assert_identical(_read(local), _weather(0, 2 * DAYS))


@pytest.mark.parametrize("dask_chunks", [None, {"time": 1}], ids=["eager", "dask"])
def test_to_icechunk_writes_a_region(
    local: "ic.Repository", dask_chunks: dict[str, int] | None
) -> None:
    session = local.writable_session("main")
    to_icechunk(_weather(), session, encoding={"temperature": {"chunks": (1, 3, 5)}})
    session.commit("weather")

    part = _weather(value=100.0).isel(time=slice(1, 3)).drop_vars(["x", "station"])
    session = local.writable_session("main")
    region = {"time": slice(1, 3)}
    to_icechunk(part if dask_chunks is None else part.chunk(dask_chunks), session, region=region)
    session.commit("two days again")

    expected = _weather()
    expected["temperature"][1:3] += 100.0
    xr.testing.assert_identical(_read(local), expected)


def test_to_icechunk_into_a_group(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    to_icechunk(_weather(), session, group="run/one")
    session.commit("weather")
    xr.testing.assert_identical(_read(local, group="run/one"), _weather())


def test_to_icechunk_of_one_array(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    to_icechunk(_weather()["temperature"], session)
    session.commit("temperature")
    xr.testing.assert_identical(_read(local)["temperature"], _weather()["temperature"])


def test_to_icechunk_into_a_fork(local: "ic.Repository") -> None:
    session = local.writable_session("main")
    to_icechunk(_weather(days=2 * DAYS), session, encoding={"temperature": {"chunks": (1, 3, 5)}})
    session.commit("weather")

    session = local.writable_session("main")
    forks = []
    for first in (0, DAYS):
        fork = session.fork()
        part = _weather(first, value=1.0).drop_vars(["x", "station"])
        to_icechunk(part, fork, region={"time": slice(first, first + DAYS)})
        forks.append(fork)
    session.merge(*forks)
    session.commit("warmer")

    expected = _weather(days=2 * DAYS)
    expected["temperature"] += 1.0
    xr.testing.assert_identical(_read(local), expected.assign_coords(expected.coords))


def test_to_icechunk_refuses_a_read_only_session(local: "ic.Repository") -> None:
    with pytest.raises(Exception, match=r"(?i)read.?only"):
        to_icechunk(_weather(), local.readonly_session("main"))


def test_store_dask(local: "ic.Repository") -> None:
    data = np.arange(64, dtype="int64").reshape(8, 8)
    session = local.writable_session("main")
    zarr.create_array(session.store, name="a", shape=(8, 8), chunks=(2, 8), dtype="int64")
    session.commit("an array")

    session = local.writable_session("main")
    fork = session.fork()
    target = zarr.open_array(fork.store, path="a")
    merged = store_dask(
        sources=[dask.array.from_array(data, chunks=(2, 8))],
        targets=[target],
    )
    session.merge(merged)
    session.commit("filled")
    np.testing.assert_array_equal(
        np.asarray(zarr.open_array(local.readonly_session("main").store, path="a")[:]), data
    )


def test_the_module_is_the_one_asked_for() -> None:
    assert ic.__name__ == NAME
