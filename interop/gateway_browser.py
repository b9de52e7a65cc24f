"""`icefield serve` read by zarrita in Node, and in headless Chromium from a page of another origin. Cases of `gateway.py`."""

import hashlib
import json
import os
import shutil
import subprocess
import urllib.parse

import numcodecs
import numpy as np

from gateway_lib import assert_equal, expected, nemo, odd, quoted, serving, three, virtual
from lib import ROOT, Skip, case

# 2 by 2 inner chunks: an offset and a length for each, and a checksum.
INDEX = 4 * 16 + 4


def missing_of_web(*programs):
    """What a case needs beside the server and is not there."""
    there = {
        "Node": shutil.which("node"),
        "node_modules in web/ (npm ci)": (ROOT / "web/node_modules").exists(),
        "Chromium": any(map(shutil.which, ("chromium", "chromium-headless-shell"))),
    }
    return [name for name in there if not there[name]]


def job(url, path, data, version=3, **options):
    """An array to be read, and what must be found; without data, an error."""
    if data is None:
        wanted = None
    else:
        is_number = data.dtype.kind not in "OUT" and data.shape
        content = data.tobytes() if is_number else json.dumps(data.ravel().tolist(), ensure_ascii=False, separators=(",", ":")).encode()
        wanted = {"shape": list(data.shape), "digest": hashlib.sha256(content).hexdigest()}
    asked = {"url": url, "path": path, "format": version, "isSuffix": False, "isConsolidated": False, **options}
    return asked, wanted


def jobs_of(sea, hard, granted, refused):
    """Arrays of four servers. zarrita reads no names with `%`, and takes one with `:` for a scheme."""
    repository, ids = nemo("zstd:1")
    for text, count in three(ids):
        for view, version in (("", 3), ("/-/v2", 2), ("", None), ("/-/v2", None)):
            url = f"{sea}{view}/{quoted(text)}"
            yield job(url, "/tos", expected(count)["tos"], version)
            yield job(url, "/nav_lat", expected(count)["nav_lat"], version, isConsolidated=version is not None)
    for name, data in odd()[1].items():
        path = "/" + name
        if "%" in name or ":" in name:
            continue
        yield job(f"{hard}/main", path, data)
        yield job(f"{hard}/-/v2/main", path, data, 2)
    yield job(f"{hard}/main", "/sharded", odd()[1]["sharded"], isSuffix=True)
    yield job(f"{granted}/main", "/nav_lat", expected(1)["nav_lat"])
    yield job(f"{granted}/-/v2/main", "/tos", expected(1)["tos"], 2)
    yield job(f"{refused}/main", "/nav_lat", None)


@case
def zarrita_reads_in_node_and_in_a_page_of_another_origin(work):
    missing = missing_of_web()
    # Node alone is enough for a half of it.
    if [name for name in missing if name != "Chromium"]:
        raise Skip(f"there is no {' and no '.join(missing)}")
    repository, folder = virtual()
    cors = ["--cors", "*"]
    with (
        serving(nemo("zstd:1")[0], *cors) as sea, serving(odd()[0], *cors) as hard, serving(odd()[0]) as closed,
        serving(repository, *cors, "--grant", folder) as granted, serving(repository, *cors) as refused,
    ):  # fmt: skip
        jobs = list(jobs_of(sea.url, hard.url, granted.url, refused.url))
        wanted = {
            "jobs": [asked for asked, _ in jobs],
            "sharded": {
                "url": f"{hard.url}/main/", "array": "sharded", "shard": "c/1/1", "absent": "c/7/7", "indexLength": INDEX,
            },
            "closed": job(f"{closed.url}/main", "/plain", None)[0],
        }  # fmt: skip
        done = subprocess.run(
            ["node", "test/clients/run.mjs"], cwd=ROOT / "web", input=json.dumps(wanted), capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    chromium = found["chromium"]
    for place, results in (("node", found["node"]), ("Chromium", (chromium or {}).get("found", []))):
        for (asked, wanted), result in zip(jobs, results):
            if wanted is None:
                assert "403" in result.get("error", ""), (place, asked, result)
                continue
            assert {"shape": result.get("shape"), "digest": result.get("digest")} == wanted, (place, asked, result)
            assert not asked["isConsolidated"] or "/tos" in result["listed"], (place, asked, result)
    if chromium is None:
        raise Skip("there is no Chromium: read in Node only")
    # Pages of other websites read nothing unless the server lets them.
    assert "fetch" in chromium["closed"]["error"], chromium["closed"]
    assert_viewer(chromium["viewer"], odd()[1]["sharded"])


def assert_viewer(found, data):
    """What neuroglancer must find: a directory is no file, the index of a shard, and its inner chunks."""
    seen = dict(found["seen"])
    absent = ["a file", "its first byte", "info", ".zarray", ".zgroup", ".zattrs", "attributes.json", "absent"]
    assert {name: seen.pop(name) for name in absent} == dict.fromkeys(absent, 404), found
    assert seen == {"directory": 200, "zarr.json": 200, "shard": 200, "byte": 206, "index": 206, "inner chunk": 206}, seen
    assert sorted(found["entries"]) == ["c/", "zarr.json"], found["entries"]
    whole = found["whole"]
    assert found["total"] == f"bytes 0-0/{whole}"
    assert found["index"] == f"bytes {whole - INDEX}-{whole - 1}/{whole}"
    assert found["shape"] == list(data.shape) and len(found["inner"]) == 4
    for inner in found["inner"]:
        values = np.frombuffer(numcodecs.Zstd().decode(bytes(inner["bytes"])), data.dtype).reshape(5, 5)
        row, column = divmod(inner["number"], 2)
        top, left = 10 + 5 * row, 10 + 5 * column
        assert_equal(values, data[top : top + 5, left : left + 5], inner["number"])
