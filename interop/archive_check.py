"""Checks the readers of archive files from end to end: what `dump_archive` says of each fixture is made a Zarr v3 store,
its chunks cut from the files, and zarr-python and xarray must find in it what they find in the original.

    cargo build -p icefield-ingest --all-features --example dump_archive
    python interop/archive_check.py target/debug/examples/dump_archive [--write]

With `--write` the dumps are put beside the fixtures, where the tests of the crate compare them.
"""

import base64
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings
from contextlib import chdir as change_directory

import fsspec
import netCDF4
import numpy as np
import xarray
import zarr
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import MemoryStore

from archive_corpus import FIXTURES

warnings.simplefilter("ignore")


def dump(kind, directory, name):
    done = subprocess.run([DUMP, kind, str(directory), name], capture_output=True, text=True)
    assert done.returncode == 0, f"{name}: {done.stderr}"
    return json.loads(done.stdout)


def store_of(found, directory):
    """A Zarr v3 store of the documents, with the bytes of the chunks from the files."""
    content = {}
    for path, node in found["nodes"].items():
        folder = path.strip("/") + "/" if path != "/" else ""
        content[folder + "zarr.json"] = json.dumps(node["document"]).encode()
        for chunk in node.get("chunks", []):
            if len(chunk) == 2:
                content[folder + chunk[0]] = base64.b64decode(chunk[1])
                continue
            key, file, offset, length = chunk
            with open(pathlib.Path(directory) / found["files"][file], "rb") as opened:
                opened.seek(offset)
                piece = opened.read(length)
            assert len(piece) == length > 0, (path, chunk)
            content[folder + key] = piece
    make = default_buffer_prototype().buffer.from_bytes
    return MemoryStore({key: make(value) for key, value in content.items()}, read_only=True)


def same(left, right, what):
    left, right = np.asarray(left), np.asarray(right)
    assert left.shape == right.shape, f"{what}: {left.shape} and {right.shape}"
    assert left.dtype.kind == right.dtype.kind, f"{what}: {left.dtype} and {right.dtype}"
    if left.dtype.kind in "fcmM":
        equal = np.array_equal(left, right, equal_nan=True)
    else:
        equal = np.array_equal(left, right)
    assert equal, f"{what}:\n{left}\n{right}"


def same_attributes(original, ours, what):
    assert set(original) == set(ours), f"{what}: {original} {ours}"
    for name, value in original.items():
        if isinstance(value, str):
            assert value == ours[name], f"{what} {name}: {value} {ours[name]}"
            continue
        # Numbers that JSON lacks are texts.
        found = np.array(ours[name], np.asarray(value).dtype)
        same(value, found, f"{what} {name}")


def same_datasets(original, ours, what):
    assert set(original.variables) == set(ours.variables), what
    for name in original.variables:
        left, right = original[name], ours[name]
        if right.dtype.kind == "S" and "_FillValue" in left.encoding:
            # xarray cannot have this attribute in Zarr v3 but for numbers, so the blanks are not masked.
            continue
        assert left.dims == right.dims, f"{what} {name}: {left.dims} {right.dims}"
        assert left.dtype == right.dtype, f"{what} {name}: {left.dtype} {right.dtype}"
        same(left.values, right.values, f"{what} {name}")
        same_attributes(left.attrs, right.attrs, f"{what} {name}")
    same_attributes(original.attrs, ours.attrs, what)


def netcdf3():
    directory = FIXTURES / "netcdf3"
    for file in sorted(directory.glob("*.nc")):
        found = dump("netcdf3", directory, file.name)
        store = store_of(found, directory)
        group = zarr.open_group(store, mode="r")
        # The library takes the mark of a stream for the number of records.
        readable = file.with_name(file.name.replace("streamed", "offset64"))
        with netCDF4.Dataset(readable) as original:
            original.set_auto_maskandscale(False)
            original.set_auto_chartostring(False)
            assert set(group.array_keys()) == set(original.variables), file
            assert set(group.attrs) == set(original.ncattrs())
            for name in original.ncattrs():
                ours, theirs = group.attrs[name], original.getncattr(name)
                if not isinstance(theirs, str):
                    ours, theirs = np.array(ours, np.asarray(theirs).dtype), np.asarray(theirs)
                same(ours, theirs, f"{file.name} attribute {name}")
            for name, variable in original.variables.items():
                same(group[name][...], variable[...], f"{file.name} {name}")
                default = netCDF4.default_fillvals[variable.dtype.str[1:]]
                fill = variable.getncattr("_FillValue") if "_FillValue" in variable.ncattrs() else default
                if variable.dtype.kind != "S":
                    same(group[name].fill_value, np.array(fill, variable.dtype)[()], f"{name} fill value")
        with xarray.open_dataset(readable, engine="netcdf4") as original, \
                xarray.open_zarr(store, consolidated=False, chunks=None) as ours:
            same_datasets(original, ours, file.name)
        yield file, found


