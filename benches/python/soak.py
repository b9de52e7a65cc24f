"""A process that lives long: it commits, reads, forks, expires and collects, and must not grow. Linux only."""

import argparse
import datetime
import json
import math
import os
import pickle
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median_low
from typing import Any

import icefield
import numpy as np
import zarr

__all__ = ["Life", "Sample", "growth", "main"]

# Rounds in a second.
RATE = 2.0
# Seconds between two samples.
EVERY = 5.0
# The part that is not compared: caches fill, and the allocator settles.
WARM_UP = 0.25
# How much more than early there may be late, as a part of it.
TOLERANCE = 0.05
# Rounds after which the repository is opened anew, and after which it is collected.
REOPENED, COLLECTED = 64, 50
# Rounds after which a repository is replaced by a new one. In version 2 it grows whatever
# expires: `repo` names the log of each expired commit.
RENEWED = 256
# What is younger is neither expired nor collected.
FLOOR = datetime.timedelta(seconds=30)
CHUNKS = 16
CHUNK = 1024

Sample = dict[str, int]


def _sample() -> Sample:
    fields = dict(
        line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines()
    )
    return {
        "resident_kib": int(fields["VmRSS"].split()[0]),
        # One of them is that of the listing.
        "descriptors": len(os.listdir("/proc/self/fd")) - 1,
        "threads": int(fields["Threads"]),
    }


