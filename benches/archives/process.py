"""Programs that are run and measured: time, processor time, memory and descriptors of a process of their own.

This module and `run.py` import nothing large: the kernel counts what a parent holds at the start of a child as memory of the child. A large
parent runs this module as a program: `python process.py COMMAND ...` prints as JSON what the command took.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Taken", "measured", "script"]

_SAMPLED = 0.005
"""Seconds between two looks at the open files of a process."""


@dataclass(frozen=True)
class Taken:
    """What a process took, from its start to its end."""

    seconds: float
    processor: float
    """Seconds of all processors together."""
    memory: int
    """The most bytes that were resident."""
    descriptors: int
    """The most open files that were seen; a shorter peak is missed."""
    output: str


def measured(command: Sequence[str | Path], most_descriptors: int | None = None) -> Taken:
    """Runs a program, which may open `most_descriptors` files at a time, and raises if it fails."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        begun = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            preexec_fn=_bound(most_descriptors),
        )
        seen = _Descriptors(process.pid)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        descriptors = seen.most()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            said = (output.read() + errors.read()).decode(errors="replace")
            raise RuntimeError(f"{command[0]} ended with {process.returncode}: {said}")
        return Taken(
            seconds,
            used.ru_utime + used.ru_stime,
            used.ru_maxrss << 10,
            descriptors,
            output.read().decode(),
        )


def script(name: str, *words: object) -> dict[str, Any]:
    """Runs a script of this directory, and returns the JSON that it prints last."""
    path = Path(__file__).resolve().parent / name
    done = subprocess.run(
        [sys.executable, path, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace")
        raise RuntimeError(f"{name} {words[0]} ended with {done.returncode}: {said}")
    answer: dict[str, Any] = json.loads(done.stdout.decode().splitlines()[-1])
    return answer


def _bound(most_descriptors: int | None) -> Callable[[], None] | None:
    if most_descriptors is None:
        return None
    most = most_descriptors
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class _Descriptors:
    """Counts the open files of a process until it ends."""

    def __init__(self, pid: int) -> None:
        self._folder = f"/proc/{pid}/fd"
        self._most = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(_SAMPLED):
            try:
                self._most = max(self._most, len(os.listdir(self._folder)))
            except OSError:
                return

    def most(self) -> int:
        self._ended.set()
        self._thread.join()
        return self._most


if __name__ == "__main__":
    # A parent in between that is small, for those that are not.
    print(json.dumps(asdict(measured(sys.argv[1:]))))
