"""What is measured: each case makes its files, lets icefield and its peers have their turns, and compares what they made."""

import json
import math
import shutil
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from process import Taken, measured, script

__all__ = ["CASES", "Case", "Line"]

_MIB = 1 << 20

_DESCRIPTORS = 96

Sizes = dict[str, int]


@dataclass(frozen=True)
class Line:
    """One figure, and what it should be."""

    what: str
    figure: str
    target: str = ""
    met: bool | None = None
    measured: Any = field(default=None)
    """Every number of every round."""

    @property
    def verdict(self) -> str:
        return {True: "met", False: "MISSED", None: ""}[self.met]

    def as_json(self) -> dict[str, Any]:
        words = {"what": self.what, "figure": self.figure, "target": self.target}
        return {**words, "met": self.met, "measured": self.measured}


@dataclass(frozen=True)
class Case:
    name: str
    sizes: dict[str, tuple[int, int, str]]
    """Of each size: what is measured, what a quick run has, and what it is."""
    run: Callable[[Path, Path, Sizes, int], list[Line]]


def _seconds(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} s ({', '.join(f'{value:.2f}' for value in values)})"


def _mib(values: list[float]) -> str:
    return f"{statistics.median(values) / _MIB:.0f} MiB"


def _import(program: Path, repository: Path, words: list[str], most: int | None = None) -> tuple[Taken, dict[str, Any]]:
    """Makes a repository and imports into it, with the default settings; what is measured is the import alone."""
    measured([program, "init", repository])
    taken = measured([program, "import", *words, repository, "--json"], most)
    return taken, json.loads(taken.output)


def _named(work: Path, folder: Path) -> list[str]:
    """Names the files of a folder to an import, in order."""
    listed = work / f"{folder.name}.txt"
    listed.write_text("".join(f"{path}\n" for path in sorted(folder.iterdir())))
    return ["--files-from", str(listed)]


