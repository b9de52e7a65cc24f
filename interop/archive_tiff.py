"""TIFF files of every kind that GDAL writes, and cases of `archive_sources.py` that import them: rasterio is the judge.

    python interop/archive_tiff.py --fixtures      makes those of `crates/ingest/tests/fixtures/geotiff` anew
"""

import hashlib
import json
import pathlib
import sys
import warnings

import numpy as np
import rasterio
from rasterio.shutil import copy
from rasterio.transform import Affine, from_origin

HERE = pathlib.Path(__file__).parent.parent
FIXTURES = HERE / "crates" / "ingest" / "tests" / "fixtures" / "geotiff"

warnings.simplefilter("ignore")

PLACE = dict(crs="EPSG:32633", transform=from_origin(399960.0, 5300040.0, 10.0, 20.0))
KINDS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64", "complex64", "complex128"]


def numbers(bands, height, width, dtype):
    """Values that differ, and go up and down."""
    count = bands * height * width
    values = np.arange(count, dtype="i8") * 7 % 251
    if np.dtype(dtype).kind == "c":
        values = values + 1j * (values[::-1] - 9)
    elif np.dtype(dtype).kind == "f":
        values = values * 0.75 - 30
    elif np.dtype(dtype).kind == "i":
        values = values - 125
    return values.astype(dtype).reshape(bands, height, width)


def write(path, bands=1, height=50, width=37, dtype="uint8", tags=None, values=None, **options):
    """One file; `options` are those of GDAL."""
    profile = dict(driver="GTiff", count=bands, height=height, width=width, dtype=dtype, **PLACE)
    profile.update({key: value for key, value in options.items()})
    if options.get("tiled"):
        profile.setdefault("blockxsize", 16)
        profile.setdefault("blockysize", 32)
    else:
        profile.setdefault("blockysize", 8)
    values = numbers(bands, height, width, dtype) if values is None else values
    with rasterio.open(path, "w", **profile) as file:
        file.write(values)
        if tags:
            file.update_tags(**tags)
    return path


def files(folder):
    """Pairwise: compressions, predictors, types, tilings, interleavings, orders of bytes, BigTIFF; whether references do."""
    made = {}

    def add(name, **options):
        plain = options.get("compress") in (None, "deflate", "zstd") and options.get("predictor", 1) == 1 and "nbits" not in options
        made[name] = (write(folder / f"{name}.tif", **options), plain)

    for number, dtype in enumerate(KINDS):
        odd = number % 2 == 1
        add(f"plain_{dtype}", dtype=dtype, tiled=odd, bands=1 + 2 * odd, interleave="pixel" if number % 4 == 1 else "band",
            endianness="BIG" if number % 3 == 0 else "LITTLE", bigtiff="YES" if number % 5 == 0 else "NO")
    for number, compress in enumerate(["deflate", "zstd", "lzw", "packbits"]):
        for tiled in [False, True]:
            for interleave in ["pixel", "band"]:
                dtype = ["uint8", "int16", "float32", "uint32"][(number + tiled) % 4]
                order = "BIG" if (number + tiled) % 2 else "LITTLE"
                add(f"{compress}_{'tiles' if tiled else 'strips'}_{interleave}", dtype=dtype, bands=3, tiled=tiled,
                    interleave=interleave, compress=compress, endianness=order, bigtiff="IF_SAFER" if tiled else "YES")
    for number, dtype in enumerate(["uint8", "uint16", "int16", "int32", "uint64", "float32", "float64"]):
        compress = ["deflate", "zstd", "lzw"][number % 3]
        add(f"differences_{dtype}", dtype=dtype, bands=1 + number % 3, tiled=number % 2 == 0, compress=compress, predictor=2,
            interleave="pixel", endianness="BIG" if number % 2 else "LITTLE")
    for number, dtype in enumerate(["float32", "float64", "float32", "float64"]):
        compress = ["deflate", "zstd", "lzw", "deflate"][number]
        add(f"floating_{dtype}_{compress}", dtype=dtype, bands=1 + number % 2, tiled=number < 3, compress=compress, predictor=3,
            interleave="pixel", endianness="BIG" if number > 1 else "LITTLE")
    for bits in [1, 2, 4]:
        values = numbers(1, 50, 37, "uint8") % (1 << bits)
        add(f"bits_{bits}", nbits=bits, values=values, compress="lzw" if bits == 2 else None, tiled=bits == 4)
    # One strip, of which rows become chunks; strips without a short one; tiles as large as the image.
    add("whole", blockysize=50, dtype="int32")
    add("even", blockysize=10, dtype="int32", compress="deflate")
    add("large_tile", tiled=True, blockxsize=64, blockysize=64, dtype="uint16")
    return made


def read(path):
    """What rasterio reads: bands first if there are several."""
    with rasterio.open(path) as file:
        values = file.read()
    return values if len(values) > 1 else values[0]


