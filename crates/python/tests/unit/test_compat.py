"""The other name: one module tree under two names, for code that imports `icechunk`."""

import subprocess
import sys

import pytest

SAME = """
import icefield.compat
import icechunk
import icechunk.xarray, icechunk.store
from icechunk.dask import store_dask
from icechunk import IcechunkStore, Repository, in_memory_storage
import icefield, icefield.store, icefield.xarray, icefield.dask
assert icechunk is icefield
assert icechunk.store is icefield.store and icechunk.xarray is icefield.xarray
assert IcechunkStore is icefield.store.IcefieldStore
assert store_dask is icefield.dask.store_dask
assert icefield.xarray.__spec__.name == "icefield.xarray" == icefield.xarray.__name__
import icefield.compat
import importlib
importlib.import_module("icechunk.storage")
store = Repository.create(in_memory_storage()).writable_session("main").store
assert isinstance(store, icechunk.IcechunkStore)
try:
    import icechunk.none
except ModuleNotFoundError as error:
    print("fine:", error)
"""

REFUSES = """
import sys, types
sys.modules["icechunk"] = other = types.ModuleType("icechunk")
try:
    import icefield.compat
except ImportError as error:
    assert "before anything that imports icechunk" in str(error), error
    assert sys.modules["icechunk"] is other
    print("fine")
"""

OPT_IN = """
import sys
import icefield, icefield.xarray, icefield.dask
assert "icechunk" not in sys.modules and "icefield.compat" not in sys.modules
print("fine")
"""


@pytest.mark.parametrize("program", [SAME, REFUSES, OPT_IN])
def test_programs(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("fine")