def growth(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """Compares the medians of the first third of the samples and of the last third."""
    third = len(samples) // 3
    grown = []
    for name in samples[0] if third else ():
        values = [sample[name] for sample in samples]
        early, late = median_low(values[:third]), median_low(values[-third:])
        # A count that is one larger may have been taken at another moment of a round.
        is_flat = late <= early + 1 or late <= early * (1 + TOLERANCE)
        found = {"name": name, "early": early, "late": late, "most": max(values)}
        grown.append({**found, "is_flat": is_flat})
    return grown


class Life:
    """A repository of one version of the format, and what must be in it."""

    def __init__(self, folder: Path, version: int) -> None:
        self.folder = folder
        self.version = version
        self.round = 0
        self.commits = 0
        self.forks = 0
        self._begin()

    def _begin(self) -> None:
        self.place = self.folder / str(self.round)
        self.storage = icefield.local_filesystem_storage(str(self.place))
        self.repository = icefield.Repository.create(self.storage, spec_version=self.version)
        with self.repository.transaction("main", message="prepare") as store:
            group = zarr.create_group(store)
            group.create_array("data", shape=CHUNKS * CHUNK, chunks=CHUNK, dtype="int32")
        self.values = np.zeros(CHUNKS, dtype="int32")

    def live(self) -> None:
        """Does a bit of everything."""
        if self.round % RENEWED == RENEWED - 1:
            shutil.rmtree(self.place)
            self._begin()
        if self.round % REOPENED == REOPENED - 1:
            self.repository = icefield.Repository.open(self.storage)
        self._write([self.round % CHUNKS])
        if self.round % 4 == 0:
            self._fork([(self.round + 1) % CHUNKS, (self.round + 2) % CHUNKS])
        self._read()
        if self.round % COLLECTED == COLLECTED - 1:
            before = datetime.datetime.now(datetime.UTC) - FLOOR
            self.repository.expire_snapshots(before)
            self.repository.garbage_collect(before, force=True)
        self.round += 1

    def _put(self, store: Any, chunk: int) -> None:
        array = zarr.open_array(store, path="data", mode="r+")
        array[chunk * CHUNK : (chunk + 1) * CHUNK] = self.round + 1

    def _write(self, chunks: list[int]) -> None:
        session = self.repository.writable_session("main")
        for chunk in chunks:
            self._put(session.store, chunk)
        session.commit("soak", rebase_with=icefield.StrictConflictDetector())
        self._note(chunks)

    def _fork(self, chunks: list[int]) -> None:
        session = self.repository.writable_session("main")
        forks = [pickle.loads(pickle.dumps(session.fork())) for _ in chunks]
        for fork, chunk in zip(forks, chunks, strict=True):
            self._put(fork.store, chunk)
        session.merge(*forks)
        session.commit("soak")
        self.forks += len(forks)
        self._note(chunks)

    def _note(self, chunks: list[int]) -> None:
        self.values[chunks] = self.round + 1
        self.commits += 1

    def _read(self) -> None:
        session = self.repository.readonly_session("main")
        array = zarr.open_array(session.store, path="data", mode="r")
        found = np.asarray(array[:]).reshape(CHUNKS, CHUNK)
        if not (found == self.values[:, None]).all():
            raise AssertionError("a chunk is not what was written")


class Pace:
    """The moments at which rounds begin: multiples of one period after the start."""

    def __init__(self, rate: float) -> None:
        self.period = 1 / rate
        self.next = 0
        self.missed = 0

    def wait(self, elapsed: float) -> float:
        """Returns the seconds until the next round, which may begin late in its own period.

        Rounds whose period has passed are left out, and counted: made up for, they would be a
        burst that a quiet machine never has.
        """
        at = max(self.next, math.floor(elapsed / self.period))
        self.missed += at - self.next
        self.next = at + 1
        return max(0.0, at * self.period - elapsed)


def _soak(seconds: float, rate: float, folder: Path) -> dict[str, Any]:
    lives = [Life(folder / f"v{version}", version) for version in (1, 2)]
    begun = time.monotonic()
    sampled = told = 0.0
    pace = Pace(rate)
    samples: list[tuple[float, Sample]] = []
    while True:
        elapsed = time.monotonic() - begun
        time.sleep(max(0.0, min(pace.wait(elapsed), seconds - elapsed)))
        if (now := time.monotonic() - begun) >= seconds:
            break
        # Between two rounds, when nothing is under way.
        if now >= sampled:
            samples.append((now, _sample()))
            sampled = now + EVERY
            if now >= told:
                commits = sum(life.commits for life in lives)
                print(f"{now:6.0f} s  {samples[-1][1]}  {commits} commits", flush=True)
                told = now + 60
        for life in lives:
            life.live()
    counted = [sample for at, sample in samples if at >= seconds * WARM_UP]
    return {
        "seconds": int(time.monotonic() - begun),
        "rate": rate,
        "missed": pace.missed,
        "counts": {
            "rounds": sum(life.round for life in lives),
            "commits": sum(life.commits for life in lives),
            "forks": sum(life.forks for life in lives),
        },
        "samples": len(counted),
        "growth": growth(counted),
    }


def _rate(text: str) -> float:
    rate = float(text)
    if not 1 / 86400 <= rate <= 1000:
        raise argparse.ArgumentTypeError(f"{rate} is not between one round a day and 1000 a second")
    return rate


def main(arguments: list[str]) -> int:
    """Lives on and prints; 0 if nothing grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, required=True, help="how long it lasts")
    parser.add_argument(
        "--rate", type=_rate, default=RATE, help=f"rounds in a second ({RATE})"
    )
    parser.add_argument("--directory", type=Path, help="where the repositories are made")
    parser.add_argument("--figures", type=Path, metavar="FILE", help="write the figures as JSON")
    given = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="icefield-soak-", dir=given.directory))
    try:
        figures = _soak(given.minutes * 60, given.rate, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(figures["counts"], figures["missed"], "missed")
    for found in figures["growth"]:
        verdict = "flat" if found["is_flat"] else "GROWS"
        print(f"{found['name']:12} early {found['early']}, late {found['late']}: {verdict}")
    if given.figures is not None:
        given.figures.write_text(json.dumps(figures) + "\n")
    is_flat = figures["samples"] >= 3 and all(found["is_flat"] for found in figures["growth"])
    if not is_flat:
        print(f"FAILED: something grew, or {figures['samples']} samples are too few")
    # The samples of a soak that did less late than early would not be of the same work.
    kept_pace = figures["missed"] * 10 <= figures["seconds"] * figures["rate"]
    if not kept_pace:
        print(f"FAILED: {figures['missed']} rounds were missed: give a rate below {given.rate}")
    return 0 if is_flat and kept_pace else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
