"""Tasks of the tests of distributed imports, which processes of workers find by their names here."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from icefield import _exporting, _importing

_SHARE = _importing.do_share
_PART = _exporting.write_part


class Twice(Executor):
    """Does each task twice, in this thread, and returns what the second run returned."""

    def __init__(self) -> None:
        self.runs = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            fn(*args, **kwargs)
            self.runs += 2
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def _once(name: str) -> bool:
    """Whether this is the first process that asks, of all."""
    try:
        os.close(os.open(os.environ["ICEFIELD_TEST_MARKS"] + name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def _middle() -> str:
    """The file whose share a worker dies of: what a mark says."""
    said = Path(os.environ["ICEFIELD_TEST_MARKS"] + "middle")
    return said.read_text() if said.exists() else "30.nc"


def dying_share(fork: Any, share: bytes, names: tuple[list[str], list[str]], document: str) -> Any:
    """Does a share; the worker that has the file in the middle, and has written all of its chunks, then dies, the first time."""
    done = _SHARE(fork, share, names, document)
    if any(Path(name).name == _middle() for name in names[0]) and _once("died"):
        os.kill(os.getpid(), signal.SIGKILL)
    return done


def counted_share(fork: Any, share: bytes, names: tuple[list[str], list[str]], document: str) -> Any:
    """Does a share twice, and notes by which process."""
    _once(f"by-{os.getpid()}")
    _SHARE(fork, share, names, document)
    return _SHARE(fork, share, names, document)


def dying_and_counted_share(
    fork: Any, share: bytes, names: tuple[list[str], list[str]], document: str
) -> Any:
    """Does a share twice, and notes by which process; that of the file in the middle dies in between, the first time."""
    _once(f"by-{os.getpid()}")
    dying_share(fork, share, names, document)
    return _SHARE(fork, share, names, document)


def dying_part(session: Any, begun: bytes, place: tuple[str, str], part: tuple[int, int]) -> Any:
    """Writes a part of an export; the worker that has written the third one then dies, the first time."""
    done = _PART(session, begun, place, part)
    if part[0] == 2 and _once("died-in-export"):
        os.kill(os.getpid(), signal.SIGKILL)
    return done


def doubled_part(session: Any, begun: bytes, place: tuple[str, str], part: tuple[int, int]) -> Any:
    """Writes a part of an export twice, and notes by which process."""
    _once(f"export-by-{os.getpid()}")
    _PART(session, begun, place, part)
    return _PART(session, begun, place, part)


def failing_part(session: Any, begun: bytes, place: tuple[str, str], part: tuple[int, int]) -> Any:
    """Fails after some parts of an export are written."""
    if part[0] == 3:
        raise OSError("the disk of this worker is full")
    return _PART(session, begun, place, part)
