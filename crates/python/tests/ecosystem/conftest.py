"""What the tests of this folder share: repositories on a local disk and in memory."""

from collections.abc import Callable
from pathlib import Path

import pytest
from chosen import NAME, ic


@pytest.fixture
def local(tmp_path: Path) -> "ic.Repository":
    """A new repository on a local disk."""
    return ic.Repository.create(ic.local_filesystem_storage(str(tmp_path / "repository")))


@pytest.fixture(params=["memory", "local"])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> "ic.Repository":
    """A new repository, in memory and on a local disk in turn."""
    make: dict[str, Callable[[], ic.Storage]] = {
        "memory": ic.in_memory_storage,
        "local": lambda: ic.local_filesystem_storage(str(tmp_path / "repository")),
    }
    return ic.Repository.create(make[request.param]())


# Intended differences from the reference implementation: its pickles carry secrets, it hangs after a fork, a call into it
# cannot be interrupted; metadata that contains itself ends its process, and panics come through.
collect_ignore = ["test_faults.py", "test_bad_input.py"] if NAME == "icechunk" else []
