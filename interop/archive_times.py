"""Files of one period each, as archives have them: units and calendars of their own, lengths that are no multiple of the
chunk length, grids and codecs that differ. A pairwise matrix of these through `icefield import`, with the chunks of the files
and with others, also after `icefield rechunk`; xarray reads in each result what it reads in the files.

    ICEFIELD=target/debug/icefield ICEFIELD_INTEROP_WORK=$(mktemp -d) python interop/archive_times.py

`ICEFIELD_MATRICES=12` makes twelve such matrices, of over 400 combinations.
"""

import itertools
import json
import os
import shutil
import sys

import cftime
import netCDF4
import numpy as np
import xarray

from archive_lib import attempt, folder_of, new_repository, refused, store_of
from lib import case, icefield, leave, run_cases

MATRIX = {
    # How the files count: all from one moment, each from its own, or each in a unit of its own.
    "units": ["one", "own", "mixed"],
    "calendar": ["standard", "proleptic_gregorian", "noleap", "360_day", "julian", "all_leap"],
    "type": ["i8", "i4", "f8"],
    "lengths": [(12, 11, 12), (4, 8, 4), (1, 1, 1), (5, 2, 7)],
    # Steps of a chunk in each file; nothing for an array in one piece.
    "chunks": [(4, 4, 4), (3, 3, 3), (1, 1, 1), (4, 3, 5), (None, None, None)],
    "filters": ["none", "zlib", "differing"],
    "order": ["given", "coordinate"],
    "overlap": ["none", "first", "last"],
    "way": ["concat", "append", "reference"],
    "bounds": ["no", "yes"],
    "shape": ["kept", "chunks", "shards", "codec", "rechunk"],
}
# What an import is told of the chunks of the result.
SHAPES = {
    "chunks": ["--chunks", "time=5,lat=2,lon=3"],
    "shards": ["--chunks", "time=3", "--shards", "time=9,lat=all"],
    "codec": ["--codec", "blosc:zstd:5"],
}
STEP = 6
MONTHS = (2, 3, 4)


def combinations(seed, matrix=MATRIX):
    """Rows in which each pair of values of two factors occurs at least once: the next row covers the most new pairs."""
    random = np.random.default_rng(seed)
    names = list(matrix)
    left = {frozenset([(a, x), (b, y)]) for a, b in itertools.combinations(names, 2)
            for x in range(len(matrix[a])) for y in range(len(matrix[b]))}
    while left:
        best = None
        first = sorted(tuple(sorted(pair)) for pair in left)[0]
        for _ in range(30):
            row = {name: int(random.integers(len(matrix[name]))) for name in names}
            row.update(dict(first))
            pairs = {frozenset(pair) for pair in itertools.combinations(row.items(), 2)}
            if best is None or len(pairs & left) > len(best[1] & left):
                best = row, pairs
        left -= best[1]
        yield {name: matrix[name][at] for name, at in best[0].items()}


def units_of(row, number):
    month = MONTHS[number if row["units"] != "one" else 0]
    unit = ["hours", "minutes", "seconds"][number] if row["units"] == "mixed" else "hours"
    return f"{unit} since 2003-{month:02}-01"


def times(row, number):
    """The moments of a file: steps of six hours. Of those that overlap, each begins three steps before the last one ends."""
    first = cftime.datetime(2003, MONTHS[0], 1, calendar=row["calendar"])
    begin = sum(row["lengths"][:number])
    if row["overlap"] != "none":
        begin -= number * min(3, min(row["lengths"]) - 1)
    hours = (begin + np.arange(row["lengths"][number])) * STEP
    start = cftime.date2num(first, "hours since 2003-01-01", calendar=row["calendar"])
    return cftime.num2date(hours + start, "hours since 2003-01-01", calendar=row["calendar"])


