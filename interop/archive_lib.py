"""What the cases of archive files share: writers of small files, what the original libraries read in them, and what the
reference implementation reads in a repository that `icefield import` has filled."""

import json
import os
import subprocess
import warnings
from contextlib import contextmanager

import fsspec
import h5py
import icechunk
import netCDF4
import numpy as np
import xarray
import zarr
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import MemoryStore

from archive_check import same, same_datasets
from lib import ROOT, icefield

warnings.simplefilter("ignore")

TIME = "days since 2000-01-01"


def folder_of(work):
    """The folder of the files that are imported."""
    folder = work / "archive"
    folder.mkdir(exist_ok=True)
    return folder


def numbers(shape, dtype="f4", first=0):
    return (np.arange(np.prod(shape)) * 0.75 - 3 + first).astype(dtype).reshape(shape)


def write_netcdf(path, form="NETCDF4", first=0, records=3, columns=4, latitude=0, units="K"):
    """A grid with records along the time, as archives have them; `first` is the day of the first."""
    filters = dict(zlib=True, shuffle=True, chunksizes=(1, 2, columns)) if form == "NETCDF4" else {}
    wide = form in ("NETCDF4", "NETCDF3_64BIT_DATA")
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.title = "records, in °C"
        for name, length in [("time", None), ("lat", 2), ("lon", columns), ("letters", 3)]:
            file.createDimension(name, length)
        chunks = dict(chunksizes=(records,)) if form == "NETCDF4" else {}
        time = file.createVariable("time", "f8", ("time",), **chunks)
        time.units = TIME
        time[:] = np.arange(first, first + records)
        for name, length, begin in [("lat", 2, latitude), ("lon", columns, 0)]:
            file.createVariable(name, "f8", (name,))[:] = np.arange(length) + begin
        heat = file.createVariable("tas", "f4", ("time", "lat", "lon"), fill_value=np.float32(1e20), **filters)
        heat.units = units
        heat.valid_range = np.array([-100, 100], "f4")
        heat[:] = numbers((records, 2, columns), first=first)
        heat[0, 1, 1] = 1e20
        packed = file.createVariable("packed", "i2", ("time", "lon"), fill_value=np.int16(-1),
                                     **(dict(chunksizes=(1, columns)) if filters else {}))
        packed.scale_factor, packed.add_offset = 0.01, 20.0
        packed.set_auto_maskandscale(False)
        packed[:] = numbers((records, columns), "i2", first)
        # Of an odd length, which the format pads.
        flags = file.createVariable("flags", "u8" if wide else "i1", ("time", "letters"),
                                    **(dict(chunksizes=(1, 3)) if filters else {}))
        flags[:] = np.arange(records * 3).reshape(records, 3) + first
        file.createVariable("area", "f8", ("lat", "lon"))[:] = numbers((2, columns), "f8")
        names = file.createVariable("names", "S1", ("lat", "letters"))
        names[:] = np.array([list("ab\0"), list("cde")], "S1")
        file.createVariable("scalar", "i4", ())[...] = -7
        if form == "NETCDF4":
            file.createVariable("inner/depth", "i8", ("lon",))[:] = np.arange(columns)
            file["inner"].note = "a group"
    return path


def write_hdf5(path):
    """Every place that HDF5 has for the bytes of an array, and the common types."""
    with h5py.File(path, "w") as file:
        file.attrs["title"] = "HDF5"
        make = file.create_dataset
        make("deflate", data=numbers((7, 5)), chunks=(3, 2), compression="gzip", shuffle=True)
        make("checked", data=numbers((7, 5), ">i4"), chunks=(3, 2), fletcher32=True)
        make("contiguous", data=numbers((7, 5), ">f8"))
        make("growing", data=numbers((6,), "i8"), chunks=(2,), maxshape=(None,))
        some = make("some_written", shape=(6, 6), dtype="u2", chunks=(2, 2), fillvalue=9)
        some[2:4] = 5
        make("letters", data=np.array([b"x", b"y"], "S1"))
        make("group/complex", data=numbers((3,)).astype("c16"))
        make("group/switch", data=np.array([True, False, True]))
        make("scalar", data=np.float32(1.5))
        file["group"].attrs["list"] = [1, 2, 3]
    return path


def arrays_of_netcdf(*paths, along="time"):
    """What netCDF4 reads in files, by path, as it is stored; several behind one another."""
    found = {}

    def visit(group, at):
        for name, variable in group.variables.items():
            variable.set_auto_maskandscale(False)
            variable.set_auto_chartostring(False)
            found.setdefault(at + name, []).append((variable.dimensions, variable[...]))
        for name, inner in group.groups.items():
            visit(inner, f"{at}{name}/")

    for path in paths:
        with netCDF4.Dataset(path) as file:
            visit(file, "")

    def joined(parts):
        dimensions, first = parts[0]
        if along not in dimensions:
            return first
        return np.concatenate([values for _, values in parts], axis=dimensions.index(along))
    return {name: joined(parts) for name, parts in found.items()}


