"""Archives as reports of users have them, and their likes: each equal to what the original libraries read, by copy and, where
that can be, by reference. `archive_sources.py` runs these, too."""

import json
import zipfile

import h5py
import hdf5plugin
import netCDF4
import numpy as np
import xarray
import zarr

from archive_lib import (assert_arrays, assert_dataset, arrays_of_hdf5, arrays_of_netcdf, attempt, both_ways, folder_of,
                         new_repository, numbers, store_of)
from lib import case, icefield


@case
def a_checksum_before_a_shuffle(work):
    """As netCDF-C orders them; elements that the shuffle leaves over are copied."""
    path = folder_of(work) / "checked.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 13)
        for dtype, chunk in [("i1", 5), ("i2", 5), ("i4", 4), ("f4", 7)]:
            how = dict(zlib=True, fletcher32=True, chunksizes=(chunk,))
            file.createVariable(dtype, dtype, ("x",), **how)[:] = numbers((13,), dtype)
            file.createVariable(f"inner/big_{dtype}", dtype, ("x",), endian="big", **how)[:] = numbers((13,), dtype)
    both_ways(work, [path], arrays=arrays_of_netcdf(path))
    wide = folder_of(work) / "wide.nc"
    with netCDF4.Dataset(wide, "w") as file:
        file.createDimension("x", 13)
        for dtype in ["f8", "i8"]:
            how = dict(zlib=True, fletcher32=True, chunksizes=(4,))
            file.createVariable(dtype, dtype, ("x",), **how)[:] = numbers((13,), dtype)
    both_ways(work, [wide], arrays=arrays_of_netcdf(wide), ways=("copied wide",))
    repository = new_repository(work, "refers")
    code, _, message = attempt("import", wide, repository, "--virtual")
    assert code == 1 and "evenly" in message, message


@case
def chunks_without_their_filters(work):
    path = folder_of(work) / "masks.h5"
    with h5py.File(path, "w") as file:
        made = file.create_dataset("v", data=np.arange(7, dtype="i4"), chunks=(3,), compression="gzip", shuffle=True)
        made.id.write_direct_chunk((3,), np.array([30, 40, 50], "i4").tobytes(), 3)
    both_ways(work, [path], arrays=arrays_of_hdf5(path), ways=("copied",))


@case
def zips_with_entries_that_replace_others(work):
    """As zarr-python writes them, of both formats; stored and deflated."""
    for form in (2, 3):
        for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            inner = work / f"{form}-{compression}"
            inner.mkdir()
            path = folder_of(inner) / "a.zip"
            with zarr.storage.ZipStore(path, mode="w", compression=compression) as store:
                dataset = xarray.Dataset({"a": ("t", [1.0, 2.0]), "b": ("t", np.array([3, 4], "i2"))}, attrs={"n": form})
                dataset.to_zarr(store, zarr_format=form, consolidated=form == 2)
                zarr.open_array(store, path="b", mode="r+", zarr_format=form)[:] = [5, 6]
            ways = ("copied", "by_reference") if compression == zipfile.ZIP_STORED else ("copied",)
            both_ways(inner, [path], dataset=dataset.assign(b=("t", np.array([5, 6], "i2"))), ways=ways)


@case
def numbers_that_json_lacks(work):
    for form in (2, 3):
        path = folder_of(work) / f"{form}.zarr"
        group = zarr.open_group(path, mode="w", zarr_format=form)
        array = group.create_array("inner/a", shape=(3,), dtype="f4")
        array[:] = [1, np.nan, 3]
        array.attrs.update({"missing_value": float("nan"), "valid_range": [float("-inf"), 1]})
        group.attrs["bound"] = float("inf")
        repository = new_repository(work, f"r{form}")
        report = json.loads(icefield("import", path, repository, "--json"))
        assert any("JSON lacks" in warning for warning in report["warnings"]), report
        found = zarr.open_group(store_of(repository), mode="r")
        assert dict(found["inner/a"].attrs) == {"missing_value": "NaN", "valid_range": ["-Infinity", 1]}
        assert dict(found.attrs) == {"bound": "Infinity"}
        np.testing.assert_array_equal(found["inner/a"][:], [1, np.nan, 3])


@case
def dimensions_without_scales(work):
    """Called as netCDF-C calls them, so that xarray opens both alike."""
    path = folder_of(work) / "plain.h5"
    with h5py.File(path, "w") as file:
        file["b"] = numbers((3, 2))
        file["square"] = numbers((3, 3))
        file["g/a"] = numbers((3, 4), ">f8")
        file["g/z"] = numbers((7,))
        file["h/i/q"] = numbers((7, 3), "i2")
        file["x"] = np.arange(9)
        file["x"].make_scale("x")
        file["along_x"] = numbers((9, 5))
        file["zz"] = numbers((4,))
        file.create_dataset("grows", data=numbers((4, 4)), maxshape=(None, None), chunks=(2, 2))
    repository = new_repository(work)
    icefield("import", path, repository)
    with xarray.open_datatree(path, engine="netcdf4") as wanted:
        found = xarray.open_datatree(store_of(repository), engine="zarr", consolidated=False)
        for node in wanted.subtree:
            there = {name: variable.dims for name, variable in node.variables.items()}
            here = {name: variable.dims for name, variable in found[node.path].variables.items()}
            assert there == here, (node.path, there, here)
    both_ways(work, [path], arrays=arrays_of_hdf5(path))


