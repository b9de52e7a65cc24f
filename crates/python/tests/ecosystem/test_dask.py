"""Work that outgrows one process: dask's workers write through forks of one session."""

import pickle
from collections.abc import Iterator
from typing import Any

import dask.array
import numpy as np
import pytest
import xarray as xr
import zarr
from chosen import ic, to_icechunk
from distributed import Client, LocalCluster

WORKERS = 4


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Four processes on the loopback interface, gone at the end."""
    with (
        LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _write_row(fork: "ic.ForkSession", row: int) -> tuple[int, "ic.ForkSession"]:
    import os

    array = zarr.open_array(fork.store, path="table")
    array[row] = np.full(10, row, dtype="int64")
    return os.getpid(), fork


def _read_row(store: "ic.IcechunkStore", row: int) -> int:
    return int(np.asarray(zarr.open_array(store, path="table")[row]).sum())


def _table(repository: "ic.Repository", rows: int) -> None:
    session = repository.writable_session("main")
    zarr.create_array(session.store, name="table", shape=(rows, 10), chunks=(1, 10), dtype="int64")
    session.commit("a table")


def test_processes_write_one_array_through_forks(local: "ic.Repository", client: Client) -> None:
    _table(local, 16)
    session = local.writable_session("main")
    fork = session.fork()
    # Every worker gets its own copy of the fork: a future pickles what it is given.
    futures = [client.submit(_write_row, fork, row, pure=False) for row in range(16)]
    written: list[Any] = client.gather(futures)
    assert len({pid for pid, _ in written}) > 1
    session.merge(*(each for _, each in written))
    session.commit("sixteen rows")

    table = np.asarray(zarr.open_array(local.readonly_session("main").store, path="table")[:])
    np.testing.assert_array_equal(table, np.repeat(np.arange(16), 10).reshape(16, 10))


def test_processes_read_through_a_pickled_store(local: "ic.Repository", client: Client) -> None:
    _table(local, 8)
    session = local.writable_session("main")
    zarr.open_array(session.store, path="table")[:] = np.arange(80).reshape(8, 10)
    session.commit("filled")
    store = local.readonly_session("main").store
    sums = client.gather([client.submit(_read_row, store, row) for row in range(8)])
    assert sums == [int(np.arange(row * 10, row * 10 + 10).sum()) for row in range(8)]


def test_xarray_writes_on_all_workers(local: "ic.Repository", client: Client) -> None:
    data = np.arange(24 * 40, dtype="float64").reshape(24, 40)
    dataset = xr.Dataset({"t": (("time", "x"), dask.array.from_array(data, chunks=(2, 40)))})
    session = local.writable_session("main")
    fork = session.fork()
    to_icechunk(dataset, fork, encoding={"t": {"chunks": (2, 40)}})
    session.merge(fork)
    session.commit("by all workers")

    read = xr.open_zarr(local.readonly_session("main").store, consolidated=False)
    np.testing.assert_array_equal(read["t"].compute().values, data)


def test_to_icechunk_forks_by_itself(local: "ic.Repository", client: Client) -> None:
    data = np.arange(12 * 10, dtype="float32").reshape(12, 10)
    dataset = xr.Dataset({"t": (("time", "x"), dask.array.from_array(data, chunks=(3, 10)))})
    session = local.writable_session("main")
    to_icechunk(dataset, session)
    session.commit("first")
    session = local.writable_session("main")
    to_icechunk(dataset, session, append_dim="time")
    session.commit("second")
    read = xr.open_zarr(local.readonly_session("main").store, consolidated=False)
    np.testing.assert_array_equal(read["t"].compute().values, np.concatenate([data, data]))


def test_dask_reads_lazily_on_all_workers(local: "ic.Repository", client: Client) -> None:
    _table(local, 8)
    session = local.writable_session("main")
    zarr.open_array(session.store, path="table")[:] = 3
    session.commit("threes")
    read = xr.DataArray(
        dask.array.from_zarr(zarr.open_array(local.readonly_session("main").store, path="table"))
    )
    assert int(read.sum().compute()) == 240


def test_a_fork_of_a_fork_merges(local: "ic.Repository") -> None:
    _table(local, 2)
    session = local.writable_session("main")
    fork: ic.ForkSession = pickle.loads(pickle.dumps(session.fork()))
    twig: ic.ForkSession = pickle.loads(pickle.dumps(fork))
    _write_row(fork, 0)
    _write_row(twig, 1)
    session.merge(fork, twig)
    session.commit("both")
    table = np.asarray(zarr.open_array(local.readonly_session("main").store, path="table")[:])
    assert table.sum(axis=1).tolist() == [0, 10]
