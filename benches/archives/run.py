"""Imports of archives beside VirtualiZarr, xarray and dask, in one run. See README.md."""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cases import CASES, Case, Line
from process import script

__all__ = ["main"]


def _chosen(names: list[str] | None) -> list[Case]:
    return [case for case in CASES if names is None or case.name in names]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", action="append", choices=[it.name for it in CASES], help="only this case")
    parser.add_argument("--rounds", type=int, default=3, help="how often each contender has its turn (3)")
    parser.add_argument("--quick", action="store_true", help="on little data: whether it runs, not how fast")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured")
    parser.add_argument("--directory", type=Path, help="where files are made (a temporary directory)")
    parser.add_argument("--program", type=Path, help="icefield (what ICEFIELD says)")
    parser.add_argument("--strict", action="store_true", help="fail if a target is missed")
    for case in CASES:
        for name, (size, _, what) in case.sizes.items():
            parser.add_argument(f"--{case.name}-{name}", type=int, metavar="N", help=f"{what} ({size})")
    return parser


def _size_of(given: argparse.Namespace) -> Callable[[Case, str], int]:
    def size(case: Case, name: str) -> int:
        asked: int | None = getattr(given, f"{case.name}_{name}".replace("-", "_"))
        full, quick, _ = case.sizes[name]
        return asked if asked is not None else quick if given.quick else full

    return size


def _table(lines: list[Line]) -> str:
    cells = [["what", "figure", "target", ""]]
    cells += [[line.what, line.figure, line.target, line.verdict] for line in lines]
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    text = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text)


def main(arguments: list[str]) -> int:
    """Measures and prints; 0 unless a target was missed and `--strict` is given."""
    given = _parser().parse_args(arguments)
    program = given.program or os.environ.get("ICEFIELD")
    if program is None:
        raise SystemExit("which icefield? Give --program, or set ICEFIELD")
    size = _size_of(given)
    about: dict[str, Any] = {
        "versions": script("peers.py", "versions"),
        "processors": os.cpu_count(),
        "rounds": given.rounds,
        "quick": given.quick,
        "loads": {},
    }
    print(f"{about['processors']} processors; {about['versions']}")
    lines: list[Line] = []
    if given.directory is not None:
        Path(given.directory).mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="icefield-bench-", dir=given.directory)).resolve()
    try:
        for case in _chosen(given.case):
            before = os.getloadavg()[0]
            work = folder / case.name
            work.mkdir()
            sizes = {name: size(case, name) for name in case.sizes}
            found = case.run(Path(program).resolve(), work, sizes, given.rounds)
            shutil.rmtree(work)
            about["loads"][case.name] = [before, os.getloadavg()[0]]
            print(f"{case.name}: {sizes}, load {before:.1f} to {os.getloadavg()[0]:.1f}", flush=True)
            lines += found
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(_table(lines))
    if given.json is not None:
        written = {"schema": 1, **about, "lines": [line.as_json() for line in lines]}
        given.json.write_text(json.dumps(written, indent=2) + "\n")
    return 1 if given.strict and any(line.met is False for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
