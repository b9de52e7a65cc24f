"""Ctrl-C while others would see half of what is going on, and a process that ends right after."""

import datetime
from pathlib import Path

import pytest

import icefield as ic
from processes import PATIENCE, run, started

# Whatever the disk, it takes its time; the signal comes when the work has got as far as a file shows.
_SLOW = """
import datetime, os, pathlib, signal, sys, threading, time
import zarr
import icefield as ic
from icefield.testing import LatencyStorage

path = pathlib.Path(sys.argv[1])
storage = LatencyStorage(ic.local_filesystem_storage(str(path)))
repository = ic.Repository.create(storage)
session = repository.writable_session("main")
zarr.create_array(session.store, name="a", shape=(8,), chunks=(1,), dtype="i8")[:] = range(8)
first = session.commit("an array")


def ctrl_c(condition):
    def send():
        while not condition():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send, daemon=True).start()


def files(name):
    return set((path / name).glob("*"))
"""

_A_DAY = datetime.timedelta(days=1)


def _main(path: Path) -> list[str]:
    repository = ic.Repository.open(ic.local_filesystem_storage(str(path)))
    return [snapshot.message for snapshot in repository.ancestry(branch="main")]


def test_a_commit_lands_though_the_process_ends(tmp_path: Path) -> None:
    said = run(
        _SLOW
        + """
session = repository.writable_session("main")
zarr.open_array(session.store, path="a")[0] = 10
before = files("snapshots")
storage.write_latency_ms = 1000
ctrl_c(lambda: files("snapshots") != before)
try:
    session.commit("in spite of it")
except KeyboardInterrupt as interrupt:
    print(*interrupt.__notes__)
""",
        str(tmp_path),
    )
    assert said.startswith("The commit was begun and goes on to its end. The process waits"), said
    assert "session.read_only" in said and "10 seconds" in said
    assert _main(tmp_path)[0] == "in spite of it"


def test_a_commit_whose_await_was_cancelled_lands_too(tmp_path: Path) -> None:
    said = run(
        _SLOW
        + """
import asyncio

session = repository.writable_session("main")
zarr.open_array(session.store, path="a")[0] = 10
before = files("snapshots")
storage.write_latency_ms = 1000
ctrl_c(lambda: files("snapshots") != before)
try:
    asyncio.run(session.commit_async("in spite of it"))
except KeyboardInterrupt as interrupt:
    cancelled = interrupt.__context__
    print(type(cancelled).__name__, *cancelled.__notes__)
""",
        str(tmp_path),
    )
    assert said.startswith("CancelledError The commit was begun"), said
    assert _main(tmp_path)[0] == "in spite of it"


_NEVER_ENDING = (
    _SLOW
    + """
import asyncio, atexit

session = repository.writable_session("main")
zarr.open_array(session.store, path="a")[0] = 10
storage.write_latency_ms = 3 * 3600 * 1000


async def begin():
    task = asyncio.ensure_future(session.commit_async("never"))
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError as cancelled:
        print(*cancelled.__notes__)


asyncio.run(begin())
"""
)


def _ended(script: str, path: Path) -> tuple[str, str]:
    with started(script, str(path)) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert out.startswith("The commit was begun"), (out, err)
    return out, err


def test_ctrl_c_ends_the_wait_at_the_end_of_the_process(tmp_path: Path) -> None:
    script = _NEVER_ENDING + "ctrl_c(lambda: not threading.main_thread().is_alive())\n"
    _, err = _ended(script, tmp_path)
    assert "KeyboardInterrupt" in err and "under way" not in err


def test_a_child_does_not_wait_for_the_work_of_its_parent(tmp_path: Path) -> None:
    script = (
        _NEVER_ENDING
        + """
child = os.fork()
if child == 0:
    # The interpreter does the same when it ends.
    atexit._run_exitfuncs()
    os._exit(0)
print("child", os.waitpid(child, 0)[1])
os._exit(0)
"""
    )
    out, err = _ended(script, tmp_path)
    assert out.endswith("child 0\n")
    assert "under way" not in err


_GARBAGE = """
repository.create_branch("side", first)
session = repository.writable_session("side")
zarr.open_array(session.store, path="a")[:] = range(8, 16)
session.commit("garbage")
repository.delete_branch("side")
later = datetime.datetime.now().astimezone() + datetime.timedelta(days=1)
slow = ic.Repository.open(storage)
"""


@pytest.mark.parametrize("waiting", ["blocking", "awaiting"])
def test_a_collection_ends_early_and_keeps_no_other_waiting(tmp_path: Path, waiting: str) -> None:
    call = {
        "blocking": "slow.garbage_collect(later, force=True)",
        "awaiting": "asyncio.run(slow.garbage_collect_async(later, force=True))",
    }[waiting]
    said = run(
        _SLOW
        + _GARBAGE
        + f"""
import asyncio

# More than a dozen reads, one after the other.
storage.read_latency_ms = 400
ctrl_c((path / "icefield" / "gc" / "state.json").exists)
try:
    {call}
except KeyboardInterrupt as interrupt:
    storage.read_latency_ms = 0
    shown = getattr(interrupt, "__notes__", None) or interrupt.__context__.__notes__
    print(*shown)
""",
        str(tmp_path),
    )
    assert said.startswith("The work was asked to end, and does so soon"), said
    repository = ic.Repository.open(ic.local_filesystem_storage(str(tmp_path)))
    later = datetime.datetime.now(datetime.timezone.utc) + _A_DAY
    summary = repository.garbage_collect(later, force=True)
    assert summary.snapshots_deleted == 1
    assert _main(tmp_path)[0] == "an array"
    assert repository.fsck().sound


def test_a_thread_is_told_that_the_end_of_the_process_interrupted_its_work(tmp_path: Path) -> None:
    said = run(
        """
import atexit, threading

# Registered before the hook of the package, and so called after it.
told = threading.Event()
atexit.register(told.wait, 30)
"""
        + _SLOW
        + _GARBAGE
        + """
def collect():
    try:
        slow.garbage_collect(later, force=True)
    except ic.IcechunkError as error:
        os.write(1, f"{error.kind}\\n".encode())
    told.set()


storage.read_latency_ms = 400
threading.Thread(target=collect, daemon=True).start()
while not (path / "icefield" / "gc" / "state.json").exists():
    time.sleep(0.01)
""",
        str(tmp_path),
    )
    assert said == "interrupted\n"