@case
def one_node_that_cannot_be_imported(work):
    path = folder_of(work) / "mixed.h5"
    with h5py.File(path, "w") as file:
        file["good"] = numbers((3,))
        file["g/good"] = numbers((4, 2))
        file["link"] = h5py.SoftLink("/gone")
        file["g/opaque"] = np.zeros(3, "V5")
        file["g/external"] = h5py.ExternalLink("other.h5", "/v")
        file.create_dataset("g/filter", data=numbers((9,)), chunks=(9,), **hdf5plugin.Bitshuffle())
    bad = {"/link", "/g/opaque", "/g/external", "/g/filter"}
    good = {"good": numbers((3,)), "g/good": numbers((4, 2))}
    for number, how in enumerate([["--virtual"], []]):
        repository = new_repository(work, f"r{number}")
        code, _, message = attempt("import", path, repository, *how)
        assert code == 1 and "--skip-unsupported" in message, message
        report = json.loads(icefield("import", path, repository, "--skip-unsupported", "--json", *how))
        assert {one["path"] for one in report["omitted"]} == bad, report["omitted"]
        assert_arrays(store_of(repository), good)
        dropped = new_repository(work, f"dropped{number}")
        report = json.loads(icefield("import", path, dropped, "--drop", ",".join(bad), "--json", *how))
        assert report["omitted"] == [], report
        assert_arrays(store_of(dropped), good)


@case
def consolidated_metadata_that_is_old(work):
    path = folder_of(work) / "t.zarr"
    dataset = xarray.Dataset({"a": ("t", np.arange(3.0))})
    dataset.to_zarr(path, zarr_format=2, consolidated=True)
    longer = xarray.concat([dataset, dataset], "t").assign(late=("t", np.arange(6)))
    longer.a.attrs["units"] = "K"
    longer.to_zarr(path, zarr_format=2, mode="w", consolidated=False)
    old = work / "old.zarr"
    dataset.to_zarr(old, zarr_format=2, consolidated=True)
    (path / ".zmetadata").write_bytes((old / ".zmetadata").read_bytes())
    both_ways(work, [path], same_as=lambda store: assert_dataset(store, longer))


def write_two_unlimited(path, first, written):
    """Arrays of five records and three members that were written for fewer of either; big-endian ones in a group below."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("member", None)
        file.createVariable("time", "i4", ("time",))[:] = np.arange(first, first + 5)
        file.createVariable("member", "i4", ("member",))[:] = np.arange(3)
        # In chunks of a record, and in one of all.
        for chunks in [(1, 2), (5, 3)]:
            for name, records, members in [("records", written, 3), ("members", 5, 2), ("both", written, 2)]:
                for how, fill in [("filled", -1), ("default", None), ("unfilled", False)]:
                    for at, order in [("", "<"), ("g/h/", ">")]:
                        made = file.createVariable(f"{at}{name}_{chunks[0]}_{how}", f"{order}i4", ("time", "member"),
                                                   chunksizes=chunks, fill_value=fill)
                        made[:records, :members] = first + np.arange(records * members).reshape(records, members)


def arrays_by_elements(*paths):
    """What netCDF4 reads element by element. When it reads a whole array that lags, netCDF-C (4.10.1) lays what is stored in
    front of all, and puts only as many fill values behind as the product of what the lagging dimensions lack and the lengths of
    those that are not unlimited. That is right if one dimension lags, the first, and no other one is unlimited; otherwise
    elements move, and the last ones are of memory that was never written."""
    found = {}

    def visit(group, at):
        for name, variable in group.variables.items():
            variable.set_auto_maskandscale(False)
            values = np.empty(variable.shape, variable.dtype)
            for index in np.ndindex(*variable.shape):
                values[index] = variable[index]
            found.setdefault(at + name, []).append(values)
        for name, inner in group.groups.items():
            visit(inner, f"{at}{name}/")

    for path in paths:
        with netCDF4.Dataset(path) as file:
            visit(file, "")
    return {name: parts[0] if name == "member" else np.concatenate(parts) for name, parts in found.items()}


@case
def records_that_lag_along_two_unlimited_dimensions(work):
    paths = [folder_of(work) / f"{number}.nc" for number in range(3)]
    for number, path in enumerate(paths):
        write_two_unlimited(path, 5 * number, written=3 + number % 2)
    arrays = arrays_by_elements(*paths)
    with h5py.File(paths[0]) as file:
        for name, shape in [("records_1_filled", (3, 3)), ("g/h/members_5_default", (5, 2)), ("both_5_filled", (3, 2))]:
            assert file[name].shape == shape and arrays[name].shape == (15, 3)
            np.testing.assert_array_equal(arrays[name][:shape[0], :shape[1]], file[name][()])
    both_ways(work, paths, "--concat", "time", arrays=arrays)
    repository = new_repository(work, "appended")
    icefield("import", paths[0], repository)
    for path in paths[1:]:
        icefield("import", path, repository, "--append", "time")
    assert_arrays(store_of(repository), arrays)
