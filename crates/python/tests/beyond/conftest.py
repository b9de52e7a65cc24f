"""A repository on the local disk with one array, and what many tests do with it."""

from __future__ import annotations

from pathlib import Path

import icefield as ic
import pytest
import zarr

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
