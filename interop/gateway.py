"""`icefield serve`, with the clients that read Zarr over HTTP as judges.

    export ICEFIELD=target/debug/icefield ICEFIELD_INTEROP_WORK=$(mktemp -d)
    target/python/archives/bin/python interop/gateway.py [PART OF A NAME ...]

Three months of NEMO are committed one after the other; every client reads the three versions and must find what netCDF4 reads
in the files. Clients of one kind have files of their own: `gateway_s3.py`, `gateway_gdal.py`, `gateway_netcdf.py`, `gateway_browser.py`.
"""

import base64
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
import warnings

import obstore.store
import tensorstore
import xarray
import zarr
import zarr.storage

# Their cases run with those of this file.
import gateway_bench  # noqa: F401
import gateway_browser  # noqa: F401
import gateway_gdal  # noqa: F401
import gateway_load  # noqa: F401
import gateway_netcdf  # noqa: F401
import gateway_s3  # noqa: F401
from gateway_lib import (
    MONTHS, assert_equal, assert_read, expected, months, nemo, odd, quoted, serving, versions, virtual,
)  # fmt: skip
from lib import ROOT, Skip, case, icefield, leave, run_cases

# Warnings of features that the Zarr specification does not have yet, and of consolidated metadata that is not asked for.
warnings.simplefilter("ignore")

TOKEN = "0123456789abcdef0123456789abcdef"


@case
def zarr_python_reads_through_fsspec(work):
    repository, ids = nemo()
    with serving(repository) as server:
        for text, count in versions(ids):
            for url in (f"{server.url}/{quoted(text)}/", f"{server.url}/{quoted(text)}"):
                group = zarr.open_group(url, mode="r")
                assert_read(lambda name: group[name][...], count, url)
        group = zarr.open_group(f"{server.url}/main/", mode="r", use_consolidated=False)
        assert "tos" in set(group.array_keys()), "the listing is read"


@case
def zarr_python_reads_through_obstore(work):
    repository, ids = nemo()
    with serving(repository) as server:
        for text, count in versions(ids):
            url = f"{server.url}/{quoted(text)}/"
            store = obstore.store.HTTPStore.from_url(url, client_options={"allow_http": True})
            group = zarr.open_group(zarr.storage.ObjectStore(store, read_only=True), mode="r")
            assert_read(lambda name: group[name][...], count, url)


@case
def xarray_opens_with_and_without_consolidated_metadata(work):
    repository, ids = nemo()
    with serving(repository) as server:
        for text, count in versions(ids):
            url = f"{server.url}/{quoted(text)}/"
            for consolidated in (None, True, False):
                dataset = xarray.open_zarr(
                    url, consolidated=consolidated, chunks=None, mask_and_scale=False, decode_times=False
                )
                assert_read(lambda name: dataset[name].values, count, (url, consolidated))
            for consolidated in (None, True, False):
                tree = xarray.open_datatree(
                    url, engine="zarr", consolidated=consolidated, chunks=None, decode_times=False, mask_and_scale=False
                )
                assert_read(lambda name: tree[name].values, count, ("open_datatree", url, consolidated))


