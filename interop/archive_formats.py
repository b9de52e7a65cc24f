"""Formats beside NetCDF, HDF5, kerchunk and Zarr, through `icefield import`: `archive_sources.py` runs these cases, too."""

import h5py
import hdf5plugin
import numpy as np
import rasterio
import virtualizarr
import virtualizarr.parsers
import xarray
import zarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore

import archive_dmrpp
import archive_tiff
from archive_check import same
from archive_lib import (
    arrays_of_netcdf,
    assert_arrays,
    both_ways,
    dataset_of,
    folder_of,
    new_repository,
    refused,
    store_of,
    write_netcdf,
)
from lib import case, icefield


def arrays_as_stored(path):
    """What h5py reads; texts of fixed length as bytes."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            text = h5py.check_string_dtype(item.dtype)
            found[name] = item.asstr()[...] if text and text.length is None else np.asarray(item[()])
    with h5py.File(path) as file:
        file.visititems(visit)
    return found


@case
def dmrpp_of_every_kind(work):
    for write, copied in [(archive_dmrpp.write_every_kind, "mask"), (archive_dmrpp.write_checksum_first, "f8")]:
        inner = work / write.__name__
        inner.mkdir()
        path = write(folder_of(inner) / "data.h5")
        document = archive_dmrpp.write_dmrpp(path)
        arrays = arrays_as_stored(path)
        repository = new_repository(inner, "all")
        refused(repository, [document, repository, "--virtual"], copied)
        icefield("import", document, repository, "--virtual", "--copy", f"/{copied}")
        assert_arrays(store_of(repository), arrays)
        del arrays[copied]
        both_ways(inner, [str(document)], "--drop", copied, arrays=arrays)


@case
def dmrpp_of_netcdf(work):
    """As netCDF4 and xarray read the file, and as VirtualiZarr reads the document."""
    documents, names = [], []
    for number in range(2):
        names.append(write_netcdf(folder_of(work) / f"{number}.nc", first=3 * number))
        documents.append(str(archive_dmrpp.write_dmrpp(names[-1])))
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    parser = virtualizarr.parsers.DMRPPParser()
    with virtualizarr.open_virtual_dataset(url=f"file://{documents[0]}", parser=parser, registry=registry,
                                           loadable_variables=["tas", "time"]) as theirs:
        with xarray.open_dataset(names[0], engine="netcdf4") as original:
            np.testing.assert_array_equal(original.tas.values, theirs.tas.values)
    arrays = arrays_of_netcdf(*names)
    both_ways(work, documents, "--concat", "time", arrays=arrays, dataset=dataset_of(*names))


@case
def dmrpp_outside_of_its_grant(work):
    """A document may name any file; those beside it are granted, and others that the caller grants."""
    elsewhere = work / "elsewhere"
    elsewhere.mkdir()
    path = archive_dmrpp.write_checksum_first(elsewhere / "data.h5")
    document = folder_of(work) / "data.h5.dmrpp"
    document.write_bytes(archive_dmrpp.document(path, href=f"file://{path}"))
    repository = new_repository(work)
    for way in [["--virtual"], []]:
        refused(repository, [document, repository, *way], "data.h5", "grant")
    icefield("import", document, repository, "--drop", "f8", "--virtual", "--grant", f"file://{elsewhere}")
    arrays = arrays_as_stored(path)
    del arrays["f8"]
    assert_arrays(store_of(repository), arrays)


@case
def tiff_of_every_kind(work):
    """Each by copy and, where codecs say what GDAL did, by reference: rasterio reads the same, and where its pixels are."""
    made = archive_tiff.files(folder_of(work))
    assert len(made) >= 40, len(made)
    assert sum(plain for _, plain in made.values()) >= 20
    copies, references = new_repository(work, "copies"), new_repository(work, "references")
    for name, (path, plain) in made.items():
        icefield("import", path, copies, "--group", name)
        if plain:
            icefield("import", path, references, "--group", name, "--virtual")
        else:
            refused(references, [path, references, "--group", name, "--virtual"], "band_data")
    for repository in [copies, references]:
        groups = dict(zarr.open_group(store_of(repository), mode="r").groups())
        assert set(groups) == {name for name, (_, plain) in made.items() if plain or repository == copies}
        for name, group in groups.items():
            path = made[name][0]
            same(archive_tiff.read(path), group["band_data"][...], f"{repository.name} {name}")
            with rasterio.open(path) as file:
                rows, columns = np.arange(file.height), np.arange(file.width)
                np.testing.assert_allclose(group["x"][...], (file.transform * (columns + 0.5, 0.5))[0], rtol=1e-13)
                np.testing.assert_allclose(group["y"][...], (file.transform * (0.5, rows + 0.5))[1], rtol=1e-13)
                assert group["spatial_ref"].attrs["spatial_ref"] == file.crs.to_string(), name
                gdal = [float(one) for one in group["spatial_ref"].attrs["GeoTransform"].split()]
                np.testing.assert_allclose(gdal, file.transform.to_gdal())


@case
def cloud_optimised_tiff(work):
    for compress in ["deflate", "zstd", "lzw"]:
        inner = work / compress
        inner.mkdir()
        path = archive_tiff.write_cog(folder_of(inner) / "cog.tif", compress, bigtiff="YES")
        ways = [["--virtual"], []] if compress != "lzw" else [[]]
        for number, way in enumerate(ways):
            repository = new_repository(inner, f"r{number}")
            icefield("import", path, repository, *way)
            store = store_of(repository)
            for level, group in [(None, ""), (0, "overviews/1"), (1, "overviews/2")]:
                options = {} if level is None else {"overview_level": level}
                with rasterio.open(path, **options) as file, xarray.open_zarr(store, group=group, consolidated=False) as found:
                    stored = zarr.open_array(store, path=f"{group}/band_data".strip("/"), mode="r")
                    same(file.read(), stored[...], f"{compress} {group}")
                    # Decoded by CF.
                    values = np.where(file.read() == -120, np.nan, file.read() * 0.5 + 10)
                    np.testing.assert_allclose(found.band_data.values, values, rtol=1e-6)
                    np.testing.assert_allclose(found.x.values, (file.transform * (np.arange(file.width) + 0.5, 0.5))[0], rtol=1e-9)
                    assert found.band_data.units == "K" and found.band.values.tolist() == [1, 2]
        one = new_repository(inner, "one")
        icefield("import", path, one, "--overviews", "2")
        with rasterio.open(path, overview_level=1) as file:
            same(file.read(), zarr.open_array(store_of(one), path="band_data", mode="r")[...], "overview 2")
        refused(one, [path, one, "--group", "x", "--overviews", "9"], "cog.tif", "overview")


@case
def tiff_of_jpeg(work):
    """Decoders round in their own ways."""
    for name, (path, most) in archive_tiff.jpeg(folder_of(work)).items():
        repository = new_repository(work, name)
        icefield("import", path, repository)
        found = zarr.open_array(store_of(repository), path="band_data", mode="r")[...].astype(int)
        difference = np.abs(found - archive_tiff.read(path).astype(int))
        assert difference.max() <= most and difference.mean() < 1, (name, difference.max(), difference.mean())


@case
def tiff_that_is_not_decoded(work):
    folder = folder_of(work)
    for compress, word in [("lerc", "LERC"), ("webp", "WebP"), ("lzma", "LZMA")]:
        path = archive_tiff.write(folder / f"{compress}.tif", bands=3, interleave="pixel", compress=compress)
        repository = new_repository(work, compress)
        refused(repository, [path, repository], f"{compress}.tif", word)
        icefield("import", path, repository, "--skip-unsupported")
    whole = archive_tiff.write(folder / "whole.tif", compress="lzw").read_bytes()
    repository = new_repository(work, "cut")
    for length in [len(whole) - 1, len(whole) // 2, 20, 6]:
        (folder / "cut.tif").write_bytes(whole[:length])
        refused(repository, [folder / "cut.tif", repository], "cut.tif")


@case
def filters_of_hdf5_that_copies_undo(work):
    path = folder_of(work) / "filters.h5"
    values = (np.arange(64 * 50).reshape(64, 50) // 7 % 90).astype("f4")
    with h5py.File(path, "w") as file:
        for name, how in {"lzf": {"compression": "lzf"}, "szip": {"compression": "szip"}, "scaled": {"scaleoffset": 1},
                          "lz4": hdf5plugin.LZ4()}.items():
            file.create_dataset(name, data=values, chunks=(16, 16), **how)
        for name, how in {"bzip2": hdf5plugin.BZip2(), "blosc": hdf5plugin.Blosc(), "zstd": hdf5plugin.Zstd()}.items():
            file.create_dataset(name, data=values, chunks=(16, 16), **how)
        arrays = {name: file[name][...] for name in file}
    repository = new_repository(work)
    icefield("import", path, repository)
    assert_arrays(store_of(repository), arrays)
    by_reference = new_repository(work, "by_reference")
    refused(by_reference, [path, by_reference, "--virtual"], "filters.h5", "no codec")
    icefield("import", path, by_reference, "--virtual", *[part for name in ["lzf", "szip", "scaled", "lz4"] for part in ["--copy", name]])
    assert_arrays(store_of(by_reference), arrays)


@case
def compounds_of_hdf5(work):
    path = folder_of(work) / "compounds.h5"
    packed = np.dtype([("x", "<i4"), ("y", "<f8"), ("name", "S3")])
    data = np.zeros(9, packed)
    data["x"], data["y"], data["name"] = np.arange(9), np.arange(9) / 4, [f"n{n}" for n in range(9)]
    gaps = np.zeros(9, np.dtype([("x", "i1"), ("at", np.dtype([("y", ">f8")])), ("three", "i2", (3,))], align=True))
    gaps["x"], gaps["at"]["y"], gaps["three"] = data["x"], data["y"], np.arange(27).reshape(9, 3)
    with h5py.File(path, "w") as file:
        file.create_dataset("packed", data=data, chunks=(4,), compression="gzip")
        file.create_dataset("gaps", data=gaps, chunks=(4,), compression="lzf")
        file["packed"].attrs["note"] = "tracks"
    repository = new_repository(work)
    refused(repository, [path, repository], "/gaps", "--split-compound")
    both_ways(work, [str(path)], "--drop", "gaps", arrays={"packed": data})
    icefield("import", path, repository, "--split-compound")
    arrays = {f"packed/{name}": data[name] for name in packed.names}
    arrays |= {"gaps/x": gaps["x"], "gaps/at/y": gaps["at"]["y"], "gaps/three": gaps["three"]}
    assert_arrays(store_of(repository), arrays)
    assert zarr.open_group(store_of(repository), path="packed", mode="r").attrs["note"] == "tracks"
