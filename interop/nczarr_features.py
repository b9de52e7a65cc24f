"""Writes `fixtures/nczarr/features`: a small NCZarr dataset for each feature, and what netCDF's own `ncdump` prints of it.

    python interop/nczarr_features.py OUT [PART OF A NAME ...]

needs netCDF4-python 1.7.5 (netCDF-C 4.10.1) and the program `ncdump`, which is made to run on the library of that package.
Per feature: `data` (the dataset), `ncdump.cdl` (the text), and `source.cdl`, which a reader of CDL can be fed with: the same
content with the special attributes for chunks, filters and the order of bytes, and floats with all digits.

Each dataset is written a second time, as a NetCDF-4 file. Where the two texts differ, netCDF-C lost something on its way
through Zarr; such a feature is refused unless `LOSSES` says what it is.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import netCDF4
import numpy as np

from nczarr_peers import NCDUMP, on_wheel

FEATURES = []
# Features whose text is not that of the same content in a NetCDF-4 file, and why.
LOSSES = {
    "fill_default_double": "the fill value has six digits: in missing chunks, that is another number than in written ones",
    "strings": "an empty string is read as none at all",
}


def feature(function):
    FEATURES.append(function)
    return function


def put(group, name, kind, dimensions, values=None, where=..., attributes=None, **options):
    """Creates a variable and stores values in it as they are."""
    with warnings.catch_warnings():
        # That the order of bytes is another than that of the values given here.
        warnings.simplefilter("ignore", UserWarning)
        variable = group.createVariable(name, kind, dimensions, **options)
    variable.set_auto_maskandscale(False)
    variable.set_auto_chartostring(False)
    for key, value in (attributes or {}).items():
        variable.setncattr(key, value)
    if values is not None:
        if kind is str:
            values = np.array(values, object)
        elif kind == "S1":
            values = np.array(values, "S1")
        else:
            values = np.array(values, kind)
        variable[where] = values
    return variable


def chars(rows):
    """Rows of bytes as an array of single ones; short rows end in NULs."""
    width = max(map(len, rows))
    return [[bytes([byte]) for byte in row.ljust(width, b"\0")] for row in rows]


# Types and values.

@feature
def integers(d):
    d.createDimension("x", 5)
    for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        # Neither end of a type that has its fill value there.
        ends = [low, high - 1] if low == 0 else [low, high]
        put(d, f"v_{kind}", kind, ("x",), [ends[0], 0, 1, 42, ends[1]])


@feature
def integers_64(d):
    d.createDimension("x", 4)
    put(d, "signed", "i8", ("x",), [-2**63, -2**53 - 1, 2**53 + 1, 2**63 - 1])
    put(d, "unsigned", "u8", ("x",), [0, 2**53 + 1, 2**63, 2**64 - 1])
    d.setncattr("lowest", np.int64(-2**63))
    d.setncattr("highest", np.uint64(2**64 - 1))


@feature
def floats(d):
    d.createDimension("x", 7)
    values = [0.0, -0.0, 1.0, -1.5, np.nan, np.inf, -np.inf]
    put(d, "f", "f4", ("x",), values)
    put(d, "d", "f8", ("x",), values)


@feature
def floats_digits(d):
    d.createDimension("x", 8)
    values = [0.1, 1 / 3, np.pi, 1e7 + 0.5, 123456789.125, 1e-5, 1e15, 2 / 3 * 1e20]
    put(d, "f", "f4", ("x",), values)
    put(d, "d", "f8", ("x",), values)
    # Six digits are what netCDF-C writes of those of an attribute.
    d.setncattr("attributes", np.array([0.125, 333333, 1e-5, 2.5e20]))


@feature
def floats_extremes(d):
    d.createDimension("x", 4)
    for name, kind in (("f", "f4"), ("d", "f8")):
        info = np.finfo(kind)
        put(d, name, kind, ("x",), [info.max, info.min, info.tiny, info.smallest_subnormal])


# Attributes.

@feature
def attributes_typed(d):
    d.createDimension("x", 2)
    numbers = {"i1": -3, "u1": 250, "i2": -300, "u2": 65000, "i4": -70000, "u4": 4000000000, "i8": -2**62, "u8": 2**63 + 5,
               "f4": 0.1, "f8": 0.1}
    single = {f"one_{kind}": np.array(value, kind)[()] for kind, value in numbers.items()}
    vectors = {f"some_{kind}": np.array([value, 0, 1], kind) for kind, value in numbers.items()}
    put(d, "v", "i4", ("x",), [7, 8], attributes={**single, **vectors})
    d.setncatts({"answer": np.int32(42), "whole": np.float64(3), "whole_f": np.float32(3)})


@feature
def attributes_special_numbers(d):
    specials = [np.nan, np.inf, -np.inf, 0.0]
    d.setncatts({"f": np.array(specials, "f4"), "d": np.array(specials, "f8"), "nan": np.float64("nan"), "inf": np.float32("inf")})


@feature
def attributes_text(d):
    d.setncatts({
        "title": "plain text", "empty": "", "one": "x", "blank": " ", "quotes": 'he said "no" and \\ left',
        "apostrophe": "it's", "lines": "first\nsecond\n\nfourth", "final_newline": "first\nlast\n", "tab": "a\tb",
        "percent": "100 % %s", "slash": "a/b", "braces": "{not json", "long": "word " * 30, "units": "m s-1"})


@feature
def attributes_utf8(d):
    d.createDimension("x", 1)
    put(d, "v", "f4", ("x",), [1], attributes={"długość": "zażółć gęślą jaźń", "units": "°C", "emoji": "🌊"})


@feature
def attributes_json(d):
    # With the blanks that they have after the way through Zarr, on which their own are lost.
    d.setncatts({"object": '{"a": [1,2], "b": "c"}', "list": "[1,2.5,3]", "mixed": '[1,"two",{"three": 3}]'})


@feature
def attributes_strings(d):
    d.setncattr_string("one", "a string")
    d.setncattr("some", ["alpha", "beta gamma", "zażółć"])
    d.setncattr("quoted", ['a "b"', "c\\d", "line\nbreak"])


@feature
def valid_range(d):
    d.createDimension("x", 3)
    packed = {"valid_range": np.array([-100, 100], "i2"), "scale_factor": np.float64(0.01), "add_offset": np.float32(273.15),
              "missing_value": np.int16(-999), "flag_values": np.array([1, 2, 4], "i2"), "flag_meanings": "low high wild"}
    put(d, "t", "i2", ("x",), [-100, 0, 100], attributes=packed)
    put(d, "p", "f4", ("x",), [0.5, 1, 2], attributes={"valid_min": np.float32(0), "valid_max": np.float32(2.5)})


# Shapes.

@feature
def scalars(d):
    put(d, "i", "i4", (), 42)
    put(d, "f", "f8", (), 2.5)
    put(d, "b", "i1", (), -1, attributes={"units": "1"})
    put(d, "unwritten", "i2", ())
    d.createDimension("x", 2)
    put(d, "v", "i4", ("x",), [1, 2])


@feature
def coordinates(d):
    d.createDimension("lat", 3)
    d.createDimension("lon", 4)
    put(d, "lat", "f8", ("lat",), [-45, 0, 45], attributes={"units": "degrees_north", "axis": "Y"})
    put(d, "lon", "f4", ("lon",), [0, 90, 180, 270], attributes={"units": "degrees_east", "axis": "X"})
    put(d, "crs", "i4", (), 0, attributes={"grid_mapping_name": "latitude_longitude"})
    put(d, "sst", "f4", ("lat", "lon"), np.arange(12).reshape(3, 4) / 4,
        attributes={"units": "K", "coordinates": "lat lon", "grid_mapping": "crs"})


@feature
def time_coordinate(d):
    d.createDimension("time", None)
    d.createDimension("bnds", 2)
    put(d, "time", "f8", ("time",), [0, 6, 12.5], attributes={
        "units": "hours since 2019-01-01 00:00:00", "calendar": "proleptic_gregorian", "bounds": "time_bnds"})
    put(d, "time_bnds", "f8", ("time", "bnds"), [[-3, 3], [3, 9], [9, 16]])
    put(d, "day", "i4", ("time",), [0, 0, 1], attributes={"units": "days since 2019-01-01", "calendar": "360_day"})


@feature
def long_rows(d):
    d.createDimension("x", 60)
    d.createDimension("y", 2)
    put(d, "short_numbers", "i2", ("x",), np.arange(60))
    put(d, "long_numbers", "f8", ("x",), np.arange(60) / 7)
    put(d, "rows", "i4", ("y", "x"), np.arange(120).reshape(2, 60) * 1000)
    put(d, "a_variable_with_a_name_that_takes_much_of_the_first_line_of_its_data", "i4", ("x",), np.arange(60))


@feature
def two_dimensional(d):
    d.createDimension("y", 3)
    d.createDimension("x", 4)
    put(d, "v", "i4", ("y", "x"), np.arange(12).reshape(3, 4))
    put(d, "square", "f4", ("x", "x"), np.arange(16).reshape(4, 4) / 2)


@feature
def three_dimensional(d):
    for name, length in (("z", 2), ("y", 3), ("x", 4)):
        d.createDimension(name, length)
    put(d, "v", "i2", ("z", "y", "x"), np.arange(24).reshape(2, 3, 4))


@feature
def four_dimensional(d):
    for name, length in (("t", 2), ("z", 1), ("y", 2), ("x", 3)):
        d.createDimension(name, length)
    put(d, "v", "f4", ("t", "z", "y", "x"), np.arange(12).reshape(2, 1, 2, 3) / 8)


@feature
def dimensions_alone(d):
    d.createDimension("used", 2)
    d.createDimension("unused", 7)
    d.createDimension("open", None)
    put(d, "v", "u1", ("used",), [1, 2])


@feature
def dataset_empty(d):
    pass


# Unlimited dimensions.

@feature
def unlimited(d):
    d.createDimension("t", None)
    d.createDimension("x", 4)
    put(d, "u", "i4", ("t", "x"), np.arange(12).reshape(3, 4), where=np.s_[0:3], chunksizes=(1, 4))
    put(d, "t", "f8", ("t",), [0, 6, 12], where=np.s_[0:3], chunksizes=(2,))


@feature
def unlimited_without_records(d):
    d.createDimension("t", None)
    d.createDimension("x", 3)
    put(d, "t", "f8", ("t",), attributes={"units": "s"})
    put(d, "v", "i4", ("t", "x"), chunksizes=(1, 3))
    put(d, "fixed", "i4", ("x",), [1, 2, 3])


@feature
def unlimited_in_group(d):
    d.createDimension("t", None)
    put(d, "v", "i4", ("t",), [1, 2], where=np.s_[0:2], chunksizes=(4,))
    g = d.createGroup("g")
    g.createDimension("n", None)
    put(g, "own", "i2", ("n",), [5, 6, 7], where=np.s_[0:3], chunksizes=(4,))
    put(g, "inherited", "i2", ("t",), [8, 9], where=np.s_[0:2], chunksizes=(4,))


@feature
def unlimited_twice(d):
    d.createDimension("t", None)
    d.createDimension("n", None)
    put(d, "v", "i4", ("t", "n"), np.arange(6).reshape(2, 3), where=np.s_[0:2, 0:3], chunksizes=(2, 2))


# Fill values and what nobody wrote.

@feature
def fill_default(d):
    d.createDimension("x", 4)
    for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4"):
        put(d, f"v_{kind}", kind, ("x",), [1], where=np.s_[0:1], chunksizes=(2,))


@feature
def fill_default_double(d):
    d.createDimension("x", 4)
    put(d, "v", "f8", ("x",), [1], where=np.s_[0:1], chunksizes=(2,))


@feature
def fill_explicit(d):
    d.createDimension("x", 4)
    for kind, value in (("i2", -1), ("u2", 7), ("i4", -7), ("i8", 2**40), ("u8", 2**63), ("f4", -999.5), ("f8", 1e20)):
        put(d, f"v_{kind}", kind, ("x",), [1, 2], where=np.s_[0:2], chunksizes=(2,), fill_value=np.array(value, kind)[()])


@feature
def fill_nan(d):
    d.createDimension("x", 4)
    put(d, "f", "f4", ("x",), [1, 2], where=np.s_[0:2], chunksizes=(2,), fill_value=np.float32("nan"))
    put(d, "d", "f8", ("x",), [1, 2], where=np.s_[0:2], chunksizes=(2,), fill_value=np.float64("nan"))
    put(d, "inf", "f8", ("x",), [1, 2], where=np.s_[0:2], chunksizes=(2,), fill_value=np.float64("inf"))


@feature
def fill_bytes(d):
    d.createDimension("x", 4)
    put(d, "b", "i1", ("x",), [1, -127], where=np.s_[0:2], chunksizes=(2,), fill_value=np.int8(-128))
    put(d, "ub", "u1", ("x",), [1, 255], where=np.s_[0:2], chunksizes=(2,), fill_value=np.uint8(0))
    put(d, "plain", "u1", ("x",), [0, 1, 254, 255])


@feature
def fill_off(d):
    d.createDimension("x", 3)
    put(d, "v", "i4", ("x",), [1, -2147483647, 3], fill_value=False)
    put(d, "f", "f4", ("x",), [1, 2, 3], fill_value=False)


@feature
def chunks_missing(d):
    d.createDimension("y", 5)
    d.createDimension("x", 7)
    v = put(d, "v", "i4", ("y", "x"), chunksizes=(2, 3), fill_value=np.int32(-9))
    v[0:2, 3:6] = np.arange(6).reshape(2, 3)
    v[4:5, 6:7] = [[99]]
    put(d, "never", "f4", ("y",))


# Text in variables.

@feature
def char_1d(d):
    d.createDimension("n", 6)
    put(d, "full", "S1", ("n",), chars([b"abcdef"])[0])
    put(d, "padded", "S1", ("n",), chars([b"abc\0\0\0"])[0])
    put(d, "hole", "S1", ("n",), chars([b"a\0c\0\0f"])[0])
    put(d, "nothing", "S1", ("n",), chars([b"\0\0\0\0\0\0"])[0])


@feature
def char_2d(d):
    d.createDimension("x", 4)
    d.createDimension("n", 5)
    put(d, "names", "S1", ("x", "n"), chars([b"one", b"three", b"", b"a b"]))


@feature
def char_3d(d):
    for name, length in (("y", 2), ("x", 2), ("n", 3)):
        d.createDimension(name, length)
    put(d, "c", "S1", ("y", "x", "n"), [chars([b"abc", b"d\0\0"]), chars([b"\0\0\0", b"xyz"])])


@feature
def char_escapes(d):
    d.createDimension("x", 3)
    d.createDimension("n", 4)
    put(d, "c", "S1", ("x", "n"), chars([b'"q"\0', b"\\\t\n\r", b"'%s'"]))
    put(d, "control", "S1", ("n",), chars([b"\x01\x07\x1b\x7f"])[0])


@feature
def strings(d):
    d.createDimension("x", 6)
    put(d, "s", str, ("x",), ["plain", "", 'a "quoted" one', "line\nbreak", "zażółć", "back\\slash\ttab"])


@feature
def strings_2d(d):
    d.createDimension("y", 2)
    d.createDimension("x", 2)
    put(d, "s", str, ("y", "x"), [["a", "bb"], ["ccc", "a string that is longer than the others of this variable"]])


# Groups and names.

@feature
def groups_nested(d):
    d.createDimension("x", 4)
    d.setncattr("level", np.int32(0))
    put(d, "top", "i4", ("x",), [1, 2, 3, 4])
    g = d.createGroup("g")
    g.createDimension("z", 2)
    g.setncattr("level", np.int32(1))
    put(g, "v", "i4", ("z", "x"), np.arange(8).reshape(2, 4), attributes={"q": np.int8(1)})
    h = g.createGroup("h")
    put(h, "w", "f8", ("z",), [1.5, 2.5])
    put(d.createGroup("second"), "w", "u1", ("x",), [4, 3, 2, 1])


@feature
def groups_shadowed_dimensions(d):
    d.createDimension("x", 2)
    put(d, "v", "i4", ("x",), [1, 2])
    g = d.createGroup("g")
    put(g, "outer", "i4", ("x",), [3, 4])
    h = g.createGroup("h")
    h.createDimension("x", 3)
    put(h, "inner", "i4", ("x",), [5, 6, 7])
    put(h.createGroup("i"), "below", "i4", ("x",), [8, 9, 10])


@feature
def groups_empty(d):
    d.createGroup("empty")
    g = d.createGroup("outer")
    g.createGroup("inner")
    d.createGroup("with_attribute").setncattr("note", "nothing else here")


@feature
def names_special(d):
    for name in ("a-b", "a.b", "a+b", "a@b", "1st", "_under", "a b", "a(b)", "a:b", "a,b", "a#b"):
        d.createDimension(name, 1)
    put(d, "v-1", "i4", ("a-b",), [1], attributes={"an-attribute": "x", "2nd": np.int32(2), "a b": "blank"})
    put(d, "v.1", "i4", ("a.b",), [2])
    put(d, "v 1", "i4", ("a b",), [3])
    put(d, "1v", "i4", ("1st",), [4])
    put(d, "v(1)", "i4", ("a(b)",), [5])
    # No colon here: variables are directories, and a file system of Windows has none of that name.
    put(d, "v,1", "i4", ("a:b",), [6])
    put(d.createGroup("g-1 x"), "w", "i4", ("a#b",), [7])


@feature
def names_keywords(d):
    for name in ("float", "dimensions", "data", "nan", "group"):
        d.createDimension(f"{name}_", 1)
        put(d, f"{name}s", "i4", (f"{name}_",), [1])
    put(d, "variables", "i4", ("data_",), [2])


@feature
def names_utf8(d):
    d.createDimension("długość", 2)
    put(d, "температура", "f4", ("długość",), [1.5, 2.5], attributes={"единица": "К"})
    put(d.createGroup("海"), "波", "i4", ("długość",), [1, 2])


# Storage.

@feature
def big_endian(d):
    d.createDimension("x", 4)
    for kind in ("i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
        values = [1, 2, 3, 100] if kind[0] == "u" else [1, -2, 3, 100]
        put(d, f"v_{kind}", kind, ("x",), values, endian="big")


@feature
def chunks(d):
    d.createDimension("y", 5)
    d.createDimension("x", 7)
    grid = np.arange(35).reshape(5, 7)
    put(d, "edge", "i4", ("y", "x"), grid, chunksizes=(2, 3))
    put(d, "one", "i4", ("y", "x"), grid, chunksizes=(5, 7))
    put(d, "thin", "i4", ("y", "x"), grid, chunksizes=(1, 7))


def filtered(d, **options):
    d.createDimension("y", 12)
    d.createDimension("x", 8)
    put(d, "v", "i4", ("y", "x"), np.tile(np.arange(8), 12).reshape(12, 8), chunksizes=(6, 8), **options)
    put(d, "f", "f8", ("x",), np.arange(8) / 4, chunksizes=(4,), **options)


@feature
def filter_zlib(d):
    filtered(d, compression="zlib", complevel=5, shuffle=False)


@feature
def filter_shuffle_zlib(d):
    filtered(d, compression="zlib", complevel=1, shuffle=True)


@feature
def filter_zstd(d):
    filtered(d, compression="zstd", complevel=3)


@feature
def filter_fletcher32(d):
    filtered(d, fletcher32=True)


def write(target, build):
    with netCDF4.Dataset(target, "w", format="NETCDF4") as dataset:
        build(dataset)


def text(target, name, *options):
    done = on_wheel(NCDUMP, *options, "-n", name, str(target))
    if done.returncode != 0:
        raise RuntimeError(f"ncdump of {target}: {done.returncode} {done.stderr.decode(errors='replace')}")
    return done.stdout.decode()


def source(target, name):
    """The content with its special attributes, as input for a reader of CDL."""
    lines = text(target, name, "-s", "-p", "9,17").split("\n")
    unwanted = re.compile(r"^\s*:(_NCProperties|_Format|_SuperblockVersion|_IsNetcdf4|_NCZARR\w*|_nczarr\w*) =")
    kept = [re.sub(r"(^| )// .*$", "", line) for line in lines if not unwanted.match(line)]
    # Of scalars, it prints an attribute without a value, and no end of the line.
    return re.sub(r"\t+\S+:_ChunkSizes = (?=\t)", "", "\n".join(kept))


def main(out, patterns):
    print(f"netCDF4 {netCDF4.__version__}, netCDF-C {netCDF4.__netcdf4libversion__}, numpy {np.__version__}")
    failed = []
    for build in FEATURES:
        name = build.__name__
        if patterns and not any(pattern in name for pattern in patterns):
            continue
        place = Path(out).resolve() / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        url = f"file://{place}/data#mode=nczarr,file"
        with tempfile.TemporaryDirectory() as scratch:
            reference = f"{scratch}/{name}.nc"
            try:
                write(url, build)
                write(reference, build)
                printed, expected = text(url, name), text(reference, name)
                (place / "ncdump.cdl").write_text(printed)
                (place / "source.cdl").write_text(source(url, name))
            except Exception as error:
                failed.append(f"{name}: {error}")
                continue
        if (printed == expected) == (name in LOSSES):
            lines = zip(printed.split("\n"), expected.split("\n"))
            first = next((pair for pair in lines if pair[0] != pair[1]), ("as many lines", "nothing lost, or more lines"))
            failed.append(f"{name}: Zarr has {first[0]!r}, HDF5 has {first[1]!r}")
    print(f"{len(FEATURES)} features, {len(failed)} failed")
    for line in failed:
        print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