def arrays_of_hdf5(path):
    """What h5py reads in a file, by path; texts as such."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            text = h5py.check_string_dtype(item.dtype)
            found[name] = item.asstr()[...] if text and text.length != 1 else item[()]

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def dataset_of(*paths, along="time"):
    """What xarray reads in NetCDF files, decoded."""
    parts = [xarray.open_dataset(path, engine="netcdf4").load() for path in paths]
    for part in parts:
        part.close()
    if len(parts) == 1:
        return parts[0]
    return xarray.concat(parts, along, data_vars="minimal", coords="minimal", compat="equals", join="override",
                         combine_attrs="override")


def dataset_of_references(references):
    """What fsspec, zarr-python and xarray read by references of kerchunk, decoded."""
    files = fsspec.filesystem("reference", fo=references, remote_protocol="file", simple_templates=False)
    make = default_buffer_prototype().buffer.from_bytes
    content = {key: make(files.cat_file(key)) for key in files.find("") if not key.endswith("/")}
    with xarray.open_zarr(MemoryStore(content), consolidated=False, zarr_format=2, chunks=None) as dataset:
        return dataset.load()


def new_repository(work, name="r"):
    path = work / name
    icefield("init", path)
    return path


def store_of(repository):
    """The tip of `main` as the reference reads it, with access to what the configuration names."""
    storage = icechunk.local_filesystem_storage(str(repository))
    config = icechunk.Repository.fetch_config(storage)
    prefixes = [*((config and config.virtual_chunk_containers) or {})]
    access = icechunk.containers_credentials(dict.fromkeys(prefixes))
    return icechunk.Repository.open(storage, authorize_virtual_chunk_access=access).readonly_session("main").store


def assert_arrays(store, arrays):
    group = zarr.open_group(store, mode="r")
    found = {name: one for name, one in group.members(max_depth=None) if isinstance(one, zarr.Array)}
    assert set(found) == set(arrays), f"arrays: {sorted(set(found) ^ set(arrays))} are on one side only"
    for name, values in arrays.items():
        same(plain(values), plain(found[name][...]), name)


def plain(values):
    """Texts of whatever type as objects."""
    values = np.asarray(values)
    return values.astype(object) if values.dtype.kind in "TU" else values


def assert_dataset(store, dataset):
    with xarray.open_zarr(store, consolidated=False, chunks=None) as found:
        assert set(found.coords) == set(dataset.coords), set(found.coords) ^ set(dataset.coords)
        same_datasets(dataset, found, "decoded")


def both_ways(work, sources, *options, arrays=None, dataset=None, same_as=None, ways=("by_reference", "copied")):
    """Imports sources by reference and by copy, and compares what the reference reads."""
    for way in ways:
        by_reference = way == "by_reference"
        repository = new_repository(work, way)
        how = ["--virtual"] if by_reference else []
        report = json.loads(icefield("import", *sources, repository, *options, *how, "--json"))
        assert (report["virtual_chunks"] > 0) == by_reference, f"{way}: {report}"
        # A copy needs no file any more.
        with away(folder_of(work), not by_reference):
            store = store_of(repository)
            if arrays is not None:
                assert_arrays(store, arrays)
            if dataset is not None:
                assert_dataset(store, dataset)
            if same_as is not None:
                same_as(store)


@contextmanager
def away(folder, really):
    """Has a folder elsewhere for a while."""
    elsewhere = folder.with_name(folder.name + ".away")
    if really:
        folder.rename(elsewhere)
    yield
    if really:
        elsewhere.rename(folder)


def attempt(*arguments):
    """Runs our command line, which may fail: its exit code, its output and its messages."""
    command = [os.environ["ICEFIELD"], *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode()


def refused(repository, arguments, *words):
    """Asserts that an import fails with a message that contains all of `words`, and commits nothing."""
    before = icefield("log", repository, "--json")
    code, _, message = attempt("import", *arguments)
    said = f"{' '.join(map(str, arguments))}: exit code {code}: {message}"
    assert icefield("log", repository, "--json") == before, f"something was committed: {said}"
    assert code in (1, 2, 3, 4, 5), said
    assert "panicked" not in message, said
    missing = [word for word in words if str(word) not in message]
    assert not missing, f"not said: {missing}. {said}"
