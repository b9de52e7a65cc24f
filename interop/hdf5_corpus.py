"""Writes about 200 small HDF5 and NetCDF-4 files, and what h5py reads in them.

    python hdf5_corpus.py DIRECTORY

The same versions of the libraries write the same files, but for the time in the header of a committed data type or a
file that is made without h5py's own interface. `expected.json` has for each file, by the path of each array,
its shape, dtype, chunk shape, chunks (coordinates of the first element, position, bytes, filter mask), and the SHA-256
of its decoded bytes, little-endian in C order; of texts, that of the JSON list of them. A file that must be refused
has the word that the refusal must contain instead.
"""

import ctypes
import hashlib
import json
import sys
from pathlib import Path

import h5py
import hdf5plugin
import netCDF4
import numpy as np

BOUNDS = ["earliest", "v108", "v110", "v112", "v114", "latest"]
FIXED = dict(track_times=False)
out: Path
refused: dict[str, str] = {}


def values(shape, dtype, seed=1):
    """Numbers that compress, and that no two chunks share."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    base = (np.arange(count, dtype=np.int64) * (2 * seed + 1) // 3) % 251
    if dtype.kind == "c":
        array = base + 1j * (base - 7)
    elif dtype.kind == "f":
        array = base / 4 - 20
    elif dtype.kind == "i":
        array = base % 128 - 64
    elif dtype.kind == "b":
        array = base % 3 == 0
    elif dtype.kind == "S":
        array = np.array([f"t{n}"[: dtype.itemsize].encode() for n in base])
    else:
        array = base
    return np.asarray(array).astype(dtype).reshape(shape)


def slow(shape, dtype):
    """Numbers that every compressor shortens: HDF5 leaves a filter out that does not."""
    return (np.arange(np.prod(shape)) // 90 % 100).astype(dtype).reshape(shape)


def h5(name, bound="latest", **more):
    return h5py.File(out / f"{name}.h5", "w", libver=(bound, "latest"), **more)


def timeless():
    p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    p.set_obj_track_times(False)
    return p


def layouts():
    """Every index, under every bound."""
    for bound in BOUNDS:
        with h5(f"layouts-{bound}", bound) as f:
            make = lambda name, shape, **o: f.create_dataset(name, data=values(shape, "f4"), **FIXED, **o)
            make("contiguous", (7, 5))
            make("single", (7, 5), chunks=(7, 5))
            make("single_deflate", (7, 5), chunks=(7, 5), compression="gzip")
            make("fixed", (17, 11), chunks=(4, 5))
            make("fixed_deflate", (17, 11), chunks=(4, 5), compression="gzip", shuffle=True)
            make("fixed_bound", (17, 11), chunks=(4, 5), maxshape=(40, 33))
            make("fixed_bound_deflate", (17, 11), chunks=(4, 5), maxshape=(40, 33), compression="gzip")
            make("extensible", (17, 11), chunks=(4, 5), maxshape=(None, 11))
            make("extensible_second", (17, 11), chunks=(4, 5), maxshape=(17, None))
            make("extensible_second_bound", (17, 11), chunks=(4, 5), maxshape=(60, None))
            make("extensible_deflate", (90, 6), chunks=(1, 6), maxshape=(None, 6), compression="gzip")
            make("two_unlimited", (17, 11), chunks=(4, 5), maxshape=(None, None))
            make("two_unlimited_deflate", (60, 11), chunks=(2, 3), maxshape=(None, None), compression="gzip")
            make("three", (5, 6, 7), chunks=(2, 4, 3))
            make("larger_chunk", (3, 3), chunks=(8, 8), maxshape=(8, 8))
            make("one", (1,), chunks=(1,))
            make("scalar", ())
            f.create_dataset("paged", data=values((3000,), "i2"), chunks=(2,), **FIXED)
            f.create_dataset("paged_extensible", data=values((6000,), "i2"), chunks=(2,), maxshape=(None,), **FIXED)
            f.create_dataset("paged_extensible_deflate", data=values((1500,), "i2"), chunks=(1,), maxshape=(None,),
                             compression="gzip", **FIXED)
            f.create_dataset("never_written", shape=(9, 9), dtype="i4", **FIXED)
            f.create_dataset("never_written_chunks", shape=(9, 9), dtype="i4", chunks=(2, 2), fillvalue=7, **FIXED)
            f.create_dataset("empty", shape=(0, 4), dtype="i4", maxshape=(None, 4), chunks=(2, 4), **FIXED)
            f.create_dataset("empty_contiguous", shape=(0, 4), dtype="i4", **FIXED)
            some = f.create_dataset("some_written", shape=(20, 20), dtype="i4", chunks=(4, 4), fillvalue=-3, **FIXED)
            some[4:8, 12:16] = 5
            some[16:, 0:1] = 6
            for name, maximum in [("shrunk", (20, 20)), ("shrunk_extensible", (None, 20)), ("shrunk_tree", (None, None))]:
                shrunk = f.create_dataset(name, data=values((20, 20), "i4"), chunks=(4, 4), maxshape=maximum, **FIXED)
                shrunk.resize((10, 20))
            # The implicit index needs early allocation; compact needs the low-level interface.
            for name, shape, maximum in [("implicit", (17, 11), (17, 11)), ("implicit_bound", (17, 11), (40, 33))]:
                p = timeless()
                p.set_chunk((4, 5))
                p.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
                space = h5py.h5s.create_simple(shape, maximum)
                d = h5py.h5d.create(f.id, name.encode(), h5py.h5t.NATIVE_FLOAT, space, p)
                d.write(h5py.h5s.ALL, h5py.h5s.ALL, values(shape, "f4"))
            for name, dtype in [("compact", "i4"), ("compact_big", ">f8"), ("compact_text", "S5")]:
                p = timeless()
                p.set_layout(h5py.h5d.COMPACT)
                space = h5py.h5s.create_simple((6, 3))
                d = h5py.h5d.create(f.id, name.encode(), h5py.h5t.py_create(np.dtype(dtype)), space, p)
                d.write(h5py.h5s.ALL, h5py.h5s.ALL, values((6, 3), dtype))


def types():
    for bound in ["earliest", "v110", "latest"]:
        for dtype in ["i1", "u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8",
                      "<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<c8", ">c8", "<c16", ">c16", "?", "S1", "S7"]:
            label = dtype.replace("<", "le-").replace(">", "be-").replace("?", "bool")
            with h5(f"type-{label}-{bound}", bound) as f:
                data = values((13, 6), dtype)
                f.create_dataset("plain", data=data, **FIXED)
                f.create_dataset("chunked", data=data, chunks=(5, 4), **FIXED)
                f.create_dataset("packed", data=data, chunks=(5, 4), compression="gzip", shuffle=True,
                                 fletcher32=True, **FIXED)
                f.create_dataset("scalar", data=data[1, 1], **FIXED)
                last = data.reshape(-1)[-1]
                f.create_dataset("filled", shape=(4, 4), dtype=dtype, chunks=(2, 2), fillvalue=last, **FIXED)[0, 0] = last
                f["plain"].attrs["a"] = data[0, :3]
                f["plain"].attrs["one"] = data[1, 2]


def packed():
    """Numbers in fewer bits than their bytes have, by their type, and by filters that look at the numbers."""
    for bound in ["earliest", "latest"]:
        with h5(f"narrow-{bound}", bound) as f:
            for name, kind, precision, offset in [("i2", h5py.h5t.STD_I16LE, 12, 0), ("i4", h5py.h5t.STD_I32BE, 20, 5),
                                                  ("u2", h5py.h5t.STD_U16BE, 9, 3), ("i8", h5py.h5t.STD_I64LE, 40, 8)]:
                kind = kind.copy()
                kind.set_precision(precision)
                kind.set_offset(offset)
                memory = h5py.h5t.py_create(np.dtype(name))
                data = (values((7, 9), "i2") % 100 - (0 if name[0] == "u" else 50)).astype(name)
                for filtered in [False, True]:
                    p = timeless()
                    p.set_chunk((4, 5))
                    if filtered:
                        library().H5Pset_nbit(ctypes.c_int64(p.id))
                    label = f"{name}_nbit" if filtered else name
                    d = h5py.h5d.create(f.id, label.encode(), kind, h5py.h5s.create_simple((7, 9)), p)
                    d.write(h5py.h5s.ALL, h5py.h5s.ALL, data, mtype=memory)
            p = timeless()
            p.set_chunk((4, 5))
            library().H5Pset_nbit(ctypes.c_int64(p.id))
            d = h5py.h5d.create(f.id, b"whole_nbit", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((7, 9)), p)
            d.write(h5py.h5s.ALL, h5py.h5s.ALL, values((7, 9), "f4"))
    with h5("scaled") as f:
        for dtype in ["<i1", "<u2", ">i4", "<i8", ">u8"]:
            label = dtype[1:]
            data = values((9, 7), dtype)
            f.create_dataset(label, data=data, chunks=(4, 3), scaleoffset=0, **FIXED)
            f.create_dataset(f"{label}_filled", data=data, chunks=(4, 3), scaleoffset=0, fillvalue=data[0, 1], **FIXED)
            f.create_dataset(f"{label}_equal", data=np.full((9, 7), 5, dtype), chunks=(4, 3), scaleoffset=0, **FIXED)
            f.create_dataset(f"{label}_some", shape=(9, 7), dtype=dtype, chunks=(4, 3), scaleoffset=0, fillvalue=3, **FIXED)[1] = 7
        wide = np.array([np.iinfo("i4").min, -1, 0, np.iinfo("i4").max], "i4")
        f.create_dataset("wide", data=wide, chunks=(4,), scaleoffset=0, **FIXED)
        for dtype in ["<f4", ">f8"]:
            for decimals in [0, 1, 3]:
                data = (np.arange(63).reshape(9, 7) * 0.37 - 8).astype(dtype)
                f.create_dataset(f"{dtype[1:]}_{decimals}", data=data, chunks=(4, 3), scaleoffset=decimals, **FIXED)
                data[3, 3] = -7
                f.create_dataset(f"{dtype[1:]}_{decimals}_filled", data=data, chunks=(4, 3), scaleoffset=decimals,
                                 fillvalue=-7, **FIXED)


def compounds():
    """Those that the type of zarr-python has words for."""
    kind = np.dtype([("id", "<i4"), ("name", "S5"), ("at", [("x", "<f8"), ("y", "<f4")]), ("on", "?")])
    data = np.zeros((7, 3), kind)
    for name, part in [("id", values((7, 3), "<i4")), ("name", values((7, 3), "S5")), ("on", values((7, 3), "?"))]:
        data[name] = part
    data["at"]["x"], data["at"]["y"] = values((7, 3), "<f8"), values((7, 3), "<f4", seed=2)
    for bound in ["earliest", "latest"]:
        with h5(f"compound-{bound}", bound) as f:
            f.create_dataset("plain", data=data, **FIXED)
            f.create_dataset("chunked", data=data, chunks=(3, 2), compression="gzip", shuffle=True, **FIXED)
            f.create_dataset("lzf", data=data, chunks=(3, 2), compression="lzf", **FIXED)
            f.create_dataset("some", shape=(7, 3), dtype=kind, chunks=(3, 2), fillvalue=data[0, 1], **FIXED)[0] = data[1]


def complex_type():
    """The complex numbers of HDF5 2, which h5py reads and does not write."""
    hdf5, hid = library(), ctypes.c_int64
    hdf5.H5Dcreate2.restype = hid
    hdf5.H5Dcreate2.argtypes = [hid, ctypes.c_char_p, hid, hid, hid, hid, hid]
    hdf5.H5Dwrite.argtypes = [hid, hid, hid, hid, hid, ctypes.c_void_p]
    hdf5.H5Dclose.argtypes = [hid]
    with h5("complex-type") as f:
        data, space, p = values((3,), "c8"), h5py.h5s.create_simple((3,)), timeless()
        for name, kind in [("float", "IEEE_F32LE"), ("big", "IEEE_F64BE")]:
            kind = hid.in_dll(hdf5, f"H5T_COMPLEX_{kind}_g")
            d = hdf5.H5Dcreate2(f.id.id, name.encode(), kind, space.id, 0, p.id, 0)
            hdf5.H5Dwrite(d, hid.in_dll(hdf5, "H5T_NATIVE_FLOAT_COMPLEX_g"), 0, 0, 0, data.ctypes.data)
            hdf5.H5Dclose(d)


FILTERS = {
    "shuffle": dict(shuffle=True),
    "deflate1": dict(compression="gzip", compression_opts=1),
    "deflate9": dict(compression="gzip", compression_opts=9),
    "fletcher32": dict(fletcher32=True),
    "shuffle-deflate": dict(shuffle=True, compression="gzip"),
    "shuffle-fletcher32": dict(shuffle=True, fletcher32=True),
    "shuffle-deflate-fletcher32": dict(shuffle=True, compression="gzip", fletcher32=True),
    "zstd": dict(**hdf5plugin.Zstd(clevel=5)),
    "shuffle-zstd": dict(shuffle=True, **hdf5plugin.Zstd()),
    "lz4": dict(**hdf5plugin.LZ4()),
    "lz4-blocks": dict(**hdf5plugin.LZ4(nbytes=64)),
    "shuffle-lz4": dict(shuffle=True, **hdf5plugin.LZ4()),
    "lz4-fletcher32": dict(fletcher32=True, **hdf5plugin.LZ4()),
    "lzf": dict(compression="lzf"),
    "shuffle-lzf": dict(shuffle=True, compression="lzf"),
    "lzf-fletcher32": dict(fletcher32=True, compression="lzf"),
    "bzip2": dict(**hdf5plugin.BZip2()),
    "szip-nearest": dict(compression="szip"),
    "szip-entropy": dict(compression="szip", compression_opts=("ec", 8)),
    "scaleoffset": dict(scaleoffset=2),
}
for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]:
    for shuffle in [0, 1, 2]:
        FILTERS[f"blosc-{cname}-{shuffle}"] = dict(**hdf5plugin.Blosc(cname=cname, clevel=5, shuffle=shuffle))
REFUSED_FILTERS = {
    "bitshuffle": dict(**hdf5plugin.Bitshuffle()),
    "blosc2": dict(**hdf5plugin.Blosc2()),
    "zfp": dict(**hdf5plugin.Zfp(reversible=True)),
}


def filters():
    for bound in ["earliest", "v110", "latest"]:
        for name, options in FILTERS.items():
            with h5(f"filter-{name}-{bound}", bound) as f:
                for dtype in ["<f4", ">i2", "u1", "<f8"]:
                    label = dtype.strip("<>")
                    f.create_dataset(label, data=slow((63, 54), dtype), chunks=(27, 25), **FIXED, **options)
                    f.create_dataset(f"{label}_odd", data=slow((1001,), dtype), chunks=(1001,), **FIXED, **options)
                    f.create_dataset(f"{label}_grows", data=slow((63, 54), dtype), chunks=(27, 25),
                                     maxshape=(None, None), **FIXED, **options)
    for name, options in REFUSED_FILTERS.items():
        with h5(f"refused-{name}") as f:
            data = values((23, 14), "<f4")
            f.create_dataset("v", data=data, chunks=(7, 5), **FIXED, **options)
        refused[f"refused-{name}.h5"] = name


def library():
    """The HDF5 inside h5py: a few calls are not in its interface."""
    return ctypes.CDLL(str(next(Path(h5py.__file__).parent.parent.glob("h5py.libs/libhdf5-*.so*"))))


def masks():
    for bound in ["earliest", "latest"]:
        with h5(f"mask-{bound}", bound) as f:
            d = f.create_dataset("v", shape=(6,), dtype="i4", chunks=(3,), maxshape=(None,), compression="gzip", **FIXED)
            d.id.write_direct_chunk((3,), np.arange(3, dtype="i4").tobytes(), 1)
    with h5("edges") as f:
        p = timeless()
        p.set_chunk((4, 5))
        p.set_deflate(4)
        library().H5Pset_chunk_opts(ctypes.c_int64(p.id), ctypes.c_uint(2))
        d = h5py.h5d.create(f.id, b"v", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((17, 11)), p)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, values((17, 11), "i4"))
    p = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    library().H5Pset_shared_mesg_nindexes(ctypes.c_int64(p.id), ctypes.c_uint(1))
    library().H5Pset_shared_mesg_index(ctypes.c_int64(p.id), ctypes.c_uint(0), ctypes.c_uint(0x1F), ctypes.c_uint(1))
    with h5py.File(h5py.h5f.create(str(out / "refused-shared.h5").encode(), h5py.h5f.ACC_TRUNC, p)) as f:
        for n in range(3):
            f.create_dataset(f"v{n}", data=values((17, 11), "i4"), **FIXED)
    refused["refused-shared.h5"] = "table of shared messages"


def texts():
    words = ["", "a", "Ångström", "日本語", "long " * 50]
    for bound in ["earliest", "v110", "latest"]:
        with h5(f"texts-{bound}", bound) as f:
            data = np.array((words * 8)[:38], dtype=object)
            kind = h5py.string_dtype()
            f.create_dataset("long", data=data, dtype=kind, **FIXED)
            f.create_dataset("long_chunked", data=data.reshape(19, 2), dtype=kind, chunks=(4, 2), **FIXED)
            f.create_dataset("long_deflate", data=data, dtype=kind, chunks=(7,), compression="gzip", shuffle=True, **FIXED)
            f.create_dataset("long_scalar", data="naïve", dtype=kind, **FIXED)
            f.create_dataset("long_never_written", shape=(4,), dtype=kind, **FIXED)
            some = f.create_dataset("long_some", shape=(9,), dtype=kind, chunks=(3,), **FIXED)
            some[4] = "here"
            f.create_dataset("long_filled", shape=(5,), dtype=kind, chunks=(3,), fillvalue="fill", **FIXED)
            fixed = h5py.string_dtype("utf-8", 12)
            f.create_dataset("fixed", data=np.array([w.encode() for w in ["", "ab", "Ångs"]], dtype=fixed), dtype=fixed, **FIXED)
            f.create_dataset("fixed_deflate", data=values((13, 4), "S6"), chunks=(5, 2), compression="gzip",
                             shuffle=True, fletcher32=True, **FIXED)
            f.create_dataset("fixed_zstd", data=values((13, 4), "S6"), chunks=(5, 2), **FIXED, **hdf5plugin.Zstd())
            f.create_dataset("fixed_blosc", data=values((300,), "S9"), chunks=(300,), **FIXED, **hdf5plugin.Blosc())
            f.create_dataset("fixed_lzf", data=values((300,), "S9"), chunks=(300,), compression="lzf", **FIXED)
            f.create_dataset("fixed_lz4", data=values((13, 4), "S6"), chunks=(5, 2), **FIXED, **hdf5plugin.LZ4())
            spaces = h5py.h5t.C_S1.copy()
            spaces.set_size(6)
            spaces.set_strpad(h5py.h5t.STR_SPACEPAD)
            d = h5py.h5d.create(f.id, b"spaces", spaces, h5py.h5s.create_simple((2,)), timeless())
            d.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([b"ab    ", b"c d   "], "S6"), mtype=spaces)
            f.attrs["long"] = "Ångström"
            f.attrs["fixed"] = np.bytes_(b"bytes")
            f.attrs["list"] = ["a", "", "ü"]
            f.attrs["latin"] = np.bytes_("°C".encode("latin-1"))


def attributes():
    for bound in ["earliest", "v108", "latest"]:
        with h5(f"attributes-{bound}", bound) as f:
            for n in range(40):
                f.attrs[f"many{n}"] = n * 1.5
            g = f.create_group("g", track_order=True)
            for n in range(20):
                g.attrs[f"ordered{n}"] = np.arange(n + 1, dtype=">i2")
            g.attrs["exact"] = np.uint64(2**64 - 1)
            g.attrs["least"] = np.int64(-(2**63))
            g.attrs["nan"] = np.array([np.nan, np.inf, -np.inf, 0.1])
            g.attrs["half"] = np.float16(0.5)
            g.attrs["table"] = np.arange(12).reshape(2, 3, 2)
            g.attrs["empty"] = h5py.Empty("f4")
            g.attrs["none"] = np.zeros((0,), "i4")
            g.attrs["truth"] = np.array([True, False])
            g.attrs["complex"] = 1 + 2j
            g.attrs["big"] = np.zeros(9000)
            kinds = h5py.enum_dtype({"RED": 1, "BLUE": -2}, "i2")
            f["colour"] = np.dtype(kinds)
            g.attrs.create("enum", 1, dtype=kinds)
            g.attrs.create("committed", -2, dtype=f["colour"])
            ragged = np.empty(2, object)
            ragged[:] = [np.arange(3, dtype="i4"), np.arange(1, dtype="i4")]
            g.attrs.create("ragged", ragged, dtype=h5py.vlen_dtype("i4"))
            f.create_dataset("enum", data=np.array([1, -2, 1], "i2"), dtype=kinds, **FIXED)
            f.create_dataset("committed", data=np.array([1, -2, 1], "i2"), dtype=f["colour"], **FIXED)
            f.create_dataset("null", data=h5py.Empty("f4"), **FIXED)


def links():
    for bound in ["earliest", "latest"]:
        with h5(f"links-{bound}", bound) as f:
            f.create_dataset("a/b/v", data=values((3, 4), "i4"), **FIXED)
            f["hard"] = f["a/b/v"]
            f["soft"] = h5py.SoftLink("/a/b/v")
            f["a/near"] = h5py.SoftLink("b/v")
            f["through"] = h5py.SoftLink("/a/near")
            f["group"] = h5py.SoftLink("/a/b")
            many = f.create_group("many")
            for n in range(60):
                many.create_dataset(f"v{n:03}", data=np.int32(n), **FIXED)
            deep = f
            for n in range(20):
                deep = deep.create_group(f"d{n}")
            deep.create_dataset("ünïcode", data=values((2,), "u1"), **FIXED)
        for name, word in [("circle", "it lies in"), ("soft-circle", "circle"), ("dangling", "nowhere"),
                           ("external-link", "another file"), ("ancestor", "it lies in")]:
            with h5(f"refused-{name}-{bound}", bound) as f:
                g = f.create_group("g")
                if name == "circle":
                    g["up"] = f["/"]
                elif name == "soft-circle":
                    g["one"], g["two"] = h5py.SoftLink("two"), h5py.SoftLink("one")
                elif name == "dangling":
                    g["x"] = h5py.SoftLink("/not/there")
                elif name == "ancestor":
                    g["x"] = h5py.SoftLink("/g")
                else:
                    g["x"] = h5py.ExternalLink("other.h5", "/v")
            refused[f"refused-{name}-{bound}.h5"] = word


def kinds_refused():
    def case(name, word, write):
        for bound in ["earliest", "latest"]:
            with h5(f"refused-{name}-{bound}", bound) as f:
                write(f)
            refused[f"refused-{name}-{bound}.h5"] = word

    case("compound-big", "compounds", lambda f: f.create_dataset("v", data=np.zeros(3, [("x", ">i4"), ("y", "f8")]), **FIXED))
    gap = np.dtype([("x", "i4"), ("y", "f8")], align=True)
    case("compound-gap", "compounds", lambda f: f.create_dataset("v", data=np.zeros(3, gap), **FIXED))
    case("opaque", "opaque", lambda f: f.create_dataset("v", data=np.zeros(3, "V5"), **FIXED))
    case("array", "arrays", lambda f: f.create_dataset("v", shape=(3,), dtype=np.dtype(("i4", (2,))), **FIXED))
    case("ragged", "variable length", lambda f: f.create_dataset("v", shape=(3,), dtype=h5py.vlen_dtype("i4"), **FIXED))
    case("reference", "references", lambda f: f.create_dataset("v", shape=(3,), dtype=h5py.ref_dtype, **FIXED))
    case("region", "references", lambda f: f.create_dataset("v", shape=(3,), dtype=h5py.regionref_dtype, **FIXED))
    case("long-double", "floats", lambda f: f.create_dataset("v", shape=(3,), dtype=np.longdouble, **FIXED))
    case("external", "other files", lambda f: f.create_dataset("v", shape=(3,), dtype="i4", external=[("x.raw", 0, 12)], **FIXED))
    case("attribute", "attribute", lambda f: f.attrs.create("v", np.zeros(3, [("x", "i4"), ("y", "f8"), ("z", "i1")])))
    case("text-bitshuffle", "bitshuffle", lambda f: f.create_dataset(
        "v", data=values((300,), "S9"), chunks=(300,), **FIXED, **hdf5plugin.Bitshuffle()))
    with h5("refused-virtual") as f:
        layout = h5py.VirtualLayout((4,), "i4")
        layout[:] = h5py.VirtualSource("other.h5", "v", (4,))
        f.create_virtual_dataset("v", layout)
    refused["refused-virtual.h5"] = "virtual"


def blocks():
    for size in [512, 1024, 4096]:
        for bound in ["earliest", "latest"]:
            with h5(f"userblock-{size}-{bound}", bound, userblock_size=size) as f:
                f.create_dataset("chunked", data=values((9, 9), "f4"), chunks=(4, 4), compression="gzip", **FIXED)
                f.create_dataset("contiguous", data=values((9, 9), "f4"), **FIXED)
                f.create_dataset("texts", data=np.array(["a", "bc"], object), dtype=h5py.string_dtype(), **FIXED)
    with h5("contiguous-large") as f:
        f.create_dataset("rows", data=values((3000, 500), "f8"), **FIXED)
        f.create_dataset("prime", data=values((1009, 1100), "f4"), **FIXED)
    for offset, length in [(4, 4), (4, 8), (8, 4)]:
        for bound, low in [("earliest", h5py.h5f.LIBVER_EARLIEST), ("latest", h5py.h5f.LIBVER_LATEST)]:
            p, access = h5py.h5p.create(h5py.h5p.FILE_CREATE), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
            p.set_sizes(offset, length)
            access.set_libver_bounds(low, h5py.h5f.LIBVER_LATEST)
            name = str(out / f"sizes-{offset}-{length}-{bound}.h5").encode()
            with h5py.File(h5py.h5f.create(name, h5py.h5f.ACC_TRUNC, p, access)) as f:
                # HDF5 itself does not find back an unlimited length of 4 bytes.
                growing = [("extensible", (None, 9)), ("tree", (None, None))] if length == 8 else []
                for label, maximum in [("fixed", (9, 9)), *growing]:
                    for kind, more in [("", {}), ("_deflate", dict(compression="gzip"))]:
                        f.create_dataset(label + kind, data=values((9, 9), "f4"), chunks=(4, 4), maxshape=maximum,
                                         **FIXED, **more)
                f.create_dataset("texts", data=np.array(["a", "bc"], object), dtype=h5py.string_dtype(), **FIXED)
                f.create_dataset("g/w", data=values((9, 9), "f4"), **FIXED)
                for n in range(30):
                    f["g"].attrs[f"many{n}"] = n
            if bound == "earliest" and offset != length:
                refused[f"sizes-{offset}-{length}-{bound}.h5"] = "different sizes"


def deep():
    """Indexes of several levels, and heaps of many blocks."""
    for bound in ["earliest", "v110", "latest"]:
        with h5(f"deep-{bound}", bound) as f:
            for name, maximum in [("fixed", (60, 50)), ("extensible", (None, 50)), ("tree", (None, None))]:
                f.create_dataset(name, data=values((60, 50), "i2"), chunks=(1, 1), maxshape=maximum, **FIXED)
            f.create_dataset("tree_deflate", data=values((50, 60), "i2"), chunks=(1, 1), maxshape=(None, None),
                             compression="gzip", **FIXED)
            g = f.create_group("many")
            for n in range(800):
                g.create_group(f"group with a long name {n}")
            for n in range(400):
                f.attrs[f"attribute with a long name {n}"] = np.arange(n % 40)


def scales():
    for bound in ["earliest", "latest"]:
        with h5(f"scales-{bound}", bound) as f:
            f.create_dataset("x", data=values((6,), "f8"), **FIXED).make_scale("whatever")
            f.create_dataset("t", data=values((4,), "f8"), **FIXED).make_scale()
            d = f.create_dataset("v", data=values((4, 6, 3), "f4"), **FIXED)
            d.dims[0].attach_scale(f["t"])
            d.dims[1].attach_scale(f["x"])
            f.create_dataset("alone", data=values((4, 4), "f4"), **FIXED)


def netcdf():
    for kind in ["NETCDF4", "NETCDF4_CLASSIC"]:
        with netCDF4.Dataset(out / f"netcdf-{kind.lower()}.nc", "w", format=kind) as f:
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
    with netCDF4.Dataset(out / "netcdf-names.nc", "w") as f:
        f.createDimension("x", 3)
        f.createDimension("y", 2)
        f.createDimension("n", 4)
        f.createVariable("x", "f4", ("y", "n"))[:] = values((2, 4), "f4")
        f.createVariable("y", "f4", ("y", "x"))[:] = values((2, 3), "f4")
        f.createVariable("twice", "f4", ("n", "n"))[:] = values((4, 4), "f4")
        f.createVariable("n", "i4", ("n",))[:] = [4, 3, 2, 1]
    with netCDF4.Dataset(out / "refused-netcdf-ragged.nc", "w") as f:
        f.createDimension("x", 2)
        t = f.createVLType("i4", "ragged")
        f.createVariable("v", t, ("x",))[0] = np.arange(3, dtype="i4")
    refused["refused-netcdf-ragged.nc"] = "variable length"
    with netCDF4.Dataset(out / "refused-netcdf-compound.nc", "w") as f:
        f.createDimension("x", 2)
        t = f.createCompoundType(np.dtype([("a", "i1"), ("b", "f4")], align=True), "pair")
        f.createVariable("v", t, ("x",))
    refused["refused-netcdf-compound.nc"] = "compounds"


def lagging(name, few=False):
    """Variables that were written for fewer records than their unlimited dimensions have. Those that are `behind_` lag along
    another dimension than the first or have two unlimited ones, which netCDF-C reads in the wrong order (see `archive_field.py`)."""
    with netCDF4.Dataset(out / name, "w") as f:
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
    with h5py.File(out / name, "a") as f:
        # Of another library, without a fill value: what is not written of its own records is zero, what is behind them is not.
        d = f.create_dataset("zeros", shape=(5,), maxshape=(None,), chunks=(2,), dtype="i2", **FIXED)
        d.dims[0].attach_scale(f["time"])
        d[0] = 1


def lags():
    lagging("netcdf-lagging.nc")


def hostile():
    """Small files that lead to one part many times."""
    with h5("hostile-links", "earliest") as f:
        d = f.create_dataset("v", data=np.int32(1), **FIXED)
        for n in range(20):
            d.attrs[f"a{n}"] = np.bytes_(b"x" * 800)
        for n in range(400):
            f[f"link{n}"] = d
    with h5("hostile-groups") as f:
        group = f.create_group("g")
        for _ in range(18):
            below = group.create_group("a" * 200)
            group["b" * 200] = below
            group = below
    with h5("hostile-types") as f:
        f["kind"] = np.dtype(h5py.enum_dtype({f"member{n}": n for n in range(2000)}, "i2"))
        for n in range(60):
            f.attrs.create(f"a{n}", n, dtype=f["kind"])


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
    with netCDF4.Dataset(out / "fixture-netcdf.nc", "w") as f:
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
    with netCDF4.Dataset(out / "fixture-filters.nc", "w") as f:
        # netCDF-C puts the checksum before the shuffle, which then leaves bytes over.
        f.createDimension("x", 12)
        for name, dtype, endian in [("i1", "i1", "native"), ("i2", "i2", "native"), ("big", "i4", "big"),
                                    ("f4", "f4", "native"), ("f8", "f8", "native")]:
            v = f.createVariable(name, dtype, ("x",), zlib=True, fletcher32=True, chunksizes=(5,), endian=endian)
            v[:] = values((12,), dtype)
    with h5py.File(out / "fixture-filters.nc", "a") as f:
        d = f.create_dataset("mask", shape=(7,), dtype="i4", chunks=(3,), compression="gzip", shuffle=True, **FIXED)
        d[:] = np.arange(7)
        d.id.write_direct_chunk((3,), np.array([30, 40, 50], "i4").tobytes(), 3)
    lagging("fixture-lagging.nc", few=True)
    for n, written in enumerate([3, 5]):
        with netCDF4.Dataset(out / f"fixture-lagging-{n}.nc", "w") as f:
            f.createDimension("time", None)
            time = f.createVariable("time", "i4", ("time",), chunksizes=(1,))
            time.units = "hours since 2000-01-01"
            time[:] = np.arange(5 * n, 5 * n + 5)
            v = f.createVariable("v", "i4", ("time",), chunksizes=(1,), fill_value=-1)
            v[0:written] = np.arange(5 * n, 5 * n + written)


def lengthened(path, arrays):
    """What NetCDF makes of arrays that lag behind: as long as their dimensions, and filled."""
    with netCDF4.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        for name, entry in arrays.items():
            v = f[name]
            shape = [len(dimension) for dimension in v.get_dims()]
            if shape == entry["shape"]:
                continue
            with h5py.File(path) as stored:
                own = stored[name][()]
            code = v.dtype.str[1:] if v.dtype is not str else None
            fill = getattr(v, "_FillValue", netCDF4.default_fillvals.get(code, ""))
            data = np.full(shape, fill, object if v.dtype is str else v.dtype)
            data[tuple(slice(0, length) for length in own.shape)] = [t.decode() for t in own] if v.dtype is str else own
            if "behind" not in name:
                np.testing.assert_array_equal(data, v[...], name)
            entry["shape"] = shape
            if entry["dtype"] == "string":
                raw = json.dumps(data.tolist(), ensure_ascii=False).encode()
            else:
                raw = data.astype(data.dtype.newbyteorder("<")).tobytes()
            entry["sha256"] = hashlib.sha256(raw).hexdigest()
            if name in ("/unfilled", "/zeros"):
                # Chunks that HDF5 did not fill are made anew.
                del entry["stored"]


def described(d):
    """What is expected of one array."""
    data = d[()]
    entry = {"shape": list(d.shape) if d.shape is not None else [0], "dtype": str(d.dtype)}
    if d.shape is None:
        data = np.zeros(0, d.dtype)
    string = h5py.check_string_dtype(d.dtype)
    if string is not None and (string.length is None or d.dtype.itemsize > 1):
        entry["dtype"] = "string"
        flat = np.asarray(data, object).reshape(-1) if d.shape != () else [data]
        texts = [t.decode() if isinstance(t, bytes) else t for t in flat]
        if d.id.get_type().get_class() == h5py.h5t.STRING and string.length is not None:
            if d.id.get_type().get_strpad() == h5py.h5t.STR_SPACEPAD:
                texts = [t.rstrip(" ") for t in texts]
        raw = json.dumps(texts, ensure_ascii=False).encode()
    else:
        array = np.asarray(data)
        raw = array.astype(array.dtype.newbyteorder("<")).tobytes()
    entry["sha256"] = hashlib.sha256(raw).hexdigest()
    entry["chunks"] = list(d.chunks) if d.chunks else None
    if d.chunks:
        unlimited = [axis for axis, length in enumerate(d.maxshape) if length is None]
        infos = [d.id.get_chunk_info(n) for n in range(d.id.get_num_chunks())]
        inside = [i for i in infos if all(a < b for a, b in zip(i.chunk_offset, d.shape))]
        # HDF5 mistakes the coordinates in an extensible array along another dimension than the first. The values tell.
        if unlimited in ([], [0]) or len(unlimited) > 1 or "earliest" in d.file.filename or "v108" in d.file.filename:
            entry["stored"] = sorted([list(map(int, i.chunk_offset)), i.byte_offset, i.size, i.filter_mask] for i in inside)
    else:
        entry["offset"] = d.id.get_offset()
    return entry


def expected():
    files = {}
    for path in sorted(out.iterdir()):
        if path.suffix not in (".h5", ".nc") or path.name in refused or path.name.startswith("hostile"):
            continue
        arrays = {}

        def visit(name, group):
            for key in group:
                item = group[key]
                if isinstance(item, h5py.Group):
                    visit(f"{name}/{key}", item)
                elif isinstance(item, h5py.Dataset):
                    label = item.attrs.get("NAME", b"")
                    if bytes(label).startswith(b"This is a netCDF dimension but not a netCDF variable"):
                        continue
                    arrays[f"{name}/{key.removeprefix('_nc4_non_coord_')}"] = described(item)

        with h5py.File(path) as f:
            visit("", f)
        if "lagging" in path.name:
            lengthened(path, arrays)
        files[path.name] = arrays
    text = json.dumps({"files": files, "refused": refused}, indent=1, sort_keys=True, ensure_ascii=False)
    (out / "expected.json").write_text(text)
    fixtures = {name: arrays for name, arrays in files.items() if name.startswith("fixture")}
    (out / "fixtures.json").write_text(json.dumps(fixtures, indent=1, sort_keys=True, ensure_ascii=False))
    print(f"{len(files)} files to read, {len(refused)} to refuse, {sum(map(len, files.values()))} arrays")


if __name__ == "__main__":
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.*"):
        old.unlink()
    for part in [layouts, types, packed, compounds, complex_type, filters, masks, texts, attributes, links, kinds_refused, blocks, deep, scales, netcdf, lags, hostile, fixtures]:
        part()
    expected()
