"""How a process ends in which work was awaited."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import asyncio, atexit, sys, time

def late():
    # Called after everything of the package, which is imported later.
    print(asyncio.run(repository.lookup_branch_async("main")) == snapshot)

if sys.argv[2] == "late":
    atexit.register(late)

import icefield
from icefield.storage import LatencyStorage

class Slow(asyncio.SelectorEventLoop):
    # As on a busy machine: the loop goes on before the thread that told it has left Python.
    def call_soon_threadsafe(self, *args, **kwargs):
        handle = super().call_soon_threadsafe(*args, **kwargs)
        time.sleep(0.5)
        return handle

near = icefield.local_filesystem_storage(sys.argv[1])
snapshot = icefield.Repository.create(near).lookup_branch("main")
far = LatencyStorage(near)
repository = icefield.Repository.open(far)
far.read_latency_ms = 50
print(Slow().run_until_complete(repository.lookup_branch_async("main")) == snapshot)
"""


@pytest.mark.parametrize("last", ["nothing", "late"])
def test_a_process_ends_while_an_event_loop_is_told(tmp_path: Path, last: str) -> None:
    """A thread that is in Python when the interpreter ends aborts the process; and no thread notifies an event loop then."""
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "repository"), last]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    said = "True\n" * (2 if last == "late" else 1)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, said, "")
