"""icefield beside icechunk and zarr-python's LocalStore, in one run. See README.md."""

import argparse
import gc
import json
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import contenders as known
from cases import CASES, FULL, QUICK, Case, Measured, Size, available
from report import as_json, rows, table

__all__ = ["main"]

# More than any turn uses, files in the page cache included.
TOUCHED = 1 << 30

NAMES = ["icefield", "icechunk", "LocalStore"]


def _touch_memory(folder: Path) -> None:
    """Makes the machine have the memory that the next turn gets.

    A virtual machine gets memory from its host at the first touch, and gives back what it does not
    use: that costs several times what copying into it does, whosever turn it is. What a file had
    in the page cache is given to the next process that asks.
    """
    scratch = folder / "touched"
    part = bytes(TOUCHED >> 8)
    with scratch.open("wb", buffering=0) as file:
        for _ in range(TOUCHED // len(part)):
            file.write(part)
    scratch.unlink()


def _measure(
    cases: list[Case], who: list[known.Contender], size: Size, rounds: int, folder: Path, quick: bool
) -> list[tuple[str, str, Measured]]:
    """All cases, in rounds; the first contender of one round is the last of the next."""
    results: list[tuple[str, str, Measured]] = []
    for number in range(rounds):
        turn = number % len(who)
        for case in cases:
            for contender in [*who[turn:], *who[:turn]]:
                # Nothing is deleted before the end: on ext4 that slows down who creates files afterwards. What one
                # leaves dirty is written before the next one starts.
                os.sync()
                gc.collect()
                if not quick:
                    _touch_memory(folder)
                path = folder / f"{number}-{case.name}-{contender.name}"
                results.append((case.name, contender.name, case.run(contender, path, size)))
    return results


def _about(who: list[known.Contender], rounds: int, quick: bool) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "load": os.getloadavg()[0],
        "versions": known.versions(),
        "flushes": {each.name: each.flushes for each in who},
        "optimized": all(getattr(each, "optimized", True) for each in who),
        "rounds": rounds,
        "quick": quick,
    }


def main(arguments: list[str]) -> int:
    """Measures and prints; 0 unless a target was missed and `--strict` is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=5, help="how often everything is measured (5)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="one small round: whether it runs, not how fast"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write everything that was measured"
    )
    parser.add_argument(
        "--case", action="append", choices=[case.name for case in CASES], help="only this case"
    )
    parser.add_argument("--contenders", default=",".join(NAMES), help="who, separated by commas")
    parser.add_argument(
        "--directory", type=Path, help="where the stores are made (a temporary directory)"
    )
    parser.add_argument("--strict", action="store_true", help="fail if a target is missed")
    given = parser.parse_args(arguments)

    who = known.contenders(given.contenders.split(","))
    cases = available(given.case)
    size, rounds = (QUICK, 1) if given.quick else (FULL, given.rounds)
    about = _about(who, rounds, given.quick)
    folder = Path(tempfile.mkdtemp(prefix="icefield-bench-", dir=given.directory))
    try:
        found = rows(cases, _measure(cases, who, size, rounds, folder, given.quick))
    finally:
        shutil.rmtree(folder, ignore_errors=True)

    print(
        f"Python {about['python']}, {about['machine']}, load {about['load']:.1f}; {about['versions']}"
    )
    print(f"medians of {rounds} rounds; flushed to the disk: {about['flushes']}")
    if not about["optimized"]:
        print(
            "the native module was built without optimisations: the times of icefield say nothing"
        )
    print(table(found, [each.name for each in who]))
    if given.json is not None:
        given.json.write_text(json.dumps(as_json(found, about), indent=2) + "\n")
    missed = any(row.met(target) is False for row in found for target in row.targets)
    return 1 if given.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
