"""Fixtures of the behaviour suite, and the hook that applies the named differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import under_test
from differences import DIFFERENCES
from making import Keys, create, small_array


def _reason(case: str) -> str | None:
    named = DIFFERENCES[under_test.MODULE]
    for name, reason in named.items():
        if case == name or (name.endswith("*") and case.startswith(name[:-1])):
            return reason
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        case = f"{item.path.relative_to(here).as_posix()}::{item.nodeid.split('::', 1)[1]}"
        reason = _reason(case)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(strict=True, reason=reason))


@pytest.fixture
def ic() -> Any:
    """The module under test."""
    return under_test.ic


@pytest.fixture(params=["memory", "disk"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A fresh storage, in memory and on local disk in turn."""
    if request.param == "memory":
        return under_test.ic.in_memory_storage()
    return under_test.ic.local_filesystem_storage(str(tmp_path / "repo"))


@pytest.fixture
def memory() -> Any:
    """A fresh storage in memory."""
    return under_test.ic.in_memory_storage()


@pytest.fixture
def disk(tmp_path: Path) -> Any:
    """A fresh storage on local disk, below the temporary directory of the case."""
    return under_test.ic.local_filesystem_storage(str(tmp_path / "repo"))


@pytest.fixture
def repo(memory: Any) -> Any:
    """A new repository in memory."""
    return create(memory)


@pytest.fixture
def session(repo: Any) -> Any:
    """A writable session on `main` of a new repository."""
    return repo.writable_session("main")


@pytest.fixture
def keys(session: Any) -> Keys:
    """The keys of a writable session on an empty repository."""
    return Keys(session.store)


@pytest.fixture
def stocked(repo: Any) -> Any:
    """A repository with a root group and the array `a` of four chunks; 0 and 1 are written."""
    session = repo.writable_session("main")
    writable = Keys(session.store)
    for key, data in small_array().items():
        writable.put(key, data)
    writable.put("a/c/0", b"\x01")
    writable.put("a/c/1", b"\x02")
    session.commit("stock")
    return repo
