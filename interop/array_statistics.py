"""Statistics: what `icefield stats` prints of an array is what xarray computes of it."""

import json
import subprocess
import os

import numpy as np
import xarray
import zarr

import reference
from lib import ROOT, case, icefield

# Sums of float32 are rounded by xarray, in an order of its own.
TOLERANCE = 1e-6


def stats(path, array, *options):
    return json.loads(icefield("stats", path, array, "--json", *options))


def expected(values):
    """Count, extremes, mean and deviation of values that xarray decoded, in double precision."""
    values = values.astype("float64")
    return {
        "count": int(values.notnull().sum()),
        "missing": int(values.isnull().sum()),
        "minimum": float(values.min()),
        "mean": float(values.mean()),
        "maximum": float(values.max()),
        "standard_deviation": float(values.std()),
    }


def compare(found, values):
    for name, value in expected(values).items():
        same = np.isclose(found[name], value, rtol=TOLERANCE, atol=0)
        assert same, f"{name}: {found[name]}, xarray says {value}"


def dataset(path, **version):
    session = reference.open(path).readonly_session(**version)
    return xarray.open_zarr(session.store, consolidated=False, decode_times=False)


def refused(code, *arguments):
    """Runs a command that must fail with this code, and returns what it says."""
    command = [os.environ["ICEFIELD"], *map(str, arguments)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stderr


@case
def every_version_of_an_ocean_has_the_statistics_that_xarray_computes(work):
    path = work / "repo"
    icefield("init", path)
    for month in ["01", "02", "03"]:
        grow = [] if month == "01" else ["--append", "time_counter"]
        icefield("import", ROOT / f"fixtures/nemo/nemo-2015-{month}.zarr", path, *grow, "-m", month)
        icefield("tag", "create", path, f"month-{month}", "--ref", "main")
    for month in ["01", "02", "03"]:
        values = dataset(path, tag=f"month-{month}")["tos"]
        compare(stats(path, "tos", "--ref", f"tag:month-{month}"), values)
        rows = stats(path, "tos", "--ref", f"tag:month-{month}", "--by", "time_counter")["rows"]
        assert len(rows) == values.sizes["time_counter"]
        for at, row in enumerate(rows):
            compare(row, values.isel(time_counter=at))


@case
def packed_sharded_and_unsigned_arrays_are_decoded(work):
    path = work / "repo"
    session = reference.create(path).writable_session("main")
    group = zarr.create_group(session.store)
    numbers = np.random.default_rng(7).integers(-1000, 1000, (50, 60)).astype("int16")
    attributes = {"scale_factor": 0.01, "add_offset": 273.15, "_FillValue": -1000, "missing_value": -999}
    numbers[3, 5], numbers[10, 59] = -1000, -999

    def array(name, values, dimensions=("y", "x"), **options):
        made = group.create_array(name, shape=values.shape, dtype=values.dtype, dimension_names=dimensions, **options)
        made[...] = values
        return made

    array("packed", numbers, chunks=(7, 60), attributes=attributes)
    array("sharded", numbers.astype("float32") / 3, chunks=(5, 6), shards=(25, 30), fill_value=float("nan"))
    array("unsigned", numbers.astype("int8"), chunks=(50, 9), attributes={"_Unsigned": "true", "_FillValue": -1})
    array("doubles", 1e9 + numbers.astype("float64"), chunks=(50, 60), attributes={"missing_value": 1e9 + 7})
    # Only a corner is written; the rest is the fill value.
    corner = group.create_array("sparse", shape=(100, 100), chunks=(10, 10), dtype="int32", fill_value=3,
                                dimension_names=("rows", "columns"))
    corner[:10, :10] = 5
    session.commit("arrays")
    found = dataset(path, branch="main")
    for name in ["packed", "sharded", "unsigned", "doubles"]:
        compare(stats(path, name), found[name])
        for at, dimension in enumerate("yx"):
            for given in [dimension, str(at)]:
                rows = stats(path, name, "--by", given)["rows"]
                for index in [0, 10, len(rows) - 1]:
                    compare(rows[index], found[name].isel({dimension: index}))
    sparse = stats(path, "sparse")
    assert (sparse["count"], sparse["minimum"], sparse["maximum"]) == (10_000, 3, 5), sparse
    assert np.isclose(sparse["mean"], 3.02)


def analysed(day):
    """A day of an analysis as OSTIA packs it: temperatures in hundredths of a kelvin, land missing, and an ice mask."""
    random = np.random.default_rng(day)
    rows, columns = np.mgrid[0:90, 0:180]
    packed = (2000 * np.cos(rows / 30) + random.integers(-300, 300, rows.shape)).astype("int16")
    packed[(rows * 7 + columns * 3) % 11 < 3] = -32768
    mask = ((rows + columns + day) % 16).astype("int8")
    mask[rows < 2] = -128
    return {"analysed_sst": packed, "mask": mask, "anomaly": packed.astype("float32") / 3, "source": f"day {day}"}


@case
def an_analysis_that_grows_has_its_statistics_at_every_version(work):
    path = work / "repo"
    repository = reference.create(path)
    packing = {"scale_factor": 0.01, "add_offset": 273.15, "_FillValue": -32768, "units": "kelvin"}
    days = [analysed(day) for day in range(3)]
    for count in [1, 2, 3]:
        session = repository.writable_session("main")
        root = zarr.open_group(session.store, mode="a")
        if count == 1:
            names = ("time", "lat", "lon")
            whole, one = {"shape": (0, 90, 180), "dimension_names": names}, (1, 40, 70)
            root.create_array("analysed_sst", dtype="int16", chunks=one, attributes=packing, **whole)
            root.create_array("mask", dtype="int8", chunks=one, attributes={"_FillValue": -128}, **whole)
            root.create_array("anomaly", dtype="float32", chunks=(1, 15, 20), shards=(1, 45, 60), **whole)
            root.create_array("source", dtype=str, shape=(0,), chunks=(1,), dimension_names=("time",))
        for name, values in days[count - 1].items():
            array = root[name]
            array.resize((count, *array.shape[1:]))
            array[count - 1] = values
        session.commit(f"day {count}")
        repository.create_tag(f"day-{count}", snapshot_id=repository.lookup_branch("main"))
    for count in [1, 2, 3]:
        at = ["--ref", f"tag:day-{count}"]
        values = dataset(path, tag=f"day-{count}")
        for name in ["analysed_sst", "mask", "anomaly"]:
            assert values[name].shape == (count, 90, 180)
            compare(stats(path, name, *at), values[name])
            rows = stats(path, name, *at, "--by", "time")["rows"]
            assert len(rows) == count
            for day, row in enumerate(rows):
                compare(row, values[name].isel(time=day))
        assert "string" in refused(1, "stats", path, "source", *at)
    assert stats(path, "analysed_sst")["units"] == "kelvin"


@case
def arrays_without_numbers_are_refused_or_have_none(work):
    path = work / "repo"
    repository = reference.create(path)
    session = repository.writable_session("main")
    group = zarr.create_group(session.store)
    group.create_array("texts", shape=(3,), chunks=(2,), dtype=str)[...] = np.array(["a", "bc", ""])
    group.create_array("empty", shape=(0, 4), chunks=(1, 4), dtype="float32")
    group.create_array("missing", shape=(4,), chunks=(2,), dtype="float32", fill_value=float("nan"))
    group.create_array("scalar", shape=(), dtype="int64")[...] = 2**62 + 1
    constant = group.create_array("flat", shape=(4,), chunks=(4,), dtype="int8", attributes={"scale_factor": 0.0})
    constant[...] = [1, 2, 3, 4]
    session.commit("odd arrays")
    assert "string" in refused(1, "stats", path, "texts")
    for name, missing in [("empty", 0), ("missing", 4)]:
        found = stats(path, name)
        assert (found["count"], found["missing"], found["mean"]) == (0, missing, None), found
    scalar = stats(path, "scalar")
    assert scalar["minimum"] == scalar["maximum"] == 2**62 + 1, scalar
    assert stats(path, "flat")["standard_deviation"] == 0
    assert "its dimensions are" in refused(4, "stats", path, "flat", "--by", "depth")
    assert "no array" in refused(4, "stats", path, "nothing")


@case
def a_chunk_object_that_is_gone_is_damage_and_no_fill_value(work):
    path = work / "repo"
    session = reference.create(path).writable_session("main")
    noise = np.random.default_rng(1).random((2, 4096))
    zarr.create_array(session.store, name="a", data=noise, chunks=(1, 4096))
    session.commit("two chunks")
    sorted((path / "chunks").iterdir())[0].unlink()
    assert "chunk" in refused(5, "stats", path, "a")
