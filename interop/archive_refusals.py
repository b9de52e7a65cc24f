"""Archives that must not be imported, or not be read: a message names the file, the variable and the reason, and
nothing is committed. `archive_sources.py` runs these, too."""

import json
import os

import h5py
import hdf5plugin
import icechunk
import netCDF4
import numpy as np
import zarr

from archive_lib import arrays_of_hdf5, attempt, both_ways, folder_of, new_repository, numbers, refused, store_of, write_netcdf
from lib import case, icefield

EVEN_LATER = 4_000_000_000


def refused_both_ways(work, sources, *words, options=()):
    """By reference and by copy, into a repository that has a commit already."""
    repository = new_repository(work)
    icefield("import", write_netcdf(work / "other.nc"), repository, "--group", "/other")
    for way in [["--virtual"], []]:
        refused(repository, [*sources, repository, "--group", "/new", *options, *way], *words)


def hdf5(work, fill, name="file.h5"):
    path = folder_of(work) / name
    with h5py.File(path, "w") as file:
        fill(file)
    return path


@case
def hdf5_that_is_cut_off(work):
    """Within the last chunks, in the middle, within the first header."""
    whole = write_netcdf(folder_of(work) / "whole.nc").read_bytes()
    for number, length in enumerate([len(whole) - 1, len(whole) // 2, 600, 96, 20, 8]):
        inner = work / str(number)
        path = folder_of_new(inner) / "cut.nc"
        path.write_bytes(whole[:length])
        refused_both_ways(inner, [path], "cut.nc")


@case
def hdf5_whose_data_is_cut_off(work):
    """Only the last chunk is incomplete."""
    for name, how in {"contiguous": {}, "chunked": {"chunks": (10, 10)},
                      "deflated": {"chunks": (10, 10), "compression": "gzip"}}.items():
        inner = work / name
        inner.mkdir()
        noise = np.random.default_rng(0).random((50, 50))
        path = hdf5(inner, lambda file: file.create_dataset(f"group/{name}", data=noise, **how))
        path.write_bytes(path.read_bytes()[:-1])
        refused_both_ways(inner, [path], "file.h5", f"/group/{name}", "the file ends before")


@case
def netcdf3_that_is_cut_off(work):
    for number, form in enumerate(["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]):
        whole = write_netcdf(folder_of(work) / f"{form}.nc", form).read_bytes()
        # A record is 64 bytes and more; what is cut off are the last ones, all, and half of the header.
        for length in [len(whole) - 70, len(whole) // 2, 300, 5]:
            inner = work / f"{number}-{length}"
            path = folder_of_new(inner) / "cut.nc"
            path.write_bytes(whole[:length])
            refused_both_ways(inner, [path], "cut.nc")


def folder_of_new(work):
    work.mkdir()
    return folder_of(work)


@case
def what_is_no_archive(work):
    contents = {"text.nc": b"Dear colleague, the data will follow next week.\n" * 40, "empty.nc": b"",
                "page.nc": b"<!DOCTYPE html><html><body>404 Not Found</body></html>", "list.json": b"[1, 2]",
                "broken.json": b'{"version": 1, "refs": {"a/.zarray": ', "other.json": b'{"type": "FeatureCollection"}'}
    for name, content in contents.items():
        inner = work / name
        path = folder_of_new(inner) / name
        path.write_bytes(content)
        refused_both_ways(inner, [path], name)


@case
def a_chunk_that_a_filter_was_left_out_of(work):
    """It is copied, and cannot be referred to: a chain of codecs is that of all chunks."""
    def fill(file):
        array = file.create_dataset("group/masked", shape=(6,), dtype="i4", chunks=(3,), **hdf5plugin.Blosc())
        array[:3] = [1, 2, 3]
        array.id.write_direct_chunk((3,), np.arange(3, dtype="i4").tobytes(), filter_mask=1)
    path = hdf5(work, fill)
    repository = new_repository(work)
    refused(repository, [path, repository, "--virtual"], "file.h5", "/group/masked", "filter")
    both_ways(work, [path], arrays=arrays_of_hdf5(path), ways=["copied"])


@case
def filters_that_zarr_lacks(work):
    filters = {"bitshuffle": hdf5plugin.Bitshuffle(), "zfp": hdf5plugin.Zfp(rate=8),
               "sz3": hdf5plugin.SZ3(absolute=0.1), "blosc2": hdf5plugin.Blosc2()}
    for name, how in filters.items():
        def fill(file):
            file.create_dataset("sound", data=numbers((4, 4)))
            file.create_dataset(name, data=numbers((64, 64)), chunks=(32, 32), **how)
        inner = work / name
        inner.mkdir()
        refused_both_ways(inner, [hdf5(inner, fill)], "file.h5", f"/{name}", "filter")


@case
def types_that_zarr_lacks(work):
    kinds = {"compound": np.zeros(3, [("x", ">i4"), ("y", "f8")]), "opaque": np.zeros(3, "V5")}
    for name, values in kinds.items():
        inner = work / name
        inner.mkdir()
        path = hdf5(inner, lambda file: file.create_dataset(name, data=values))
        refused_both_ways(inner, [path], "file.h5", f"/{name}")

    def lists(file):
        array = file.create_dataset("lists", shape=(2,), dtype=h5py.vlen_dtype("i4"))
        array[0], array[1] = [1, 2], [3]
    (work / "lists").mkdir()
    refused_both_ways(work / "lists", [hdf5(work / "lists", lists)], "file.h5", "/lists")


@case
def chunks_that_a_copy_encodes_anew_by_reference(work):
    """Zarr has another framing for LZ4 than HDF5."""
    values = np.zeros((64, 64), "f4")
    path = hdf5(work, lambda file: file.create_dataset("lz4", data=values, chunks=(32, 32), **hdf5plugin.LZ4()))
    repository = new_repository(work)
    refused(repository, [path, repository, "--virtual"], "file.h5", "/lz4", "LZ4")


@case
def links_to_other_files(work):
    def fill(file):
        file["away"] = h5py.ExternalLink("other.h5", "/x")
    path = hdf5(work, fill)
    hdf5(work, lambda file: file.create_dataset("x", data=numbers((3,))), "other.h5")
    refused_both_ways(work, [path], "file.h5", "/away")


@case
def the_same_month_twice(work):
    path = write_netcdf(folder_of(work) / "january.nc")
    refused_both_ways(work, [path, path], "january.nc", "time", options=["--concat", "time"])


@case
def the_same_month_appended(work):
    path = write_netcdf(folder_of(work) / "january.nc")
    repository = new_repository(work)
    icefield("import", path, repository, "--virtual")
    refused(repository, [path, repository, "--append", "time", "--virtual"], "january.nc", "time")


@case
def months_that_overlap(work):
    first = write_netcdf(folder_of(work) / "first.nc", first=0)
    second = write_netcdf(folder_of(work) / "second.nc", first=1)
    refused_both_ways(work, [first, second], "second.nc", "time", options=["--concat", "time"])


def two_that_do_not_fit(work, array, reason, **how):
    folder = folder_of(work)
    first, second = write_netcdf(folder / "first.nc"), write_netcdf(folder / "second.nc", first=3, **how)
    refused_both_ways(work, [first, second], "second.nc", array, reason, options=["--concat", "time"])


@case
def a_grid_of_another_size(work):
    two_that_do_not_fit(work, "/area", "shape", columns=5)


@case
def a_grid_at_another_place(work):
    two_that_do_not_fit(work, "/lat", "differs", latitude=40)


@case
def values_in_other_units(work):
    two_that_do_not_fit(work, "/tas", "units", units="degC")


@case
def a_file_that_ends_within_a_chunk(work):
    """By reference, the file after it begins within a chunk; a copy decodes the two at the seam."""
    names = []
    for number in range(2):
        names.append(folder_of(work) / f"{number}.nc")
        with netCDF4.Dataset(names[-1], "w") as file:
            file.createDimension("time", None)
            file.createDimension("x", 4)
            file.createVariable("t", "f8", ("time", "x"), chunksizes=(2, 4))[:] = np.full((3, 4), number)
    repository = new_repository(work)
    refused(repository, [*names, repository, "--concat", "time", "--virtual"], "1.nc", "/t", "--copy")
    icefield("import", *names, repository, "--concat", "time")


@case
def a_variable_that_only_one_file_has(work):
    first, second = [write_netcdf(folder_of(work) / f"{n}.nc", first=3 * n) for n in range(2)]
    with netCDF4.Dataset(second, "a") as file:
        file.createVariable("extra", "f4", ("time", "lon"))[:] = 1
    for sources in [[first, second], [second, first]]:
        repository = new_repository(work, f"r{sources[0].stem}")
        for way in [["--virtual"], []]:
            options = ["--concat", "time", "--unordered", *way]
            refused(repository, [*sources, repository, *options], "/extra", sources[1])


def by_reference(work):
    path = write_netcdf(folder_of(work) / "file.nc")
    repository = new_repository(work)
    icefield("import", path, repository, "--virtual")
    return path, repository, f"file://{path.parent}"


def unreadable(repository, grant, *words):
    """No chunk of the array comes out, on either side."""
    code, out, message = attempt("cat", repository, "tas/c/0/0/0", *(["--grant", grant] if grant else []))
    assert code != 0 and not out, (code, out, message)
    assert all(str(word) in message for word in words), message
    return code


@case
def a_file_that_was_changed(work):
    path, repository, grant = by_reference(work)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"x")
    os.utime(path, (EVEN_LATER, EVEN_LATER))
    unreadable(repository, grant, path, "changed")
    try:
        zarr.open_group(store_of(repository), mode="r")["tas"][...]
    except icechunk.IcechunkError:
        pass
    else:
        raise AssertionError("the reference read it")
    copied = attempt("materialize", repository, "--grant", grant)
    assert copied[0] != 0 and str(path) in copied[2], copied


@case
def a_file_that_was_cut_or_is_gone(work):
    """With the time of before, so that only its length tells."""
    path, repository, grant = by_reference(work)
    about = path.stat()
    path.write_bytes(path.read_bytes()[:9000])
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    unreadable(repository, grant, path)
    path.unlink()
    unreadable(repository, grant, path)


@case
def nothing_is_read_without_a_grant(work):
    path, repository, grant = by_reference(work)
    unreadable(repository, None, path.parent, "grant")
    for narrow in [f"{grant}x", f"{grant}/other", "file:///nowhere"]:
        unreadable(repository, narrow, "grant")
    exported = attempt("export", repository, work / "out.zarr")
    assert exported[0] != 0 and str(path.parent) in exported[2] and not (work / "out.zarr").exists(), exported
    copied = attempt("materialize", repository)
    assert copied[0] != 0 and str(path.parent) in copied[2], copied
    assert not attempt("cat", repository, "tas/c/0/0/0", "--grant", grant)[0]


SECRET = "a secret of somebody else"


def references(work, *targets):
    """References whose chunks are said to lie elsewhere."""
    document = {"zarr_format": 2, "shape": [8 * len(targets)], "chunks": [8], "dtype": "|u1", "order": "C",
                "fill_value": 0, "filters": None, "compressor": None}
    chunks = {f"a/{number}": [target, 0, 8] for number, target in enumerate(targets)}
    path = folder_of(work) / "references.json"
    path.write_text(json.dumps({"version": 1, "refs": {".zgroup": '{"zarr_format": 2}',
                                                       "a/.zarray": json.dumps(document), **chunks}}))
    return path


@case
def references_that_lead_elsewhere(work):
    targets = ["file:///etc/passwd", "/etc/passwd", "file://localhost/etc/passwd", "../secret.txt",
               "{above}/secret.txt",
               "file://{above}/archive/../secret.txt", "file://{above}/archive/%2e%2e/secret.txt",
               "file://{above}/archivex/../secret.txt", "http://169.254.169.254/latest/meta-data", "s3://somebody/key"]
    for number, target in enumerate(targets):
        above = work / str(number)
        above.mkdir()
        (above / "secret.txt").write_text(SECRET)
        target = target.format(above=above)
        refused_both_ways(above, [references(above, target)], target.rsplit("/", 1)[-1], "not granted")


@case
def references_that_lead_elsewhere_are_named(work):
    """So that one knows which of a hundred files to look at."""
    refused_both_ways(work, [references(work, "file:///etc/passwd")], "/etc/passwd", "references.json")


@case
def references_to_a_link_that_leads_elsewhere(work):
    (work / "secret.txt").write_text(SECRET)
    path = references(work, "link.txt")
    (path.parent / "link.txt").symlink_to(work / "secret.txt")
    refused_both_ways(work, [path], "link.txt")


@case
def documents_that_lie_elsewhere(work):
    (work / "secret.json").write_text(json.dumps({"secret": SECRET}))
    path = folder_of(work) / "references.json"
    found = {".zgroup": '{"zarr_format": 2}', ".zattrs": ["../secret.json"]}
    path.write_text(json.dumps({"version": 1, "refs": found}))
    refused_both_ways(work, [path], "secret.json")


@case
def references_beyond_the_end_or_to_nothing(work):
    for name, content in {"short.bin": b"1234", "missing.bin": None}.items():
        inner = work / name
        inner.mkdir()
        path = references(inner, name)
        if content:
            (path.parent / name).write_bytes(content)
        refused_both_ways(inner, [path], name)