def _turns(contenders: dict[str, Callable[[int], dict[str, float]]], rounds: int) -> dict[str, list[dict[str, float]]]:
    """Lets each have its turn in each round; another one is the first in the next."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(rounds):
        turn = number % len(names)
        for name in [*names[turn:], *names[:turn]]:
            found[name].append(contenders[name](number))
    return found


def _as_numbers(taken: Taken) -> dict[str, float]:
    return {"seconds": taken.seconds, "processor": taken.processor, "memory": taken.memory}


def _column(rounds: list[dict[str, float]], name: str) -> list[float]:
    return [one[name] for one in rounds]


def _ratio(ours: list[float], theirs: list[float]) -> float:
    """The median of the ratios of the rounds, each against itself."""
    return statistics.median(their / our for our, their in zip(ours, theirs, strict=True))


# --- by reference -----------------------------------------------------------------------------------------------------


def _references(program: Path, work: Path, sizes: Sizes, rounds: int) -> list[Line]:
    """The program from its start to its end, beside VirtualiZarr without the start of Python."""
    folder = work / "files"
    script("files.py", "chunked", folder, sizes["files"], sizes["chunks"])
    named = _named(work, folder)

    def icefield(number: int) -> dict[str, float]:
        words = [*named, "--concat", "time", "--virtual"]
        return _as_numbers(_import(program, work / f"ours-{number}", words)[0])

    def virtualizarr(number: int) -> dict[str, float]:
        return script("peers.py", "virtualizarr", folder, work / f"theirs-{number}")

    found = _turns({"icefield": icefield, "VirtualiZarr": virtualizarr}, rounds)
    script("peers.py", "same", work / "ours-0", work / "theirs-0")
    ours, theirs = found["icefield"], found["VirtualiZarr"]
    what = f"{sizes['files']} files x {sizes['chunks']} chunks by reference"
    times = _ratio(_column(ours, "seconds"), _column(theirs, "seconds"))
    work_times = _ratio(_column(ours, "processor"), _column(theirs, "processor"))
    return [
        Line(f"{what}, icefield", _seconds(_column(ours, "seconds"))),
        Line(f"{what}, VirtualiZarr", _seconds(_column(theirs, "seconds"))),
        Line("times as fast", f"{times:.1f}", "at least 20", times >= 20, found),
        Line("times as little of the processors", f"{work_times:.1f}"),
    ]


# --- copies with other chunks -----------------------------------------------------------------------------------------


def _rechunk(compressor: str, program: Path, work: Path, sizes: Sizes, rounds: int) -> list[Line]:
    """Beside dask with two threads, and with two processes: the faster one counts."""
    codec = f"{compressor}:{sizes['level']}"
    folder, rows, columns = work / "files", sizes["rows"], sizes["columns"]
    script("files.py", "months", folder, sizes["files"], rows, columns)
    named, chunks = _named(work, folder), f"time=100,lat={(rows + 3) // 4},lon={(columns + 3) // 4}"

    def icefield(number: int) -> dict[str, float]:
        words = [*named, "--concat", "time", "--chunks", chunks, "--codec", codec]
        return _as_numbers(_import(program, work / f"icefield-{number}", words)[0])

    def dask(kind: str) -> Callable[[int], dict[str, float]]:
        return lambda number: script("peers.py", kind, folder, work / f"{kind}-{number}", chunks, codec)

    def floor(number: int) -> dict[str, float]:
        return script("peers.py", "floor", folder, chunks, codec)

    names = {"threads": "dask, two threads", "processes": "dask, two processes"}
    peers = {kind: dask(kind) for kind in names}
    found = _turns({"icefield": icefield, **peers, "floor": floor}, rounds)
    for kind in names:
        script("peers.py", "same", work / "icefield-0", work / f"{kind}-0")
    lines = []
    for kind, name in {"icefield": "icefield", **names}.items():
        each = found[kind]
        figure = f"{_seconds(_column(each, 'seconds'))}, {_mib(_column(each, 'memory'))}"
        lines.append(Line(f"{sizes['files']} months of {rows} x {columns} to {chunks} by {codec}, {name}", figure))
    ours = found["icefield"]
    faster = min(names, key=lambda kind: statistics.median(_column(found[kind], "seconds")))
    times = _ratio(_column(ours, "seconds"), _column(found[faster], "seconds"))
    part = 1 / _ratio(_column(ours, "memory"), _column(found[faster], "memory"))
    work_times = _ratio(_column(ours, "processor"), _column(found[faster], "processor"))
    return [
        *lines,
        Line(f"times as fast as {names[faster]}", f"{times:.1f}", "at least 3", times >= 3, found),
        Line(f"part of the memory of {names[faster]}", f"{part:.2f}", "at most 0.33", part <= 1 / 3),
        Line("times as little of the processors", f"{work_times:.1f}"),
        Line(f"zlib and {codec} alone, on two threads", _seconds(_column(found["floor"], "seconds"))),
    ]


# --- many files -------------------------------------------------------------------------------------------------------


def _files(program: Path, place: Path, sizes: Sizes, rounds: int) -> list[Line]:
    """Under a limit on open files that the process cannot lift."""
    most = sizes["most"]
    counts = [max(1, most // 10), max(2, 3 * most // 10), most]
    named = {}
    for count in counts:
        script("files.py", "small", place / f"files-{count}", count)
        named[count] = _named(place, place / f"files-{count}")

    def icefield(count: int) -> Callable[[int], dict[str, float]]:
        def turn(number: int) -> dict[str, float]:
            words = [*named[count], "--concat", "time", "--virtual"]
            taken, _ = _import(program, place / f"r-{count}-{number}", words, _DESCRIPTORS)
            return {**_as_numbers(taken), "descriptors": taken.descriptors}

        return turn

    found = _turns({str(count): icefield(count) for count in counts}, rounds)
    for count in counts:
        script("peers.py", "counted", place / f"r-{count}-0", count)
    seconds = {count: statistics.median(_column(found[str(count)], "seconds")) for count in counts}
    work = {count: statistics.median(_column(found[str(count)], "processor")) for count in counts}
    lines = []
    for count in counts:
        each = found[str(count)]
        per_file = 1000 * seconds[count] / count
        figure = f"{_seconds(_column(each, 'seconds'))}, {per_file:.2f} ms a file, {_mib(_column(each, 'memory'))}"
        figure += f", {1000 * work[count] / count:.2f} ms of the processors"
        lines.append(Line(f"{count} small files by reference", figure))
    least = 1000 * seconds[most] / most
    exponent = _exponent(seconds)
    descriptors = max(max(_column(each, "descriptors")) for each in found.values())
    return [
        *lines,
        Line("milliseconds a file", f"{least:.2f}", "under 10", least < 10, found),
        Line("exponent of the files in the time", f"{exponent:.2f}", "at most 1.1", exponent <= 1.1),
        Line("the same in the time of the processors", f"{_exponent(work):.2f}"),
        # More are an error of the import.
        Line("open files", f"{descriptors:.0f}, limit {_DESCRIPTORS}", "at most 96", descriptors <= 96),
    ]


def _exponent(seconds: dict[int, float]) -> float:
    """The slope of the line that fits the logarithms best."""
    points = [(math.log(count), math.log(time)) for count, time in seconds.items()]
    x = statistics.fmean(one for one, _ in points)
    y = statistics.fmean(one for _, one in points)
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


# --- more than fits in memory -----------------------------------------------------------------------------------------


def _bounded(program: Path, work: Path, sizes: Sizes, rounds: int) -> list[Line]:
    """Once: it is about memory."""
    folder, rows, columns = work / "files", sizes["rows"], sizes["columns"]
    made = script("files.py", "large", folder, sizes["files"], rows, columns)
    chunks = f"time=100,lat={(rows + 3) // 4},lon={(columns + 3) // 4}"
    words = [*_named(work, folder), "--concat", "time", "--chunks", chunks, "--codec", "zstd:1"]
    repository = work / "r"
    taken, report = _import(program, repository, words)
    shutil.rmtree(folder)
    script("peers.py", "patterns", repository, rows, columns)
    size = made["bytes"] / 1e9
    memory = taken.memory / 1e6
    what = f"{size:.1f} GB in {sizes['files']} files to {chunks}"
    numbers = {**_as_numbers(taken), "report": report}
    return [
        Line(f"{what}: time", f"{taken.seconds:.1f} s, {taken.processor:.1f} s of the processors, {size * 1000 / taken.seconds:.0f} MB/s"),
        Line(f"{what}: memory", f"{memory:.0f} MB", "under 300 MB", memory < 300, numbers),
    ]


# --- workers ----------------------------------------------------------------------------------------------------------


def _workers(program: Path, work: Path, sizes: Sizes, rounds: int) -> list[Line]:
    """Equality and memory, by the package for Python."""
    path = Path(__file__).resolve().parents[2] / "crates/python/tests/beyond/many_files.py"
    taken = measured([sys.executable, path, work / "workers", str(sizes["files"])])
    lines = []
    for found in map(json.loads, taken.output.splitlines()):
        lines.append(Line(found["what"], found["figure"], found["target"], found["met"], found))
    return lines


_MONTHS = {
    "files": (12, 3, "files of a month"),
    "rows": (180, 12, "rows"),
    "columns": (360, 16, "columns"),
    "level": (3, 3, "level of zstd"),
}

CASES = [
    Case(
        "references",
        {"files": (200, 3, "files"), "chunks": (100, 8, "chunks of each")},
        _references,
    ),
    Case("rechunk", _MONTHS, partial(_rechunk, "zstd")),
    Case("rechunk-blosc", _MONTHS, partial(_rechunk, "blosc:zstd")),
    Case("files", {"most": (10_000, 30, "files; as many, three tenths and a tenth of them")}, _files),
    Case(
        "bounded",
        {"files": (17, 3, "files of a month"), "rows": (721, 41, "rows"), "columns": (1440, 60, "columns")},
        _bounded,
    ),
    Case("workers", {"files": (2000, 24, "files")}, _workers),
]
