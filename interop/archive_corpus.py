"""Makes the fixtures of `crates/ingest/tests`: `python interop/archive_corpus.py [OUTPUT]`. The same bytes every time.

Needs what `interop/requirements-archives.txt` lists.
"""

import base64
import json
import pathlib
import shutil
import struct
import sys
import tempfile
import warnings

import h5py
import kerchunk.hdf
import kerchunk.netCDF3
import netCDF4
import numcodecs
import numpy as np
import xarray
import zarr
from fsspec.implementations.reference import LazyReferenceMapper
from numcodecs import Blosc

HERE = pathlib.Path(__file__).parent.parent
FIXTURES = HERE / "crates" / "ingest" / "tests" / "fixtures"

warnings.simplefilter("ignore")

CLASSIC = ["i1", "i2", "i4", "f4", "f8"]
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
                                            ("record", ("time", "x"), (4, 5))]:
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
    every_type(out / "classic.nc", "NETCDF3_CLASSIC", CLASSIC)
    every_type(out / "offset64.nc", "NETCDF3_64BIT_OFFSET", ["i2", "f4"])
    every_type(out / "data64.nc", "NETCDF3_64BIT_DATA", ["i2", "f8"] + WIDE)
    for dtype in ["i1", "i2", "S1", "f4"]:
        one_record_variable(out / f"alone_{dtype}.nc", dtype)
    one_record_variable(out / "alone_u2.nc", "u2", "NETCDF3_64BIT_DATA")
    nothing(out / "nothing.nc")
    no_records(out / "no_records.nc")
    streamed(out / "offset64.nc", out / "streamed.nc")


def filters():
    """Filter lists and compressors by name, with the type of the elements."""
    c = numcodecs
    return {
        "plain": ("<i4", None, None),
        "zlib": ("<i4", None, c.Zlib(3)),
        "gzip": (">i4", None, c.GZip(3)),
        "zstd": ("<f8", None, c.Zstd(3, checksum=True)),
        "lz4": ("<f4", None, c.LZ4()),
        "bz2": ("<f4", None, c.BZ2()),
        "lzma": ("<f4", None, c.LZMA()),
        "lzma_raw": ("<f4", None, c.LZMA(format=3, filters=[{"id": 33, "preset": 1}])),
        "blosc": ("<f4", None, Blosc("zstd", 3, Blosc.SHUFFLE)),
        "blosc_auto": ("<u1", None, Blosc("lz4", 3, Blosc.AUTOSHUFFLE)),
        "blosc_bits": (">f8", None, Blosc("zlib", 3, Blosc.BITSHUFFLE)),
        "blosc_none": ("<i8", None, Blosc("blosclz", 3, Blosc.NOSHUFFLE)),
        "shuffle": ("<i4", [c.Shuffle(4)], c.Zlib(3)),
        "shuffle_list": (">i2", [c.Shuffle(2), c.Zlib(3)], None),
        "delta": ("<i4", [c.Delta("<i4")], c.Zlib(3)),
        "delta_big": (">i2", [c.Delta(">i2")], None),
        "delta_narrow": ("<i4", [c.Delta("<i4", "<i2")], None),
        "scale": ("<f8", [c.FixedScaleOffset(-3, 4, "<f8", "<i2")], c.Zlib(3)),
        "scale_big": (">f8", [c.FixedScaleOffset(-3, 4, ">f8", ">i4")], None),
        "quantize": ("<f4", [c.Quantize(2, "<f4")], None),
        "bitround": ("<f4", [c.BitRound(12)], Blosc()),
        "packbits": ("|b1", [c.PackBits()], c.Zlib(3)),
        "astype": ("<f8", [c.AsType("<f4", "<f8")], None),
        "astype_delta": ("<i8", [c.AsType("<i4", "<i8"), c.Delta("<i4")], c.Zstd(1)),
        "crc32": ("<i4", [c.CRC32()], None),
        "adler32": ("<i4", [c.Adler32()], None),
        "fletcher32": ("<i4", [c.Shuffle(4), c.Zlib(3), c.Fletcher32()], None),
        "jenkins": ("<i4", [c.JenkinsLookup3()], None),
        "pcodec": ("<f4", None, c.PCodec()),
    }


