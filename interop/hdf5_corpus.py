"""Writes about 200 small HDF5 and NetCDF-4 files, and what h5py reads in them.

    python hdf5_corpus.py DIRECTORY

The same versions of the libraries write the same files, but for the time in the header of a committed data type or a
file that is made without h5py's own interface. `expected.json` has for each file, by the path of each array,
its shape, dtype, chunk shape, chunks (coordinates of the first element, position, bytes, filter mask), and the SHA-256
of its decoded bytes, little-endian in C order; of texts, that of the JSON list of them. A file that must be refused
has the word that the refusal must contain instead.
"""

import ctypes
import sys

import h5py
import hdf5plugin
import numpy as np

from hdf5_expected import expected
from hdf5_files import BOUNDS, FIXED, at, begin, h5, library, refused, slow, timeless, values
from hdf5_fixtures import fixtures
from hdf5_netcdf import lags, netcdf


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
    with h5py.File(h5py.h5f.create(str(at("refused-shared.h5")).encode(), h5py.h5f.ACC_TRUNC, p)) as f:
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
            name = str(at(f"sizes-{offset}-{length}-{bound}.h5")).encode()
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


if __name__ == "__main__":
    begin(sys.argv[1])
    for part in [layouts, types, packed, compounds, complex_type, filters, masks, texts, attributes, links, kinds_refused, blocks, deep, scales, netcdf, lags, hostile, fixtures]:
        part()
    expected()
