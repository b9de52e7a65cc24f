"""Every kind of archive through `icefield import`, by copy and by reference: the reference implementation and xarray
read what the original libraries read in the files. What must be refused is in `archive_refusals.py`.

    export ICEFIELD=target/debug/icefield ICEFIELD_INTEROP_WORK=$(mktemp -d)
    python interop/archive_sources.py [PART OF A NAME ...]
"""

import json
import shutil
import sys
from contextlib import chdir

import fsspec
import h5py
import hdf5plugin
import kerchunk.combine
import kerchunk.df
import kerchunk.hdf
import kerchunk.netCDF3
import netCDF4
import numpy as np
import virtualizarr
import virtualizarr.parsers
import xarray
import zarr
from fsspec.implementations.reference import LazyReferenceMapper
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore

import archive_encodings  # noqa: F401  (registers its cases)
import archive_field  # noqa: F401
import archive_formats  # noqa: F401
import archive_grib  # noqa: F401
import archive_memory  # noqa: F401
import archive_refusals  # noqa: F401
import archive_times  # noqa: F401
from archive_check import same_arrays, same_datasets, unpack
from archive_corpus import FIXTURES
from archive_lib import (
    arrays_of_hdf5,
    arrays_of_netcdf,
    assert_arrays,
    assert_dataset,
    both_ways,
    dataset_of,
    dataset_of_references,
    folder_of,
    new_repository,
    numbers,
    refused,
    store_of,
    write_hdf5,
    write_netcdf,
)
from lib import case, icefield, leave, run_cases


def months(work, form="NETCDF4"):
    """Two files, the second behind the first in time."""
    folder = folder_of(work)
    return [str(write_netcdf(folder / f"{n}.nc", form, first=3 * n)) for n in range(2)]


def netcdf(work, form):
    """One file; two in one commit; the second appended."""
    names = months(work, form)
    expected = {"arrays": arrays_of_netcdf(*names), "dataset": dataset_of(*names)}
    both_ways(work, names, "--concat", "time", **expected)
    for name, way in [("grown_by_reference", ["--virtual"]), ("grown", [])]:
        repository = new_repository(work, name)
        icefield("import", names[0], repository, *way)
        assert_arrays(store_of(repository), arrays_of_netcdf(names[0]))
        assert_dataset(store_of(repository), dataset_of(names[0]))
        icefield("import", names[1], repository, *way, "--append", "time")
        assert_arrays(store_of(repository), expected["arrays"])
        assert_dataset(store_of(repository), expected["dataset"])


def files_by_default(work, packed):
    """netCDF4 keeps what has one dimension, and that an unlimited one, in chunks of 512, of which a file fills a part."""
    names = []
    for number, (first, count) in enumerate([(0, 3), (3, 600), (603, 1), (604, 1000)]):
        names.append(str(folder_of(work) / f"{number}.nc"))
        with netCDF4.Dataset(names[-1], "w") as file:
            file.createDimension("time", None)
            file.createDimension("x", 2)
            values = np.arange(first, first + count)
            file.createVariable("time", "f8", ("time",), fill_value=-9.0)[:] = values
            if packed:
                file.createVariable("packed", "i4", ("time",), zlib=True)[:] = values * 3
            file.createVariable("both", "f4", ("time", "x"), chunksizes=(1, 2))[:] = values[:, None] + [0, 0.5]
    return names


@case
def netcdf_by_default(work):
    names = files_by_default(work, packed=False)
    both_ways(work, names, "--concat", "time", arrays=arrays_of_netcdf(*names))


def lagging(work, counts=(3, 5), **how):
    """Two files with variables that have so many of the five records of their dimension."""
    names, expected = [], {"time": [], "v": [], "g/w": []}
    for number, written in enumerate(counts):
        names.append(str(folder_of(work) / f"{number}.nc"))
        first = 5 * number
        with netCDF4.Dataset(names[-1], "w") as file:
            file.createDimension("time", None)
            file.createVariable("time", "i4", ("time",))[:] = np.arange(first, first + 5)
            file.createVariable("v", "i4", ("time",), chunksizes=(1,), **how)[:written] = np.arange(first, first + written)
            w = file.createGroup("g").createVariable("w", "f4", ("time",), chunksizes=(1,), **how)
            w[:written] = np.arange(first, first + written)
        with netCDF4.Dataset(names[-1]) as file:
            file.set_auto_mask(False)
            for name, parts in expected.items():
                parts.append(file[name][:])
    return names, {name: np.concatenate(parts) for name, parts in expected.items()}