def write_cog(path, compress="deflate", **options):
    """A cloud-optimised file with overviews, a value for no data, and scales."""
    inner = path.with_name("inner.tif")
    values = numbers(2, 300, 260, "int16")
    write(inner, bands=2, height=300, width=260, dtype="int16", values=values, nodata=-120)
    with rasterio.open(inner, "r+") as file:
        file.scales, file.offsets = (0.5, 0.5), (10.0, 10.0)
        file.descriptions, file.units = ("red", "blue"), ("K", "K")
        file.update_tags(AREA="here", TIFFTAG_SOFTWARE="a test")
    copy(inner, path, driver="COG", compress=compress, blocksize=128, overview_count=2, overview_resampling="nearest", **options)
    inner.unlink()
    return path


def jpeg(folder):
    """Files of JPEG with the levels by which their values may differ: decoders round in their own ways."""
    y, x = np.mgrid[0:96, 0:80]
    grey = (128 + 90 * np.sin(x / 9) * np.cos(y / 11)).astype("uint8")[None]
    colours = np.concatenate([grey, 255 - grey, (grey // 2)])
    made = {}
    for name, values, more, most in [("grey", grey, {}, 2), ("rgb", colours, {}, 2), ("separate", colours, {"interleave": "band"}, 2),
                                     ("ycbcr", colours, {"photometric": "YCBCR"}, 9)]:
        path = write(folder / f"jpeg_{name}.tif", bands=len(values), height=96, width=80, values=values, tiled=True, blockysize=32,
                     compress="jpeg", jpeg_quality=90, **({"interleave": "pixel"} | more))
        made[f"jpeg_{name}"] = (path, most)
    return made


def fixtures():
    FIXTURES.mkdir(exist_ok=True)
    for old in FIXTURES.iterdir():
        old.unlink()
    small = dict(height=20, width=18)
    tile = dict(tiled=True, blockxsize=16, blockysize=16)
    write(FIXTURES / "plain.tif", dtype="uint16", bands=2, interleave="pixel", endianness="BIG", **small, **tile)
    write(FIXTURES / "strips.tif", dtype="int32", compress="deflate", blockysize=8, **small)
    write(FIXTURES / "separate.tif", dtype="float32", bands=2, interleave="band", compress="zstd", bigtiff="YES", **small, **tile)
    write(FIXTURES / "lzw.tif", dtype="int16", compress="lzw", predictor=2, bands=2, interleave="pixel", endianness="BIG",
          blockysize=8, **small)
    write(FIXTURES / "floating.tif", dtype="float64", compress="deflate", predictor=3, **small, **tile)
    write(FIXTURES / "packbits.tif", dtype="uint8", compress="packbits", blockysize=20, **small)
    write(FIXTURES / "bits.tif", nbits=1, values=numbers(1, 20, 18, "uint8") % 2, **small)
    write(FIXTURES / "sparse.tif", dtype="uint8", nodata=7, values=np.full((1, 20, 18), 7, "uint8"), sparse_ok=True, **small, **tile)
    y, x = np.mgrid[0:32, 0:32]
    grey = (128 + 90 * np.sin(x / 9) * np.cos(y / 11)).astype("uint8")[None]
    colours = np.concatenate([grey, 255 - grey, grey // 2])
    write(FIXTURES / "jpeg.tif", bands=3, height=32, width=32, values=colours, compress="jpeg", jpeg_quality=90, interleave="pixel",
          photometric="YCBCR", **tile)
    path = FIXTURES / "cog.tif"
    inner = FIXTURES / "inner.tif"
    write(inner, bands=2, height=40, width=36, dtype="int16", nodata=-120)
    with rasterio.open(inner, "r+") as file:
        file.scales, file.offsets = (0.5, 0.5), (10.0, 10.0)
        file.descriptions, file.units = ("red", "blue"), ("K", "K")
        file.update_tags(AREA="here", TIFFTAG_SOFTWARE="a test")
        file.update_tags(2, WAVE="long")
    copy(inner, path, driver="COG", compress="deflate", blocksize=16, overview_count=1, overview_resampling="nearest")
    inner.unlink()
    write(FIXTURES / "point.tif", crs="EPSG:4326", transform=from_origin(-10.0, 50.0, 0.5, 0.25), tags=dict(AREA_OR_POINT="Point"),
          **small)
    write(FIXTURES / "rotated.tif", transform=Affine(10, 2, 100, 3, -20, 200), **small)
    expected = {}
    for path in sorted(FIXTURES.glob("*.tif")):
        values = read(path)
        little = values.astype(values.dtype.newbyteorder("<"))
        expected[path.name] = {"shape": values.shape, "dtype": str(values.dtype), "sha256": hashlib.sha256(little.tobytes()).hexdigest()}
        if "jpeg" in path.name:
            expected[path.name]["first"] = values[:, 0, :8].tolist()
    (FIXTURES / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    assert sys.argv[1:] == ["--fixtures"], __doc__
    fixtures()
