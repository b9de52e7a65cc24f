"""`icefield serve` beside nginx over the same bytes, and beside servers of Python, in one run. See README.md."""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import urllib.request
import venv
from pathlib import Path

import files
from load import Case, Measured, measure
from servers import Server, icefield, nginx, peer, tools, versions

ROOT = Path(__file__).resolve().parents[2]
PEERS = ("zarr-http-server", "xpublish-zarr")


def chunks(array: str) -> tuple[str, ...]:
    """The paths of all chunks of an array."""
    return tuple(f"/{array}/c/{number}" for number in range(files.ARRAYS[array][1]))


CASES = [
    Case("64 KiB", chunks("small"), for_peers=True),
    Case("64 KiB, 1 connection", chunks("small"), connections=1, target=None),
    Case("64 KiB, 700 connections", chunks("small"), connections=700, target=None),
    Case("4 MiB", chunks("large"), target=0.8, for_peers=True),
    Case("404", tuple(f"/small/c/{number}" for number in range(1000, 1256)), status=404),
    Case("304", chunks("small")[:1], status=304, is_conditional=True),
    Case("zarr.json", ("/zarr.json",)),
]


def parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, help="icefield; without it, the release is built")
    parser.add_argument("--case", action="append", choices=[case.name for case in CASES], help="only this case")
    parser.add_argument("--rounds", type=int, default=5, help="how often each server has its turn (5)")
    parser.add_argument("--seconds", type=float, default=3, help="the length of a turn (3)")
    parser.add_argument("--quick", action="store_true", help="one round of a second: whether it runs, not how fast")
    parser.add_argument("--peers", action="store_true", help="also servers of Python, which are installed below target/")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured")
    parser.add_argument("--strict", action="store_true", help="fail if a target is missed")
    return parser


def target() -> Path:
    """Where all that is made goes."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()


def build() -> Path:
    """Builds the program as a release."""
    subprocess.run(["cargo", "build", "--locked", "--release", "--package", "icefield-cli"], cwd=ROOT, check=True)
    return target() / "release/icefield"


def peers_python() -> Path:
    """An environment that has the servers of Python, made once."""
    wanted = (Path(__file__).parent / "requirements.txt").read_text()
    folder = target() / "python/bench-gateway"
    python, stamp = folder / "bin/python", folder / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        if sys.version_info < (3, 12):
            raise SystemExit("the servers of Python need Python 3.12: run this with it")
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", Path(__file__).parent / "requirements.txt"], check=True)
        stamp.write_text(wanted)
    return python


def turns(wrk: str, servers: list[Server], case: Case, rounds: int, seconds: float, folder: Path) -> dict[str, list[Measured]]:
    """Measures the servers in turns, another one first in each round."""
    asked = [server for server in servers if server.name in ("icefield", "nginx") or case.for_peers]
    found: dict[str, list[Measured]] = {server.name: [] for server in asked}
    for number in range(rounds):
        first = number % len(asked)
        for server in asked[first:] + asked[:first]:
            found[server.name].append(measure(wrk, server, case, seconds, folder))
    return found


def shown(case: Case, found: dict[str, list[Measured]]) -> tuple[list[str], bool, int]:
    """Lines of the table, whether the target is met, and the requests that failed."""
    rates = {name: statistics.median(one.rate for one in all_of) for name, all_of in found.items()}
    ratios = [ours.rate / theirs.rate for ours, theirs in zip(found["icefield"], found["nginx"], strict=True)]
    ratio = statistics.median(ratios)
    failed = sum(one.errors for one in found["icefield"] + found["nginx"])
    is_met = case.target is None or ratio >= case.target
    lines = []
    for name, all_of in found.items():
        p50, p99 = (statistics.median(getattr(one, of) for one in all_of) for of in ("p50", "p99"))
        target = "" if case.target is None else f"≥ {case.target}, {'met' if is_met else 'MISSED'}"
        told = f"{ratio:.2f} ({min(ratios):.2f}–{max(ratios):.2f})" if name == "icefield" else ""
        if name in PEERS:
            told = f"{rates['icefield'] / rates[name]:.1f} times as fast"
        cells = [case.name, name, f"{rates[name]:,.0f}", f"{p50:,.0f}", f"{p99:,.0f}", str(sum(one.errors for one in all_of))]
        lines.append("| " + " | ".join([*cells, told, target if name == "icefield" else ""]) + " |")
    return lines, is_met, failed


def main(arguments: list[str]) -> int:
    """Measures and prints; 0 unless a request failed, or a target was missed and `--strict` is given."""
    given = parser().parse_args(arguments)
    programs = tools(target() / "bench-gateway")
    rounds, seconds = (1, 1) if given.quick else (given.rounds, given.seconds)
    program = (given.program or build()).resolve()
    print(f"{versions(programs['nginx'], program)}; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    measured = {}
    verdicts, failed = [], 0
    with tempfile.TemporaryDirectory(prefix="icefield-bench-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        # The processes of nginx may belong to another user.
        folder.chmod(0o755)
        files.make(folder / "tree")
        files.commit(program, folder / "tree", folder / "repository")
        ours = stack.enter_context(icefield(program, folder / "repository"))
        _, headers = ours.head("/small/c/0")
        # The consolidated document, as nginx would have it.
        with urllib.request.urlopen(f"{ours.url}/zarr.json") as response:
            (folder / "tree/zarr.json").write_bytes(response.read())
        servers = [ours, stack.enter_context(nginx(programs["nginx"], folder / "nginx", folder / "tree", headers))]
        if given.peers:
            python = peers_python()
            servers += [stack.enter_context(peer(python, name, folder / "tree")) for name in PEERS]
        print("\n| requests | server | per second | p50 µs | p99 µs | errors | to nginx | target |\n|---|---|---|---|---|---|---|---|")
        for case in CASES:
            if given.case and case.name not in given.case:
                continue
            found = turns(programs["wrk"], servers, case, rounds, seconds, folder)
            lines, is_met, wrong = shown(case, found)
            print("\n".join(lines), flush=True)
            verdicts.append(is_met)
            failed += wrong
            measured[case.name] = {name: [vars(one) for one in all_of] for name, all_of in found.items()}
        print(f"\nicefield took at most {ours.memory() >> 20} MiB.")
        if given.json:
            given.json.write_text(json.dumps({"cases": measured, "memory": ours.memory(), "quick": given.quick}, indent=1))
    if failed:
        print(f"{failed} requests failed")
    return 1 if failed or (given.strict and not all(verdicts)) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
