"""What h5py reads in the files of the corpus."""

import hashlib
import json

import h5py
import netCDF4
import numpy as np

from hdf5_files import at, h5, refused, values, written


def lengthened(path, arrays):
    """What NetCDF makes of arrays that lag behind: as long as their dimensions, and filled."""
    with netCDF4.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        for name, entry in arrays.items():
            v = f[name]
            shape = [len(dimension) for dimension in v.get_dims()]
            if shape == entry["shape"]:
                continue
            with h5py.File(path) as stored:
                own = stored[name][()]
            code = v.dtype.str[1:] if v.dtype is not str else None
            fill = getattr(v, "_FillValue", netCDF4.default_fillvals.get(code, ""))
            data = np.full(shape, fill, object if v.dtype is str else v.dtype)
            data[tuple(slice(0, length) for length in own.shape)] = [t.decode() for t in own] if v.dtype is str else own
            if "behind" not in name:
                np.testing.assert_array_equal(data, v[...], name)
            entry["shape"] = shape
            if entry["dtype"] == "string":
                raw = json.dumps(data.tolist(), ensure_ascii=False).encode()
            else:
                raw = data.astype(data.dtype.newbyteorder("<")).tobytes()
            entry["sha256"] = hashlib.sha256(raw).hexdigest()
            if name in ("/unfilled", "/zeros"):
                # Chunks that HDF5 did not fill are made anew.
                del entry["stored"]


def described(d):
    """What is expected of one array."""
    data = d[()]
    entry = {"shape": list(d.shape) if d.shape is not None else [0], "dtype": str(d.dtype)}
    if d.shape is None:
        data = np.zeros(0, d.dtype)
    string = h5py.check_string_dtype(d.dtype)
    if string is not None and (string.length is None or d.dtype.itemsize > 1):
        entry["dtype"] = "string"
        flat = np.asarray(data, object).reshape(-1) if d.shape != () else [data]
        texts = [t.decode() if isinstance(t, bytes) else t for t in flat]
        if d.id.get_type().get_class() == h5py.h5t.STRING and string.length is not None:
            if d.id.get_type().get_strpad() == h5py.h5t.STR_SPACEPAD:
                texts = [t.rstrip(" ") for t in texts]
        raw = json.dumps(texts, ensure_ascii=False).encode()
    else:
        array = np.asarray(data)
        raw = array.astype(array.dtype.newbyteorder("<")).tobytes()
    entry["sha256"] = hashlib.sha256(raw).hexdigest()
    entry["chunks"] = list(d.chunks) if d.chunks else None
    if d.chunks:
        unlimited = [axis for axis, length in enumerate(d.maxshape) if length is None]
        infos = [d.id.get_chunk_info(n) for n in range(d.id.get_num_chunks())]
        inside = [i for i in infos if all(a < b for a, b in zip(i.chunk_offset, d.shape))]
        # HDF5 mistakes the coordinates in an extensible array along another dimension than the first. The values tell.
        if unlimited in ([], [0]) or len(unlimited) > 1 or "earliest" in d.file.filename or "v108" in d.file.filename:
            entry["stored"] = sorted([list(map(int, i.chunk_offset)), i.byte_offset, i.size, i.filter_mask] for i in inside)
    else:
        entry["offset"] = d.id.get_offset()
    return entry


def expected():
    files = {}
    for path in written():
        if path.suffix not in (".h5", ".nc") or path.name in refused or path.name.startswith("hostile"):
            continue
        arrays = {}

        def visit(name, group):
            for key in group:
                item = group[key]
                if isinstance(item, h5py.Group):
                    visit(f"{name}/{key}", item)
                elif isinstance(item, h5py.Dataset):
                    label = item.attrs.get("NAME", b"")
                    if bytes(label).startswith(b"This is a netCDF dimension but not a netCDF variable"):
                        continue
                    arrays[f"{name}/{key.removeprefix('_nc4_non_coord_')}"] = described(item)

        with h5py.File(path) as f:
            visit("", f)
        if "lagging" in path.name:
            lengthened(path, arrays)
        files[path.name] = arrays
    text = json.dumps({"files": files, "refused": refused}, indent=1, sort_keys=True, ensure_ascii=False)
    (at("expected.json")).write_text(text)
    fixtures = {name: arrays for name, arrays in files.items() if name.startswith("fixture")}
    (at("fixtures.json")).write_text(json.dumps(fixtures, indent=1, sort_keys=True, ensure_ascii=False))
    print(f"{len(files)} files to read, {len(refused)} to refuse, {sum(map(len, files.values()))} arrays")
