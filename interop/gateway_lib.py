"""What the suites of `icefield serve` share: a server, NEMO at three versions, and arrays that clients find hard."""

import contextlib
import functools
import json
import os
import re
import signal
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path

import netCDF4
import numpy as np
import zarr
import zarr.codecs
import zarr.storage

from lib import ROOT, icefield

MONTHS = [
    ROOT / "fixtures/ocean" / name
    for name in (
        "nemo_1m_20150101-20150201_grid-T.nc",
        "nemo_1m_20150201-20150301_grid-T.nc",
        "nemo_1m_20150301-20150401_grid-T.nc",
    )
]


class Server:
    """A running server: its URL, and the snapshot of `main` of its first repository."""

    def __init__(self, facts, process):
        self.url = facts["url"]
        self.facts = facts
        self.process = process
        self.id = facts["repositories"][0]["snapshot_id"]

    @property
    def s3(self):
        """The endpoint of S3, with `--s3-port`."""
        return self.facts["s3"]

    def get(self, path, **headers):
        request = urllib.request.Request(self.url + path, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.read()

    def metric(self, pattern):
        """The sum of all metrics whose names and labels match a pattern."""
        lines = self.get("/-/metrics").decode().splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if re.match(pattern, line))

    def memory(self):
        """The most memory that the process ever had, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) << 10


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
def nemo(codec=None):
    """That repository for all cases that only read it: with the codecs of the files, which few clients know by their names in
    Zarr v3, or with another one."""
    work = Path(os.environ["ICEFIELD_INTEROP_WORK"]) / f"gateway-nemo-{quoted(codec or 'hdf5')}"
    work.mkdir()
    return months(work, 3, *(["--codec", codec] if codec else []))


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


def three(ids):
    """One text for each version: an id, a branch and its parent, and a tag."""
    return [("tag:january", 1), ("main~1", 2), (ids[1], 2), ("main", 3)]


def assert_read(read, count, what, names=("tos", "time_counter", "nav_lat")):
    for name in names:
        assert_equal(read(name), expected(count)[name], (what, name))


def assert_equal(found, values, what):
    found = np.asarray(found)
    assert found.shape == values.shape, (what, found.shape, values.shape)
    if values.dtype.kind in "OUT":
        assert found.tolist() == values.tolist(), (what, found)
        return
    assert found.dtype.newbyteorder("=") == values.dtype.newbyteorder("="), (what, found.dtype, values.dtype)
    assert np.array_equal(found, values, equal_nan=found.dtype.kind == "f"), what


def quoted(text):
    return urllib.parse.quote(text, safe="")


@functools.cache
def odd():
    """A repository of arrays that clients find hard, and what is in them by path.

    Shards, texts, a scalar, an array without chunks, one without compression, and names that URLs have no room for.
    """
    work = Path(os.environ["ICEFIELD_INTEROP_WORK"]) / "gateway-odd"
    work.mkdir()
    root = zarr.create_group(zarr.storage.LocalStore(work / "tree"), zarr_format=3)
    values = {}

    def add(name, data, **options):
        group = root
        *above, last = name.split("/")
        for part in above:
            group = group.require_group(part)
        options.setdefault("compressors", zarr.codecs.ZstdCodec(level=1))
        array = group.create_array(last, shape=data.shape, dtype=str if data.dtype.kind in "OUT" else data.dtype, **options)
        array[...] = data
        values[name] = data

    grid = np.arange(400, dtype="int32").reshape(20, 20)
    grid[0:5, 0:5] = 0
    add("sharded", grid, chunks=(5, 5), shards=(10, 10))
    add("plain", grid, chunks=(10, 10), compressors=None)
    for number, name in enumerate(["a b", "ü", "100 %", "c:d", "x+y", "deep/er/array"]):
        add(name, np.arange(3, dtype="int16") + number, chunks=(2,))
    add("scalar", np.array(2.5))
    add("texts", np.array(["wörd", "two"], dtype=object), chunks=(1,))
    root.create_array("empty", shape=(4,), dtype="int8", chunks=(2,), fill_value=7)
    values["empty"] = np.full(4, 7, "int8")
    repository = work / "odd"
    icefield("init", repository)
    icefield("import", work / "tree", repository)
    return repository, values


@functools.cache
def virtual():
    """A repository whose chunks lie in the file of January, and the folder of that file."""
    repository = Path(os.environ["ICEFIELD_INTEROP_WORK"]) / "gateway-virtual"
    icefield("init", repository)
    icefield("import", MONTHS[0], repository, "--virtual")
    return repository, MONTHS[0].parent