def kinds():
    """Types of elements with a fill value and a few elements."""
    out = {}
    for dtype in ["|i1", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "|u1", "<u2", ">u2", ">u4", "<u8"]:
        out[dtype] = (np.iinfo(dtype).max, values(dtype[1:], (5,)))
    for dtype in ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]:
        out[dtype] = (np.nan, values("f8", (5,)))
    out["|b1"] = (True, np.array([1, 0, 0, 1, 0]))
    out["<c8"] = (complex(np.nan, np.inf), np.arange(5) * (1 - 2j))
    out[">c16"] = (1 + 2j, np.arange(5) * (1 - 2j))
    out["|S10"] = (b"abc", np.array([b"a", b"", b"0123456789", b"x", b"y"]))
    out["<U5"] = ("é", np.array(["a", "", "ünïcö", "x", "y"]))
    out[">U3"] = ("", np.array(["a", "", "ünï", "x", "y"]))
    out["<M8[ns]"] = (np.datetime64("NaT"), np.arange(5).astype("M8[ns]"))
    out[">M8[10s]"] = (np.datetime64(7, "10s"), np.arange(5).astype("M8[10s]"))
    out["<m8[D]"] = (np.timedelta64("NaT"), np.arange(5).astype("m8[D]"))
    out["|V3"] = (b"xyz", np.array([b"abc", b"def", b"ghi", b"jkl", b"mno"], "V3"))
    return out


def text(key):
    key = key.replace("<", "little_").replace(">", "big_").replace("|", "")
    return "".join(letter if letter.isalnum() else "_" for letter in key)


def zarr2_types(store):
    group = zarr.create_group(store, zarr_format=2, attributes={"title": "types", "list": [1, 2.5, "x"]})
    for dtype, (fill, elements) in kinds().items():
        for name, fill_value in [("", fill)] + [("null_", None)] * (">" not in dtype):
            # Two chunks, the second with an edge, and a third that is missing.
            array = group.create_array(name + text(dtype), shape=(8,), chunks=(3,), dtype=np.dtype(dtype),
                                       fill_value=fill_value, compressors=None)
            array[:5] = elements.astype(dtype)
    array = group.create_array("strings", shape=(3,), chunks=(2,), dtype=str, fill_value="none", compressors=None)
    array[:] = np.array(["a", "", "ünïcödé"], object)
    scalar = group.create_array("scalar", shape=(), chunks=(), dtype="f8", fill_value=1.5, compressors=None)
    scalar[...] = 2.25
    group.create_array("never_written", shape=(4, 4), chunks=(2, 2), dtype="f4", fill_value=-np.inf)
    group.create_group("deep").create_group("er", attributes={"here": True})
    array = group.create_array("deep/er/slashes", shape=(4, 5), chunks=(2, 2), dtype="i2", compressors=None,
                               chunk_key_encoding={"name": "v2", "separator": "/"})
    array[:] = values("i2", (4, 5))


def zarr2_filters(store):
    group = zarr.create_group(store, zarr_format=2)
    for name, (dtype, filter_list, compressor) in filters().items():
        many = ("plain", "shuffle", "blosc", "delta", "scale", "packbits", "astype_delta", "pcodec")
        for order in "CF" if name in many else "C":
            array = group.create_array(f"{name}_{order}", shape=(3, 4), chunks=(3, 2), dtype=np.dtype(dtype),
                                       filters=filter_list, compressors=compressor, order=order, fill_value=0)
            numbers = np.arange(12).reshape(3, 4)
            array[:] = (numbers % 3 == 0) if dtype == "|b1" else (numbers * 0.75 - 3 if "f" in dtype else numbers)


