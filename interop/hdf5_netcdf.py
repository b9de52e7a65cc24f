"""Files of the corpus that netCDF-C writes."""

import h5py
import netCDF4
import numpy as np

from hdf5_files import FIXED, at, library, refused, values


def netcdf():
    for kind in ["NETCDF4", "NETCDF4_CLASSIC"]:
        with netCDF4.Dataset(at(f"netcdf-{kind.lower()}.nc"), "w", format=kind) as f:
            f.createDimension("time", None)
            f.createDimension("lat", 5)
            f.createDimension("lon", 7)
            f.createDimension("nv", 2)
            f.createDimension("strlen", 4)
            f.title = "A title"
            f.numbers = np.array([1, 2, 3], "i2")
            lat = f.createVariable("lat", "f8", ("lat",))
            lat[:] = np.linspace(-60, 60, 5)
            lat.units = "degrees_north"
            time = f.createVariable("time", "f8", ("time",))
            time.units = "days since 2000-01-01"
            v = f.createVariable("tas", "f4", ("time", "lat", "lon"), zlib=True, shuffle=True, fill_value=np.float32(1e20))
            v[0:3] = values((3, 5, 7), "f4")
            v.missing_value = np.float32(1e20)
            time[:] = [0, 31, 59]
            i = f.createVariable("packed", "i2", ("lat", "lon"), fill_value=-9999)
            i.scale_factor = 0.01
            i.set_auto_scale(False)
            i[:] = values((5, 7), "i2")
            f.createVariable("lat_bnds", "f8", ("lat", "nv"))[:] = values((5, 2), "f8")
            c = f.createVariable("chars", "S1", ("nv", "strlen"))
            c[:] = netCDF4.stringtochar(np.array([b"abcd", b"ef"], "S4"))
            c._Encoding = "ascii"
            f.createVariable("scalar", "i4", ()).assignValue(42)
            f.createVariable("never", "f4", ("lat",))
            if kind == "NETCDF4":
                s = f.createVariable("names", str, ("lat",))
                s[:] = np.array(["one", "två", "", "four", "five"], object)
                s.long_name = "Names"
                filled = f.createVariable("filled_names", str, ("lat",), fill_value="none")
                filled[0:2] = np.array(["a", "none"], object)
                filled = f.createVariable("filled_letters", "S1", ("lat",), fill_value=b"-")
                filled[0:2] = [b"a", b"-"]
                g = f.createGroup("forecast/members")
                g.createDimension("member", 3)
                g.createVariable("member", "i8", ("member",))[:] = [1, 2, 3]
                w = g.createVariable("w", "u8", ("member", "lat"), fletcher32=True)
                w[:] = values((3, 5), "u8")
                b = f.createVariable("be", ">f4", ("lat",), endian="big")
                b[:] = values((5,), "f4")
                e = f.createEnumType("u1", "cloud", {"clear": 0, "cumulus": 1})
                f.createVariable("sky", e, ("lat",))[:] = np.array([0, 1, 0, 1, 1], "u1")
                f.createVariable("zstd", "f4", ("lat", "lon"), compression="zstd")[:] = values((5, 7), "f4")
    # A variable with the name of a dimension that is not its coordinate; a coordinate of two dimensions.
    with netCDF4.Dataset(at("netcdf-names.nc"), "w") as f:
        f.createDimension("x", 3)
        f.createDimension("y", 2)
        f.createDimension("n", 4)
        f.createVariable("x", "f4", ("y", "n"))[:] = values((2, 4), "f4")
        f.createVariable("y", "f4", ("y", "x"))[:] = values((2, 3), "f4")
        f.createVariable("twice", "f4", ("n", "n"))[:] = values((4, 4), "f4")
        f.createVariable("n", "i4", ("n",))[:] = [4, 3, 2, 1]
    with netCDF4.Dataset(at("refused-netcdf-ragged.nc"), "w") as f:
        f.createDimension("x", 2)
        t = f.createVLType("i4", "ragged")
        f.createVariable("v", t, ("x",))[0] = np.arange(3, dtype="i4")
    refused["refused-netcdf-ragged.nc"] = "variable length"
    with netCDF4.Dataset(at("refused-netcdf-compound.nc"), "w") as f:
        f.createDimension("x", 2)
        t = f.createCompoundType(np.dtype([("a", "i1"), ("b", "f4")], align=True), "pair")
        f.createVariable("v", t, ("x",))
    refused["refused-netcdf-compound.nc"] = "compounds"


def lagging(name, few=False):
    """Variables that were written for fewer records than their unlimited dimensions have. Those that are `behind_` lag along
    another dimension than the first or have two unlimited ones, which netCDF-C reads in the wrong order (see `archive_field.py`)."""
    with netCDF4.Dataset(at(name), "w") as f:
        f.createDimension("time", None)
        f.createDimension("member", None)
        f.createDimension("x", 3)
        make = lambda name, dims, chunks, kind="i4", group=f, **o: group.createVariable(name, kind, dims, chunksizes=chunks, **o)
        make("time", ("time",), (4,), "f8")[0:2] = [0, 1]
        make("lags", ("time", "x"), (1, 3))[0:3] = values((3, 3), "i4")
        make("behind_both", ("time", "member"), (2, 2))[0:3, 0:1] = values((3, 1), "i4")
        make("unfilled", ("time",), (4,), "f4", fill_value=False, zlib=True, shuffle=True)[0:2] = [1, 2]
        make("unfilled_letters", ("time",), (4,), "S1", fill_value=False)[0:2] = [b"a", b"b"]
        make("texts", ("time",), (4,), str)[0:3] = np.array(["a", "ä", "c"], object)
        g = f.createGroup("g")
        make("behind_longest", ("time", "member"), (4, 4), "i2", g)[0:9, 0:2] = values((9, 2), "i2")
        if not few:
            make("records", ("time", "x"), (1, 3), "f4", fill_value=np.nan)[0:2] = values((2, 3), "f4")
            make("full", ("time", "x"), (1, 3))[0:7] = values((7, 3), "i4")
            make("cut", ("time", "x"), (2, 2), zlib=True)[0:3] = values((3, 3), "i4")
            make("declared", ("time",), (4,), fill_value=-1)[0:3] = [1, 2, 3]
            make("behind_last", ("x", "time"), (2, 4), "u1")[:, 0:5] = values((3, 5), "u1")
            make("never", ("time",), (4,), "f4")
            make("unfilled_whole", ("time",), (1,), "i2", fill_value=False)[0:2] = [1, 2]
            make("letters", ("time",), (4,), "S1")[0:3] = [b"a", b"b", b"c"]
            make("members", ("member", "x"), (1, 3))[0:4] = values((4, 3), "i4")
            make("behind_members", ("time", "member"), (2, 2))[0:7, 0:3] = values((7, 3), "i4")
            g.createDimension("step", None)
            make("lags", ("time",), (4,), "i2", g)[0:1] = [5]
            make("step", ("step",), (1,), "i4", g)[0:3] = [1, 2, 3]
            make("steps", ("step",), (1,), "i4", g)[0:2] = [1, 2]
    with h5py.File(at(name), "a") as f:
        # Of another library, without a fill value: what is not written of its own records is zero, what is behind them is not.
        d = f.create_dataset("zeros", shape=(5,), maxshape=(None,), chunks=(2,), dtype="i2", **FIXED)
        d.dims[0].attach_scale(f["time"])
        d[0] = 1


def lags():
    lagging("netcdf-lagging.nc")
