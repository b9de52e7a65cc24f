"""How large a snapshot is, by the number of arrays: one figure of docs/SCALE.md."""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import icefield
from zarr.core.buffer import cpu

__all__ = ["arrays", "main"]

GROUP = b'{"zarr_format":3,"node_type":"group"}'


def _document(number: int) -> bytes:
    chunks = {"name": "regular", "configuration": {"chunk_shape": [10]}}
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]
    return json.dumps(
        {
            "zarr_format": 3,
            "node_type": "array",
            "shape": [1000 + number],
            "data_type": "float32",
            "chunk_grid": chunks,
            "chunk_key_encoding": {"name": "default"},
            "fill_value": 0.0,
            "codecs": codecs,
            "attributes": {"units": "K", "long_name": f"variable {number}"},
        }
    ).encode()


async def _fill(store: Any, count: int) -> None:
    await store.set("zarr.json", cpu.Buffer.from_bytes(GROUP))
    for number in range(count):
        document = cpu.Buffer.from_bytes(_document(number))
        await store.set(f"v{number:06}/zarr.json", document)
        await store.set(f"v{number:06}/c/0", cpu.Buffer.from_bytes(bytes(40)))


def arrays(count: int, folder: Path) -> dict[str, int]:
    """Commits so many arrays with a chunk each; returns the bytes of the snapshot and of all objects."""
    repository = icefield.Repository.create(icefield.local_filesystem_storage(str(folder)))
    session = repository.writable_session("main")
    asyncio.run(_fill(session.store, count))
    snapshot = session.commit(f"{count} arrays")
    size = (folder / "snapshots" / snapshot).stat().st_size
    files = [path for path in folder.rglob("*") if path.is_file()]
    total = sum(path.stat().st_size for path in files)
    return {"arrays": count, "snapshot_bytes": size, "bytes": total}


def main(arguments: list[str]) -> int:
    """Prints a line of JSON for each number of arrays."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arrays", type=int, nargs="+", help="numbers of arrays")
    parser.add_argument("--directory", type=Path, help="where the repositories are made")
    given = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="icefield-scale-", dir=given.directory))
    try:
        for count in given.arrays:
            print(json.dumps(arrays(count, folder / str(count))), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
