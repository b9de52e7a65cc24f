"""`icefield serve` read by GDAL, over HTTP and over S3. Cases of `gateway.py`.

Three releases: that of Debian, by its own Python, 3.10 of the package rasterio, and the newest of rasterio for Python 3.12.
Zarr v3 as it became is known to the last; all know Zarr v2.
"""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from gateway_lib import assert_equal, assert_read, expected, nemo, odd, quoted, serving, three, virtual
from lib import Skip, case
from nczarr_peers import SYSTEM_PYTHON, gdal_version

# The interpreter of the reference's 2.x line, which the newest rasterio is beside.
NEWEST = os.environ.get("ICEFIELD_PYTHON_312", "")

# Per dataset and array its values, or the error. `Read` returns nothing where `ReadAsArray` returns what was not read.
DEBIAN = r"""
import base64, json, sys
from osgeo import gdal
gdal.PushErrorHandler("CPLQuietErrorHandler")
results = []
for dataset, names in json.loads(sys.argv[1]):
    opened = gdal.OpenEx('ZARR:"%s"' % dataset, gdal.OF_MULTIDIM_RASTER)
    for name in names:
        gdal.ErrorReset()
        array = opened and opened.GetRootGroup().OpenMDArrayFromFullname("/" + name)
        if array is None or array.Read() is None:
            results.append(gdal.GetLastErrorMsg() or "not opened")
            continue
        values = array.ReadAsArray()
        results.append([values.dtype.str, list(values.shape), base64.b64encode(values.tobytes()).decode()])
print("@@" + json.dumps(results))
"""

# The classic interface: of an array the last two dimensions, of which those above are bands.
RASTERIO = r"""
import base64, json, sys, warnings
import rasterio
warnings.simplefilter("ignore")
results = []
for dataset, names in json.loads(sys.argv[1]):
    for name in names:
        try:
            with rasterio.open('ZARR:"%s":/%s' % (dataset, name)) as opened:
                values = opened.read()
        except Exception as error:
            results.append(str(error.__cause__ or error))
            continue
        results.append([values.dtype.str, list(values.shape), base64.b64encode(values.tobytes()).decode()])
print("@@" + json.dumps(results))
"""


def ask(program, script, server, wanted):
    """Per dataset and array its values, or the text of an error."""
    endpoint = server.s3.removeprefix("http://")
    environment = {
        "AWS_NO_SIGN_REQUEST": "YES", "AWS_S3_ENDPOINT": endpoint, "AWS_HTTPS": "NO", "AWS_VIRTUAL_HOSTING": "FALSE",
    }  # fmt: skip
    done = subprocess.run(
        [program, "-I", "-c", script, json.dumps(wanted)],
        capture_output=True, text=True, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, f"GDAL of {program}: {done.returncode} {done.stderr[-400:]}"
    found = iter(json.loads(done.stdout.split("@@")[1]))
    results = {}
    for dataset, names in wanted:
        for name in names:
            result = next(found)
            if not isinstance(result, str):
                dtype, shape, content = result
                result = np.frombuffer(base64.b64decode(content), dtype).reshape(shape)
            results[dataset, name] = result
    return results


def read(results, dataset, name):
    result = results[dataset, name]
    assert not isinstance(result, str), (dataset, name, result)
    return result


def places(server, version, v3=False):
    """The datasets of a version: both views, over both protocols."""
    name = server.facts["repositories"][0]["name"]
    found = [f"/vsicurl/{server.url}/-/v2/{quoted(version)}/", f"/vsis3/{name}-v2/{version}/"]
    if v3:
        found += [f"/vsicurl/{server.url}/{quoted(version)}/", f"/vsis3/{name}/{version}/"]
    return found


def debian():
    if gdal_version() is None:
        raise Skip("GDAL of Debian is not there: install python3-gdal")
    return SYSTEM_PYTHON


def newest():
    asked = NEWEST and subprocess.run([NEWEST, "-c", "import rasterio"], capture_output=True).returncode == 0
    if not asked:
        raise Skip("rasterio for Python 3.12 is not there (ICEFIELD_PYTHON_312)")
    return NEWEST


@case
def gdal_of_debian_reads_every_version(work):
    program = debian()
    repository, ids = nemo("zstd:1")
    names = ["tos", "time_counter", "nav_lat"]
    with serving(repository, "--s3-port", "0") as server:
        wanted = [(place, names) for version, _ in three(ids) for place in places(server, version)]
        results = ask(program, DEBIAN, server, wanted)
        for version, count in three(ids):
            for place in places(server, version):
                assert_read(lambda name: read(results, place, name), count, place)


def rasterio_reads(program, v3):
    """The interface of rasters adds a dimension of bands to an array that has none."""
    repository, ids = nemo("zstd:1")
    with serving(repository, "--s3-port", "0") as server:
        wanted = [(place, ["nav_lat", "tos"]) for version, _ in three(ids) for place in places(server, version, v3)]
        results = ask(program, RASTERIO, server, wanted)
        for version, count in three(ids):
            for place in places(server, version, v3):
                assert_equal(read(results, place, "nav_lat")[0], expected(count)["nav_lat"], place)
                assert_equal(read(results, place, "tos"), expected(count)["tos"], place)


@case
def gdal_of_rasterio_reads_every_version(work):
    rasterio_reads(sys.executable, v3=False)


@case
def the_newest_gdal_reads_every_version_in_zarr_3(work):
    rasterio_reads(newest(), v3=True)


@case
def gdal_reads_odd_arrays(work):
    """Shards are cut to their inner chunks in Zarr v2. It knows no texts, and asks no web server for names with blanks or `%`:
    those it reads from S3 only."""
    program = debian()
    repository, values = odd()
    names = ["sharded", "plain", "scalar", "empty", "ü", "x+y", "deep/er/array"]
    with serving(repository, "--s3-port", "0") as server:
        web, bucket = places(server, "main")
        wanted = [(web, names), (bucket, [*names, "a b", "100 %"])]
        results = ask(program, DEBIAN, server, wanted)
        for place, names in wanted:
            for name in names:
                # Release 3.6 has no integers of 8 bits with a sign.
                found = read(results, place, name).astype(values[name].dtype)
                assert_equal(found, values[name], (place, name))


@case
def a_chunk_that_cannot_be_read_is_an_error_to_gdal(work):
    """Old releases take any failure, and a body that ends early, for a chunk that was never written."""
    repository, folder = virtual()
    programs = [(sys.executable, RASTERIO, False)]
    left_out = []
    for program, script, v3 in ((debian, DEBIAN, False), (newest, RASTERIO, False)):
        try:
            programs.append((program(), script, v3))
        except Skip as why:
            left_out.append(str(why))
    for grants in ([], ["--grant", folder]):
        with serving(repository, "--s3-port", "0", *grants) as server:
            for program, script, v3 in programs:
                wanted = [(place, ["nav_lat"]) for place in places(server, "main", v3)]
                for (place, _), result in ask(program, script, server, wanted).items():
                    if grants:
                        assert_equal(result.reshape(330, 360), expected(1)["nav_lat"], (program, place))
                    else:
                        assert isinstance(result, str) and "tile" in result, (program, place, result)
    if left_out:
        raise Skip("; ".join(left_out))
