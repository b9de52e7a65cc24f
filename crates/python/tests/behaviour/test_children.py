"""Child processes: what they print arrives, and they end with the status of their program."""

from __future__ import annotations

import subprocess

import pytest
from children import ENDS_WELL, command
from under_test import MODULE


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("", 0),
        ("raise SystemExit", 0),
        ("import sys; sys.exit(3)", 3),
        ("import sys; sys.exit('why')", 1),
        ("1 / 0", 1),
    ],
)
def test_the_status_is_that_of_the_program(program: str, status: int) -> None:
    done = subprocess.run(command(program), capture_output=True, text=True, timeout=120)
    assert done.returncode == status
    assert ("ZeroDivisionError" in done.stderr) == (program == "1 / 0")


def test_arguments_and_output_arrive() -> None:
    program = "import sys; print(*sys.argv[1:], end='')"
    done = subprocess.run(command(program, "a", "b"), capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("a b", 0)


def test_only_the_reference_is_spared_the_end_of_the_interpreter() -> None:
    program = "import atexit; atexit.register(print, 'the end')"
    done = subprocess.run(command(program), capture_output=True, text=True, timeout=120)
    assert ENDS_WELL == (MODULE == "icefield")
    assert ("the end" in done.stdout) == ENDS_WELL