@case
def records_that_lag(work):
    # Without a fill value, netCDF has one behind the last record only: files of which some lag have two.
    unfilled = {"counts": (3, 4), "fill_value": False}
    for number, how in enumerate([{}, {"fill_value": -1}, unfilled]):
        inner = work / str(number)
        inner.mkdir()
        names, arrays = lagging(inner, **how)
        both_ways(inner, names, "--concat", "time", arrays=arrays)
        repository = new_repository(inner, "appended")
        icefield("import", names[0], repository, "--virtual")
        icefield("import", names[1], repository, "--virtual", "--append", "time")
        assert_arrays(store_of(repository), arrays)
    # netCDF's own words for the first one.
    repository = new_repository(work, "one")
    icefield("import", lagging(work, fill_value=-1)[0][0], repository)
    text = icefield("ncdump", repository, "-v", "v")
    assert "v = 0, 1, 2, _, _ ;" in (text if isinstance(text, str) else text.decode()), text


@case
def data_of_one_dimension(work):
    """It is joined with what is there, unless it is referred to."""
    names = files_by_default(work, packed=True)
    expected = arrays_of_netcdf(*names)
    for name, way in [("copied", []), ("referred", ["--virtual", "--copy", "/packed"])]:
        repository = new_repository(work, name)
        icefield("import", *names, repository, "--concat", "time", *way)
        store = store_of(repository)
        assert_arrays(store, expected)
    repository = new_repository(work, "refused")
    refused(repository, [*names, repository, "--concat", "time", "--virtual"], "/packed", "1.nc", "copied")


@case
def hdf5(work):
    name = write_hdf5(folder_of(work) / "file.h5")
    both_ways(work, [name], arrays=arrays_of_hdf5(name))


