"""What engines call: sessions of arrays, merges of tasks, arguments that cannot be."""

import pickle
from typing import Any

import dask.array
import numpy as np
import pytest
import xarray
import zarr

import icefield
from icefield import Repository
from icefield.dask import store_dask
from icefield.distributed import extract_session, merge_sessions
from icefield.xarray import to_icechunk


def values(session: icefield.Session) -> list[int]:
    return [int(it) for it in np.asarray(zarr.open_array(session.store, path="a", mode="r")[:])]


def test_the_session_of_an_array(memory: Repository) -> None:
    session = memory.writable_session("main")
    array: Any = zarr.open_array(session.store, path="a")
    assert extract_session(array) is session
    elsewhere: Any = zarr.create_array({}, shape=(1,), dtype="i4")
    with pytest.raises(TypeError, match="not in the store of a session"):
        extract_session(elsewhere)


def test_what_has_no_session(memory: Repository) -> None:
    session = memory.writable_session("main")
    for wrong in (3, None, session.store, memory, np.arange(3)):
        given: Any = wrong
        with pytest.raises(TypeError, match="takes a Zarr array") as caught:
            extract_session(given)
        assert type(given).__name__ in str(caught.value)
        with pytest.raises(TypeError, match="takes a Zarr array"):
            store_dask(sources=[dask.array.arange(4)], targets=[given])


def test_merging_nested_forks(memory: Repository) -> None:
    session = memory.writable_session("main")
    forks = [session.fork() for _ in range(3)]
    for index, fork in enumerate(forks):
        zarr.open_array(fork.store, path="a")[index] = 10 + index
    # The first one is there twice, as with tasks of one process.
    merged = merge_sessions([[forks[0]], [forks[1], forks[0]]], forks[2])
    assert merged is forks[0]
    session.merge(merged)
    assert values(session) == [10, 11, 12, 3]


def test_merging_answers_into_a_fork(disk: Repository) -> None:
    session = disk.writable_session("main")
    sent = session.fork()
    answers = []
    for index in range(2):
        fork = pickle.loads(pickle.dumps(sent))
        zarr.open_array(fork.store, path="a")[index] = 10 + index
        answers.append(pickle.loads(pickle.dumps(fork.answer())))
    with pytest.raises(TypeError, match=r"merge_sessions\(fork, \*answers\)"):
        merge_sessions(answers, sent)
    # Its own answer is there, too.
    assert merge_sessions(sent, [answers, [sent.answer()]]) is sent
    session.merge(sent)
    assert values(session) == [10, 11, 2, 3]


def test_only_forks_are_merged(memory: Repository) -> None:
    session: Any = memory.writable_session("main")
    with pytest.raises(TypeError, match="ForkSession objects.*and their answers"):
        merge_sessions(session.fork(), session)
    with pytest.raises(ValueError, match="at least one"):
        merge_sessions()


def test_dask_writes_to_forks_only(memory: Repository) -> None:
    session = memory.writable_session("main")
    source = dask.array.from_array(np.arange(4, dtype="i4") + 20, chunks=1)
    target: Any = zarr.open_array(session.store, path="a")
    with pytest.raises(TypeError, match="fork"):
        store_dask(sources=[source], targets=[target])
    fork = session.fork()
    target = zarr.open_array(fork.store, path="a")
    with pytest.raises(TypeError, match="'compute'"):
        store_dask(sources=[source], targets=[target], compute=False)
    session.merge(store_dask(sources=[source], targets=[target], split_every=2))
    assert values(session) == [20, 21, 22, 23]


def test_dask_writes_something(memory: Repository) -> None:
    source = dask.array.from_array(np.arange(4, dtype="i4"), chunks=1)
    target: Any = zarr.open_array(memory.writable_session("main").fork().store, path="a")
    for sources, targets in (([], []), ([source], []), ([], [target])):
        with pytest.raises(ValueError, match="at least one dask array in `sources`"):
            store_dask(sources=sources, targets=targets)


def test_variables_in_memory_and_of_dask(memory: Repository) -> None:
    session = memory.writable_session("main")
    data = xarray.Dataset(
        {"lazy": ("x", dask.array.arange(8, chunks=2)), "eager": ("x", np.arange(8.0))},
        coords={"x": np.arange(8)},
    )
    to_icechunk(data, session, group="g", mode="w")
    more = data.isel(x=slice(0, 4)).assign_coords(x=np.arange(8, 12))
    to_icechunk(more, session, group="g", append_dim="x")
    to_icechunk(data["eager"][2:4] * 10, session, group="g", region={"x": slice(2, 4)}, mode="r+")
    session.commit("written")
    store = memory.readonly_session("main").store
    found = xarray.open_zarr(store, group="g", consolidated=False, zarr_format=3).load()
    assert found["lazy"].values.tolist() == [*range(8), *range(4)]
    assert found["eager"].values.tolist() == [0, 1, 20, 30, 4, 5, 6, 7, 0, 1, 2, 3]


@pytest.mark.parametrize("name", [None, "x", "v"])
def test_data_arrays_keep_their_names(memory: Repository, name: str | None) -> None:
    array = xarray.DataArray(np.arange(3), dims="x", coords={"x": np.arange(3)}, name=name)
    session = memory.writable_session("main")
    to_icechunk(array, session, group="g")
    found = xarray.open_dataset(
        session.store,
        engine="zarr",
        group="g",
        consolidated=False,
    )
    expected = {None: "__xarray_dataarray_variable__", "x": "__xarray_dataarray_variable__"}
    assert list(found.data_vars) == [expected.get(name, name)]
    assert found.attrs.get("__xarray_dataarray_name__") == ("x" if name == "x" else None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "r"}, "mode"),
        ({"mode": "w", "append_dim": "x"}, "append_dim"),
        ({"mode": "w", "region": {"x": slice(0, 1)}}, "region"),
    ],
)
def test_modes_that_cannot_be(memory: Repository, options: dict[str, Any], message: str) -> None:
    data = xarray.Dataset({"v": ("x", np.arange(3))})
    session = memory.writable_session("main")
    with pytest.raises(ValueError, match=message):
        to_icechunk(data, session, **options)
    assert not session.has_uncommitted_changes


def test_what_is_no_session(memory: Repository) -> None:
    data = xarray.Dataset({"v": ("x", np.arange(3))})
    session = memory.writable_session("main")
    wrong: Any = session.store
    with pytest.raises(TypeError, match="pass the session, not its store"):
        to_icechunk(data, wrong)
    for wrong in (None, "session", memory):
        with pytest.raises(TypeError, match="`session` must be a Session") as caught:
            to_icechunk(data, wrong)
        assert type(wrong).__name__ in str(caught.value)
    assert not session.has_uncommitted_changes


@pytest.mark.parametrize("name", ["safe_chunks", "align_chunks"])
def test_chunks_are_checked_or_not(memory: Repository, name: str) -> None:
    data = xarray.Dataset({"v": ("x", np.arange(3))})
    session = memory.writable_session("main")
    for given in (None, "false", 0):
        wrong: dict[str, Any] = {name: given}
        with pytest.raises(TypeError, match=f"`{name}` must be True or False"):
            to_icechunk(data, session, **wrong)
    assert not session.has_uncommitted_changes


def test_what_is_no_dataset(memory: Repository) -> None:
    wrong: Any = np.arange(3)
    with pytest.raises(TypeError, match="Dataset or DataArray"):
        to_icechunk(wrong, memory.writable_session("main"))
