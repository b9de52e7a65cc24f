"""`icefield serve` read by netCDF-C, which reads Zarr from S3 only, and S3 by HTTPS only. Cases of `gateway.py`.

The programs of Debian and the library of the package netCDF4 are built without S3. `cargo xtask test` builds one with it, from the
source in the crate `netcdf-src` (`netcdf-c/`), and names it in `ICEFIELD_NETCDF_S3`; Debian's `ncdump` runs on it here. Another library can be
named there.

TLS is a proxy's, here one of a few lines with a certificate of its own.
"""

import asyncio
import contextlib
import functools
import os
import re
import shutil
import ssl
import subprocess
import threading
from pathlib import Path

import numpy as np

from gateway_lib import assert_equal, expected, nemo, serving, three
from lib import Skip, case
from nczarr_peers import NCDUMP, library

WITHOUT = "feature that was not turned on"

# The library has no switch for it: every transfer takes any certificate.
TRUSTS_ALL = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <curl/curl.h>
CURLcode curl_easy_perform(CURL *handle) {
    CURLcode (*perform)(CURL *) = dlsym(RTLD_NEXT, "curl_easy_perform");
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
    return perform(handle);
}
"""


def folder():
    return Path(os.environ["ICEFIELD_INTEROP_WORK"])


@functools.cache
def trusting():
    """A library that makes libcurl trust the proxy; it needs a compiler and libcurl's headers."""
    source, made = folder() / "trusts.c", folder() / "trusts.so"
    source.write_text(TRUSTS_ALL)
    command = ["cc", "-shared", "-fPIC", "-include", "stddef.h", "-o", made, source, "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Skip(f"netCDF-C IS NOT TESTED: it has to trust the proxy, and {done.stderr.strip()[-200:]}")
    return made


@functools.cache
def certificate():
    made, key = folder() / "proxy.crt", folder() / "proxy.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", made, "-days", "2",
               "-subj", "/CN=localhost"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return made, key


@contextlib.contextmanager
def over_tls(endpoint):
    """The same server by HTTPS: the address of a proxy that passes on what it decrypts."""
    port = int(endpoint.rsplit(":", 1)[1])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate())
    loop = asyncio.new_event_loop()

    async def passed(reader, writer):
        try:
            while part := await reader.read(1 << 16):
                writer.write(part)
                await writer.drain()
        except (OSError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def connected(reader, writer):
        inner = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(passed(reader, inner[1]), passed(inner[0], writer))

    server = loop.run_until_complete(asyncio.start_server(connected, "127.0.0.1", 0, ssl=context))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def dump(at, url, *arguments):
    """What ncdump prints of a dataset, on one of the libraries."""
    preloaded = [str(path) for path in (at, at and trusting()) if path]
    environment = {**os.environ, "AWS_REGION": "us-east-1", "HOME": "/nonexistent", "LD_PRELOAD": " ".join(preloaded)}
    done = subprocess.run([NCDUMP, *arguments, url], env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def with_s3():
    """The library that knows S3."""
    if NCDUMP is None:
        raise Skip("netCDF-C IS NOT TESTED: there is no ncdump; install netcdf-bin")
    known = os.environ.get("ICEFIELD_NETCDF_S3")
    if known:
        return known
    # Where it could not be built, another one may do. This case fails when one of them has it.
    for candidate in (None, library()):
        _, _, told = dump(candidate, "https://127.0.0.1:1/bucket/key#mode=zarr,s3", "-h")
        assert WITHOUT in told, f"netCDF-C has S3 now ({candidate or NCDUMP}): use it here. {told}"
    raise Skip("netCDF-C IS NOT TESTED: the stage netcdf-c of `cargo xtask test` has built no library with S3, and no package has one")


def values(text, name, dtype, fill):
    """The elements of a variable in what ncdump printed."""
    found = re.search(rf"\n {re.escape(name)} =\s(.*?);", text.split("\ndata:\n")[1], re.DOTALL)
    assert found, (name, text[:2000])
    elements = [element.strip().rstrip("fsbLU") for element in found[1].split(",")]
    return np.array([fill if element == "_" else float(element) for element in elements]).astype(dtype)


def url_of(base, server, version):
    name = server.facts["repositories"][0]["name"]
    return f"{base}/{name}-v2/{version}#mode=zarr,s3"


@case
def netcdf_reads_every_version_from_s3(work):
    at = with_s3()
    repository, ids = nemo("none")
    fill = np.float32(9.969209968386869e36)
    with serving(repository, "--s3-port", "0") as server, over_tls(server.s3) as base:
        for version, count in three(ids):
            for consolidated in ("", ",consolidated"):
                url = url_of(base, server, version) + consolidated
                status, text, told = dump(at, url, "-p", "9,17", "-v", "tos,nav_lat,time_counter")
                assert status == 0, (url, told)
                assert "Sea Surface Temperature" in text, text[:2000]
                for name in ("tos", "nav_lat", "time_counter"):
                    data = expected(count)[name]
                    assert_equal(values(text, name, data.dtype, fill).reshape(data.shape), data, (url, name))


@case
def a_chunk_that_cannot_be_read_is_an_error_to_netcdf(work):
    at = with_s3()
    repository = Path(shutil.copytree(nemo("none")[0], work / "nemo"))
    with serving(repository, "--s3-port", "0") as server, over_tls(server.s3) as base:
        url = url_of(base, server, "main")
        assert dump(at, url, "-v", "nav_lat")[0] == 0
    shutil.rmtree(repository / "chunks")
    with serving(repository, "--s3-port", "0") as server, over_tls(server.s3) as base:
        status, text, told = dump(at, url_of(base, server, "main"), "-v", "nav_lat")
        assert status != 0 and "S3 error" in told, (status, told, text[-400:])
