"""NCZarr and Zarr through `icefield import`, `export`, `ncdump` and `ncgen`, with netCDF-C and the other readers as judges.

    export ICEFIELD=target/debug/icefield ICEFIELD_INTEROP_WORK=$(mktemp -d)
    target/python/archives/bin/python interop/nczarr.py [PART OF A NAME ...]

The sources are the datasets of `fixtures/nczarr`, and those of netCDF-C's own tests if `ICEFIELD_NCZARR_UPSTREAM` names their
folder. Debian's `ncdump` and GDAL are used where they are installed; what is left out is printed by name.
"""

import functools
import json
import os
import re
import subprocess
import sys
import zipfile
import warnings
from collections import Counter
from pathlib import Path

import icechunk
import netCDF4
import numpy as np
import xarray
import zarr

import nczarr_peers
from lib import ROOT, Skip, case, icefield, leave, run_cases
from nczarr_peers import by_gdal, by_ncdump, by_netcdf, digest

# That a dimension is used twice, and what is not yet part of the specification of Zarr.
warnings.simplefilter("ignore")

try:
    import tensorstore
except ImportError:
    tensorstore = None

FIXTURES = ROOT / "fixtures" / "nczarr"
UPSTREAM = "ICEFIELD_NCZARR_UPSTREAM"
G3 = "netcdf-c-4.10.1-nczarr"
# The same content by other writers: netCDF's text of it is that of G3.
ALIKE = ("ncgen-4.9.0-nczarr/", "netcdf-c-4.9.1-nczarr/", "netcdf-c-main-zip/")
# The bytes of these are in another order than they say.
SWAPPED = ("ncgen-4.9.0-nczarr/endian", "netcdf-c-4.9.1-nczarr/endian")
# A text that netCDF-C stores as a number, and reads back as the first of its digits: not what is there.
DIGITS = (':digits = "1" ;', ':digits = "12345" ;')
# Plain Zarr by writers that name dimensions in part, or not at all: a name is made up there.
UNNAMED = ("zarr", "noxarray", "upstream")
# What netCDF has no type for.
UNFIT = {"bool", "complex128"}
# In these the text differs from what was written in words for an empty string: `NIL`, `_` or `""`.
EMPTY_STRINGS = ("features/strings", "/strings")