def zarr2_xarray(store, consolidated):
    numbers = np.arange(24, dtype="f4").reshape(4, 6)
    numbers[1, 2] = np.nan
    dataset = xarray.Dataset(
        {
            "temperature": (("time", "x"), numbers, {"units": "K", "flag_values": [1, 2]}),
            "count": (("x",), np.arange(6, dtype="i4")),
            "packed": (("x",), np.linspace(0, 1, 6)),
            "name": (("x",), np.array(list("abcdef"), object)),
            "scalar": ((), 3.5),
        },
        coords={"time": np.arange("2020-01-01", "2020-01-05", dtype="M8[D]").astype("M8[ns]")},
        attrs={"title": "ours"},
    )
    encoding = {
        "temperature": {"chunks": (2, 3)},
        "count": {"_FillValue": 3},
        "packed": {"dtype": "i2", "scale_factor": 0.01, "_FillValue": -1},
    }
    dataset.to_zarr(store, zarr_format=2, encoding=encoding, consolidated=consolidated)


def zarr3_mixed(store):
    group = zarr.create_group(store, zarr_format=3, attributes={"title": "format 3"})
    array = group.create_array("a", shape=(4, 5), chunks=(2, 3), dtype="f4", fill_value=np.nan,
                               dimension_names=["y", "x"], attributes={"units": "m"})
    array[:] = values("f4", (4, 5))
    array = group.create_array("b/c", shape=(5,), chunks=(2,), dtype="i2", fill_value=3,
                               chunk_key_encoding={"name": "v2", "separator": "."})
    array[:4] = [1, 2, 3, 4]
    array = group.create_array("sharded", shape=(8,), shards=(4,), chunks=(2,), dtype="u1")
    array[:] = np.arange(8)
    scalar = group.create_array("scalar", shape=(), chunks=(), dtype="i8", fill_value=0)
    scalar[...] = -5


def zarr2(out):
    """Each tree is a file: keys and their bytes in base64."""
    trees = {
        "types": zarr2_types,
        "filters": zarr2_filters,
        "xarray": lambda store: zarr2_xarray(store, False),
        "consolidated": lambda store: zarr2_xarray(store, True),
        "format3": zarr3_mixed,
    }
    out.mkdir(parents=True)
    for name, make in trees.items():
        content = {}
        make(zarr.storage.MemoryStore(content))
        if name == "consolidated":
            for key in [key for key in content if key.endswith(("/.zarray", "/.zattrs", "/.zgroup"))]:
                del content[key]
        found = {}
        for key in sorted(content):
            value = content[key].to_bytes()
            if value.startswith(b"\x1f\x8b"):
                # The time of compression.
                value = value[:4] + bytes(4) + value[8:]
            found[key] = base64.b64encode(value).decode()
        (out / f"{name}.json").write_text(json.dumps(found, indent=0) + "\n")


def document(shape, chunks, dtype, fill=0, **more):
    return json.dumps({"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "order": "C",
                       "fill_value": fill, "filters": None, "compressor": None, **more})