@case
def xarray_opens_a_tree_of_groups(work):
    """Months in groups of their own, one within another, and each group by its own URL.

    In Zarr v2 without consolidated metadata fsspec lists groups by URLs without a slash at their end, which are none here.
    """
    repository = work / "tree"
    icefield("init", repository)
    groups = ["/", "/model/february", "/model/february/march"]
    for group, month in zip(groups, MONTHS):
        icefield("import", month, repository, "--group", group, "-m", group)
    with serving(repository) as server:
        for version, count in (("main~2", 1), ("main~1", 2), ("main", 3)):
            for view, consolidated in (("", None), ("", True), ("", False), ("/-/v2", None), ("/-/v2", True)):
                url = f"{server.url}{view}/{version}/"
                options = {"engine": "zarr", "consolidated": consolidated, "chunks": None, "decode_times": False,
                           "mask_and_scale": False, "zarr_format": 2 if view else 3}  # fmt: skip
                tree = xarray.open_datatree(url, **options)
                found = {node.path for node in tree.subtree}.intersection(groups)
                assert found == set(groups[:count]), (url, consolidated, found)
                for number, group in enumerate(groups[:count]):
                    assert_equal(tree[group]["tos"].values, expected(3)["tos"][number : number + 1], (url, group))
            inner = xarray.open_datatree(f"{server.url}/main/model/", engine="zarr", chunks=None, decode_times=False, mask_and_scale=False)
            assert_equal(inner["february/march/tos"].values, expected(3)["tos"][2:], "a group by its own URL")


@case
def zarr_2_is_read_by_those_who_know_no_other(work):
    repository, ids = nemo()
    with serving(repository) as server:
        for text, count in versions(ids):
            url = f"{server.url}/-/v2/{quoted(text)}/"
            group = zarr.open_group(url, mode="r", zarr_format=2)
            assert_read(lambda name: group[name][...], count, url)
            for consolidated in (None, True, False):
                dataset = xarray.open_zarr(
                    url, consolidated=consolidated, zarr_format=2, chunks=None, mask_and_scale=False, decode_times=False
                )
                assert_read(lambda name: dataset[name].values, count, (url, consolidated))


@case
def tensorstore_finds_the_format_itself(work):
    # It does not know the codecs of HDF5 by their names in Zarr v3.
    repository, ids = nemo("zstd:1")
    with serving(repository) as server:
        for text, count in versions(ids):
            for view in ("", "/-/v2"):
                base = f"{server.url}{view}/{quoted(text)}/"

                def read(name):
                    array = tensorstore.open(base + name + "/", open=True, read=True).result()
                    return array.read().result()

                assert_read(read, count, base)


@case
def sharded_and_odd_arrays_are_read(work):
    repository, values = odd()
    with serving(repository) as server:
        group = zarr.open_group(f"{server.url}/main/", mode="r")
        # fsspec encodes no part of a name: the URL of a node does.
        for name, data in values.items():
            array = zarr.open_array(f"{server.url}/main/{urllib.parse.quote(name)}", mode="r")
            assert_equal(array[...], data, name)
        assert_equal(group["sharded"][...], values["sharded"], "from the group")
        old = zarr.open_group(f"{server.url}/-/v2/main/", mode="r", zarr_format=2)
        for name in ("sharded", "plain", "scalar", "texts", "empty", "deep/er/array"):
            assert_equal(old[name][...], values[name], ("v2", name))


@case
def tensorstore_reads_shards_and_odd_names(work):
    repository, values = odd()
    with serving(repository) as server:
        for view in ("", "/-/v2"):
            for name, data in values.items():
                # It knows no type of texts.
                if name == "texts":
                    continue
                base = f"{server.url}{view}/main/{urllib.parse.quote(name)}/"
                array = tensorstore.open(base, open=True, read=True).result()
                assert_equal(array.read().result(), data, base)
            array = tensorstore.open(f"{server.url}{view}/main/sharded/", open=True, read=True).result()
            assert_equal(array[7:9, 3].read().result(), values["sharded"][7:9, 3], (view, "a part"))


@case
def tensorstore_asks_for_changed_chunks_only(work):
    """With a cache it sends the tags that it has: what is unchanged is 304, also in a newer version."""
    repository, ids = months(work, 2, "--codec", "zstd:1")
    with serving(repository) as server:
        context = tensorstore.Context({"cache_pool": {"total_bytes_limit": 100_000_000}})

        def read(count):
            array = tensorstore.open(
                f"{server.url}/main/tos/", open=True, read=True, context=context, recheck_cached=True
            ).result()
            assert_equal(array.read().result(), expected(count)["tos"], count)

        def answers():
            return [
                server.metric(rf'icefield_http_requests_total{{method="GET",route="v3",status="{status}"')
                for status in ("200", "304")
            ]

        read(2)
        whole, unchanged = answers()
        read(2)
        again = answers()
        assert again[0] == whole and again[1] > unchanged, (whole, unchanged, again)
        icefield("import", MONTHS[2], repository, "--append", "time_counter", "-m", "march")
        read(3)
        moved = answers()
        # The document, and the chunk of March.
        assert moved[0] - again[0] == 2, (again, moved)


