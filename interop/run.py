"""Runs the interop suites: `python interop/run.py [PART OF A NAME ...]`. See README.md here."""

import platform
import sys

import icechunk
import xarray
import zarr

import archives  # noqa: F401
import array_statistics  # noqa: F401
import collection  # noqa: F401
import conflicts  # noqa: F401  (registers its cases)
import copies  # noqa: F401
import expiration  # noqa: F401
import history_tools  # noqa: F401
import icefield_writes  # noqa: F401
import object_store  # noqa: F401
import packs  # noqa: F401
import reference_writes  # noqa: F401
import settings  # noqa: F401
import splits  # noqa: F401
import taking_turns  # noqa: F401
import tree_store_suite  # noqa: F401
import upgrades  # noqa: F401
import windows  # noqa: F401
from lib import SPEC, leave, run_cases

if __name__ == "__main__":
    print(f"Python {platform.python_version()}, icechunk {icechunk.__version__}, zarr {zarr.__version__}, "
          f"xarray {xarray.__version__}, repositories of spec version {SPEC}")
    leave(run_cases(sys.argv[1:]))
