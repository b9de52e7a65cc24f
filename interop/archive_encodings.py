"""Files of one period each that store their numbers otherwise: packed, with other types, with other values for what is missing;
of which some lack variables, and whose attributes differ. A pairwise matrix of these through `icefield import`: xarray reads in
each result what it makes of the files, or the import is refused, where numbers would be lost or xarray refuses, too.

    ICEFIELD=target/debug/icefield ICEFIELD_INTEROP_WORK=$(mktemp -d) python interop/archive_encodings.py

`ICEFIELD_COMBINATIONS=450` makes as many combinations, and not the 60 of a usual run.
"""

import json
import os
import shutil
import sys
import warnings
from dataclasses import dataclass

import netCDF4
import numpy as np
import xarray

import archive_times
from archive_lib import attempt, folder_of, new_repository, store_of
from lib import case, icefield, leave, run_cases

warnings.simplefilter("ignore")


@dataclass(frozen=True)
class Stored:
    """How a file stores numbers. Those that are stored are `first`, `first + step` and so on."""

    dtype: str
    scale: float | None = None
    offset: float | None = None
    fill: float | None = None
    first: float = 0
    step: float = 1
    # Whether every fifth is missing, which takes a fill value or NaN.
    holes: bool = False
    unsigned: bool = False

    @property
    def packed(self):
        return self.scale is not None or self.offset is not None


HALVES = Stored("i2", 0.5, 10.0, -1, holes=True)
# Of each file; the comments say what becomes of them behind the first.
ENCODINGS = {
    "single": [Stored("f4", fill=-1.0, holes=True)] * 3,
    "packed": [HALVES] * 3,
    # Exact in the first.
    "finer": [HALVES, Stored("i4", 0.25, fill=-9, step=2, holes=True), Stored("i2", 1.0, 3.0, -5, first=2)],
    "offsets": [HALVES, Stored("i2", 0.5, 20.0, -1, first=5, holes=True), Stored("i1", 0.5, -3.0, -7, first=3)],
    "packed, then plain": [HALVES, Stored("f4", step=0.5, holes=True), Stored("f8", fill=1e20, first=2, holes=True)],
    "plain, then packed": [Stored("f4", fill=1e20, holes=True), HALVES, Stored("u1", 0.25, fill=255, holes=True)],
    "fill values": [Stored("f4", fill=1e20, holes=True), Stored("f4", fill=-1.0, holes=True), Stored("f4", holes=True)],
    "fills of integers": [Stored("i2", fill=-1, holes=True), Stored("i2", fill=-2, holes=True), Stored("i2")],
    "types": [Stored("f4", holes=True), Stored("i2"), Stored("f8", holes=True)],
    "shorter types": [Stored("f8", holes=True), Stored("f4", step=0.5, holes=True), Stored("i4")],
    "big-endian": [Stored(">f4", holes=True), Stored("<f4", holes=True), Stored(">i2", first=7)],
    "integers": [Stored("i2"), Stored("i1"), Stored("i4")],
    "unsigned": [Stored("u1", fill=255, holes=True), Stored("i1", fill=-1, unsigned=True, holes=True), Stored("i2", fill=-1, holes=True)],
    # Not exact in the first, or not there.
    "tenths": [HALVES, Stored("i2", 0.1, fill=-1, holes=True), Stored("f8", step=0.1)],
    "tenths last": [HALVES, HALVES, Stored("f8", first=10.0, step=0.3, holes=True)],
    "wider types": [Stored("f4"), Stored("f4", step=0.5), Stored("f8", step=0.1)],
    "no fill": [Stored("i2", 0.5), Stored("i2", 0.5, fill=-1, holes=True), Stored("i2", 0.5)],
    "beyond": [Stored("i1", fill=-1, holes=True), Stored("i2", fill=-1, first=1000), Stored("i1", fill=-1)],
    "collision": [Stored("i2", fill=7), Stored("i2", fill=-1, holes=True), Stored("i2", fill=7, first=8)],
}
MATRIX = {
    "encodings": list(ENCODINGS),
    "how": ["exact", "unpack", "repack"],
    "lacking": ["none", "rain of 0", "rain of 1", "rain of 2", "area of 0", "area of 2", "count of 1"],
    "missing": ["fill", "refuse"],
    "attributes": ["same", "differing"],
    "combined": ["first", "drop-conflicts", "equal", "unsaid"],
    "dimensions": [("time", "lat", "lon"), ("lat", "time"), ("level", "time", "lat", "lon"), ("time",)],
    "units": ["one", "own", "mixed"],
    "calendar": ["standard", "proleptic_gregorian", "noleap", "360_day"],
    "type": ["i4", "f8"],
    "lengths": [(6, 5, 6), (4, 8, 4), (2, 2, 2), (5, 3, 7)],
    "chunks": [(2, 2, 2), (4, 4, 4), (4, 3, 5), (None, None, None)],
    "filters": ["none", "zlib", "differing"],
    "order": ["given", "coordinate"],
    "overlap": ["none", "first", "last"],
    "way": ["concat", "append", "reference"],
}
LENGTHS = {"lat": 3, "lon": 4, "level": 2}
TOLERANCE = 0.25


