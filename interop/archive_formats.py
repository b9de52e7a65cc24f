"""Formats beside NetCDF, HDF5, kerchunk and Zarr, through `icefield import`: `archive_sources.py` runs these cases, too."""

import h5py
import numpy as np
import virtualizarr
import virtualizarr.parsers
import xarray
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore

import archive_dmrpp
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