def refer(out):
    """References by hand, to two files with numbers."""
    first, second = values("i4", (6, 4)), values("f8", (5,))
    (out / "first.bin").write_bytes(b"head" + first.astype("<i4").tobytes())
    (out / "data").mkdir()
    (out / "data" / "3.bin").write_bytes(second.astype(">f8").tobytes())
    (out / "data" / "4.bin").write_bytes((second + 100).astype(">f8").tobytes())
    documents = {
        ".zgroup": '{"zarr_format": 2}',
        ".zattrs": '{"title": "by hand", "range": [NaN, 1]}',
        "a/.zarray": document([6, 4], [2, 4], "<i4"),
        "a/.zattrs": '{"_ARRAY_DIMENSIONS": ["y", "x"]}',
        "b/.zarray": document([10], [5], ">f8", "NaN"),
        "b/.zattrs": json.dumps({"_ARRAY_DIMENSIONS": ["z"]}),
        "c/.zarray": document([3], [2], "|S1", None),
        "c/.zattrs": json.dumps({"_ARRAY_DIMENSIONS": ["w"]}),
        "c/0": "ab",
        "c/1": "base64:" + base64.b64encode(b"c\0").decode(),
    }
    rows = {f"a/{row}.0": ["first.bin", 4 + 32 * row, 32] for row in range(3)}
    flat = {**documents, **rows, "b/0": ["data/3.bin"], "b/1": ["data/4.bin", 0, 40]}
    (out / "flat.json").write_text(json.dumps(flat, indent=0) + "\n")
    templates = {
        "version": 1,
        "templates": {"d": "data", "f": "data/{{n}}.bin", "one": "first"},
        "gen": [{"key": "a/{{i}}.0", "url": "{{one}}.bin", "offset": "{{4 + i * 32}}", "length": "32",
                 "dimensions": {"i": {"stop": 3}}}],
        "refs": {**documents, ".zattrs": {"title": "by hand", "range": ["NaN", 1]},
                 "b/0": ["{{d}}/3.bin"], "b/1": ["{{f(n='4')}}", 0, 40]},
    }
    (out / "templates.json").write_text(json.dumps(templates, indent=0) + "\n")


def kerchunk_writes(out):
    """References that kerchunk itself makes."""
    with h5py.File(out / "small.h5", "w", libver="latest") as file:
        file.attrs["title"] = "HDF5"
        x = file.create_dataset("x", data=np.arange(4, dtype="f8"))
        y = file.create_dataset("y", data=np.arange(6, dtype=">i4"))
        for scale in (x, y):
            scale.make_scale(scale.name[1:])
        a = file.create_dataset("a", data=values("f4", (6, 4)), chunks=(2, 3), compression="gzip", shuffle=True,
                                fillvalue=-1)
        b = file.create_dataset("group/b", data=values("i2", (6, 4)), chunks=(4, 4), fletcher32=True)
        for one in (a, b):
            one.dims[0].attach_scale(y)
            one.dims[1].attach_scale(x)
    shutil.copy(out.parent / "netcdf3" / "alone_f4.nc", out / "alone.nc")
    for name, made in {
        "hdf5": kerchunk.hdf.SingleHdf5ToZarr(str(out / "small.h5"), inline_threshold=50).translate(),
        "netcdf3": kerchunk.netCDF3.NetCDF3ToZarr(str(out / "alone.nc")).translate(),
    }.items():
        text = json.dumps(made, indent=0).replace(str(out) + "/", "")
        (out / f"{name}.json").write_text(text + "\n")


def parquet(out):
    """The references by hand once more, by both writers."""
    references = json.loads((out / "flat.json").read_text())
    references[".zattrs"] = references[".zattrs"].replace("NaN", '"NaN"')
    for engine in ["fastparquet", "pyarrow"]:
        target = out / f"{engine}.parquet"
        target.mkdir()
        mapper = LazyReferenceMapper.create(str(target), record_size=2, engine=engine, categorical_threshold=1)
        for key, value in references.items():
            if key.rsplit("/")[-1].startswith(".z"):
                mapper[key] = value.encode()
            elif isinstance(value, str):
                mapper[key] = base64.b64decode(value[7:]) if value.startswith("base64:") else value.encode()
            else:
                mapper[key] = ["../" + value[0], *value[1:]]
        mapper.flush()


def kerchunk_references(out):
    out.mkdir(parents=True)
    refer(out)
    kerchunk_writes(out)
    parquet(out)


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FIXTURES
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for name, make in {"netcdf3": netcdf3, "zarr2": zarr2, "kerchunk": kerchunk_references}.items():
            make(work / name)
            shutil.rmtree(target / name, ignore_errors=True)
            shutil.copytree(work / name, target / name)


if __name__ == "__main__":
    main()
