"""Imports many files by four processes of dask, with a worker that dies and tasks that run twice: `python many_files.py DIRECTORY FILES`.

Prints lines of JSON: whether the result is that of one process, chunk by chunk, and the memory of the caller. `pytest` does the same
with fewer files and without measuring.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster
from icefield import _importing
from icefield.dask import import_files

import tasks
from contents import contents
from making import all_workers, new, periods

WAYS: dict[str, dict[str, Any]] = {
    "copied": {},
    "referred to": {"virtual": True, "copy": ["sst", "time"]},
}

MOST_GROWTH = 32 << 20
"""Bytes that the caller may need more for four times as many files."""


def say(what: str, figure: str, target: str = "", met: bool | None = None) -> None:
    print(json.dumps({"what": what, "figure": figure, "target": target, "met": met}), flush=True)


def resident(line: str) -> int:
    """Bytes of this process, by a line of its status."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{line}:")[1].split()[0]) << 10


def by_many(place: Path, files: list[Path], client: Client, options: dict[str, Any]) -> tuple[Any, float, int]:
    """The report of an import, its seconds, and how much more memory this process had meanwhile than before."""
    session = new(place).writable_session("main")
    # The most from now on.
    Path("/proc/self/clear_refs").write_text("5")
    before, begun = resident("VmRSS"), time.perf_counter()
    report = import_files(files, session, client, concat="time", message="by many", **options)
    return report, time.perf_counter() - begun, resident("VmHWM") - before


def compare(place: Path, files: list[Path], client: Client, name: str, marks: Path) -> None:
    """One way to import: a quarter of the files, then all, each by many processes; and all by one."""
    options = WAYS[name]
    # Modules are loaded, and what the first tasks need is there.
    by_many(place / "few", files[: len(files) // 8], client, options)
    grown = []
    for count in (len(files) // 4, len(files)):
        for mark in marks.iterdir():
            mark.unlink()
        (marks / "middle").write_text(f"{count // 2}.nc")
        # On a busy machine it may take long until the dead one is replaced.
        all_workers(client, 2)
        report, seconds, more = by_many(place / f"by many {count}", files[:count], client, options)
        died, processes = (marks / "died").exists(), len(list(marks.glob("by-*")))
        met = died and processes > 1
        figure = f"{seconds:.1f} s, {processes} processes, one of them died: {died}"
        say(f"{count} files {name} by dask, each task twice", figure, "more than one, and a death", met)
        grown.append(more)
    begun = time.perf_counter()
    alone = new(place / "by one").import_files(files, concat="time", **options)
    seconds = time.perf_counter() - begun
    found, expected = contents(place / f"by many {len(files)}", report.containers), contents(place / "by one", alone.containers)
    references = len(expected["references"])
    differing = [key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key)]
    figure = f"{len(expected)} documents and chunks, {references} references, {len(differing)} differ ({seconds:.1f} s by one)"
    say(f"{len(files)} files {name}, chunk by chunk", figure, "none differs", not differing)
    less, more = grown
    figure = f"{less / 2**20:.1f} MiB for {len(files) // 4} files, {more / 2**20:.1f} MiB for {len(files)}"
    target = f"at most {MOST_GROWTH >> 20} MiB between them"
    say(f"memory of the caller, {name}", figure, target, more - less <= MOST_GROWTH)


def main(place: Path, count: int) -> None:
    (place / "files").mkdir(parents=True)
    marks = place / "marks"
    marks.mkdir()
    (marks / "middle").write_text("none")
    os.environ["ICEFIELD_TEST_MARKS"] = f"{marks}/"
    files = periods(place / "files", count)
    _importing.do_share = tasks.dying_and_counted_share
    # Or a worker that a busy machine starts slowly is given up.
    dask.config.set({"distributed.comm.timeouts.connect": "300s"})
    where: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(n_workers=4, threads_per_worker=1, processes=True, **where) as cluster:
        with Client(cluster, set_as_default=False) as client:
            for name in WAYS:
                (place / name).mkdir()
                compare(place / name, files, client, name, marks)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]))