@case
def hdf5_that_can_only_be_copied(work):
    """What has no bytes of its own in the file is copied by both ways, and what must be encoded anew by one."""
    name = folder_of(work) / "file.h5"
    with h5py.File(name, "w") as file:
        file.create_dataset("texts", data=np.array(["a", "", "ünïcödé"], object), dtype=h5py.string_dtype())
        file.create_dataset("short_texts", data=np.array([b"abc", b"d", b""], "S5"))
        layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        layout.set_layout(h5py.h5d.COMPACT)
        compact = h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I16BE, h5py.h5s.create_simple((3,)), layout)
        compact.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, 2, 3], "i2"))
        file.create_dataset("plain", data=numbers((4, 4)))
        file.create_dataset("lz4", data=np.arange(4096) // 90, chunks=(1024,), **hdf5plugin.LZ4())
    arrays = arrays_of_hdf5(name)
    both_ways(work, [name], arrays=arrays, ways=["copied"])
    both_ways(work, [name], "--copy", "/lz4", arrays=arrays, ways=["by_reference"])


@case
def large_arrays_in_pieces(work):
    """A contiguous array of many MiB is more than one chunk, if its lengths allow it."""
    name = folder_of(work) / "file.h5"
    with h5py.File(name, "w") as file:
        file["planes"] = numbers((3, 1000, 1000))
        file["prime"] = numbers((700001,), "f8")
        file["odd"] = numbers((7, 999, 201), ">i4")
    both_ways(work, [name], arrays=arrays_of_hdf5(name))


ODD_NAMES = ["a b", "ü", "x#1", "p%41", "q?z", "plus+", "co:lon", "[b]", "am&p;", "%2e%2e", "e\u0301", "per%", "%zz",
             "~"]


@case
def files_with_odd_names(work):
    """They are parts of URLs."""
    for number, name in enumerate(ODD_NAMES):
        inner = work / str(number)
        inner.mkdir()
        path = write_netcdf(folder_of(inner) / f"{name}.nc", "NETCDF3_CLASSIC")
        both_ways(inner, [path], arrays=arrays_of_netcdf(path))


@case
def folders_with_odd_names(work):
    """They are parts of the prefixes of containers, too."""
    for name in ODD_NAMES:
        inner = work / name
        inner.mkdir()
        path = write_netcdf(folder_of(inner) / "file.nc", "NETCDF3_CLASSIC")
        both_ways(inner, [path], arrays=arrays_of_netcdf(path))


@case
def months_beside_another_group(work):
    """What is in the repository already is none of the business of an import that only adds."""
    names = months(work)
    other = write_netcdf(work / "other.nc")
    for way in [["--virtual"], []]:
        repository = new_repository(work, "r" + "".join(way))
        icefield("import", other, repository, "--group", "/other")
        icefield("import", *names, repository, "--concat", "time", *way)
        arrays = {f"other/{name}": values for name, values in arrays_of_netcdf(other).items()}
        assert_arrays(store_of(repository), {**arrays, **arrays_of_netcdf(*names)})


@case
def netcdf4(work):
    netcdf(work, "NETCDF4")


@case
def netcdf3_classic(work):
    netcdf(work, "NETCDF3_CLASSIC")


@case
def netcdf3_with_64_bit_offsets(work):
    netcdf(work, "NETCDF3_64BIT_OFFSET")


@case
def netcdf3_with_64_bit_data(work):
    netcdf(work, "NETCDF3_64BIT_DATA")


@case
def netcdf3_with_one_record_variable(work):
    """Whose records follow each other without padding."""
    folder = folder_of(work)
    for name in ["alone_f4.nc", "alone_i1.nc", "alone_i2.nc", "alone_S1.nc", "alone_u2.nc"]:
        shutil.copy(FIXTURES / "netcdf3" / name, folder)
        inner = work / name
        inner.mkdir()
        shutil.copytree(folder, inner / "archive")
        both_ways(inner, [inner / "archive" / name], arrays=arrays_of_netcdf(folder / name))


def by_kerchunk(names, threshold=0):
    return [kerchunk.hdf.SingleHdf5ToZarr(name, inline_threshold=threshold).translate() for name in names]


def combined_by_kerchunk(names):
    same = ["lat", "lon", "area", "names", "scalar", "inner/depth"]
    combine = kerchunk.combine.MultiZarrToZarr(by_kerchunk(names), concat_dims=["time"], identical_dims=same,
                                               inline_threshold=0)
    return combine.translate()


def references_both_ways(work, names, made):
    """Raw, the arrays are those of the files. Decoded, they are what the references themselves say: kerchunk and
    VirtualiZarr change attributes and fill values."""
    source = work / "archive" / "references.json"
    source.write_text(json.dumps(made))
    both_ways(work, [source], arrays=known(made, names), dataset=dataset_of_references(made))


def known(made, names):
    """The arrays of the files that the references have: VirtualiZarr does not go into groups."""
    there = {key.removesuffix("/.zarray") for key in made["refs"] if key.endswith("/.zarray")}
    arrays = arrays_of_netcdf(*names)
    assert set(arrays) - there <= {"inner/depth"}, there
    return {name: arrays[name] for name in there}


@case
def kerchunk_of_hdf5(work):
    names = months(work)[:1]
    [made] = by_kerchunk(names)
    references_both_ways(work, names, made)


@case
def kerchunk_of_hdf5_with_short_chunks_inside(work):
    names = months(work)[:1]
    [made] = by_kerchunk(names, threshold=35)
    inside = [key for key, value in made["refs"].items() if isinstance(value, str) and "/.z" not in key]
    assert len(inside) > 3, inside
    references_both_ways(work, names, made)


@case
def kerchunk_of_netcdf3(work):
    names = months(work, "NETCDF3_64BIT_OFFSET")[:1]
    made = kerchunk.netCDF3.NetCDF3ToZarr(names[0], inline_threshold=0).translate()
    references_both_ways(work, names, made)


@case
def kerchunk_of_two_files(work):
    names = months(work)
    references_both_ways(work, names, combined_by_kerchunk(names))


@case
def kerchunk_among_the_fixtures(work):
    """With relative URLs, templates and generated references."""
    both = ["by_reference", "copied"]
    # Of those that kerchunk made, every chunk is inside.
    for name, ways in {"flat": both, "templates": both, "netcdf3": ["copied"], "hdf5": ["copied"]}.items():
        inner = work / name
        inner.mkdir()
        shutil.copytree(FIXTURES / "kerchunk", inner / "archive")
        source = inner / "archive" / f"{name}.json"
        with chdir(source.parent):
            dataset = dataset_of_references(source.name)
        both_ways(inner, [source], dataset=dataset, ways=ways)


@case
def kerchunk_behind_one_another(work):
    """The references of two files, put behind each other by us."""
    names = months(work)
    sources = []
    for made, name in zip(by_kerchunk(names), ["0.json", "1.json"]):
        sources.append(work / "archive" / name)
        sources[-1].write_text(json.dumps(made))
    both_ways(work, sources, "--concat", "time", arrays=arrays_of_netcdf(*names))


def kerchunk_parquet(work, write):
    names = months(work)
    made = combined_by_kerchunk(names)
    source = work / "archive" / "references.parquet"
    write(made["refs"], source)
    both_ways(work, [source], arrays=known(made, names), dataset=dataset_of_references(made))


def by_engine(engine):
    def write(references, path):
        path.mkdir()
        mapper = LazyReferenceMapper.create(str(path), fs=fsspec.filesystem("file"), record_size=4, engine=engine,
                                            categorical_threshold=1)
        for key in sorted(references):
            mapper[key] = references[key]
        mapper.flush()
    return write


@case
def kerchunk_parquet_by_default(work):
    kerchunk_parquet(work, lambda references, path: kerchunk.df.refs_to_dataframe(references, str(path)))


@case
def kerchunk_parquet_by_fastparquet(work):
    kerchunk_parquet(work, by_engine("fastparquet"))


@case
def kerchunk_parquet_by_pyarrow(work):
    kerchunk_parquet(work, by_engine("pyarrow"))


def by_virtualizarr(names, parser, left_out=()):
    """What VirtualiZarr makes of files. The time is loaded, as its manual does it."""
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    parts = [virtualizarr.open_virtual_dataset(f"file://{name}", registry=registry, parser=parser,
                                               loadable_variables=["time"], drop_variables=left_out, decode_times=False)
             for name in names]
    return xarray.concat(parts, "time", data_vars="minimal", coords="minimal", compat="override",
                         combine_attrs="override").vz


def of_virtualizarr(work, form, parser, left_out=()):
    names = months(work, form)
    by_virtualizarr(names, parser, left_out).to_kerchunk(work / "made.json", format="json")
    made = json.loads((work / "made.json").read_text())
    arrays = arrays_of_netcdf(*names)
    for name in (*left_out, "inner/depth"):
        arrays.pop(name, None)
    source = shutil.copy(work / "made.json", work / "archive" / "references.json")
    dataset = dataset_of_references(made) if left_out else None
    both_ways(work, [source], arrays=arrays, dataset=dataset)


@case
def virtualizarr_of_hdf5(work):
    of_virtualizarr(work, "NETCDF4", virtualizarr.parsers.HDFParser(), ["scalar"])


@case
def virtualizarr_of_netcdf3(work):
    of_virtualizarr(work, "NETCDF3_CLASSIC", virtualizarr.parsers.NetCDF3Parser(), ["scalar"])


@case
def virtualizarr_with_a_scalar(work):
    """It names the chunk of a scalar `scalar/`, so that fsspec and zarr-python find none: what netCDF4 reads must be
    there all the same."""
    of_virtualizarr(work, "NETCDF4", virtualizarr.parsers.HDFParser())


@case
def virtualizarr_parquet(work):
    """It cannot write a scalar."""
    names = months(work)
    made = by_virtualizarr(names, virtualizarr.parsers.HDFParser(), ["scalar"])
    source = work / "archive" / "references.parquet"
    made.to_kerchunk(source, format="parquet", record_size=4)
    references = made.to_kerchunk(format="dict")
    arrays = arrays_of_netcdf(*names)
    del arrays["scalar"], arrays["inner/depth"]
    both_ways(work, [source], arrays=arrays, dataset=dataset_of_references(references))


def zarr_tree(work, name, ways=("by_reference", "copied"), **how):
    """One of the trees among the fixtures, as files."""
    folder = folder_of(work)
    original = unpack(FIXTURES / "zarr2" / f"{name}.json", folder / "tree")

    def same_as(store):
        same_arrays(zarr.open_group(original, mode="r", **how), zarr.open_group(store, mode="r"), name)
        if name in ("xarray", "consolidated"):
            with xarray.open_zarr(original, consolidated=name == "consolidated", zarr_format=2, chunks=None) as left, \
                    xarray.open_zarr(store, consolidated=False, chunks=None) as right:
                same_datasets(left, right, name)
    both_ways(work, [folder / "tree"], same_as=same_as, ways=ways)


@case
def zarr2_types(work):
    zarr_tree(work, "types", zarr_format=2)


@case
def zarr2_filters(work):
    zarr_tree(work, "filters", zarr_format=2)


@case
def zarr2_by_xarray(work):
    zarr_tree(work, "xarray", zarr_format=2)


@case
def zarr2_consolidated(work):
    zarr_tree(work, "consolidated", zarr_format=2, use_consolidated=True)


@case
def zarr3_copied(work):
    zarr_tree(work, "format3", ["copied"], zarr_format=3)


@case
def zarr3_by_reference(work):
    zarr_tree(work, "format3", ["by_reference"], zarr_format=3)


@case
def zarr2_behind_one_another(work):
    folder = folder_of(work)
    parts = []
    for n in range(2):
        part = xarray.Dataset({"tas": (("time", "x"), numbers((2, 4), first=n)), "x": numbers((4,), "f8")},
                              {"time": ("time", [2.0 * n, 2.0 * n + 1], {"units": "days since 2000-01-01"})})
        part.to_zarr(folder / f"{n}.zarr", zarr_format=2, encoding={"tas": {"chunks": (1, 2)}})
        parts.append(part)
    both = xarray.concat(parts, "time", data_vars="minimal")
    arrays = {name: both[name].values for name in both.variables}
    both_ways(work, [folder / "0.zarr", folder / "1.zarr"], "--concat", "time", arrays=arrays)


if __name__ == "__main__":
    leave(run_cases(sys.argv[1:]))
