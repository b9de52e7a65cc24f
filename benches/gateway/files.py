"""The array that all servers serve: chunks without compression, as a Zarr v3 directory and as a repository."""

import json
import os
import subprocess
from pathlib import Path

# Chunks of these lengths, so many that no server has only one of them.
ARRAYS = {"small": (64 << 10, 256), "large": (4 << 20, 16)}

GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {}}


def document(name: str, length: int, count: int) -> dict[str, object]:
    """The document of an array of one dimension."""
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [length * count],
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [length]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes"}],
        "dimension_names": [f"{name}_x"],
        "attributes": {},
    }


def make(tree: Path) -> None:
    """Writes the directory."""
    tree.mkdir(parents=True)
    (tree / "zarr.json").write_text(json.dumps(GROUP))
    for name, (length, count) in ARRAYS.items():
        chunks = tree / name / "c"
        chunks.mkdir(parents=True)
        (tree / name / "zarr.json").write_text(json.dumps(document(name, length, count)))
        for number in range(count):
            (chunks / str(number)).write_bytes(os.urandom(length))


def commit(program: Path, tree: Path, repository: Path) -> None:
    """Makes a repository of the directory."""
    for arguments in (("init", repository), ("import", tree, repository)):
        subprocess.run([program, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
