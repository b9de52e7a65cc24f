"""Small files of the corpus that are kept as fixtures of the repository."""

import ctypes

import h5py
import hdf5plugin
import netCDF4
import numpy as np

from hdf5_files import FIXED, at, h5, library, refused, slow, timeless, values
from hdf5_netcdf import lagging


def fixtures():
    """Small files that cover the main paths, for the tests of the repository."""
    with h5("fixture-earliest", "earliest") as f:
        make = lambda name, data, **o: f.create_dataset(name, data=data, **FIXED, **o)
        make("contiguous", values((3, 5), "<i4"))
        make("big", values((4,), ">f8"))
        make("half", values((4,), "<f2"))
        make("truth", values((5,), "?"))
        make("complex", values((3,), "<c8"))
        make("scalar", np.uint64(2**64 - 1))
        make("chunked", values((9, 7), "<i2"), chunks=(4, 3), fillvalue=-7)
        make("packed", values((9, 7), ">i4"), chunks=(4, 3), compression="gzip", compression_opts=4, shuffle=True,
             fletcher32=True)
        make("g/long", np.array(["", "a", "日本語"], object), dtype=h5py.string_dtype())
        make("g/fixed", np.array([b"one", b"three"], "S5"))
        make("g/letters", np.array([b"x", b"y"], "S1"))
        f["g"].attrs["list"] = [1, 2, 3]
        f["g"].attrs["one"] = np.array([np.nan])
        f["soft"] = h5py.SoftLink("/g/letters")
        f["hard"] = f["big"]
    with h5("fixture-latest", "latest") as f:
        make = lambda name, shape, **o: f.create_dataset(name, data=values(shape, "<f4"), **FIXED, **o)
        make("single", (4, 3), chunks=(4, 3), compression="gzip")
        make("fixed", (6, 5), chunks=(4, 3))
        make("fixed_bound", (6, 5), chunks=(4, 3), maxshape=(9, 10), compression="gzip")
        make("extensible", (6, 5), chunks=(4, 3), maxshape=(None, 5))
        make("tree", (6, 5), chunks=(4, 3), maxshape=(None, None), shuffle=True)
        make("lz4", (40, 3), chunks=(20, 3), shuffle=True, **hdf5plugin.LZ4())
        make("zstd", (40, 3), chunks=(20, 3), **hdf5plugin.Zstd(clevel=3))
        make("blosc", (400,), chunks=(400,), **hdf5plugin.Blosc(cname="zstd", clevel=5, shuffle=1))
        p = timeless()
        p.set_layout(h5py.h5d.COMPACT)
        d = h5py.h5d.create(f.id, b"compact", h5py.h5t.STD_I16BE, h5py.h5s.create_simple((3,)), p)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, 2, 3], "i2"))
        kinds = h5py.enum_dtype({"RED": 1, "BLUE": -2}, "i2")
        f["kind"] = np.dtype(kinds)
        f.create_dataset("enum", data=np.array([1, -2], "i2"), dtype=f["kind"], **FIXED)
        for n in range(12):
            f.attrs[f"dense{n:02}"] = n
    with h5("fixture-userblock", "v110", userblock_size=512) as f:
        f.create_dataset("v", data=values((6, 5), "f4"), chunks=(4, 3), compression="gzip", **FIXED)
    with h5("fixture-mask") as f:
        f.create_dataset("fine", data=values((3,), "i4"), **FIXED)
        # By a filter that is not decoded here.
        d = f.create_dataset("g/v", shape=(6,), dtype="i4", chunks=(3,), **FIXED, **hdf5plugin.Bitshuffle())
        d.id.write_direct_chunk((3,), np.arange(3, dtype="i4").tobytes(), 1)
        f.create_dataset("g/pair", data=np.zeros(3, [("x", ">i4"), ("y", "f8")]), **FIXED)
        f["g/outside"] = h5py.ExternalLink("other.h5", "/v")
    refused["fixture-mask.h5"] = "/g/"
    with h5("fixture-packed", "earliest") as f:
        make = lambda name, data, **o: f.create_dataset(name, data=data, chunks=(4, 5), **FIXED, **o)
        make("lzf", slow((9, 13), "<f4"), compression="lzf", shuffle=True)
        make("szip", values((9, 13), ">i2"), compression="szip")
        make("szip_wide", values((9, 13), "<f8"), compression="szip", compression_opts=("ec", 16))
        make("bzip2", values((9, 13), "<i4"), **hdf5plugin.BZip2())
        make("scaled", values((9, 13), ">i4"), scaleoffset=0, fillvalue=3)
        make("scaled_float", values((9, 13), "<f4"), scaleoffset=2)
        kind = h5py.h5t.STD_I16BE.copy()
        kind.set_precision(12)
        kind.set_offset(2)
        for name in ["narrow", "nbit"]:
            p = timeless()
            p.set_chunk((4, 5))
            if name == "nbit":
                library().H5Pset_nbit(ctypes.c_int64(p.id))
            d = h5py.h5d.create(f.id, name.encode(), kind, h5py.h5s.create_simple((9, 13)), p)
            d.write(h5py.h5s.ALL, h5py.h5s.ALL, values((9, 13), "i2"))
    with h5("fixture-compound", "latest") as f:
        data = np.zeros(5, [("x", "<i4"), ("in", [("y", "<f8"), ("on", "?")]), ("name", "S3")])
        data["x"], data["in"]["y"] = np.arange(5), np.arange(5) / 2
        f.create_dataset("pairs", data=data, chunks=(2,), compression="gzip", shuffle=True, **FIXED)
    with h5("fixture-split", "latest") as f:
        kind = np.dtype({"names": ["x", "in", "flags", "name"], "offsets": [0, 8, 24, 30], "itemsize": 40,
                         "formats": ["<i4", np.dtype([("y", ">f8"), ("on", "?")]), ("u1", (2,)), "S3"]})
        data = np.zeros(5, kind)
        data["x"], data["in"]["y"], data["in"]["on"] = np.arange(5), np.arange(5) / 2, np.arange(5) % 2
        data["flags"][:, 0], data["flags"][:, 1] = np.arange(5), np.arange(5) + 10
        data["name"] = [b"a", b"bb", b"ccc", b"", b"e"]
        tracks = f.create_dataset("tracks", data=data, chunks=(2,), compression="gzip", **FIXED)
        tracks.attrs["units"] = "m"
        f.create_dataset("g/all", data=data, **FIXED)
        ragged = np.dtype([("n", "<i2"), ("list", h5py.vlen_dtype("i4"))])
        f.create_dataset("g/ragged", shape=(2,), dtype=ragged, **FIXED)
    refused["fixture-split.h5"] = "compounds"
    with netCDF4.Dataset(at("fixture-netcdf.nc"), "w") as f:
        f.createDimension("time", None)
        f.createDimension("x", 3)
        f.createDimension("nv", 2)
        f.title = "Å title"
        time = f.createVariable("time", "f8", ("time",), chunksizes=(4,))
        time.units = "days since 2000-01-01"
        time[:] = [0, 31]
        v = f.createVariable("tas", "f4", ("time", "x"), zlib=True, shuffle=True, fill_value=np.float32(1e20), chunksizes=(1, 3))
        v.valid_range = np.array([-5, 5], "f4")
        v[:] = values((2, 3), "f4")
        n = f.createVariable("count", "i2", ("x", "nv"), fill_value=-9)
        n[:] = values((3, 2), "i2")
        f.createVariable("nv", "S1", ("x", "nv"))[:] = np.array([[b"a", b"b"]] * 3)
        f.createGroup("g").createVariable("w", "i8", ("x",))[:] = [1, 2, 3]
    with netCDF4.Dataset(at("fixture-filters.nc"), "w") as f:
        # netCDF-C puts the checksum before the shuffle, which then leaves bytes over.
        f.createDimension("x", 12)
        for name, dtype, endian in [("i1", "i1", "native"), ("i2", "i2", "native"), ("big", "i4", "big"),
                                    ("f4", "f4", "native"), ("f8", "f8", "native")]:
            v = f.createVariable(name, dtype, ("x",), zlib=True, fletcher32=True, chunksizes=(5,), endian=endian)
            v[:] = values((12,), dtype)
    with h5py.File(at("fixture-filters.nc"), "a") as f:
        d = f.create_dataset("mask", shape=(7,), dtype="i4", chunks=(3,), compression="gzip", shuffle=True, **FIXED)
        d[:] = np.arange(7)
        d.id.write_direct_chunk((3,), np.array([30, 40, 50], "i4").tobytes(), 3)
    lagging("fixture-lagging.nc", few=True)
    for n, written in enumerate([3, 5]):
        with netCDF4.Dataset(at(f"fixture-lagging-{n}.nc"), "w") as f:
            f.createDimension("time", None)
            time = f.createVariable("time", "i4", ("time",), chunksizes=(1,))
            time.units = "hours since 2000-01-01"
            time[:] = np.arange(5 * n, 5 * n + 5)
            v = f.createVariable("v", "i4", ("time",), chunksizes=(1,), fill_value=-1)
            v[0:written] = np.arange(5 * n, 5 * n + written)