class Source:
    """A dataset of the fixtures."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        zipped = folder / "data.zip"
        self.data = zipped if zipped.exists() else folder / "data"
        described = folder / "expected.json"
        self.described = json.loads(described.read_text())["arrays"] if described.exists() else None

    @functools.cached_property
    def arrays(self):
        """What is in it: as described, else by netCDF-C."""
        return self.described or by_netcdf(f"file://{self.data}#mode=nczarr,file")

    @property
    def is_fit(self):
        return not any(array["dtype"] in UNFIT for array in self.arrays.values())

    @property
    def text(self):
        """What `ncdump` prints of it, or of the same content in the generation that we write."""
        names = [self.folder / "ncdump.cdl"]
        for writer in ALIKE:
            if self.name.startswith(writer):
                names.append(FIXTURES / "vectors" / G3 / self.name.removeprefix(writer) / "ncdump-4.10.1.cdl")
        if self.name.startswith(G3):
            names.append(self.folder / "ncdump-4.10.1.cdl")
        return next((name.read_text().replace(*DIGITS) for name in names if name.exists()), None)

    @functools.cached_property
    def repository(self):
        """A repository with what was imported."""
        place = work() / "repositories" / self.name.replace("/", "-")
        assert not place.exists(), "it could not be imported before"
        options = ["--legacy-endian"] if self.name in SWAPPED else []
        icefield("init", place)
        icefield("import", self.data, place, *options)
        return place

    def exported(self, form, *options):
        """A path with what was exported in one of the formats."""
        suffix = ".zip" if "--zip" in options else ""
        place = work() / "exports" / f"{self.name.replace('/', '-')}-{form}{suffix}"
        if not place.exists():
            place.parent.mkdir(exist_ok=True)
            icefield("export", self.repository, place, "--format", form, *options)
        return place


def work():
    return Path(os.environ["ICEFIELD_INTEROP_WORK"])


@functools.cache
def vectors():
    """The datasets of other writers."""
    found = sorted((FIXTURES / "vectors").rglob("expected.json"))
    named = [(path.parent, path.parent.relative_to(FIXTURES / "vectors").as_posix()) for path in found]
    assert len(named) >= 67, len(named)
    return [Source(folder, name) for folder, name in named]


@functools.cache
def features():
    """One dataset per feature."""
    folders = sorted((FIXTURES / "features").iterdir())
    assert len(folders) >= 30, len(folders)
    return [Source(folder, f"features/{folder.name}") for folder in folders]


@functools.cache
def upstream():
    folder = os.environ.get(UPSTREAM)
    if not folder:
        return []
    found = sorted(Path(folder).glob("*/expected.json"))
    assert found, f"{UPSTREAM} names {folder}, where no dataset is"
    return [Source(path.parent, f"upstream/{path.parent.name}") for path in found]


def every(sources, check):
    """Runs a check on each source, and fails at the end for those that failed. Returns how many ran."""
    failed, left_out, ran = [], [], 0
    for source in sources:
        try:
            check(source)
            ran += 1
        except Skip as why:
            left_out.append(f"{source.name}: {why}")
        except Exception as error:
            failed.append(f"{source.name}: {type(error).__name__} {error}")
    for line in left_out:
        print(f"  left out: {line}")
    for line in failed:
        print(f"  {line}")
    assert not failed, f"{len(failed)} of {len(sources)} failed"
    assert ran, "nothing was compared"
    print(f"  {ran} datasets")


def same_names(found, expected, length, source):
    """Whether a dimension is the one that was described, or one whose name had to be made up."""
    made_up = found.startswith("_Anonymous_Dim_") and any(mark in source.name for mark in UNNAMED)
    return found == expected or made_up and found == f"_Anonymous_Dim_{length}"


def assert_arrays(found, source):
    assert set(found) == set(source.arrays), f"arrays {sorted(set(found) ^ set(source.arrays))}"
    for path, expected in source.arrays.items():
        array = found[path]
        scalar = not expected["shape"] and array["shape"] in ([], [1])
        assert scalar or array["shape"] == expected["shape"], (path, array["shape"], expected["shape"])
        assert array["sha256"] == expected["sha256"] or same_chars(array, expected), f"{path}: other values"
        if scalar and array["dims"] in ([], ["_scalar_"]):
            continue
        names = expected["dims"] or [f"_Anonymous_Dim_{length}" for length in expected["shape"]]
        assert len(names) == len(array["dims"]), (path, array["dims"], names)
        for name, wanted, length in zip(array["dims"], names, array["shape"]):
            assert same_names(name, wanted, length, source), (path, array["dims"], names)


def same_chars(array, expected):
    """Of plain Zarr, chars are strings of one character; the digest of those is not at hand."""
    return expected["dtype"] == "char" and array["dtype"] == "string"


def without_name(text):
    return re.sub(r"\Anetcdf .* \{", "netcdf {", text).rstrip("\n")


def assert_text(found, expected, source):
    found, expected = without_name(found), without_name(expected)
    if source.name.endswith(EMPTY_STRINGS):
        # Words, because lines break elsewhere.
        found, expected = (re.sub(r"\s(NIL|_)(?=[,\s])", ' ""', text).split() for text in (found, expected))
        assert found == expected, f"{found} {expected}"
        return
    lines = zip(found.split("\n"), expected.split("\n"))
    first = next((pair for pair in lines if pair[0] != pair[1]), (f"{len(found)} characters", f"{len(expected)}"))
    assert found == expected, f"{first[0]!r}, expected {first[1]!r}"


def need_ncdump():
    if nczarr_peers.NCDUMP is None:
        raise Skip("there is no program ncdump (Debian: netcdf-bin)")
    if nczarr_peers.library() is None:
        raise Skip("the package netCDF4 has no library of its own here")


def attempt(function, source):
    """Exports, unless netCDF has no type for what is there: then a refusal is an answer, too."""
    try:
        return function()
    except AssertionError:
        if source.is_fit:
            raise
        raise Skip("refused; netCDF has no type for some of it") from None


@case
def the_text_of_the_fixtures(_):
    """Debian's program on the newest library still prints what is committed: or a failure below means nothing."""
    need_ncdump()
    every(features(), lambda it: assert_text(by_ncdump(f"file://{it.data}#mode=nczarr,file"), it.text, it))


@case
def imports(_):
    """Every dataset; its numbers by the reference."""

    def check(source):
        storage = icechunk.local_filesystem_storage(str(source.repository))
        store = icechunk.Repository.open(storage).readonly_session("main").store
        group = zarr.open_group(store, mode="r")
        for path, expected in source.arrays.items():
            if expected["dtype"] in ("char", "string", "|S5"):
                continue
            array = group[path.strip("/")]
            found = digest(array[...].reshape(expected["shape"]), expected["dtype"])
            assert found == expected["sha256"], f"{path}: {array.dtype}, expected {expected['dtype']}, or other values"

    every(vectors() + features() + upstream(), check)


@case
def datasets_of_netcdf_itself(_):
    if not upstream():
        raise Skip(f"{UPSTREAM} is not set: no datasets of netCDF-C's own tests")
    every(upstream(), lambda it: assert_arrays(by_netcdf(f"file://{it.exported('nczarr')}#mode=nczarr,file"), it))


