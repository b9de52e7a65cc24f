"""How long a thousand NetCDF files take to be referred to: CPU seconds per hundred files, and the most memory. By hand:

    ICEFIELD=target/release/icefield python interop/archive_many.py DIRECTORY

Each file has 24 steps of four compressed variables of four chunks, and coordinates. The files are kept for the next run.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import netCDF4
import numpy as np

FILES, STEPS = 1000, 24
CPU_PER_HUNDRED, MEMORY_MIB = 2.0, 500


def write(path, number):
    with netCDF4.Dataset(path, "w") as file:
        for name, length in [("time", None), ("lat", 180), ("lon", 360)]:
            file.createDimension(name, length)
        time = file.createVariable("time", "f8", ("time",))
        time.units = "hours since 2000-01-01"
        file.createVariable("lat", "f4", ("lat",))[:] = np.linspace(-90, 90, 180)
        file.createVariable("lon", "f4", ("lon",))[:] = np.linspace(0, 359, 360)
        for name in ["t2m", "u10", "v10", "tp"]:
            variable = file.createVariable(name, "f4", ("time", "lat", "lon"), chunksizes=(1, 90, 180), zlib=True,
                                           complevel=1, fill_value=-9999)
            variable[:] = np.full((STEPS, 180, 360), number, "f4")
        time[:] = np.arange(STEPS) + STEPS * number


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    names = [folder / f"{number:04}.nc" for number in range(FILES)]
    for number, name in enumerate(names):
        if not name.exists():
            write(name, number)
    program = os.environ["ICEFIELD"]
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([program, "init", f"{work}/r"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([program, "import", *names, f"{work}/r", "--concat", "time", "--virtual"], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (used.ru_utime + used.ru_stime) / (FILES / 100)
    memory = used.ru_maxrss / 1024
    print(f"{FILES} files: {cpu:.2f} s of CPU for each hundred (target {CPU_PER_HUNDRED}), "
          f"{memory:.0f} MiB at most (target {MEMORY_MIB})")
    sys.exit(cpu > CPU_PER_HUNDRED or memory > MEMORY_MIB)


main()