def raw_of(stored, shape, begin):
    """The stored numbers of a file, which begins at such a step."""
    count = np.arange(np.prod(shape)) % 40
    values = stored.first + stored.step * ((count + begin) % 50)
    dtype = np.dtype(stored.dtype)
    raw = values.astype(dtype)
    if stored.holes:
        raw[::5] = np.nan if stored.fill is None else stored.fill
    return raw.reshape(shape)


def write(path, row, number):
    moments, steps = archive_times.times(row, number), row["lengths"][number]
    units, chunk = archive_times.units_of(row, number), row["chunks"][number]
    stored = ENCODINGS[row["encodings"]][number]
    lacks = lambda name: row["lacking"] == f"{name} of {number}"
    with netCDF4.Dataset(path, "w") as file:
        file.set_auto_mask(False)
        file.createDimension("time", None if chunk else steps)
        for name, length in LENGTHS.items():
            file.createDimension(name, length)
        file.title = "periods"
        time = file.createVariable("time", row["type"], ("time",))
        time.units, time.calendar = units, row["calendar"]
        time[:] = np.rint(archive_times.cftime.date2num(moments, units, calendar=row["calendar"])).astype(row["type"])
        file.createVariable("lat", "f4" if number == 1 else "f8", ("lat",))[:] = np.arange(3) / 2
        shape = [steps if name == "time" else LENGTHS[name] for name in row["dimensions"]]
        deflate = row["filters"] == "zlib" or row["filters"] == "differing" and number != 1
        how = {"zlib": deflate, "shuffle": deflate}
        if chunk:
            how["chunksizes"] = [chunk if name == "time" else 2 for name in row["dimensions"]]
        elif deflate:
            how["chunksizes"] = shape
        order = {">": "big", "<": "little"}.get(stored.dtype[0], "native")
        air = file.createVariable("air", stored.dtype.lstrip("<>"), row["dimensions"], endian=order,
                                  fill_value=stored.fill, **how)
        air.set_auto_maskandscale(False)
        air.long_name = "temperature"
        for name, value in [("scale_factor", stored.scale), ("add_offset", stored.offset)]:
            if value is not None:
                air.setncattr(name, np.float64(value))
        if stored.unsigned:
            air.setncattr("_Unsigned", "true")
        if row["attributes"] == "differing":
            file.history = f"made in {number}"
            air.cell = [1, number]
            if number == 1:
                air.comment = file.comment = "checked"
        air[:] = raw_of(stored, shape, number)
        if not lacks("rain"):
            rain = file.createVariable("rain", "f4", ("time", "lat"), fill_value=np.float32(-9))
            rain.units = "mm"
            rain[:] = np.arange(steps * 3).reshape(steps, 3) + number
        if not lacks("count"):
            # Without a value for what is missing.
            file.createVariable("count", "i2", ("time",))[:] = np.arange(steps)
        if not lacks("area"):
            file.createVariable("area", "f4", ("lat", "lon"))[:] = np.arange(12).reshape(3, 4)


def decoded(stored, raw):
    """As a reader computes them, in double precision; NaN for what is missing."""
    if stored.unsigned:
        raw = raw.view("u1")
    values = raw.astype("f8")
    if stored.packed:
        values = values * (1.0 if stored.scale is None else stored.scale) + (stored.offset or 0.0)
    if stored.fill is not None:
        fill = np.array(stored.fill).astype(stored.dtype)
        values[raw == (fill.view("u1") if stored.unsigned else fill)] = np.nan
    return values


def loses(target, values, tolerance):
    """Whether a target cannot store decoded numbers so that they are read again, or no farther off."""
    holes = np.isnan(values)
    kind = np.dtype(target.dtype).kind
    if kind != "f" and target.fill is None and holes.any():
        return True
    values = values[~holes]
    packed = (values - (target.offset or 0.0)) / (1.0 if target.scale is None else target.scale)
    if kind != "f":
        packed = np.rint(packed)
        limits = np.iinfo(target.dtype)
        if ((packed < limits.min) | (packed > limits.max)).any():
            return True
    again = decoded(target, packed.astype(target.dtype))
    # What reads as missing is lost at any tolerance.
    return bool((~(np.abs(again - values) <= tolerance)).any())