@case
def bytes_in_another_order_are_not_guessed(_):
    """Without being told, a reader takes the bytes for what the dataset says."""
    for source in (it for it in vectors() if it.name in SWAPPED):
        place = work() / f"{source.name.replace('/', '-')}-as-it-says"
        icefield("init", place)
        icefield("import", source.data, place)
        storage = icechunk.local_filesystem_storage(str(place))
        group = zarr.open_group(icechunk.Repository.open(storage).readonly_session("main").store, mode="r")
        for path, expected in source.arrays.items():
            found = digest(group[path.strip("/")][...].byteswap(), expected["dtype"])
            assert found == expected["sha256"], path


@case
def exports_by_netcdf(_):
    def check(source):
        place = attempt(lambda: source.exported("nczarr"), source)
        assert_arrays(by_netcdf(f"file://{place}#mode=nczarr,file"), source)

    every(vectors() + features(), check)


@case
def exports_by_ncdump(_):
    need_ncdump()
    sources = [source for source in vectors() + features() if source.text]
    every(sources, lambda it: assert_text(by_ncdump(f"file://{it.exported('nczarr')}#mode=nczarr,file"), it.text, it))


@case
def exports_to_zip_by_netcdf(_):
    """No packaged netCDF-C reads zip files: what is in the leading folder must be a dataset."""

    def check(source):
        place = source.exported("nczarr", "--zip")
        with zipfile.ZipFile(place) as archive:
            tops = {name.split("/")[0] for name in archive.namelist()}
            assert tops == {place.name.removesuffix(".zip")}, tops
            assert all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
            archive.extractall(place.with_suffix(".unpacked"))
        [top] = tops
        assert_arrays(by_netcdf(f"file://{place.with_suffix('.unpacked')}/{top}#mode=nczarr,file"), source)

    every([it for it in vectors() if it.name.startswith(G3)], check)


def documents(place, path):
    """The metadata of an array, of either format."""
    for name in (".zarray", "zarr.json"):
        file = place / path.strip("/") / name
        if file.exists():
            return json.loads(file.read_text())
    raise AssertionError(f"{path} was not exported")


PLAIN = {None, "zlib", "gzip", "bz2", "zstd", "blosc"}
CODECS = {"bytes", "transpose", "gzip", "zstd", "blosc", "crc32c", "sharding_indexed"}


def beyond(reader, place, path, expected):
    """Why a reader cannot read an array, if it is known not to; then it is left out."""
    document = documents(place, path)
    if reader != "zarr-python" and expected["dtype"] in ("char", "string", "|S5"):
        return "text"
    if reader == "GDAL" and expected["dtype"] in ("bool", "complex128"):
        return expected["dtype"]
    if reader == "GDAL" and 0 in expected["shape"]:
        return "no elements"
    if reader == "GDAL" and expected["dtype"] == "uint64" and document.get("fill_value"):
        return "a fill value of 64 bits, which it takes for a double"
    if reader == "GDAL" and (document.get("compressor") or {}).get("id") == "bz2":
        return "bz2"
    if reader == "tensorstore" and len(set(expected["dims"])) < len(expected["dims"]):
        return "a dimension twice"
    if reader != "zarr-python" and "codecs" in document:
        strange = {codec["name"] for codec in document["codecs"]} - CODECS
        return f"codec {sorted(strange)}" if strange else None
    if reader != "zarr-python" and "zarr_format" in document:
        compressor = (document["compressor"] or {}).get("id")
        if document.get("filters") or compressor not in PLAIN:
            return f"filters {document.get('filters')}, compressor {compressor}"
        if reader == "GDAL" and document["order"] != "C":
            return "order F"
    return None


def by_zarr(place, path):
    return zarr.open_group(str(place), mode="r")[path.strip("/")][...]


def by_tensorstore(place, path):
    driver = "zarr3" if (place / path.strip("/") / "zarr.json").exists() else "zarr"
    kvstore = {"driver": "file", "path": f"{place}{path}"}
    return tensorstore.open({"driver": driver, "kvstore": kvstore}).result().read().result()


def assert_values(found, path, expected, reader):
    found = np.asarray(found)
    if reader == "GDAL" and expected["dtype"] == "int8":
        # Which it has no type for.
        found = found.astype("i1")
    assert digest(found, expected["dtype"]) == expected["sha256"], f"{path}: {found.dtype}, or other values"
    same = list(found.shape) == expected["shape"] or not expected["shape"] and found.size == 1
    assert same, f"{path}: {found.shape}, expected {expected['shape']}"


