"""How a run ends that has used the reference."""

from __future__ import annotations

import os
import sys

import pytest

_STATUS = pytest.StashKey[int]()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[_STATUS] = int(exitstatus)


# Not through the interpreter's own end, where threads of the reference, which still run, crash it now and then. Last:
# all has been reported, but for what keeps a run from starting.
@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    status = config.stash.get(_STATUS, None)
    used = "icechunk" in sys.modules
    if used and status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
