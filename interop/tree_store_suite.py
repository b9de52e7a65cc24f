"""Plain Zarr trees: zarr-python's tests of stores on ours, and its arrays in our directories and zip files."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import zarr
from lib import case
from tree_store import TreeStore
from zarr.storage import LocalStore

HERE = Path(__file__).resolve().parent


@case
def store_tests_pass(work):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto",
               "--basetemp", str(work / "pytest"), str(HERE / "tree_store_tests.py")]
    done = subprocess.run(command, cwd=work, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@case
def arrays_written_through_us_are_read_as_a_directory(work):
    for zarr_format in (2, 3):
        root = work / f"v{zarr_format}"
        ours = TreeStore(root)
        group = zarr.create_group(ours, zarr_format=zarr_format, attributes={"title": "żółw"})
        values = np.arange(35, dtype="i4").reshape(5, 7)
        group.create_array("a/b", shape=(5, 7), chunks=(2, 3), dtype="i4")[:] = values
        theirs = zarr.open_group(LocalStore(root), mode="r")
        assert theirs.attrs["title"] == "żółw"
        assert (theirs["a/b"][:] == values).all()
        again = zarr.open_group(TreeStore(root, read_only=True), mode="r")
        assert (again["a/b"][:] == values).all()
        del group["a"]
        assert list(zarr.open_group(LocalStore(root), mode="r").keys()) == []
        assert not (root / "a").exists()