def read_by(reader, form, all_of):
    """Every export in a format, by a reader of arrays: `all_of` a place gives a function from paths to values."""
    left_out = Counter()

    def check(source):
        place = source.exported(form)
        values = all_of(place)
        for path, expected in source.arrays.items():
            why = beyond(reader, place, path, expected)
            if why:
                left_out[why] += 1
                continue
            assert_values(values(path), path, expected, reader)

    every(vectors() + features(), check)
    for why, count in sorted(left_out.items()):
        print(f"  {reader} does not read {count} arrays: {why}")


@case
def zarr2_by_zarr_python(_):
    read_by("zarr-python", "zarr2", lambda place: lambda path: by_zarr(place, path))


@case
def zarr3_by_zarr_python(_):
    read_by("zarr-python", "zarr3", lambda place: lambda path: by_zarr(place, path))


@case
def zarr2_by_tensorstore(_):
    if tensorstore is None:
        raise Skip("the package tensorstore is not installed")
    read_by("tensorstore", "zarr2", lambda place: lambda path: by_tensorstore(place, path))


@case
def zarr3_by_tensorstore(_):
    if tensorstore is None:
        raise Skip("the package tensorstore is not installed")
    read_by("tensorstore", "zarr3", lambda place: lambda path: by_tensorstore(place, path))


@case
def zarr2_by_gdal(_):
    if nczarr_peers.gdal_version() is None:
        raise Skip("there is no GDAL with Python (Debian: python3-gdal)")

    def all_of(place):
        values = by_gdal(place)
        return lambda path: values[path]

    read_by("GDAL", "zarr2", all_of)


def by_xarray(form):
    def check(source):
        unnamed = any(array["shape"] and not array["dims"] for array in source.arrays.values())
        if unnamed or "noxarray" in str(source.name):
            raise Skip("xarray needs names of dimensions, and there are none")
        place = source.exported(form)
        dataset = xarray.open_zarr(place, consolidated=False, decode_cf=False, chunks=None)
        for path, expected in source.arrays.items():
            if path.count("/") > 1:
                continue
            variable = dataset[path.strip("/")]
            if expected["shape"] and expected["dims"]:
                names = zip(variable.dims, expected["dims"], variable.shape)
                assert all(same_names(*name, source) for name in names), (path, variable.dims, expected["dims"])
            assert_values(variable.values, path, expected, "xarray")

    every(vectors() + features(), check)


@case
def zarr2_by_xarray(_):
    by_xarray("zarr2")


@case
def zarr3_by_xarray(_):
    by_xarray("zarr3")


@case
def zips_by_zarr_python(_):
    """Flat, as zarr-python has them."""

    def check(source):
        for form in ("zarr2", "zarr3"):
            place = source.exported(form, "--zip")
            with zarr.storage.ZipStore(place, mode="r") as store:
                group = zarr.open_group(store, mode="r")
                for path, expected in source.arrays.items():
                    assert_values(group[path.strip("/")][...], path, expected, "zarr-python")

    every([it for it in vectors() if it.name.startswith(G3)], check)


@case
def our_ncdump(_):
    """Of what was imported it prints what netCDF's prints of the original."""
    sources = [source for source in vectors() + features() if source.text]
    every(sources, lambda it: assert_text(icefield("ncdump", it.repository), it.text, it))


@case
def our_ncgen(_):
    """What it makes of a text is printed as the dataset is that the text describes."""

    def check(source):
        place = work() / "generated" / source.name
        place.parent.mkdir(parents=True, exist_ok=True)
        icefield("init", place)
        icefield("ncgen", source.folder / "source.cdl", place)
        assert_text(icefield("ncdump", place), source.text, source)

    every(features(), check)


@case
def our_ncdump_is_read_by_our_ncgen(_):
    def check(source):
        printed = icefield("ncdump", source.repository)
        place = work() / "again" / source.name
        place.parent.mkdir(parents=True, exist_ok=True)
        text = place.with_suffix(".cdl")
        text.write_text(printed)
        icefield("init", place)
        icefield("ncgen", text, place)
        assert without_name(icefield("ncdump", place)) == without_name(printed)

    every([source for source in vectors() + features() if source.is_fit], check)


def tools():
    gdal, ncdump = nczarr_peers.gdal_version(), nczarr_peers.NCDUMP
    found = {
        "netCDF4": f"{netCDF4.__version__} with netCDF-C {netCDF4.__netcdf4libversion__}", "zarr-python": zarr.__version__,
        "xarray": xarray.__version__, "icechunk": icechunk.__version__,
        "tensorstore": tensorstore and "installed", "ncdump": ncdump, "GDAL": gdal, UPSTREAM: os.environ.get(UPSTREAM)}
    for name, version in found.items():
        print(f"{name}: {version}" if version else f"SKIPPED without {name}: it is not here")


if __name__ == "__main__":
    tools()
    leave(run_cases(sys.argv[1:]))