def unpacked(parts):
    """How decoded numbers are stored."""
    dtypes = [np.dtype(part.dtype).newbyteorder("=") for part in parts]
    if not any(part.packed for part in parts):
        if len({(dtype, part.fill, part.unsigned) for part, dtype in zip(parts, dtypes)}) == 1:
            return None
        if all(dtype.kind != "f" and part.fill is None for part, dtype in zip(parts, dtypes)):
            return Stored(np.result_type(*dtypes).str)
    double = [part.packed or dtype.itemsize > (4 if dtype.kind == "f" else 2) for part, dtype in zip(parts, dtypes)]
    return Stored("f8" if any(double) else "f4")


def kept_parts(paths, row):
    """What of each file is kept, as xarray reads it, and what of the time of each."""
    parts = [xarray.open_dataset(path).load() for path in paths]
    for number in range(1, len(parts)):
        if row["overlap"] == "first":
            ends = max(part.time.values[-1] for part in parts[:number] if part.sizes["time"])
            parts[number] = parts[number].isel(time=np.flatnonzero(parts[number].time.values > ends))
    if row["overlap"] == "last":
        for number in reversed(range(len(parts) - 1)):
            begins = min(part.time.values[0] for part in parts[number + 1:] if part.sizes["time"])
            parts[number] = parts[number].isel(time=np.flatnonzero(parts[number].time.values < begins))
    return parts


def expected(parts, row):
    combined = {"drop-conflicts": "drop_conflicts", "equal": "identical"}.get(row["combined"], "override")
    # xarray knows no files that lack what does not have the dimension.
    areas = [part["area"] for part in parts if "area" in part]
    parts = [part.drop_vars("area", errors="ignore") for part in parts]
    wanted = xarray.concat(parts, "time", data_vars="minimal", coords="minimal", compat="equals", join="override",
                           combine_attrs=combined)
    assert all(area.identical(areas[0]) for area in areas)
    return wanted.assign(area=areas[0])


def same(wanted, found, row, target):
    """Values, attributes, dimensions; types where the encoding is one, or decoded numbers are stored."""
    assert set(wanted.variables) == set(found.variables), (set(wanted.variables), set(found.variables))
    if row["how"] == "repack":
        np.testing.assert_allclose(wanted.air.values, found.air.values, rtol=0, atol=TOLERANCE)
        found["air"] = found.air.copy(data=wanted.air.values)
    parts = ENCODINGS[row["encodings"]]
    if row["way"] == "append" or target is None or row["how"] != "unpack" and len(set(parts)) > 1:
        wide = np.result_type(wanted.air.dtype, found.air.dtype)
        wanted["air"], found["air"] = wanted.air.astype(wide), found.air.astype(wide)
    xarray.testing.assert_identical(wanted, found)
    assert wanted.air.dtype == found.air.dtype, (wanted.air.dtype, found.air.dtype)


