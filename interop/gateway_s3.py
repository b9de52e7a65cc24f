"""`icefield serve --s3-port`, with s3fs and netCDF-C as judges. Cases of `gateway.py`."""

import urllib.error
import urllib.parse
import urllib.request

import s3fs
import xarray
import zarr

from gateway_lib import (
    assert_equal, assert_read, nemo, odd, serving, virtual, versions,
)  # fmt: skip
from lib import case


def of(server, **more):
    """The options of s3fs for a server, without a cache of its own between servers."""
    return {"anon": True, "endpoint_url": server.s3, "skip_instance_cache": True, **more}


@case
def s3fs_reads_every_version(work):
    repository, ids = nemo()
    with serving(repository, "--s3-port", "0") as server:
        options = of(server)
        name = server.facts["repositories"][0]["name"]
        for text, count in versions(ids):
            for bucket, zarr_format in ((name, 3), (f"{name}-v2", 2)):
                url = f"s3://{bucket}/{text}"
                group = zarr.open_group(url, mode="r", zarr_format=zarr_format, storage_options=options)
                assert_read(lambda name: group[name][...], count, url)
                for consolidated in (None, False) if text == "main~1" else ():
                    dataset = xarray.open_zarr(
                        url, consolidated=consolidated, zarr_format=zarr_format, chunks=None, mask_and_scale=False,
                        decode_times=False, storage_options=options,
                    )  # fmt: skip
                    assert_read(lambda name: dataset[name].values, count, (url, consolidated))


@case
def s3fs_lists_and_walks(work):
    repository, ids = nemo()
    with serving(f"sea={repository}", "--s3-port", "0") as server:
        # It lists buckets for those only who have a key; the server takes any.
        signed = s3fs.S3FileSystem(**of(server, anon=False, key="any", secret="thing"))
        assert signed.ls("") == ["sea", "sea-v2"], signed.ls("")
        files = s3fs.S3FileSystem(**of(server))
        assert files.ls("sea") == ["sea/main", "sea/tag:january"], files.ls("sea")
        assert files.isdir("sea/main/tos") and files.isfile("sea/main/tos/zarr.json")
        assert not files.exists("sea/main/tos/c/9/0/0") and not files.exists("sea/main/nothing")
        chunks = [f"sea/main/tos/c/{month}/0/0" for month in range(3)]
        assert files.find("sea/main/tos") == [*chunks, "sea/main/tos/zarr.json"], files.find("sea/main/tos")
        assert files.glob("sea/main~1/tos/c/*/0/0") == [chunk.replace("main", "main~1") for chunk in chunks[:2]]
        found = {at: sorted(names) for at, _, names in files.walk("sea-v2/main/tos")}
        assert found == {"sea-v2/main/tos": [".zarray", ".zattrs", "0.0.0", "1.0.0", "2.0.0"]}, found
        whole = files.cat_file(chunks[0])
        assert files.info(chunks[0])["size"] == len(whole)
        assert files.cat_ranges([chunks[0]] * 2, [0, -20], [10, None]) == [whole[:10], whole[-20:]]
        files.get("sea/main/tos", str(work / "tos"), recursive=True)
        assert (work / "tos/c/1/0/0").read_bytes() == files.cat_file(chunks[1])
        try:
            files.pipe_file("sea/main/tos/c/0/0/0", b"other")
            raise AssertionError("a chunk was written")
        except PermissionError:
            pass


@case
def s3fs_reads_odd_arrays(work):
    repository, values = odd()
    with serving(repository, "--s3-port", "0") as server:
        group = zarr.open_group("s3://odd/main", mode="r", storage_options=of(server))
        unlisted = zarr.open_group("s3://odd/main", mode="r", use_consolidated=False, storage_options=of(server))
        assert set(unlisted.array_keys()) == {name for name in values if "/" not in name}
        for name, data in values.items():
            assert_equal(group[name][...], data, name)
            assert_equal(unlisted[name][...], data, name)
        old = zarr.open_group("s3://odd-v2/main", mode="r", zarr_format=2, storage_options=of(server))
        for name, data in values.items():
            assert_equal(old[name][...], data, ("v2", name))


@case
def s3fs_reads_virtual_chunks_under_a_grant_only(work):
    repository, folder = virtual()
    name = repository.name
    with serving(repository, "--s3-port", "0", "--grant", folder) as server:
        group = zarr.open_group(f"s3://{name}/main", mode="r", storage_options=of(server))
        assert_read(lambda array: group[array][...], 1, "granted")
    with serving(repository, "--s3-port", "0") as server:
        group = zarr.open_group(f"s3://{name}/main", mode="r", storage_options=of(server))
        try:
            group["tos"][...]
            raise AssertionError("a chunk was read without a grant")
        except PermissionError:
            pass
