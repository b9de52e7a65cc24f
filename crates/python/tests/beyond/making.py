"""How the tests make and read repositories."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import icefield as ic
import netCDF4
import numpy as np
import zarr
from distributed import Client


def new(path: Path) -> ic.Repository:
    """A new repository in a directory."""
    return ic.Repository.create(ic.local_filesystem_storage(str(path)))


def array(session: ic.Session, path: str, length: int) -> Any:
    """A new array of doubles along `time`, in chunks of 10."""
    return zarr.create_array(
        session.store,
        name=path,
        shape=(length,),
        chunks=(10,),
        dtype="f8",
        dimension_names=["time"],
        fill_value=np.nan,
    )


def opened(session: ic.Session, path: str) -> Any:
    """An array of a session, to read and write."""
    mode: Any = "r" if session.read_only else "r+"
    return zarr.open_array(session.store, path=path, mode=mode)


def values(repo: ic.Repository, path: str = "x", branch: str = "main") -> Any:
    """The elements of an array at the tip of a branch."""
    return opened(repo.readonly_session(branch), path)[:]


def write(repo: ic.Repository, branch: str, place: slice, value: float, path: str = "x") -> str:
    """Commits one value at a place."""
    session = repo.writable_session(branch)
    opened(session, path)[place] = value
    return session.commit(f"{value} to {path}")


def periods(place: Path, count: int) -> list[Path]:
    """Files of one or two steps of 12 hours, in chunks of three, each with hours since its month: most chunks are at seams."""
    made, first = [], 0
    for number in range(count):
        made.append(place / f"{number}.nc")
        steps = 1 + number % 2
        with netCDF4.Dataset(made[-1], "w") as file:
            file.createDimension("time", None)
            file.createDimension("y", 2)
            file.createDimension("x", 3)
            for name in ("y", "x"):
                file.createVariable(name, "f8", (name,))[:] = np.arange(file.dimensions[name].size)
            mask: Any = file.createVariable("mask", "i1", ("y", "x"), chunksizes=(1, 3), zlib=True)
            mask[:] = np.arange(6).reshape(2, 3)
            time: Any = file.createVariable("time", "i4", ("time",), chunksizes=(3,))
            month = first // 60
            time.units = f"hours since {2000 + month // 12}-{1 + month % 12:02}-01"
            time.calendar = "360_day"
            time[:] = 12 * np.arange(first, first + steps) - 720 * month
            data: Any = file.createVariable("sst", "f4", ("time", "y", "x"), chunksizes=(3, 1, 3), zlib=True)
            data[:] = first + np.arange(6.0 * steps).reshape(steps, 2, 3)
            whole: Any = file.createVariable("whole", "i2", ("time", "x"), chunksizes=(1, 3))
            whole[:] = first + np.arange(3 * steps).reshape(steps, 3)
        first += steps
    return made


def all_workers(client: Client, count: int, seconds: float = 120) -> None:
    """Waits until the scheduler knows so many workers. `Client.wait_for_workers` asks the cluster, which now and then misses the
    one that replaces a dead one, and then waits for ever.
    """
    end = time.monotonic() + seconds
    while len(client.nthreads()) < count:
        if time.monotonic() > end:
            raise TimeoutError(f"the cluster has fewer than {count} workers after {seconds} s")
        time.sleep(0.05)
