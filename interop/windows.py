"""Windows that moved: the reference, zarr and xarray must see the right values under the right labels."""

import numpy as np
import xarray

import reference
from lib import case, icefield

CHUNKS = {"t": (2, 1, 3), "u": (1, 2), "mask": (2, 3), "time": (4,), "time_bnds": (4, 2), "leadtime": (4,)}
START = np.datetime64("2015-01-01", "h")


def hours(first, end):
    return np.arange(first, end)


def dataset(first, end):
    """Several arrays, labels with bounds, a second coordinate; every value says which hour it is of."""
    steps = hours(first, end)
    time = (START + steps).astype("datetime64[ns]")
    here = steps[:, None, None] * 100 + np.arange(2)[:, None] * 10 + np.arange(3)
    return xarray.Dataset(
        {
            "t": (("time", "y", "x"), here.astype("float32"), {"units": "K"}),
            "u": (("y", "time"), np.stack([steps * 2, steps * 3]).astype("int32")),
            "mask": (("y", "x"), np.array([[1, 0, 1], [0, 1, 0]], "int8")),
            "time_bnds": (("time", "nv"), np.stack([time, time + np.timedelta64(1, "h")], axis=1)),
        },
        {
            "time": ("time", time, {"bounds": "time_bnds", "standard_name": "time"}),
            "leadtime": ("time", steps.astype("float64"), {"units": "1"}),
        },
        {"title": "a window", "time_coverage_start": text(first), "time_coverage_end": text(end - 1)},
    )


def text(hour):
    return f"{START + hour}:00:00Z"


def write(found, path):
    encoding = {name: {"chunks": chunk} for name, chunk in CHUNKS.items()}
    for name in ["time", "time_bnds"]:
        encoding[name].update(units="hours since 2015-01-01", calendar="standard", dtype="float64")
    found.to_zarr(path, consolidated=False, zarr_format=3, mode="w", encoding=encoding)


def window(work, first, end):
    write(dataset(first, end), work / "old.zarr")
    icefield("init", work / "repo")
    icefield("import", work / "old.zarr", work / "repo")


def opened(work, **version):
    version = version or {"branch": "main"}
    store = reference.open(work / "repo").readonly_session(**version).store
    return xarray.open_zarr(store, consolidated=False, chunks=None).load()


def assert_shows(found, first, end, written=None):
    """Asserts that a version has these hours, and values for those that are written."""
    expected = dataset(first, end)
    for name in ["time", "time_bnds"]:
        np.testing.assert_array_equal(found[name].values.astype("datetime64[ns]"), expected[name].values, name)
    np.testing.assert_array_equal(found["mask"].values, expected["mask"].values)
    for hour in hours(*(written or (first, end))):
        label = (START + hour).astype("datetime64[ns]")
        for name in ["t", "u"]:
            np.testing.assert_array_equal(found[name].sel(time=label).values, expected[name].sel(time=label).values, name)
    assert found.attrs["time_coverage_start"] == text(first), found.attrs
    assert found.attrs["time_coverage_end"] == text(end - 1), found.attrs


@case
def a_rolled_window_has_the_right_labels_and_values(work):
    window(work, 0, 8)
    assert_shows(opened(work), 0, 8)
    write(dataset(8, 12), work / "new.zarr")
    icefield("roll", work / "repo", "--from", work / "new.zarr", "-d", "time", "--key", "08")
    found = opened(work)
    assert_shows(found, 4, 12)
    np.testing.assert_array_equal(found.leadtime.values, hours(4, 12))
    assert found.t.encoding["chunks"] == (2, 1, 3)
    assert found.t.attrs["origin"] == [4, 0, 0] and found.u.attrs["origin"] == [0, 4], found.t.attrs
    # The window before is where it was.
    repository = reference.open(work / "repo")
    before = reference.ancestry(repository)[1]
    assert_shows(opened(work, snapshot_id=before), 0, 8)
    reference.assert_agreement(work / "repo")


@case
def windows_that_grow_and_shrink_at_both_ends(work):
    window(work, 0, 8)
    icefield("prepend", work / "repo", "4", "-d", "time")
    assert_shows(opened(work), -4, 8, (0, 8))
    icefield("trim", work / "repo", "--start", "6", "--end", "2", "-d", "time")
    assert_shows(opened(work), 2, 6)
    icefield("append", work / "repo", "4", "-d", "time", "--keep", "6 hours")
    found = opened(work)
    assert_shows(found, 4, 10, (4, 6))
    assert np.isnan(found.t.sel(time=(START + 8).astype("datetime64[ns]")).values).all()
    reference.assert_agreement(work / "repo")


@case
def the_reference_fills_a_window_that_moved(work):
    window(work, 0, 8)
    icefield("roll", work / "repo", "4", "-d", "time")
    session = reference.open(work / "repo").writable_session("main")
    new = dataset(8, 12)[["t", "u", "leadtime"]].drop_vars("time")
    new.to_zarr(session.store, consolidated=False, zarr_format=3, region={"time": slice(4, 8), "x": slice(None), "y": slice(None)})
    session.commit("filled")
    icefield("slots", work / "repo", "-d", "time", "--gate")
    assert_shows(opened(work), 4, 12)
    reference.assert_agreement(work / "repo")


@case
def an_absolute_window_keeps_its_indices(work):
    window(work, 0, 8)
    write(dataset(8, 12), work / "new.zarr")
    icefield("roll", work / "repo", "--from", work / "new.zarr", "-d", "time", "--absolute")
    found = opened(work)
    assert found.sizes["time"] == 12
    np.testing.assert_array_equal(found.time.values, dataset(0, 12).time.values)
    assert np.isnan(found.t.values[:4]).all() and found.t.attrs["window_start"] == [4, 0, 0]
    np.testing.assert_array_equal(found.t.values[4:], dataset(4, 12).t.values)
    assert found.attrs["time_coverage_start"] == text(4)
    reference.assert_agreement(work / "repo")