def write(path, row, number):
    moments, steps = times(row, number), row["lengths"][number]
    units, chunk = units_of(row, number), row["chunks"][number]
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None if chunk else steps)
        for name, length in [("lat", 3), ("lon", 4), ("bnds", 2)]:
            file.createDimension(name, length)
        time = file.createVariable("time", row["type"], ("time",))
        time.units, time.calendar, time.axis = units, row["calendar"], "T"
        numbers = np.rint(cftime.date2num(moments, units, calendar=row["calendar"])).astype(row["type"])
        time[:] = numbers
        if row["bounds"] == "yes":
            time.bounds = "time_bnds"
            width = {"hours": 1, "minutes": 60, "seconds": 3600}[units.split()[0]] * STEP
            bounds = file.createVariable("time_bnds", row["type"], ("time", "bnds"))
            bounds[:] = np.stack([numbers, numbers + width], axis=1)
        for name in ["lat", "lon"]:
            file.createVariable(name, "f8", (name,))[:] = np.arange(len(file.dimensions[name]))
        deflate = row["filters"] == "zlib" or row["filters"] == "differing" and number != 1
        how = {"zlib": deflate, "shuffle": deflate and number != 2}
        if chunk:
            how["chunksizes"] = (chunk, 2, 4)
        elif deflate:
            how["chunksizes"] = (steps, 3, 4)
        heat = file.createVariable("air", "f4", ("time", "lat", "lon"), fill_value=np.float32(-1), **how)
        heat[:] = (1000 * number + np.arange(steps * 12)).reshape(steps, 3, 4)
        heat[0, 1, 2] = -1
        file.createVariable("count", "i2", ("lat", "time"))[:] = 100 * number + np.arange(3 * steps).reshape(3, steps)


def expected(paths, row):
    parts = [xarray.open_dataset(path).load() for path in paths]
    for number in range(1, len(parts)):
        if row["overlap"] == "first":
            ends = max(part.time.values[-1] for part in parts[:number] if part.sizes["time"])
            parts[number] = parts[number].isel(time=np.flatnonzero(parts[number].time.values > ends))
    if row["overlap"] == "last":
        for number in reversed(range(len(parts) - 1)):
            begins = min(part.time.values[0] for part in parts[number + 1:] if part.sizes["time"])
            parts[number] = parts[number].isel(time=np.flatnonzero(parts[number].time.values < begins))
    return xarray.concat(parts, "time", data_vars="minimal", coords="minimal", compat="equals", join="override",
                         combine_attrs="override")


def check(work, row):
    folder = folder_of(work)
    paths = [folder / f"{number}.nc" for number in range(3)]
    for number, path in enumerate(paths):
        write(path, row, number)
    options = [] if row["overlap"] == "none" else ["--overlap", row["overlap"]]
    given = paths
    if row["order"] == "coordinate":
        options += ["--order", "coordinate"]
        given = [paths[1], paths[2], paths[0]]
    repository = new_repository(work)
    shape = SHAPES.get(row["shape"], [])
    if row["way"] == "append":
        icefield("import", paths[0], repository, *shape)
        if row["overlap"] == "last":
            code, _, message = attempt("import", *paths[1:], repository, "--append", "time", *options)
            ends, begins = times(row, 0)[-1], times(row, 1)[0]
            assert (code != 0) == (begins <= ends), message
            if code:
                return
        else:
            icefield("import", *sorted(given)[1:], repository, "--append", "time", *options)
    else:
        how = ["--virtual"] if row["way"] == "reference" else []
        options += shape
        code, _, message = attempt("import", *given, repository, "--concat", "time", *options, *how)
        if code and how:
            # Where the grids do not allow it, a message says what to copy.
            assert "--copy /" in message, message
            how += ["--copy", "/air", "--copy", "/count"] + (["--copy", "/time_bnds"] if row["bounds"] == "yes" else [])
            icefield("import", *given, repository, "--concat", "time", *options, *how)
        else:
            assert not code, message
    if row["shape"] == "rechunk":
        for name in ("air", "time"):
            granted = ["--grant", folder.as_uri()] if row["way"] == "reference" else []
            icefield("rechunk", repository, name, "--chunks", "time=7", "--codec", "gzip:1", *granted)
    wanted = expected(paths, row)
    with xarray.open_zarr(store_of(repository), consolidated=False, chunks=None) as found:
        if row["shape"] in ("chunks", "rechunk"):
            assert found.air.encoding["chunks"][0] == {"chunks": 5, "rechunk": 7}[row["shape"]], found.air.encoding
        assert found.time.encoding["units"] == units_of(row, 0), found.time.encoding
        assert found.time.encoding["dtype"] == row["type"], found.time.encoding
        xarray.testing.assert_identical(wanted, found.load())


