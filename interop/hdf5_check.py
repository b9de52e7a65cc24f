"""Decodes with zarr-python what our reader finds in the files of `hdf5_corpus.py`, and compares it with h5py.

    python hdf5_check.py DIRECTORY PATH/TO/hdf5_dump [FILE...]

`hdf5_dump` is an example of the crate icefield-ingest. Every array is put into a Zarr store in memory: its document
as we write it, its chunks as the bytes that the extents name. zarr-python reads it.
"""

import asyncio
import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import zarr
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import MemoryStore

corpus, program = Path(sys.argv[1]), sys.argv[2]
expected = json.loads((corpus / "expected.json").read_text())
counts: Counter = Counter()
wrong = []


def check(condition, what, *details):
    counts[what + (" ok" if condition else " WRONG")] += 1
    if not condition:
        wrong.append((what, *details))


def store_of(path, found):
    """A Zarr store with one array."""
    items = {"zarr.json": json.dumps(found["document"]).encode()}
    raw = path.read_bytes()
    rank = len(found["document"]["shape"])
    key = lambda index: "/".join(["c", *map(str, index)]) if rank else "c"
    for index, offset, length in found["extents"]:
        items[key(index)] = raw[offset : offset + length]
    for index, text in found["made"]:
        items[key(index)] = bytes.fromhex(text)
    buffer = default_buffer_prototype().buffer
    return MemoryStore({k: buffer.from_bytes(v) for k, v in items.items()})


def digest(array, dtype):
    if dtype == "string":
        texts = [str(t) for t in np.asarray(array).reshape(-1)]
        return hashlib.sha256(json.dumps(texts, ensure_ascii=False).encode()).hexdigest()
    array = np.asarray(array)
    return hashlib.sha256(array.astype(array.dtype.newbyteorder("<")).tobytes()).hexdigest()


def check_array(path, name, want, found):
    here = f"{path.name}{name}"
    document = found["document"]
    check(document["shape"] == want["shape"], "shape", here, document["shape"], want["shape"])
    if want["chunks"]:
        chunks = document["chunk_grid"]["configuration"]["chunk_shape"]
        check(chunks == want["chunks"], "chunk shape", here, chunks, want["chunks"])
    in_file = not found["made"] or found["extents"]
    if want.get("stored") and in_file and want["dtype"] != "string":
        chunks = want["chunks"]
        rows = sorted([[i * c for i, c in zip(index, chunks)], offset, length] for index, offset, length in found["extents"])
        check(rows == [row[:3] for row in want["stored"]], "extents", here, rows, want["stored"])
    if want.get("offset") is not None and found["extents"]:
        check(found["extents"][0][1] == want["offset"], "offset", here)
    try:
        array = zarr.open_array(store_of(path, found), mode="r")
        data = array[()]
    except Exception as error:
        check(False, "decodes", here, repr(error)[:300], document["codecs"])
        return
    if want["dtype"] not in ("string",):
        dtype = np.dtype(want["dtype"]) if want["dtype"] != "object" else None
        check(dtype is None or array.dtype.newbyteorder("=") == dtype.newbyteorder("="), "dtype", here, str(array.dtype), want["dtype"])
    check(digest(data, want["dtype"]) == want["sha256"], "values", here, data)


names = sys.argv[3:] or [*expected["files"], *expected["refused"]]
run = subprocess.run([program, *(str(corpus / name) for name in names)], capture_output=True, text=True)
if run.returncode:
    sys.exit(run.stderr)
for name, line in zip(names, run.stdout.splitlines(), strict=True):
    answer = json.loads(line)
    if name in expected["refused"]:
        word = expected["refused"][name]
        check(word in answer.get("error", ""), "refused", name, word, answer.get("error"))
        continue
    check("nodes" in answer, "read", name, answer.get("error"))
    if "nodes" not in answer:
        continue
    arrays = {k: v for k, v in answer["nodes"].items() if v["document"]["node_type"] == "array"}
    want = expected["files"][name]
    check(arrays.keys() == want.keys(), "names", name, set(arrays) ^ set(want))
    for path in want.keys() & arrays.keys():
        check_array(corpus / name, path, want[path], arrays[path])

for what, count in sorted(counts.items()):
    print(f"{count:6} {what}")
for details in wrong[:40]:
    print(*details)
sys.exit(bool(wrong))
