"""What the repositories of these suites hold: one small array for each thing that can differ.

`ARRAYS` maps a path to `(options for create_array, values)`. The values fill the whole array, or are a
function that writes part of it; `None` leaves it unwritten. Everything is made from counters and one
seeded generator, so that each run writes the same bytes.
"""

import warnings

import numpy as np
import zarr
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

warnings.filterwarnings("ignore", message=".*Zarr V3 specification.*")
warnings.filterwarnings("ignore", message=".*Zarr format 3 specification.*")

RANDOM = np.random.default_rng(20150101)

NUMBERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
           "float16", "float32", "float64", "complex64", "complex128"]


def noise(*shape, dtype="uint8"):
    """Values that do not compress, so that their chunks do not end up inline."""
    return RANDOM.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


def counting(dtype, n=6):
    values = np.arange(n)
    return (values % 2 if dtype == "bool" else values).astype(dtype)


def part(array):
    array[3:6, 2:4] = np.arange(6).reshape(3, 2)


def array(values, chunks, **options):
    values = np.asarray(values) if not isinstance(values, np.ndarray) else values
    options.setdefault("dtype", values.dtype)
    return dict(shape=values.shape, chunks=chunks, **options), values


def bare(shape, chunks, dtype, **options):
    return dict(shape=shape, chunks=chunks, dtype=dtype, **options), None


def arrays():
    yield from ((f"numbers/{t}", array(counting(t), (4,), dimension_names=["x"])) for t in NUMBERS)
    yield from ((f"numbers/big_endian_{t[1:]}", array(counting(t), (4,))) for t in (">i4", ">f8", ">u2"))

    yield "text/fixed", array(np.array(["ab", "cdef", "", "日本語"]), (3,))
    yield "text/bytes", array(np.array([b"ab", b"c", b"", b"\xff\x00x"]), (3,))
    yield "text/variable", array(np.array(["alpha", "β", "", "x" * 900], dtype=object), (2,), dtype="str")
    yield "text/raw", array(np.array([b"abc", b"\0\0\1", b"zzz"], dtype="V3"), (2,))

    yield "times/seconds", array(np.array(["2015-01-16", "NaT", "1969-12-31"], dtype="M8[s]"), (2,))
    yield "times/nanoseconds", array(np.array([0, 1, 2**62], dtype="M8[ns]"), (2,))
    yield "times/span", array(np.array([1, -1, 10**6], dtype="m8[ms]"), (2,))

    for name, compressor in [("none", None), ("zstd", ZstdCodec(level=3)), ("zstd_checked", ZstdCodec(checksum=True)),
                             ("gzip", GzipCodec(level=5)), ("blosc", BloscCodec(cname="lz4", clevel=5)),
                             ("blosc_zstd", BloscCodec(cname="zstd", shuffle="bitshuffle"))]:
        yield f"codecs/{name}", array(noise(9, 40, dtype="uint16"), (4, 20), compressors=compressor)
    yield "codecs/large", array(noise(4, 4096), (1, 2048), compressors=None)
    yield "codecs/sharded", array(noise(16, 16, dtype="uint32"), (2, 4), shards=(8, 8))
    yield "codecs/sharded_partly", (dict(shape=(9, 7), chunks=(1, 2), shards=(3, 4), dtype="int16", fill_value=-1), part)

    yield "fill/nan", bare((4, 4), (2, 2), "float32", fill_value="NaN")
    yield "fill/infinity", bare((4,), (2,), "float64", fill_value="-Infinity")
    yield "fill/number", (dict(shape=(7, 5), chunks=(3, 2), dtype="int16", fill_value=-7), part)
    yield "fill/complex", bare((3,), (2,), "complex64", fill_value=complex(1, -2))
    yield "fill/time", bare((3,), (2,), "M8[s]", fill_value=np.datetime64("NaT"))

    yield "shapes/scalar", array(np.array(42.5), ())
    yield "shapes/scalar_unwritten", bare((), (), "int32", fill_value=7)
    yield "shapes/empty", bare((0,), (3,), "int32")
    yield "shapes/empty_plane", bare((0, 5), (2, 5), "int32", dimension_names=["t", None])
    yield "shapes/one_chunk", array(np.arange(6.0).reshape(2, 3), (2, 3))
    yield "shapes/chunk_beyond", array(np.arange(4), (10,))
    yield "shapes/five", array(np.arange(32, dtype="u1").reshape(2, 2, 2, 2, 2), (1, 2, 1, 2, 1), dimension_names=list("abcde"))
    yield "shapes/many_chunks", array(np.arange(600, dtype="i4"), (1,), compressors=None)

    yield "имена/子/größe", array(np.array([1, 2, 3]), (2,), dimension_names=["größe"])
    yield "имена/e\u0301 and é", array(np.array([1, 2, 3]), (2,))
    for name in ["c", "c0", "abc", "a-b", "a.b", "with space", "UPPER", "zarr", "a~b#c"]:
        yield f"names/{name}/c", array(np.array([[1, 2], [3, 4]], dtype="u1"), (1, 2), dimension_names=["c", None])


ARRAYS = dict(arrays())

ATTRIBUTES = {"title": "everything", "n": 3, "nested": {"a": [1, 2.5, None, True]}, "ключ": "значение"}


def write_all(store):
    """Writes every group and array, and returns what reading each array must give."""
    root = zarr.create_group(store, attributes=ATTRIBUTES)
    root.create_group("nested/empty/deep", attributes={"depth": 3})
    return {path: write(root, path) for path in ARRAYS}


def write(root, path):
    options, values = ARRAYS[path]
    made = root.create_array(path, attributes={"path": path}, **options)
    if callable(values):
        values(made)
    elif values is not None:
        made[...] = values
    return made[...]


def assert_arrays_equal(store, expected):
    root = zarr.open_group(store, mode="r")
    for path, values in expected.items():
        assert_equal(root[path][...], values, path)
        assert root[path].attrs["path"] == path


def assert_equal(found, expected, what):
    found, expected = np.asarray(found), np.asarray(expected)
    assert native(found.dtype) == native(expected.dtype), f"{what}: dtype {found.dtype}, expected {expected.dtype}"
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    if found.dtype.kind in "OTV":
        assert found.tolist() == expected.tolist(), f"{what}: other values"
    else:
        np.testing.assert_array_equal(found, expected, err_msg=what)


def native(dtype):
    """Byte order is a matter of the codec: an array that is opened again has the machine's own."""
    return dtype if dtype.kind == "T" else dtype.newbyteorder("=")
