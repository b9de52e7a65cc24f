"""Other programs that read NCZarr and Zarr: where they are, and what they find in a dataset.

What they find is told as the fixtures tell it: per array `dtype`, `shape`, `dims` and `sha256`, the digest of the elements as
`fixtures/nczarr/README.md` defines it. `python nczarr_peers.py URL` prints that for netCDF-C, in a process of its own,
because on some datasets it does not fail but crashes.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import netCDF4
import numpy as np

# Debian's program. It needs the library below in front of its own: that of Debian 12 prints memory for compressed chunks.
NCDUMP = shutil.which("ncdump")
SITE = Path(netCDF4.__file__).parent.parent
# The interpreter that has Debian's package python3-gdal.
SYSTEM_PYTHON = "/usr/bin/python3"


def library():
    """The library of the package netCDF4, which programs of netCDF can run on."""
    found = sorted((SITE / "netcdf4.libs").glob("libnetcdf-*.so*"))
    return found[0] if found else None


def on_wheel(*command):
    """Runs a program of netCDF on the library of the package netCDF4, with its filters."""
    environment = {**os.environ, "LD_PRELOAD": str(library()), "HDF5_PLUGIN_PATH": str(SITE / "netCDF4" / "plugins")}
    return subprocess.run(list(map(str, command)), env=environment, stdin=subprocess.DEVNULL, capture_output=True)


def digest(values, dtype):
    """The digest of elements that should be of a type, as the fixtures have it; `None` if they are of another kind."""
    values = np.asarray(values)
    if dtype == "string":
        if values.dtype.kind == "S":
            values = np.char.decode(values, "utf-8")
        if values.dtype.kind not in "OUT":
            return None
        texts = [text.decode() if isinstance(text, bytes) else str(text) for text in values.ravel().tolist()]
        return hashlib.sha256(json.dumps(texts, ensure_ascii=False).encode()).hexdigest()
    if dtype == "char":
        if values.dtype.kind in "OUT":
            # Plain Zarr has strings of one character for chars.
            values = np.array([str(text).encode() for text in values.ravel().tolist()], "S1")
        return hashlib.sha256(values.tobytes()).hexdigest() if values.dtype == "S1" else None
    wanted = np.dtype(dtype)
    if (values.dtype.kind, values.dtype.itemsize) != (wanted.kind, wanted.itemsize):
        return None
    values = values.astype(wanted.newbyteorder("<"))
    if wanted.kind in "fc" and np.isnan(values).any():
        values[np.isnan(values)] = np.nan
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


def kind_of(values):
    if values.dtype.kind in "OUT":
        return "string"
    return "char" if values.dtype == "S1" else values.dtype.newbyteorder("=").name


def by_netcdf(url):
    """The arrays of a dataset, by netCDF-C."""
    done = subprocess.run([sys.executable, __file__, url], capture_output=True, text=True)
    assert done.returncode == 0, f"netCDF-C on {url}: {done.returncode} {done.stderr[-400:]}"
    return json.loads(done.stdout.split("@@")[1])


def read_by_netcdf(url):
    found = {}

    def visit(group, at):
        for name, variable in group.variables.items():
            variable.set_auto_maskandscale(False)
            variable.set_auto_chartostring(False)
            values = np.asarray(variable[...])
            dtype = kind_of(values)
            found[f"{at}/{name}"] = {"dtype": dtype, "shape": list(values.shape), "dims": list(variable.dimensions),
                                     "sha256": digest(values, dtype)}
        for name, inner in group.groups.items():
            visit(inner, f"{at}/{name}")

    with netCDF4.Dataset(url) as dataset:
        visit(dataset, "")
    return found


def by_ncdump(url):
    """What netCDF's own program prints on the newest library."""
    done = on_wheel(NCDUMP, url)
    assert done.returncode == 0, f"ncdump of {url}: {done.returncode} {done.stderr.decode(errors='replace')[-400:]}"
    return done.stdout.decode()


GDAL = r"""
import base64, json, sys
from osgeo import gdal
gdal.PushErrorHandler("CPLQuietErrorHandler")
found = {}
def visit(group, at):
    for name in group.GetMDArrayNames() or []:
        array = group.OpenMDArray(name)
        values = None if array is None else array.ReadAsArray()
        if values is None:
            found[at + "/" + name] = None
        else:
            found[at + "/" + name] = [values.dtype.str, list(values.shape), base64.b64encode(values.tobytes()).decode()]
    for name in group.GetGroupNames() or []:
        visit(group.OpenGroup(name), at + "/" + name)
dataset = gdal.OpenEx(sys.argv[1], gdal.OF_MULTIDIM_RASTER)
if dataset is None:
    sys.exit(gdal.GetLastErrorMsg() or "not opened")
visit(dataset.GetRootGroup(), "")
print("@@" + json.dumps(found))
"""


def gdal_version():
    """The version of Debian's GDAL; `None` if there is none."""
    if not Path(SYSTEM_PYTHON).exists():
        return None
    ask = "from osgeo import gdal; import numpy; print(gdal.__version__)"
    done = subprocess.run([SYSTEM_PYTHON, "-I", "-c", ask], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def by_gdal(path):
    """Per array its values; `None` for one that GDAL skips."""
    import base64

    done = subprocess.run([SYSTEM_PYTHON, "-I", "-c", GDAL, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, f"GDAL on {path}: {done.returncode} {done.stderr[-400:]}"
    found = json.loads(done.stdout.split("@@")[1])
    values = {}
    for name, array in found.items():
        if array is None:
            values[name] = None
            continue
        dtype, shape, content = array
        values[name] = np.frombuffer(base64.b64decode(content), dtype).reshape(shape)
    return values


if __name__ == "__main__":
    print("@@" + json.dumps(read_by_netcdf(sys.argv[1])) + "@@")
