"""The peers, and what reads the results: `python peers.py WHAT ...`, each in a process of its own, prints a line of JSON.

Seconds are from when the packages are imported, so that the start of Python and its imports do not count.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("ICECHUNK_LOG", "error")


def _resident(line: str = "VmHWM") -> int:
    """Bytes of memory of this process, by a line of its status; unlike `ru_maxrss`, without what its parent had."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{line}:")[1].split()[0]) << 10


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _timed(work: Callable[[], None]) -> dict[str, float]:
    begun, processor = time.perf_counter(), _processor()
    work()
    return {
        "seconds": time.perf_counter() - begun,
        "processor": _processor() - processor,
        "memory": _resident(),
    }


def _names(folder: str) -> list[str]:
    return sorted(str(path) for path in Path(folder).iterdir())


def virtualizarr(folder: str, repository: str) -> dict[str, float]:
    """References to all chunks of the files of a folder, by the HDF parser of VirtualiZarr, into a repository of icechunk."""
    import icechunk
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr import open_virtual_mfdataset
    from virtualizarr.parsers import HDFParser

    def work() -> None:
        config = icechunk.RepositoryConfig.default()
        prefix = f"file://{folder}/"
        store = icechunk.local_filesystem_store(folder)
        config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, store))
        made = icechunk.Repository.create(icechunk.local_filesystem_storage(repository), config)
        dataset = open_virtual_mfdataset(
            [f"file://{name}" for name in _names(folder)],
            registry=ObjectStoreRegistry({"file://": LocalStore()}),
            parser=HDFParser(),
            combine="nested",
            concat_dim="time",
            data_vars="minimal",
            coords="minimal",
            compat="override",
            combine_attrs="override",
            parallel=False,
        )
        session = made.writable_session("main")
        dataset.vz.to_icechunk(session.store)
        session.commit("all")

    return _timed(work)


def threads(folder: str, out: str, chunks: str, codec: str) -> dict[str, float]:
    """xarray and dask in one process with two threads, into a directory of Zarr."""
    import dask
    import xarray  # noqa: F401  (imported before the clock runs)

    def work() -> None:
        with dask.config.set(scheduler="threads", num_workers=2):
            _to_zarr(folder, out, chunks, codec)

    return _timed(work)


def processes(folder: str, out: str, chunks: str, codec: str) -> dict[str, float]:
    """xarray and dask on a cluster of two processes that is there already; memory and processor are those of all processes."""
    import xarray  # noqa: F401
    from distributed import Client, LocalCluster

    def imported() -> float:
        import netCDF4  # noqa: F401
        import xarray  # noqa: F401
        import zarr  # noqa: F401

        return _processor()

    def ended() -> tuple[float, int]:
        return _processor(), _resident()

    where: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **where) as cluster:
        with Client(cluster) as client:
            before = sum(client.run(imported).values())
            found = _timed(lambda: _to_zarr(folder, out, chunks, codec))
            workers = client.run(ended).values()
    found["processor"] += sum(one for one, _ in workers) - before
    found["memory"] += sum(one for _, one in workers)
    return found


def floor(folder: str, chunks: str, codec: str) -> dict[str, float]:
    """The compression alone, by zlib and the codec on two threads: the chunks of `months` inflated, and as many bytes in chunks of
    the result deflated. Nothing is read, put in another order or written meanwhile: no import with these libraries takes less.
    """
    import math
    import zlib
    from concurrent.futures import ThreadPoolExecutor

    import h5py
    import numpy as np
    from numcodecs import Shuffle
    from numcodecs.blosc import Blosc
    from numcodecs.zstd import Zstd

    stored: list[bytes] = []
    for name in _names(folder):
        with h5py.File(name) as file:
            dataset, plane = file["air"].id, file["air"].shape[1:]
            places = [dataset.get_chunk_info(at).chunk_offset for at in range(dataset.get_num_chunks())]
            stored += [dataset.read_direct_chunk(place)[1] for place in places]
    steps, rows, columns = (int(it.split("=")[1]) for it in chunks.split(","))
    shuffle, (compressed_by, level) = Shuffle(4), codec.rsplit(":", 1)
    deflate = Zstd(level=int(level)) if compressed_by == "zstd" else Blosc("zstd", int(level), Blosc.SHUFFLE)
    plain = [np.frombuffer(shuffle.decode(zlib.decompress(it)), "<f4") for it in stored[:steps]]
    one = np.stack(plain).reshape(-1, *plane)[:, :rows, :columns].copy()
    count = math.ceil(len(stored) * plain[0].nbytes / one.nbytes)

    def work() -> None:
        with ThreadPoolExecutor(2) as threads:
            inflated = threads.map(lambda it: len(zlib.decompress(it)), stored)
            deflated = threads.map(lambda it: len(deflate.encode(it)), [one] * count)
            assert sum(inflated) > 0 and sum(deflated) > 0

    return _timed(work)


