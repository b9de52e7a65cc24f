"""A repository on the local disk with one array, and what many tests do with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import icefield as ic
import pytest
import zarr
from distributed import Client, LocalCluster

from making import array, new


@pytest.fixture
def repo(tmp_path: Path) -> ic.Repository:
    """A repository with an array `x` of 40 elements in chunks of 10 along `time`, all 1."""
    repo = new(tmp_path / "repository")
    session = repo.writable_session("main")
    zarr.create_group(session.store)
    made = array(session, "x", 40)
    made[:] = 1.0
    session.commit("the first")
    return repo


@pytest.fixture(scope="session")
def marks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where tasks leave marks, as they find it in the environment of their process."""
    place = tmp_path_factory.mktemp("marks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ICEFIELD_TEST_MARKS", f"{place}/")
        yield place


@pytest.fixture(scope="session")
def client(marks: Path) -> Iterator[Client]:
    """Four processes on the loopback interface."""
    with (
        LocalCluster(
            n_workers=4,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
        ) as cluster,
        # Not for the tests that know nothing of it: computations go to the default client.
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
