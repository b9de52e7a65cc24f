"""`icefield serve`, with the clients that read Zarr over HTTP as judges.

    export ICEFIELD=target/debug/icefield ICEFIELD_INTEROP_WORK=$(mktemp -d)
    target/python/archives/bin/python interop/gateway.py [PART OF A NAME ...]

Three months of NEMO are committed one after the other; every client reads the three versions and must find what netCDF4 reads
in the files.
"""

import base64
import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
import warnings

import netCDF4
import numpy as np
import obstore.store
import xarray
import zarr
import zarr.storage

from lib import ROOT, Skip, case, icefield, leave, run_cases

# Warnings of features that the Zarr specification does not have yet, and of consolidated metadata that is not asked for.
warnings.simplefilter("ignore")

try:
    import tensorstore
except ImportError:
    tensorstore = None

MONTHS = [
    ROOT / "fixtures/ocean" / name
    for name in (
        "nemo_1m_20150101-20150201_grid-T.nc",
        "nemo_1m_20150201-20150301_grid-T.nc",
        "nemo_1m_20150301-20150401_grid-T.nc",
    )
]
TOKEN = "0123456789abcdef0123456789abcdef"


class Server:
    """A running server: its URL, and the snapshot of `main`."""

    def __init__(self, facts, process):
        self.url = facts["url"]
        self.facts = facts
        self.process = process
        self.id = facts["repositories"][0]["snapshot_id"]

    def get(self, path, **headers):
        request = urllib.request.Request(self.url + path, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.read()


@contextlib.contextmanager
def serving(*arguments, environment=None):
    command = [os.environ["ICEFIELD"], "serve", *map(str, arguments), "--port", "0", "--json"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
    )
    try:
        text = ""
        for line in process.stdout:
            text += line
            if line.rstrip() == "}":
                break
        yield Server(json.loads(text), process)
    finally:
        process.send_signal(signal.SIGTERM)
        status = process.wait(timeout=30)
        process.stdout.close()
    assert status == 0, f"the server ended with {status}"


def months(work, count=3, *options):
    """A repository with a commit for each month, the first imported with some options; returns the snapshots."""
    repository = work / "nemo"
    icefield("init", repository)
    for number, month in enumerate(MONTHS[:count]):
        more = ["--append", "time_counter"] if number else options
        icefield("import", month, repository, *more, "-m", month.stem)
    history = json.loads(icefield("log", repository, "--json"))["snapshots"]
    ids = [snapshot["id"] for snapshot in history[:count]]
    icefield("tag", "create", repository, "january", "--ref", ids[-1])
    return repository, ids[::-1]


@functools.cache
def expected(count):
    """What netCDF4 reads of the first months, as it is stored."""
    stored = {}
    for month in MONTHS[:count]:
        with netCDF4.Dataset(month) as file:
            file.set_auto_maskandscale(False)
            for name in ("tos", "time_counter", "nav_lat"):
                stored.setdefault(name, []).append(file[name][...])
    return {
        "tos": np.concatenate(stored["tos"]),
        "time_counter": np.concatenate(stored["time_counter"]),
        "nav_lat": stored["nav_lat"][0],
    }


def versions(ids):
    """Texts that name the three versions, with the months that each has."""
    return [
        (ids[0], 1), (ids[1], 2), (ids[2], 3),
        ("main", 3), ("main~1", 2), ("tag:january", 1), (f"snapshot:{ids[1]}", 2),
    ]  # fmt: skip


def assert_read(read, count, what):
    for name, values in expected(count).items():
        found = np.asarray(read(name))
        assert found.shape == values.shape, (what, name, found.shape, values.shape)
        assert np.array_equal(found, values, equal_nan=found.dtype.kind == "f"), (what, name)


def quoted(text):
    return urllib.parse.quote(text, safe="")


@case
def zarr_python_reads_through_fsspec(work):
    repository, ids = months(work)
    with serving(repository) as server:
        for text, count in versions(ids):
            for url in (f"{server.url}/{quoted(text)}/", f"{server.url}/{quoted(text)}"):
                group = zarr.open_group(url, mode="r")
                assert_read(lambda name: group[name][...], count, url)
        group = zarr.open_group(f"{server.url}/main/", mode="r", use_consolidated=False)
        assert "tos" in set(group.array_keys()), "the listing is read"


@case
def zarr_python_reads_through_obstore(work):
    repository, ids = months(work)
    with serving(repository) as server:
        for text, count in versions(ids):
            url = f"{server.url}/{quoted(text)}/"
            store = obstore.store.HTTPStore.from_url(url, client_options={"allow_http": True})
            group = zarr.open_group(zarr.storage.ObjectStore(store, read_only=True), mode="r")
            assert_read(lambda name: group[name][...], count, url)


@case
def xarray_opens_with_and_without_consolidated_metadata(work):
    repository, ids = months(work)
    with serving(repository) as server:
        for text, count in versions(ids):
            url = f"{server.url}/{quoted(text)}/"
            for consolidated in (None, True, False):
                dataset = xarray.open_zarr(
                    url, consolidated=consolidated, chunks=None, mask_and_scale=False, decode_times=False
                )
                assert_read(lambda name: dataset[name].values, count, (url, consolidated))
        tree = xarray.open_datatree(f"{server.url}/main/", engine="zarr", chunks=None, decode_times=False, mask_and_scale=False)
        assert_read(lambda name: tree[name].values, 3, "open_datatree")


@case
def zarr_2_is_read_by_those_who_know_no_other(work):
    repository, ids = months(work)
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
    assert tensorstore is not None
    # It does not know the codecs of HDF5 by their names in Zarr v3.
    repository, ids = months(work, 3, "--codec", "zstd:1")
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
    """Shards, texts, a scalar, an array without chunks, and names that URLs have no room for."""
    tree = work / "tree"
    root = zarr.create_group(zarr.storage.LocalStore(tree), zarr_format=3)
    data = np.arange(400, dtype="int32").reshape(20, 20)
    sharded = root.create_array("sharded", shape=(20, 20), dtype="int32", chunks=(5, 5), shards=(10, 10))
    sharded[...] = data
    sharded[0:5, 0:5] = 0
    data[0:5, 0:5] = 0
    names = ["a b", "ü", "100 %", "c:d", "x+y"]
    for number, name in enumerate(names):
        root.create_array(name, shape=(3,), dtype="int16", chunks=(2,))[...] = np.arange(3) + number
    root.create_array("scalar", shape=(), dtype="float64")[...] = 2.5
    root.create_array("empty", shape=(4,), dtype="int8", chunks=(2,), fill_value=7)
    texts = root.create_array("texts", shape=(2,), dtype=str, chunks=(1,))
    texts[...] = np.array(["wörd", "two"], dtype=object)
    repository = work / "odd"
    icefield("init", repository)
    icefield("import", tree, repository)
    with serving(repository) as server:
        group = zarr.open_group(f"{server.url}/main/", mode="r")
        assert np.array_equal(group["sharded"][...], data)
        assert group["scalar"][()] == 2.5
        assert np.array_equal(group["empty"][...], np.full(4, 7, "int8"))
        assert list(group["texts"][...]) == ["wörd", "two"]
        for number, name in enumerate(names):
            array = zarr.open_array(f"{server.url}/main/{quoted(name)}", mode="r")
            assert np.array_equal(array[...], np.arange(3) + number), name
        old = zarr.open_group(f"{server.url}/-/v2/main/", mode="r", zarr_format=2)
        assert np.array_equal(old["sharded"][...], data)
        if tensorstore is not None:
            for base in (f"{server.url}/main/sharded/", f"{server.url}/-/v2/main/sharded/"):
                array = tensorstore.open(base, open=True, read=True).result()
                assert np.array_equal(array.read().result(), data), base
                assert np.array_equal(array[7:9, 3].read().result(), data[7:9, 3]), base


@case
def virtual_chunks_are_read_under_a_grant_only(work):
    repository = work / "virtual"
    icefield("init", repository)
    folder = MONTHS[0].parent
    icefield("import", MONTHS[0], repository, "--virtual")
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
    repository, _ = months(work)
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