@case
def a_matrix_of_periods(work):
    matrices = int(os.environ.get("ICEFIELD_MATRICES", "1"))
    rows = [row for seed in range(matrices) for row in combinations(28 + seed)]
    failed = []
    for number, row in enumerate(rows):
        place = work / str(number)
        place.mkdir()
        try:
            check(place, row)
            shutil.rmtree(place)
        except Exception as error:  # each row is told
            failed.append(f"{row}: {type(error).__name__}: {error}")
    print(f"{len(rows)} combinations")
    assert not failed, "\n".join([f"{len(failed)} of {len(rows)}", *failed[:5]])


@case
def units_too_coarse_are_refused_and_finer_ones_are_taken(work):
    row = {name: values[0] for name, values in MATRIX.items()} | {"lengths": (4, 3, 2)}
    paths = [folder_of(work) / f"{number}.nc" for number in range(2)]
    for number, path in enumerate(paths):
        write(path, row, number)
    with netCDF4.Dataset(paths[0], "a") as file:
        file["time"].units = "days since 2003-02-01"
        file["time"][:] = np.arange(4)
    with netCDF4.Dataset(paths[1], "a") as file:
        file["time"][:] += 4 * 24
    repository = new_repository(work)
    refused(repository, [*paths, repository, "--concat", "time"], "/time", "1.nc", "--time-units")
    icefield("import", *paths, repository, "--concat", "time", "--time-units", "hours since 2003-02-01")
    parts = [xarray.open_dataset(path).load() for path in paths]
    with xarray.open_zarr(store_of(repository), consolidated=False, chunks=None) as found:
        wanted = xarray.concat(parts, "time", data_vars="minimal", combine_attrs="override")
        xarray.testing.assert_identical(wanted, found.load())


@case
def a_plan_is_printed_and_nothing_is_written(work):
    row = {name: values[0] for name, values in MATRIX.items()} | {"units": "own"}
    paths = [folder_of(work) / f"{number}.nc" for number in range(3)]
    for number, path in enumerate(paths):
        write(path, row, number)
    repository = new_repository(work)
    before = icefield("log", repository, "--json")
    plan = json.loads(icefield("import", *paths, repository, "--concat", "time", "--dry-run", "--json"))
    assert icefield("log", repository, "--json") == before
    assert [source["elements"] for source in plan["sources"]] == [12, 11, 12], plan
    assert [source["converted"] for source in plan["sources"]] == [[], ["/time"], ["/time"]], plan
    air = next(array for array in plan["arrays"] if array["path"] == "/air")
    # Twelve and eight steps in chunks of four are taken as they are; the others begin within one.
    assert (air["copied_chunks"], air["assembled_chunks"]) == (10, 8), air
    assert air["shape"] == [35, 3, 4] and air["reasons"], air
    report = json.loads(icefield("import", *paths, repository, "--concat", "time", "--json"))
    planned = sum(array["copied_chunks"] + array["assembled_chunks"] for array in plan["arrays"])
    assert report["chunks"] == planned, (report, planned)


if __name__ == "__main__":
    leave(run_cases(sys.argv[1:]))
