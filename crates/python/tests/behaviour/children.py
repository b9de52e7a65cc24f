"""Child processes of the cases, and how a process ends that has used the module under test.

A process that has used `icefield` ends as any does, and must end with 0. One that has used the
reference does not go through the end of the interpreter, where the threads of its module, which
still run, crash it now and then (seen with 2.3.0, a few times in 200): what it did before counts.
"""

from __future__ import annotations

import os
import sys

from under_test import MODULE

# Whether the interpreter's own end can be trusted with the module under test.
ENDS_WELL = MODULE != "icechunk"

# Runs the program of its first argument, and leaves with its status.
_LEAVING = """
import os, sys, traceback
program, status = sys.argv.pop(1), 0
try:
    exec(compile(program, "<child>", "exec"), {"__name__": "__main__"})
except SystemExit as end:
    status = end.code if isinstance(end.code, int) else int(end.code is not None)
except BaseException:
    traceback.print_exc()
    status = 1
sys.stdout.flush()
sys.stderr.flush()
os._exit(status)
"""


def command(program: str, *arguments: str) -> list[str]:
    """The command that runs a program with these arguments in a process of its own."""
    leaving = [] if ENDS_WELL else [_LEAVING]
    return [sys.executable, "-c", *leaving, program, *arguments]


def leave(status: int) -> None:
    """End this process, unless its own end can be trusted."""
    if not ENDS_WELL:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
