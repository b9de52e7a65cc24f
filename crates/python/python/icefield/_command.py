"""The command `icefield`, which the native module runs in this process."""

from __future__ import annotations

import os
import signal
import sys

__all__ = ["main"]


def main() -> int:
    """Runs the command line of the process and returns the exit code."""
    _fill_standard_streams()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Python's handler only leaves a note for Python code, and none runs until the command is done. A process that
        # was started to ignore Ctrl-C has no such handler, and goes on to ignore it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from icefield import _native

    return _native.command(["icefield", *sys.argv[1:]])


def _fill_standard_streams() -> None:
    """Opens the null device for each standard stream that is closed.

    Otherwise a file of the repository could get the number of the stream, and with it the output of
    the command. A Rust program does the same.
    """
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