def check(work, row):
    folder = folder_of(work)
    paths = [folder / f"{number}.nc" for number in range(3)]
    for number, path in enumerate(paths):
        write(path, row, number)
    parts = kept_parts(paths, row)
    encodings, by_append = ENCODINGS[row["encodings"]], row["way"] == "append"
    options = {name: row[name] for name in ("missing", "order", "overlap")}
    options = [f"--{name}={value}" for name, value in options.items() if value not in ("given", "none")]
    repository = new_repository(work)
    given = paths[1:] if by_append else [paths[1], paths[2], paths[0]] if row["order"] == "coordinate" else paths
    along = ["--append", "time"] if by_append else ["--concat", "time"]
    how = {"unpack": ["--unpack"], "repack": ["--repack", TOLERANCE]}.get(row["how"], [])
    if by_append:
        icefield("import", paths[0], repository, *(how if row["how"] == "unpack" else []))
        how = how if row["how"] == "repack" else []
    if row["way"] == "reference":
        how.append("--virtual")
    if row["combined"] != "unsaid":
        options += ["--attributes", row["combined"]]

    def run(*more):
        return attempt("import", *given, repository, *along, *options, *how, *more)

    def refused(message, *words):
        assert icefield("log", repository, "--json") == before, "something was committed"
        assert all(word in message for word in words), message

    before = icefield("log", repository, "--json")
    code, _, message = run()
    # One reason after another is taken away, until nothing is in the way.
    if by_append and row["overlap"] == "last" and archive_times.times(row, 1)[0] <= archive_times.times(row, 0)[-1]:
        assert code
        is_alone = row["lacking"] == "none" and row["attributes"] == "same"
        refused(message, *(["does not replace"] if is_alone else []))
        return "overlap"
    if row["lacking"] == "count of 1" and row["missing"] == "fill":
        assert code
        refused(message, "/count", "1.nc", *([] if by_append else ["--drop /count"]))
        if by_append:
            return "missing"
        how += ["--drop", "/count"]
        parts = [part.drop_vars("count", errors="ignore") for part in parts]
        code, _, message = run()
    elif row["lacking"] != "none" and row["missing"] == "refuse":
        assert code
        refused(message)
        lacks = f"/{row['lacking'].split()[0]}"
        assert lacks in message or row["attributes"] == "differing" and "attributes" in message, message
        if row["lacking"] == "count of 1":
            return "missing"
        options[options.index("--missing=refuse")] = "--missing=fill"
        code, _, message = run()
    if row["attributes"] == "differing" and row["combined"] in ("equal", "unsaid"):
        assert code
        refused(message, "attributes")
        if row["combined"] == "equal":
            try:
                expected(parts, row)
            except xarray.MergeError:
                options = options[:-2]
            else:
                raise AssertionError("xarray does not refuse it")
        row = {**row, "combined": "first"}
        options += ["--attributes", "first"]
        code, _, message = run()
    if code and row["way"] == "reference":
        # Where grids or encodings do not allow it, a message says what to copy.
        refused(message, "--copy /")
        names = [name for name in ("air", "rain", "count", "area") if any(name in part for part in parts)]
        how += [word for name in names for word in ("--copy", f"/{name}")]
        code, _, message = run()
    target = unpacked(encodings[:1] if by_append else encodings) if row["how"] == "unpack" else None
    stored_as = target or encodings[0]
    tolerance = TOLERANCE if row["how"] == "repack" else 0
    lost = []
    for number, (part, stored) in enumerate(zip(parts, encodings)):
        shape = [row["lengths"][number] if name == "time" else LENGTHS[name] for name in row["dimensions"]]
        values = decoded(stored, raw_of(stored, shape, number))
        kept = [*range(part.sizes["time"])]
        if kept and row["overlap"] == "first":
            kept = [at + shape[row["dimensions"].index("time")] - len(kept) for at in kept]
        values = np.take(values, kept, row["dimensions"].index("time"))
        if stored != stored_as and loses(stored_as, values, tolerance):
            lost.append(number)
    if lost:
        assert code, f"numbers of {lost} are lost"
        refused(message, "/air", "at [")
        assert any(f"{number}.nc" in message for number in lost), message
        if by_append or row["how"] == "unpack":
            return "encoding"
        row = {**row, "how": "unpack"}
        how = [word for word in how if word not in ("--repack", TOLERANCE)] + ["--unpack"]
        target = unpacked(encodings)
        code, _, message = run()
    assert not code, message
    wanted = expected(parts, row)
    with xarray.open_zarr(store_of(repository), consolidated=False, chunks=None) as found:
        same(wanted, found.load(), row, target)
    return "equal"


@case
def a_matrix_of_encodings(work):
    least = int(os.environ.get("ICEFIELD_COMBINATIONS", "60"))
    rows = []
    for seed in range(1000):
        if len(rows) < least:
            rows += archive_times.combinations(seed, MATRIX)
    failed, outcomes = [], {}
    for number, row in enumerate(rows[:least]):
        place = work / str(number)
        place.mkdir()
        try:
            outcome = check(place, row)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            shutil.rmtree(place)
        except Exception as error:  # each row is told
            failed.append(f"{row}: {type(error).__name__}: {error}")
    print(f"{least} combinations: {outcomes}")
    assert not failed, "\n".join([f"{len(failed)} of {least}", *failed[:5]])
    # Most come in, some after what was in the way is said.
    assert outcomes["equal"] > least / 3, outcomes


@case
def the_first_number_that_is_lost_is_named(work):
    row = {name: values[0] for name, values in MATRIX.items()} | {"encodings": "tenths last", "dimensions": ("time",)}
    paths = [folder_of(work) / f"{number}.nc" for number in range(3)]
    for number, path in enumerate(paths):
        write(path, row, number)
    repository = new_repository(work)
    code, _, message = attempt("import", *paths, repository, "--concat", "time")
    # The first is missing, the second 10.6.
    assert code and all(word in message for word in ["/air", "2.nc", "at [1]", "10.9", "--repack", "--unpack"]), message
    plan = json.loads(icefield("import", *paths, repository, "--concat", "time", "--dry-run", "--json"))
    assert [source["reencoded"] for source in plan["sources"]] == [[], ["/lat"], ["/air"]], plan
    report = json.loads(icefield("import", *paths, repository, "--concat", "time", "--repack", TOLERANCE, "--json"))
    (rounded,) = report["rounded_arrays"]
    assert rounded["path"] == "/air" and 0 < rounded["largest_error"] <= TOLERANCE, report


if __name__ == "__main__":
    leave(run_cases(sys.argv[1:]))
