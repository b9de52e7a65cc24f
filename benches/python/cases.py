"""What is measured, and what is wanted of it."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from contenders import Contender
from zarr.abc.store import Store, SupportsGetSync, SupportsSetSync
from zarr.core.buffer import Buffer, cpu, default_buffer_prototype

__all__ = ["CASES", "FULL", "QUICK", "Case", "Measured", "Size", "Taken", "Target", "available"]

KIB = 1024
MIB = 1024 * KIB
FUSED = "zarr.core.codec_pipeline.FusedCodecPipeline"


@dataclass(frozen=True)
class Size:
    """How much a round does."""

    calls: int
    small_chunks: int
    big_chunks: int
    opens: int


FULL = Size(calls=500, small_chunks=1024, big_chunks=48, opens=20)
QUICK = Size(calls=12, small_chunks=8, big_chunks=2, opens=2)


@dataclass(frozen=True)
class Target:
    """Our speed is to be at least `times` that of `of`; without `of`, a time of at most `seconds`."""

    of: str | None = None
    times: float = 0.0
    seconds: float = 0.0

    def __str__(self) -> str:
        if self.of is None:
            return f"at most {self.seconds * 1000:g} ms"
        return f"{self.times:g} x {self.of}"


@dataclass(frozen=True)
class Taken:
    """Seconds for one operation: by the clock, and of all processors together."""

    seconds: float
    processor: float


# The measurements of one contender in one round, by name.
Measured = dict[str, Taken]


@dataclass(frozen=True)
class Case:
    """Something that is timed: one or several numbers, each with a name."""

    name: str
    run: Callable[[Contender, Path, Size], Measured]
    targets: dict[str, list[Target]] = field(default_factory=dict)


@contextmanager
def _timed(into: Measured, name: str, operations: int) -> Iterator[None]:
    start, processor = time.perf_counter(), time.process_time()
    yield
    seconds = time.perf_counter() - start
    into[name] = Taken(seconds / operations, (time.process_time() - processor) / operations)


def _random(size: int) -> "np.ndarray[Any, np.dtype[np.uint8]]":
    return np.random.default_rng(7).integers(0, 256, size, dtype=np.uint8)


# --- store calls alone ------------------------------------------------------------------------------------------------


async def _sets(store: Store, values: list[Buffer], at_once: int) -> None:
    for first in range(0, len(values), at_once):
        if at_once == 1:
            await store.set(f"a/c/{first}", values[first])
        else:
            group = range(first, min(first + at_once, len(values)))
            await asyncio.gather(*(store.set(f"a/c/{i}", values[i]) for i in group))


async def _gets(store: Store, count: int, at_once: int) -> None:
    prototype = default_buffer_prototype()
    for first in range(0, count, at_once):
        if at_once == 1:
            found = [await store.get(f"a/c/{first}", prototype)]
        else:
            group = range(first, min(first + at_once, count))
            found = await asyncio.gather(*(store.get(f"a/c/{i}", prototype) for i in group))
        for value in found:
            if value is None or len(value) != 64 * KIB:
                raise AssertionError("a chunk was not read whole")


def _values(count: int) -> list[Buffer]:
    # One memory for all: what is measured is the store, not the caches of the processor.
    memory = _random(64 * KIB)
    return [cpu.Buffer.from_array_like(memory) for _ in range(count)]


def _array(store: Store, chunks: int) -> None:
    zarr.create_group(store)
    zarr.create_array(
        store,
        name="a",
        shape=(chunks * 64 * KIB,),
        chunks=(64 * KIB,),
        dtype="uint8",
        compressors=None,
    )


def _calls(at_once: int) -> Callable[[Contender, Path, Size], Measured]:
    def run(contender: Contender, path: Path, size: Size) -> Measured:
        measured: Measured = {}
        values = _values(size.calls)
        store = contender.create(path)
        _array(store, size.calls)

        async def write() -> None:
            # The first call pays for folders and threads.
            await store.set("a/c/0", values[0])
            with _timed(measured, f"set 64 KiB, {at_once} awaited", size.calls):
                await _sets(store, values, at_once)

        asyncio.run(write())
        contender.commit()
        reader = contender.reader(path)

        async def read() -> None:
            await reader.get("a/c/0", default_buffer_prototype())
            with _timed(measured, f"get 64 KiB, {at_once} awaited", size.calls):
                await _gets(reader, size.calls, at_once)

        asyncio.run(read())
        return measured

    return run


def _calls_sync(contender: Contender, path: Path, size: Size) -> Measured:
    """Without an event loop, for those who can."""
    measured: Measured = {}
    values = _values(size.calls)
    store = contender.create(path)
    _array(store, size.calls)
    if not isinstance(store, SupportsSetSync):
        return measured
    store.set_sync("a/c/0", values[0])
    with _timed(measured, "set_sync 64 KiB", size.calls):
        for i, value in enumerate(values):
            store.set_sync(f"a/c/{i}", value)
    with _timed(measured, "commit of the above", 1):
        contender.commit()
    reader = contender.reader(path)
    if not isinstance(reader, SupportsGetSync):
        return measured
    prototype = default_buffer_prototype()
    reader.get_sync("a/c/0", prototype=prototype)
    with _timed(measured, "get_sync 64 KiB", size.calls):
        for i in range(size.calls):
            found = reader.get_sync(f"a/c/{i}", prototype=prototype)
            if found is None or len(found) != 64 * KIB:
                raise AssertionError("a chunk was not read whole")
    return measured


# --- arrays through zarr-python ---------------------------------------------------------------------------------------


def _through_zarr(
    label: str, chunk_bytes: int, count: Callable[[Size], int], pipeline: str | None
) -> Callable[[Contender, Path, Size], Measured]:
    def run(contender: Contender, path: Path, size: Size) -> Measured:
        measured: Measured = {}
        chunks = count(size)
        per_chunk = chunk_bytes // 4
        data = np.random.default_rng(7).standard_normal(chunks * per_chunk, dtype=np.float32)
        settings = {} if pipeline is None else {"codec_pipeline.path": pipeline}
        with zarr.config.set(settings):
            store = contender.create(path)
            zarr.create_group(store)
            array = zarr.create_array(
                store,
                name="a",
                shape=data.shape,
                chunks=(per_chunk,),
                dtype="float32",
                compressors=None,
            )
            with _timed(measured, f"write {label}", chunks):
                array[:] = data
            contender.commit()
            array = zarr.open_array(contender.reader(path), path="a", mode="r")
            with _timed(measured, f"read {label}", chunks):
                found = np.asarray(array[:])
        if not np.array_equal(found, data):
            raise AssertionError("what was read is not what was written")
        return measured

    return run


# --- openings ---------------------------------------------------------------------------------------------------------


def _open(contender: Contender, path: Path, size: Size) -> Measured:
    measured: Measured = {}
    zarr.create_group(contender.create(path), attributes={"title": "weather"})
    contender.commit()
    zarr.open_group(contender.reader(path), mode="r")
    with _timed(measured, "open and read an attribute", size.opens):
        for _ in range(size.opens):
            if zarr.open_group(contender.reader(path), mode="r").attrs["title"] != "weather":
                raise AssertionError("another attribute")
    return measured


_IMPORT = """
import json, time
import zarr
start, processor = time.perf_counter(), time.process_time()
import {module}
print(json.dumps([time.perf_counter() - start, time.process_time() - processor]), flush=True)
{ending}
"""

# Threads of the reference, which still run, now and then crash the interpreter's own end.
_ENDINGS = {"icechunk": "import os; os._exit(0)"}


def _import(contender: Contender, path: Path, size: Size) -> Measured:
    ending = _ENDINGS.get(contender.module, "")
    program = _IMPORT.format(module=contender.module, ending=ending)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    return {"import, on top of zarr": Taken(*json.loads(done.stdout))}


# --- the list ---------------------------------------------------------------------------------------------------------

_TWICE = [Target("icechunk", 2.0)]
_SMALL = [Target("LocalStore", 0.95)]
_BIG = [Target("icechunk", 1.5), Target("LocalStore", 0.9)]
_SMALL_DEFAULT, _SMALL_FUSED, _BIG_DEFAULT = (
    "64 KiB chunks, default pipeline",
    "64 KiB chunks, synchronous path",
    "4 MiB chunks",
)


def _both(label: str, targets: list[Target]) -> dict[str, list[Target]]:
    return {f"write {label}": targets, f"read {label}": targets}


CASES = [
    *(
        Case(
            f"calls-{at_once}",
            _calls(at_once),
            {f"{what} 64 KiB, {at_once} awaited": _TWICE for what in ("set", "get")},
        )
        for at_once in (1, 10)
    ),
    Case("calls-sync", _calls_sync),
    Case(
        "small",
        _through_zarr(_SMALL_DEFAULT, 64 * KIB, lambda size: size.small_chunks, None),
        _both(_SMALL_DEFAULT, _SMALL),
    ),
    Case(
        "small-sync",
        _through_zarr(_SMALL_FUSED, 64 * KIB, lambda size: size.small_chunks, FUSED),
        _both(_SMALL_FUSED, _TWICE),
    ),
    Case(
        "big",
        _through_zarr(_BIG_DEFAULT, 4 * MIB, lambda size: size.big_chunks, None),
        _both(_BIG_DEFAULT, _BIG),
    ),
    Case("open", _open, {"open and read an attribute": [Target(seconds=0.002)]}),
    Case("import", _import, {"import, on top of zarr": [Target(seconds=0.05)]}),
]


def available(names: list[str] | None) -> list[Case]:
    """The cases of these names; all that this zarr-python can run if None."""
    unknown = set(names or []) - {case.name for case in CASES}
    if unknown:
        raise ValueError(
            f"no case is called {sorted(unknown)}; there are {[case.name for case in CASES]}"
        )
    # The synchronous pipeline is younger than zarr-python 3.1.
    fused = hasattr(zarr.core.codec_pipeline, FUSED.rsplit(".", 1)[1])
    return [
        case
        for case in CASES
        if (names is None or case.name in names) and (fused or case.name != "small-sync")
    ]
