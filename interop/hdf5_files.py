"""The folder of the corpus of HDF5 files, and what all parts of it share."""

import ctypes
from pathlib import Path

import h5py
import numpy as np

BOUNDS = ["earliest", "v108", "v110", "v112", "v114", "latest"]
FIXED = dict(track_times=False)
refused: dict[str, str] = {}
folder: Path


def begin(directory):
    """Makes the folder of the corpus, and empties it."""
    global folder
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.*"):
        old.unlink()


def at(name):
    return folder / name


def written():
    return sorted(folder.iterdir())


def h5(name, bound="latest", **more):
    return h5py.File(at(f"{name}.h5"), "w", libver=(bound, "latest"), **more)


def values(shape, dtype, seed=1):
    """Numbers that compress, and that no two chunks share."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    base = (np.arange(count, dtype=np.int64) * (2 * seed + 1) // 3) % 251
    if dtype.kind == "c":
        array = base + 1j * (base - 7)
    elif dtype.kind == "f":
        array = base / 4 - 20
    elif dtype.kind == "i":
        array = base % 128 - 64
    elif dtype.kind == "b":
        array = base % 3 == 0
    elif dtype.kind == "S":
        array = np.array([f"t{n}"[: dtype.itemsize].encode() for n in base])
    else:
        array = base
    return np.asarray(array).astype(dtype).reshape(shape)


def slow(shape, dtype):
    """Numbers that every compressor shortens: HDF5 leaves a filter out that does not."""
    return (np.arange(np.prod(shape)) // 90 % 100).astype(dtype).reshape(shape)


def timeless():
    p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    p.set_obj_track_times(False)
    return p


def library():
    """The HDF5 inside h5py: a few calls are not in its interface."""
    return ctypes.CDLL(str(next(Path(h5py.__file__).parent.parent.glob("h5py.libs/libhdf5-*.so*"))))
