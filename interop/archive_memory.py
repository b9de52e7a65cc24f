"""Months whose lengths are no multiples of a chunk's, and that are more than an import may hold in memory. `archive_sources.py` runs
this, too; `benches/archives` does the same with 8 GB.
"""

import json
import os
import subprocess
import sys

import numpy as np
import zarr

from archive_lib import folder_of, new_repository, store_of
from lib import ROOT, case

BENCHES = ROOT / "benches" / "archives"
sys.path.append(str(BENCHES))

from files import expected, large  # noqa: E402  (lies there)

MONTHS, ROWS, COLUMNS = 5, 361, 720
BOUND = 300e6


@case
def months_are_rechunked_in_bounded_memory(work):
    folder = folder_of(work)
    assert large(folder, MONTHS, ROWS, COLUMNS) > 2 * BOUND
    repository = new_repository(work)
    command = [os.environ["ICEFIELD"], "import", *sorted(folder.iterdir()), repository, "--concat", "time",
               "--chunks", "time=100,lat=91,lon=180", "--codec", "zstd:1", "--json"]
    taken = measured(command)
    assert taken["memory"] < BOUND, f"{taken['memory'] / 1e6:.0f} MB"
    report = json.loads(taken["output"])
    air = zarr.open_array(store_of(repository), path="air", mode="r")
    assert report["assembled_chunks"] >= air.cdata_shape[0] * 16, report
    for step in [0, 99, 100, 123, 124, 235, 236, air.shape[0] - 1]:
        assert np.array_equal(air[step], expected(step, ROWS, COLUMNS)), step


def measured(command):
    """Runs a program; its memory, not that of this process."""
    launcher = [sys.executable, "-S", "-E", BENCHES / "process.py"]
    done = subprocess.run([*launcher, *command], stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return json.loads(done.stdout)