def same_arrays(original, ours, what):
    """Two Zarr groups, by what zarr-python reads in them."""
    left, right = dict(original.members(max_depth=None)), dict(ours.members(max_depth=None))
    assert set(left) == set(right), f"{what}: {set(left) ^ set(right)}"
    for name, one in left.items():
        if isinstance(one, zarr.Group):
            assert dict(one.attrs) == dict(right[name].attrs)
            continue
        elements, found = one[...], right[name][...]
        same(elements, found, f"{what} {name}")
        if one.fill_value is not None and one.metadata.zarr_format == 2 and one.dtype.kind not in "OT":
            expected = np.array(one.fill_value, one.dtype)
            same(expected, np.array(right[name].fill_value, one.dtype), f"{what} {name} fill value")


def unpack(file, directory):
    """Makes files of a tree that is kept as one; returns it as a Zarr store, too."""
    content = {key: base64.b64decode(value) for key, value in json.loads(file.read_text()).items()}
    for key, value in content.items():
        path = directory / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value)
    make = default_buffer_prototype().buffer.from_bytes
    return MemoryStore({key: make(value) for key, value in content.items()}, read_only=True)


def zarr2():
    for file in sorted((FIXTURES / "zarr2").glob("*.json")):
        if file.name.endswith(".expected.json"):
            continue
        with tempfile.TemporaryDirectory() as directory:
            original = unpack(file, pathlib.Path(directory))
            found = dump("zarr", directory, ".")
            ours = store_of(found, directory)
        how = {"zarr_format": 2, "use_consolidated": True} if file.stem == "consolidated" else {}
        same_arrays(zarr.open_group(original, mode="r", **how), zarr.open_group(ours, mode="r"), file.name)
        if file.stem in ("xarray", "consolidated"):
            with xarray.open_zarr(original, consolidated=file.stem == "consolidated", zarr_format=2, chunks=None) as left, \
                    xarray.open_zarr(ours, consolidated=False, chunks=None) as right:
                same_datasets(left, right, file.name)
        yield file, found


def described(found):
    """The same of whatever order of files and chunks."""
    def chunk(one):
        return (one[0], one[1]) if len(one) == 2 else (one[0], found["files"][one[1]], *one[2:])
    return {path: (node["document"], sorted(map(chunk, node.get("chunks", [])))) for path, node in found["nodes"].items()}


def kerchunk():
    directory = FIXTURES / "kerchunk"
    for file in sorted([*directory.glob("*.json"), *directory.glob("*.parquet")]):
        if file.name.endswith(".expected.json"):
            continue
        if file.suffix == ".parquet":
            found = dump("kerchunk-parquet", directory, file.name)
            flat = dump("kerchunk", directory, "flat.json")
            assert described(found) == described(flat), f"{file}: {found}"
            yield file, found
            continue
        found = dump("kerchunk", directory, file.name)
        ours = store_of(found, directory)
        with change_directory(directory):
            # Its own reader of references gives what the keys stand for.
            files = fsspec.filesystem("reference", fo=file.name, remote_protocol="file", simple_templates=False)
            content = {key: files.cat_file(key) for key in files.find("") if not key.endswith("/")}
        make = default_buffer_prototype().buffer.from_bytes
        original = MemoryStore({key: make(value) for key, value in content.items()}, read_only=True)
        same_arrays(zarr.open_group(original, mode="r", zarr_format=2), zarr.open_group(ours, mode="r"), file.name)
        with xarray.open_zarr(original, consolidated=False, zarr_format=2, chunks=None) as left, \
                xarray.open_zarr(ours, consolidated=False, chunks=None) as right:
            same_datasets(left, right, file.name)
        yield file, found


def write(file, found):
    """A node a line."""
    def text(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    nodes = ",\n".join(f"{text(path)}:{text(node)}" for path, node in found["nodes"].items())
    file.write_text(f'{{"files":{text(found["files"])},"nodes":{{\n{nodes}\n}}}}\n')


def main():
    for kind in [netcdf3, zarr2, kerchunk]:
        for file, found in kind():
            if "--write" in sys.argv:
                write(file.with_name(file.name + ".expected.json"), found)
            print(f"ok {kind.__name__} {file.name}: {len(found['nodes'])} nodes")


if __name__ == "__main__":
    DUMP = sys.argv[1]
    main()
