"""The parity report: every public name and signature of the reference implementation against ours.

    python parity.py describe icefield > ours.json
    python parity.py compare --reference reference.json --ours ours.json
    python parity.py run --reference-python REF/bin/python --python OURS/bin/python

`describe` runs in the environment that has the package; `run` does both and compares. Differences need a reason in
`differences.toml`. The exit code is 1 if a name is missing, if a difference has no reason, or if a reason is listed
that is needed no more.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The parity of two packages.")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("describe", help="prints the description of a package as JSON")
    one.add_argument("package")
    two = commands.add_parser("compare", help="compares two descriptions")
    two.add_argument("--reference", type=Path, required=True)
    two.add_argument("--ours", type=Path, required=True)
    both = commands.add_parser("run", help="describes with two interpreters and compares")
    both.add_argument("--reference-python", required=True)
    both.add_argument("--python", default=sys.executable)
    both.add_argument("--reference-package", default="icechunk")
    both.add_argument("--package", default="icefield")
    both.add_argument("--path", default=None, help="a folder for PYTHONPATH of ours")
    for it in (two, both):
        it.add_argument("--differences", type=Path, default=HERE / "differences.toml")
        it.add_argument("--additions", action="store_true", help="lists names that only ours has")
    given = parser.parse_args(arguments)
    if given.command == "describe":
        from describe import describe

        json.dump(describe(given.package), sys.stdout, indent=1)
        return 0
    from compare import compare, reasons

    if given.command == "compare":
        reference = json.loads(given.reference.read_text(encoding="utf-8"))
        ours = json.loads(given.ours.read_text(encoding="utf-8"))
    else:
        reference = _described(given.reference_python, given.reference_package, None)
        ours = _described(given.python, given.package, given.path)
    report = compare(reference, ours, reasons(given.differences))
    versions = [f"{it['package']} {it['version']}" for it in (reference, ours)]
    print(" against ".join(versions))
    for line in report.lines(given.additions):
        print(line)
    return 0 if report.ok else 1


def _described(python: str, package: str, path: str | None) -> Any:
    environment = dict(os.environ)
    if path is not None:
        environment["PYTHONPATH"] = path
    ran = subprocess.run(
        [python, str(HERE / "parity.py"), "describe", package],
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(ran.stdout)


if __name__ == "__main__":
    sys.exit(main())
