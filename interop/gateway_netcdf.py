"""`icefield serve` read by netCDF-C, which reads Zarr from S3 only. Cases of `gateway.py`.

The programs of Debian and the library of the package netCDF4 are built without S3. `ICEFIELD_NETCDF_S3` names a library that has it
(`cmake -DNETCDF_ENABLE_S3_INTERNAL=ON`), on which Debian's `ncdump` runs then.
"""

import os
import re
import subprocess

import numpy as np

from gateway_lib import assert_equal, expected, nemo, odd, serving, three, virtual
from lib import Skip, case
from nczarr_peers import NCDUMP, library

WITHOUT = "feature that was not turned on"


def dump(at, url, *arguments):
    """What ncdump prints of a dataset, on one of the libraries."""
    environment = {**os.environ, "AWS_REGION": "us-east-1", "HOME": "/nonexistent"}
    if at is not None:
        environment["LD_PRELOAD"] = str(at)
    done = subprocess.run([NCDUMP, *arguments, url], env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def with_s3(url):
    """The library that knows S3; the program's own is `None`."""
    if NCDUMP is None:
        raise Skip("ncdump is not there: install netcdf-bin")
    known = os.environ.get("ICEFIELD_NETCDF_S3")
    candidates = [known] if known else [None, library()]
    for candidate in candidates:
        _, _, told = dump(candidate, url, "-h")
        if WITHOUT not in told:
            return candidate
    raise Skip("netCDF-C IS NOT TESTED: neither Debian's library nor that of netCDF4 has S3; see ICEFIELD_NETCDF_S3")


def values(text, name, dtype, fill):
    """The elements of a variable in what ncdump printed."""
    found = re.search(rf"\n {re.escape(name)} =\s(.*?);", text.split("\ndata:\n")[1], re.DOTALL)
    assert found, (name, text[:2000])
    elements = [element.strip().rstrip("fsbLU") for element in found[1].split(",")]
    return np.array([fill if element == "_" else float(element) for element in elements]).astype(dtype)


def urls(server, version):
    """A version over S3, and by the consolidated documents of Zarr v2 over HTTP, as the library reads them from any server."""
    name = server.facts["repositories"][0]["name"]
    return [f"{server.s3}/{name}-v2/{version}#mode=zarr,s3", f"{server.url}/-/v2/{version}#mode=zarr,s3,consolidated"]


@case
def netcdf_reads_every_version_from_s3(work):
    repository, ids = nemo("none")
    with serving(repository, "--s3-port", "0") as server:
        at = with_s3(urls(server, "main")[0])
        for version, count in three(ids):
            for url in urls(server, version):
                status, text, told = dump(at, url, "-p", "9,17", "-v", "tos,nav_lat,time_counter")
                assert status == 0, (url, told)
                assert "Sea Surface Temperature" in text, text[:2000]
                for name, data in ((name, expected(count)[name]) for name in ("tos", "nav_lat", "time_counter")):
                    fill = np.float32(9.969209968386869e36)
                    assert_equal(values(text, name, data.dtype, fill).reshape(data.shape), data, (url, name))


@case
def netcdf_reads_odd_arrays_from_s3(work):
    """Chunks without compression, shards cut into theirs, a scalar, and an array of which nothing is stored."""
    repository, data = odd()
    with serving(repository, "--s3-port", "0") as server:
        url = urls(server, "main")[0]
        at = with_s3(url)
        for name in ("plain", "deep/er/array"):
            status, text, told = dump(at, url, "-v", f"/{name}")
            assert status == 0, (name, told)
            last = name.rsplit("/", 1)[-1]
            found = values(text.replace("\n  " + last, "\n " + last), last, data[name].dtype, 0)
            assert_equal(found.reshape(data[name].shape), data[name], name)


@case
def a_chunk_that_cannot_be_read_is_an_error_to_netcdf(work):
    repository, _ = virtual()
    with serving(repository, "--s3-port", "0") as server:
        url = urls(server, "main")[0]
        at = with_s3(url)
        status, text, told = dump(at, url, "-v", "nav_lat")
        assert status != 0, text[-400:]
