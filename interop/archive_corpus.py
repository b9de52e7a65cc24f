"""Makes the fixtures of `crates/ingest/tests`: `python interop/archive_corpus.py [OUTPUT]`. The same bytes every time.

Needs what `interop/requirements-archives.txt` lists.
"""

import pathlib
import shutil
import struct
import sys
import tempfile

import netCDF4
import numpy as np

HERE = pathlib.Path(__file__).parent.parent
FIXTURES = HERE / "crates" / "ingest" / "tests" / "fixtures"

CLASSIC = {"i1": -127, "i2": -32767, "i4": -2147483647, "f4": 9.96921e36, "f8": 9.96921e36}
WIDE = ["u1", "u2", "u4", "i8", "u8"]


def values(dtype, shape, first=1):
    """Numbers that differ, also negative ones and large ones."""
    count = int(np.prod(shape))
    numbers = np.arange(first, first + count, dtype="f8" if dtype[0] == "f" else "i8")
    if dtype[0] == "f":
        numbers = numbers * 0.75 - 3
    elif dtype in ("i8", "u8"):
        numbers = numbers + (1 << 62)
    elif dtype[0] == "i":
        numbers = np.where(numbers % 3 == 0, -numbers, numbers)
    return numbers.astype(dtype).reshape(shape)


def every_type(path, form, types):
    """Every type as scalar, fixed and record variable, with attributes of every type."""
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.createDimension("time", None)
        file.createDimension("y", 3)
        file.createDimension("x", 5)
        file.createDimension("letters", 4)
        file.title = "every type, in °C"
        file.empty = ""
        for dtype in types:
            info = np.iinfo(dtype) if dtype[0] != "f" else np.finfo(dtype)
            file.setncattr(f"one_{dtype}", np.array(info.max, dtype))
            file.setncattr(f"two_{dtype}", np.array([info.min, info.max], dtype))
        file.not_finite = np.array([np.nan, np.inf, -np.inf, 1.5])
        for dtype in types:
            for name, dimensions, shape in [("scalar", (), ()), ("fixed", ("y", "x"), (3, 5)),
                                            ("record", ("time", "x"), (4, 5)), ("times", ("time",), (4,))]:
                variable = file.createVariable(f"{name}_{dtype}", dtype, dimensions)
                variable[...] = values(dtype, shape)
                variable.units = "m"
            fill = np.array(7, dtype)
            variable = file.createVariable(f"filled_{dtype}", dtype, ("time", "y"), fill_value=fill)
            variable.missing_value = fill
            variable[...] = values(dtype, (4, 3))
        for dtype in [one for one in types if one[0] == "f"]:
            variable = file.createVariable(f"nan_{dtype}", dtype, ("y",), fill_value=np.array(np.nan, dtype))
            variable[...] = np.array([1, np.nan, 3], dtype)
        variable = file.createVariable("never_written", "f4", ("y",))
        names = file.createVariable("names", "S1", ("y", "letters"))
        names[...] = np.array([list("ab\0\0"), list("cdef"), list("g\0\0\0")], "S1")
        codes = file.createVariable("codes", "S1", ("time", "letters"), fill_value=b" ")
        codes[...] = np.array([list("r0  "), list("r1  "), list("r2  "), list("r3xx")], "S1")


def one_record_variable(path, dtype, form="NETCDF3_CLASSIC"):
    """Records of a single variable follow each other without padding."""
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.createDimension("time", None)
        file.createDimension("x", 3)
        kind = "S1" if dtype == "S1" else dtype
        variable = file.createVariable("alone", kind, ("time", "x"))
        variable[...] = np.array(list("abcdefghijklmno"), "S1").reshape(5, 3) if kind == "S1" else values(dtype, (5, 3))
        fixed = file.createVariable("x", "i2", ("x",))
        fixed[...] = [1, 2, 3]


def nothing(path):
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC"):
        pass


def no_records(path):
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as file:
        file.createDimension("time", None)
        file.createVariable("t", "f8", ("time",))
        file.createVariable("s", "i2", ("time",))


def streamed(source, path):
    """As a program leaves it that does not know how many records will come."""
    content = bytearray(source.read_bytes())
    content[4:8] = struct.pack(">I", 0xFFFFFFFF)
    path.write_bytes(content)


def netcdf3(out):
    out.mkdir(parents=True)
    every_type(out / "classic.nc", "NETCDF3_CLASSIC", list(CLASSIC))
    every_type(out / "offset64.nc", "NETCDF3_64BIT_OFFSET", list(CLASSIC))
    every_type(out / "data64.nc", "NETCDF3_64BIT_DATA", list(CLASSIC) + WIDE)
    for dtype in ["i1", "i2", "S1", "f4"]:
        one_record_variable(out / f"alone_{dtype}.nc", dtype)
    one_record_variable(out / "alone_u2.nc", "u2", "NETCDF3_64BIT_DATA")
    nothing(out / "nothing.nc")
    no_records(out / "no_records.nc")
    streamed(out / "classic.nc", out / "streamed.nc")


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FIXTURES
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for kind in [netcdf3]:
            kind(work / kind.__name__)
            shutil.rmtree(target / kind.__name__, ignore_errors=True)
            shutil.copytree(work / kind.__name__, target / kind.__name__)


if __name__ == "__main__":
    main()
