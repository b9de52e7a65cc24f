"""Decodes with zarr-python what our reader finds in the files of `hdf5_corpus.py`, and compares it with h5py.

    python hdf5_check.py DIRECTORY PATH/TO/hdf5_dump [FILE...]

`hdf5_dump` is an example of the crate icefield-ingest. Every array is put into a Zarr store in memory: its document
as we write it, its chunks as the bytes that the extents name. zarr-python reads it. NetCDF files are opened with
xarray from both sides, too; other such files than those of the corpus may be named.
"""

import ast
import hashlib
import json
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401
import numpy as np
import xarray as xr
import zarr
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import MemoryStore

warnings.simplefilter("ignore")
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
        dtype = data_type(want["dtype"]) if want["dtype"] != "object" else None
        check(dtype is None or array.dtype.newbyteorder("=") == dtype.newbyteorder("="), "dtype", here, str(array.dtype), want["dtype"])
    check(digest(data, want["dtype"]) == want["sha256"], "values", here, data)


def data_type(text):
    """The type that NumPy calls so; a compound is a list of its members."""
    return np.dtype(ast.literal_eval(text) if text.startswith("[") else text)


def plain(value):
    """An attribute of h5py as our JSON has it."""
    if isinstance(value, h5py.Empty):
        return []
    array = np.asarray(value)
    if array.dtype.kind == "V" or h5py.check_ref_dtype(array.dtype):
        return None
    if array.dtype.kind == "O":
        flat = [v.tolist() if isinstance(v, np.ndarray) else text(v) for v in array.reshape(-1)]
        items = np.empty(array.shape, object)
        items.reshape(-1)[:] = flat
        items = flat[0] if array.ndim == 0 else flat
    elif array.dtype.kind == "S":
        items = text(array.item()) if array.ndim == 0 else [text(v) for v in array.tolist()]
    else:
        number = {"f": shown, "c": lambda v: [shown(v.real), shown(v.imag)]}.get(array.dtype.kind, lambda v: v.item())
        items = nested(array, number)
    return items[0] if array.shape == (1,) else items


def nested(array, number):
    return number(array[()]) if array.ndim == 0 else [nested(part, number) for part in array]


def shown(value):
    value = float(value)
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(value), value)


def text(value):
    try:
        return value if isinstance(value, str) else value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def check_attributes(path, answer):
    with h5py.File(path) as f:
        for name, found in answer["nodes"].items():
            stored = f.get(name)
            if stored is None:
                continue
            attributes = dict(found["document"]["attributes"])
            attributes.pop("enum_members", None)
            attributes.pop("_FillValue", None)
            skipped = ("DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Coordinates", "_Netcdf4Dimid", "_NCProperties",
                       "_nc3_strict", "_FillValue")
            scale = ("CLASS", "NAME") if "CLASS" in stored.attrs else ()
            want = {k: plain(v) for k, v in stored.attrs.items() if k not in (*skipped, *scale)}
            check(attributes == want, "attributes", path.name, name,
                  {k: (attributes.get(k), want.get(k)) for k in {*attributes, *want} if attributes.get(k) != want.get(k)})


def check_dimensions(path, answer):
    """Each dimension has the name of its first scale, or another one if it has no scale."""
    with h5py.File(path) as f:
        for name, found in answer["nodes"].items():
            parent, last_part = name.rsplit("/", 1)
            stored = f.get(f"{parent}/_nc4_non_coord_{last_part}", f.get(name))
            if not isinstance(stored, h5py.Dataset) or stored.shape is None or "_Netcdf4Coordinates" in stored.attrs:
                continue
            last = lambda item: item.name.split("/")[-1]
            want = [last(d[0]) if len(d) else None for d in stored.dims]
            if stored.is_scale and len(want) == 1 and want == [None]:
                want = [last(stored)]
            got = found["document"].get("dimension_names") or [None] * len(want)
            # One without a scale is called as netCDF-C calls it: like one of its group that is as long, or by a number.
            as_long = lambda name, length: name in stored.parent and stored.parent[name].shape[:1] == (length,)
            is_same = lambda one, other, length: one == other or (
                one is None and (str(other).startswith("phony_dim_") or as_long(other, length)))
            check(len(got) == len(want) and all(map(is_same, want, got, stored.shape or ())), "dimension names", path.name, name, got, want)


def check_xarray(path, answer):
    """xarray sees the same through Zarr as through netCDF4, decoded: masks, scales, times, coordinates."""
    prefix = default_buffer_prototype().buffer
    items = {}
    for name, found in answer["nodes"].items():
        at = name.strip("/") + "/" if name != "/" else ""
        if found["document"]["node_type"] == "group":
            items[at + "zarr.json"] = prefix.from_bytes(json.dumps(found["document"]).encode())
        else:
            store = store_of(path, found)
            items |= {at + key: value for key, value in store._store_dict.items()}
    groups = [name for name, found in answer["nodes"].items() if found["document"]["node_type"] == "group"]
    for group in groups:
        with xr.open_dataset(path, engine="netcdf4", group=group) as want:
            got = xr.open_zarr(MemoryStore(items), group=group.strip("/") or None, consolidated=False, chunks=None)
            # xarray decodes no fill value of texts in Zarr.
            texts = [name for name in want.variables if name.startswith("filled_")]
            # netCDF-C puts what it fills at the wrong place.
            texts += [name for name in want.variables if name.startswith("behind_")]
            want, got = want.drop_vars(texts), got.drop_vars(texts)
            try:
                want.load(), got.load()
                for name in [*want.variables]:
                    for side in (want, got):
                        side[name].attrs.pop("enum_members", None)
                        side[name].encoding.clear()
                    if want[name].dtype.kind in "SUOT":
                        for side in (want, got):
                            side[name] = (side[name].dims, side[name].values.astype(object), side[name].attrs)
                xr.testing.assert_identical(want, got)
                check(set(want.coords) == set(got.coords), "xarray coordinates", path.name, group)
                check(True, "xarray", path.name, group)
            except Exception as error:
                check(False, "xarray", path.name, group, f"{type(error).__name__}: {error}"[:900])


names = sys.argv[3:] or [*expected["files"], *expected["refused"]]
run = subprocess.run([program, *(str(corpus / name) for name in names)], capture_output=True, text=True)
if run.returncode:
    sys.exit(run.stderr)
for name, line in zip(names, run.stdout.splitlines(), strict=True):
    answer = json.loads(line)
    for found in answer.get("nodes", {}).values():
        found["document"] = json.loads(found["document"])
    if name in expected["refused"]:
        word = expected["refused"][name]
        check(word in answer.get("error", ""), "refused", name, word, answer.get("error"))
        continue
    check("nodes" in answer, "read", name, answer.get("error"))
    if "nodes" not in answer:
        continue
    check_attributes(corpus / name, answer)
    check_dimensions(corpus / name, answer)
    if name.endswith(".nc"):
        check_xarray(corpus / name, answer)
    if name not in expected["files"]:
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