@case
def virtual_chunks_are_read_under_a_grant_only(work):
    repository, folder = virtual()
    with serving(repository, "--grant", folder) as server:
        group = zarr.open_group(f"{server.url}/main/", mode="r")
        assert_read(lambda name: group[name][...], 1, "granted")
    with serving(repository) as server:
        try:
            server.get("/main/tos/c/0/0/0")
            raise AssertionError("a chunk was read without a grant")
        except urllib.error.HTTPError as error:
            assert error.code == 403, error.code
            assert folder.name in error.read().decode()


@case
def a_token_comes_in_a_header_or_as_a_password(work):
    repository, ids = months(work, 1)
    with serving(repository, environment={"ICEFIELD_TOKEN": TOKEN}) as server:
        plain = f"{server.url}/{ids[0]}/"
        options = {"headers": {"Authorization": f"Bearer {TOKEN}"}}
        group = zarr.open_group(plain, mode="r", storage_options=options)
        assert_read(lambda name: group[name][...], 1, "bearer")
        basic = base64.b64encode(f"me:{TOKEN}".encode()).decode()
        group = zarr.open_group(plain, mode="r", storage_options={"headers": {"Authorization": f"Basic {basic}"}})
        assert_read(lambda name: group[name][...], 1, "basic")
        group = zarr.open_group(plain.replace("//", f"//me:{TOKEN}@", 1), mode="r")
        assert_read(lambda name: group[name][...], 1, "in the URL")
        try:
            server.get(f"/{ids[0]}/zarr.json")
            raise AssertionError("a document was read without the token")
        except urllib.error.HTTPError as error:
            assert error.code == 401, error.code


@case
def clients_see_commits_that_come_while_they_read(work):
    repository, ids = months(work, 1)
    with serving(repository) as server:
        assert zarr.open_group(f"{server.url}/main/", mode="r")["tos"].shape[0] == 1
        icefield("import", MONTHS[1], repository, "--append", "time_counter", "-m", "february")
        group = zarr.open_group(f"{server.url}/main/", mode="r")
        assert_read(lambda name: group[name][...], 2, "moved")
        pinned = zarr.open_group(f"{server.url}/{ids[0]}/", mode="r")
        assert_read(lambda name: pinned[name][...], 1, "pinned")


@case
def the_explorer_shows_every_view_of_a_real_server(work):
    web = ROOT / "web"
    missing = [
        what
        for what, is_there in (
            ("node", shutil.which("node")),
            ("node_modules in web/ (npm ci)", (web / "node_modules").exists()),
            ("Chromium", any(map(shutil.which, ("chromium", "chromium-headless-shell")))),
        )
        if not is_there
    ]
    if missing:
        raise Skip(f"there is no {' and no '.join(missing)}")
    repository, _ = nemo()
    with serving(repository) as server:
        asked = {"ICEFIELD_URL": server.url, "ICEFIELD_REPOSITORY": "nemo", "EXPLORER_SHOTS": str(work / "shots")}
        command = ["node", "--test", "--test-reporter=spec", "test/served.test.mjs"]
        done = subprocess.run(
            command, cwd=web, env={**os.environ, **asked}, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(list((work / "shots").iterdir())) >= 24, "a picture of each view in each theme"


if __name__ == "__main__":
    leave(run_cases(sys.argv[1:]))
