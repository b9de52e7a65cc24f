"""What the tests of this folder share: repositories with one small array."""

from pathlib import Path

import numpy as np
import pytest
import zarr

import icefield
from icefield._notices import give_as_warnings
from icefield._values import enums


def _filled(repository: icefield.Repository) -> icefield.Repository:
    """`/a`: four chunks of one integer each, 0 to 3."""
    session = repository.writable_session("main")
    array = zarr.create_array(session.store, name="a", shape=(4,), chunks=(1,), dtype="i4")
    array[:] = np.arange(4)
    session.commit("an array")
    return repository


@pytest.fixture(autouse=True)
def as_icefield() -> None:
    """New repositories are of version 1, also after a test that imports `icefield.compat` in this process."""
    enums.make_repositories_of(1)
    give_as_warnings(True)


@pytest.fixture
def disk(tmp_path: Path) -> icefield.Repository:
    """A repository on a local disk with the array `/a`."""
    storage = icefield.local_filesystem_storage(str(tmp_path / "repository"))
    return _filled(icefield.Repository.create(storage))


@pytest.fixture(params=[1, 2], ids=["v1", "v2"])
def memory(request: pytest.FixtureRequest) -> icefield.Repository:
    """A repository in memory with the array `/a`, of each format version in turn."""
    storage = icefield.in_memory_storage()
    return _filled(icefield.Repository.create(storage, spec_version=request.param))


@pytest.fixture
def older() -> icefield.Repository:
    """A repository in memory with the array `/a`, of format version 1."""
    return _filled(icefield.Repository.create(icefield.in_memory_storage(), spec_version=1))
