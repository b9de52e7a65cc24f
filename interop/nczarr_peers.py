"""Other programs that read NCZarr and Zarr: where they are, and how they are run."""

import os
import shutil
import subprocess
from pathlib import Path

import netCDF4

# Debian's program. It needs the library below in front of its own: that of Debian 12 prints memory for compressed chunks.
NCDUMP = shutil.which("ncdump")
SITE = Path(netCDF4.__file__).parent.parent


def library():
    """The library of the package netCDF4, which programs of netCDF can run on."""
    found = sorted((SITE / "netcdf4.libs").glob("libnetcdf-*.so*"))
    return found[0] if found else None


def on_wheel(*command):
    """Runs a program of netCDF on the library of the package netCDF4, with its filters."""
    environment = {**os.environ, "LD_PRELOAD": str(library()), "HDF5_PLUGIN_PATH": str(SITE / "netCDF4" / "plugins")}
    return subprocess.run(list(map(str, command)), env=environment, stdin=subprocess.DEVNULL, capture_output=True)
