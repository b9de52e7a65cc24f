"""Fixtures of the behaviour suite, and the hook that applies the named differences."""

from __future__ import annotations

import builtins
import subprocess
from pathlib import Path
from typing import Any

import pytest
import under_test
from children import leave
from differences import DIFFERENCES, Difference, covering
from making import Keys, create, stock

_HERE = Path(__file__).parent


class _Panics(type):
    """The class of a class that has all panics of Rust as instances, whose own classes no module has."""

    def __instancecheck__(cls, error: object) -> bool:
        return type(error).__name__ in ("PanicException", "RustPanic")


class Panic(BaseException, metaclass=_Panics):
    """What the reference raises where it does not know what to do."""


def _failures(difference: Difference) -> tuple[type[BaseException], ...]:
    """By what a case fails that is different: by what it sees, and by what is said to be raised."""
    found: list[type[BaseException]] = [AssertionError, pytest.fail.Exception]
    for name in difference.raised:
        homes = (under_test.ic, builtins, subprocess)
        home = next((it for it in homes if hasattr(it, name)), builtins)
        found.append(Panic if name == "Panic" else getattr(home, name))
    return tuple(found)


# First: before cases are deselected, which does not make a name wrong.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    named = {
        name: it
        for name, it in DIFFERENCES[under_test.MODULE].items()
        if it.version in (None, under_test.SPEC_VERSION)
    }
    used: set[str] = set()
    for item in items:
        case = f"{item.path.relative_to(_HERE).as_posix()}::{item.nodeid.split('::', 1)[1]}"
        name = covering(case, named)
        if name is not None:
            used.add(name)
            difference = named[name]
            mark = pytest.mark.xfail(
                strict=difference.always,
                reason=difference.reason,
                raises=_failures(difference),
            )
            item.add_marker(mark)
    if _is_whole(config, items) and (unused := named.keys() - used):
        raise pytest.UsageError(
            "differences.py names cases that there are not, or that a name before it covers: "
            + ", ".join(sorted(unused))
        )


def _is_whole(config: pytest.Config, items: list[pytest.Item]) -> bool:
    """Whether all cases of all files were collected."""
    files = {item.path for item in items}
    return not any("::" in it for it in config.args) and files >= set(_HERE.glob("test_*.py"))


_STATUS = pytest.StashKey[int]()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[_STATUS] = int(exitstatus)


# Last: all has been reported. But what keeps a run from starting is reported later.
@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    status = config.stash.get(_STATUS, None)
    if status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        leave(status)


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
    return stock(repo)


@pytest.fixture
def older(memory: Any) -> Any:
    """What `stocked` is, always of format version 1."""
    return stock(create(memory, version=1))


@pytest.fixture
def newer(memory: Any) -> Any:
    """What `stocked` is, always of format version 2."""
    return stock(create(memory, version=2))
