"""Makes the files that are imported: `python files.py KIND DIRECTORY COUNT ...`, each in a process of its own.

All are the same in every run.
"""

import json
import sys
import zlib
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np

_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

_VARIABLES = ["t2m", "u10", "v10", "tp"]

_PATTERNS = 64


def chunked(folder: Path, count: int, chunks: int) -> int:
    """NetCDF-4 files of four variables that have `chunks` chunks together, one step each, and steps that go on from file to file."""
    steps = max(1, chunks // len(_VARIABLES))
    random = np.random.default_rng(28)
    for number in range(count):
        with netCDF4.Dataset(folder / f"{number:05}.nc", "w") as file:
            _axes(file, 24, 48)
            time: Any = file.createVariable("time", "i8", ("time",), chunksizes=(steps,))
            time.units = "hours since 2000-01-01"
            for name in _VARIABLES:
                variable: Any = file.createVariable(
                    name,
                    "f4",
                    ("time", "lat", "lon"),
                    chunksizes=(1, 24, 48),
                    zlib=True,
                    complevel=1,
                )
                variable[:] = _field(random, steps, 24, 48)
            time[:] = np.arange(number * steps, (number + 1) * steps)
    return 4 * count * steps * len(_VARIABLES) * 24 * 48


def months(folder: Path, count: int, rows: int, columns: int) -> int:
    """NetCDF-4 files of a month each, of a field every six hours with hours since the beginning of the month, a chunk for each step."""
    random = np.random.default_rng(28)
    size = 0
    for number in range(count):
        steps = 4 * _DAYS[number % 12]
        with netCDF4.Dataset(folder / f"{number:05}.nc", "w") as file:
            _axes(file, rows, columns)
            time: Any = file.createVariable("time", "i8", ("time",), chunksizes=(steps,))
            time.units = f"hours since {2001 + number // 12}-{number % 12 + 1:02}-01"
            time.calendar = "noleap"
            air: Any = file.createVariable(
                "air",
                "f4",
                ("time", "lat", "lon"),
                chunksizes=(1, rows, columns),
                zlib=True,
                complevel=4,
                shuffle=True,
            )
            air.units = "K"
            air[:] = _field(random, steps, rows, columns)
            time[:] = 6 * np.arange(steps)
        size += 4 * steps * rows * columns
    return size


def small(folder: Path, count: int) -> int:
    """HDF5 files of one step and one chunk of data each."""
    data = np.arange(8 * 16, dtype="f4").reshape(1, 8, 16)
    for number in range(count):
        with h5py.File(folder / f"{number:05}.h5", "w") as file:
            _scales(file, np.array([number], "i8"), 8, 16, chunk=1)
            sst = file.create_dataset("sst", data=data + number, chunks=(1, 8, 16), maxshape=(None, 8, 16))
            _attach(file, sst)
    return 4 * count * data.size


def large(folder: Path, count: int, rows: int, columns: int) -> int:
    """HDF5 files of a month each, as `months`, whose chunks of a quarter of a step repeat a few patterns: made in seconds."""
    chunk = ((rows + 1) // 2, (columns + 1) // 2)
    patterns = [zlib.compress(_pattern(number, chunk).tobytes(), 1) for number in range(_PATTERNS)]
    size = first = 0
    for number in range(count):
        steps = 4 * _DAYS[number % 12]
        with h5py.File(folder / f"{number:05}.h5", "w") as file:
            _scales(file, 6 * np.arange(first, first + steps), rows, columns, chunk=steps)
            air = file.create_dataset(
                "air",
                shape=(steps, rows, columns),
                maxshape=(None, rows, columns),
                dtype="<f4",
                chunks=(1, *chunk),
                compression="gzip",
            )
            _attach(file, air)
            for step in range(steps):
                for part in range(4):
                    at = (step, part // 2 * chunk[0], part % 2 * chunk[1])
                    air.id.write_direct_chunk(at, patterns[(4 * (first + step) + part) % _PATTERNS])
        first += steps
        size += 4 * steps * rows * columns
    return size


def _pattern(number: int, chunk: tuple[int, int]) -> Any:
    """A chunk of `large`: numbers that compress as those of a smooth field do, and that say which one it is."""
    rows, columns = np.indices(chunk, dtype="f4")
    return ((rows // 4 + columns // 4) % 97 + 100 * number).astype("<f4")


def expected(step: int, rows: int, columns: int) -> Any:
    """What is in `large` at a step."""
    chunk = ((rows + 1) // 2, (columns + 1) // 2)
    parts = [_pattern((4 * step + part) % _PATTERNS, chunk) for part in range(4)]
    return np.block([parts[:2], parts[2:]])[:rows, :columns]


def _axes(file: Any, rows: int, columns: int) -> None:
    file.createDimension("time", None)
    for name, length, span in [("lat", rows, 180), ("lon", columns, 360)]:
        file.createDimension(name, length)
        file.createVariable(name, "f8", (name,))[:] = np.linspace(-span / 2, span / 2, length)


def _scales(file: Any, times: Any, rows: int, columns: int, chunk: int) -> None:
    file.create_dataset("time", data=times, chunks=(chunk,), maxshape=(None,))
    file["time"].attrs["units"] = "hours since 2000-01-01"
    file["time"].attrs["calendar"] = "noleap"
    file["lat"] = np.linspace(-90, 90, rows)
    file["lon"] = np.linspace(-180, 180, columns)
    for name in ["time", "lat", "lon"]:
        file[name].make_scale(name)


def _attach(file: Any, data: Any) -> None:
    for axis, name in enumerate(["time", "lat", "lon"]):
        data.dims[axis].attach_scale(file[name])


def _field(random: Any, steps: int, rows: int, columns: int) -> Any:
    """Temperatures that vary as weather does, to a hundredth of a degree: they compress to about a third."""
    lat = np.linspace(-np.pi / 2, np.pi / 2, rows)[:, None]
    lon = np.linspace(-np.pi, np.pi, columns)[None, :]
    phases = random.uniform(-np.pi, np.pi, (steps, 1, 1))
    smooth = 280 + 20 * np.cos(lat) + 5 * np.sin(3 * lon + phases)
    return np.round(smooth + random.normal(0, 0.2, (steps, rows, columns)), 2).astype("f4")


_KINDS: dict[str, Any] = {"chunked": chunked, "months": months, "small": small, "large": large}

if __name__ == "__main__":
    kind, folder, *numbers = sys.argv[1:]
    Path(folder).mkdir(parents=True)
    print(json.dumps({"bytes": _KINDS[kind](Path(folder), *map(int, numbers))}))