def _to_zarr(folder: str, out: str, chunks: str, codec: str) -> None:
    import xarray
    from zarr.codecs import BloscCodec, ZstdCodec

    compressed_by, level = codec.rsplit(":", 1)
    lengths = {name: int(length) for name, length in (it.split("=") for it in chunks.split(","))}
    dataset = xarray.open_mfdataset(
        _names(folder),
        combine="nested",
        concat_dim="time",
        data_vars="minimal",
        coords="minimal",
        compat="override",
        join="override",
        combine_attrs="override",
        engine="netcdf4",
    )
    dataset = dataset.chunk(lengths)
    compressor: Any = ZstdCodec(level=int(level))
    if compressed_by != "zstd":
        compressor = BloscCodec(typesize=4, cname="zstd", clevel=int(level), shuffle="shuffle")
    encoding: dict[str, Any] = {}
    for name, variable in dataset.data_vars.items():
        # Of the files: their chunks and filters.
        variable.encoding.clear()
        cut = tuple(min(lengths[str(it)], variable.sizes[it]) for it in variable.dims)
        encoding[str(name)] = {"chunks": cut, "compressors": (compressor,)}
    dataset.to_zarr(out, mode="w", consolidated=False, encoding=encoding)
    dataset.close()


def _opened(place: str) -> Any:
    """What icechunk and xarray read in a repository, or xarray in a directory of Zarr."""
    import icechunk
    import xarray

    if (Path(place) / "zarr.json").exists():
        return xarray.open_zarr(place, consolidated=False, chunks=None)
    storage = icechunk.local_filesystem_storage(place)
    config = icechunk.Repository.fetch_config(storage)
    prefixes = list((config and config.virtual_chunk_containers) or {})
    access = icechunk.containers_credentials(dict.fromkeys(prefixes))
    repository = icechunk.Repository.open(storage, authorize_virtual_chunk_access=access)
    store = repository.readonly_session("main").store
    return xarray.open_zarr(store, consolidated=False, chunks=None)


def same(ours: str, theirs: str) -> dict[str, int]:
    """Compares all values of two results, and how they are cut."""
    one, other = _opened(ours), _opened(theirs)
    if set(one.variables) != set(other.variables):
        raise AssertionError(f"{sorted(one.variables)} and {sorted(other.variables)}")
    for name in one.data_vars:
        cuts = [dataset[name].encoding["chunks"] for dataset in (one, other)]
        if cuts[0] != cuts[1]:
            raise AssertionError(f"chunks of {name}: {cuts}")
    steps = 256
    for at in range(0, one.sizes["time"], steps):
        parts = [dataset.isel(time=slice(at, at + steps)).load() for dataset in (one, other)]
        if not parts[0].equals(parts[1]):
            raise AssertionError(f"values from step {at} on differ")
    return {"steps": one.sizes["time"]}


def counted(place: str, files: str) -> dict[str, int]:
    """Reads what was made of `files` small files: each has its value."""
    import numpy as np

    dataset = _opened(place)
    first = dataset["sst"][:, 0, 0].values
    if not np.array_equal(first, np.arange(int(files), dtype="f4")):
        raise AssertionError(f"{place} does not have the values of its files")
    return {"steps": len(first)}


def patterns(place: str, rows: str, columns: str) -> dict[str, int]:
    """Reads steps of what was made of the large files: the first, the last, and some that were at seams."""
    import numpy as np

    from files import expected

    air = _opened(place)["air"]
    seams = [4 * days for days in np.cumsum([31, 28, 31, 30])]
    steps = sorted({0, air.sizes["time"] - 1, *seams, *(it - 1 for it in seams)})
    steps = [step for step in steps if step < air.sizes["time"]]
    for step in steps:
        if not np.array_equal(air[step].values, expected(step, int(rows), int(columns))):
            raise AssertionError(f"step {step} of {place} has other values than the files")
    return {"steps": len(steps)}


def versions() -> dict[str, str]:
    """What is measured."""
    import importlib.metadata

    names = ["virtualizarr", "icechunk", "xarray", "dask", "zarr", "netCDF4", "h5py", "numpy"]
    return {name: importlib.metadata.version(name) for name in names}


_WHAT: dict[str, Callable[..., Any]] = {
    "virtualizarr": virtualizarr,
    "threads": threads,
    "processes": processes,
    "floor": floor,
    "same": same,
    "counted": counted,
    "patterns": patterns,
    "versions": versions,
}

if __name__ == "__main__":
    line = json.dumps(_WHAT[sys.argv[1]](*sys.argv[2:]))
    print(line, flush=True)
    # Threads of icechunk, which still run, crash the end of the interpreter now and then.
    os._exit(0)
