"""Scripts that run in a process of their own, where they may fork, be interrupted and be killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["PATIENCE", "interrupted", "run", "started"]

# A deadlock is what does not end within this time (seconds). Nothing here needs a tenth of it.
PATIENCE = 60

# Who runs the tests in the background may have told all processes to ignore Ctrl-C.
_HEARS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


def run(script: str, *arguments: str) -> str:
    """What a script prints. It fails if the script fails or does not end."""
    with started(script, *arguments) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    return out


@contextmanager
def started(script: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A running script; it does not outlive the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HEARS + script, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def interrupted(script: str, by: signal.Signals, *arguments: str) -> tuple[int, str, str]:
    """How a script ends (code, output, errors) that gets a signal once it printed `ready`."""
    with started(script, *arguments) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first == "ready\n", first + process.communicate()[1]
        # Long enough for the call after `ready` to be waiting.
        time.sleep(0.5)
        process.send_signal(by)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err
