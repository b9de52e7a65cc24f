"""The other name: two packages with the same contents, for code that imports `icechunk`."""

import subprocess
import sys
from pathlib import Path

import pytest

# Each of these programs runs in a process of its own, which has not imported the name yet.

SAME = """
import icefield.compat
import icechunk
import icechunk.xarray, icechunk.store
from icechunk.dask import store_dask
from icechunk import IcechunkStore, Repository, in_memory_storage
import icefield, icefield.store, icefield.xarray, icefield.dask
assert all(getattr(icechunk, it) is getattr(icefield, it) for it in icefield.__all__ if it != "__version__")
assert icechunk.store is icefield.store and icechunk.xarray is icefield.xarray
assert IcechunkStore is icefield.store.IcefieldStore
assert store_dask is icefield.dask.store_dask
assert icefield.xarray.__spec__.name == "icefield.xarray" == icefield.xarray.__name__
import icefield.compat
import importlib
importlib.import_module("icechunk.storage")
store = Repository.create(in_memory_storage()).writable_session("main").store
assert isinstance(store, icechunk.IcechunkStore)
names = {}
exec("from icechunk import *", names)
assert names["Session"] is icefield.Session and names["__version__"] == "2.3.0"
try:
    import icechunk.none
except ModuleNotFoundError as error:
    assert error.name == "icechunk.none"
    print("fine:", error)
"""

ITS_OWN = """
import importlib, importlib.util, types
import icefield, icefield.compat
import icechunk
assert isinstance(icechunk, types.ModuleType) and icechunk is not icefield
assert icechunk.__name__ == icechunk.__package__ == icechunk.__spec__.name == "icechunk"
assert "module 'icechunk'" in repr(icechunk)
assert icechunk.__file__ == icefield.__file__ and list(icechunk.__path__) == list(icefield.__path__)
assert icechunk.__doc__ == icefield.__doc__
assert icechunk.__version__ == "2.3.0"
assert icefield.__version__ == icefield._native.__version__ != "2.3.0"
assert icefield.__name__ == icefield.__spec__.name == "icefield"
assert set(icefield.__all__) <= set(dir(icechunk))
assert importlib.util.find_spec("icechunk.none") is None
assert importlib.util.find_spec("icechunk.dask").origin == importlib.util.find_spec("icefield.dask").origin
assert not hasattr(icechunk, "none")
print("fine")
"""

LAZY = """
import sys
import icefield, icefield.compat
import icechunk
assert "icefield.virtual" not in sys.modules and "VirtualChunkSpec" not in vars(icefield)
assert icechunk.VirtualChunkSpec is icefield.VirtualChunkSpec
assert icechunk.reports is sys.modules["icefield.reports"]
print("fine")
"""

RELOADS = """
import importlib
import icefield, icefield.compat
import icechunk, icechunk.store
session, store = icechunk.Session, icechunk.IcechunkStore
del icefield.__all__
assert importlib.reload(icechunk) is icechunk
assert "Session" in icefield.__all__ == icechunk.__all__
assert icechunk.__name__ == "icechunk" and icechunk.__version__ == "2.3.0"
assert icechunk.Session is session is icefield.Session
importlib.reload(icefield.compat)
import icechunk as again
assert again is icechunk
assert importlib.reload(icechunk.store) is icefield.store
# The module is of a class that is no more.
for module in (icechunk, icefield.compat, icefield.compat, icechunk, icefield, icechunk):
    del icefield.__all__
    assert importlib.reload(module) is module
    importlib.reload(icefield)
    assert "Session" in icechunk.__all__ and icechunk.__version__ == "2.3.0"
    assert icechunk.Session is session and icechunk.__spec__.name == "icechunk"
import icechunk.dask
assert icechunk.dask is icefield.dask
print("fine")
"""

RELOADS_AT_ONCE = """
import importlib
import icefield, icefield.compat
importlib.reload(icefield.compat)
import icechunk, icechunk.store
importlib.reload(icefield.compat)
assert importlib.reload(icechunk) is icechunk
assert importlib.reload(icechunk.store) is icefield.store
assert icechunk.Session is icefield.Session
print("fine")
"""

PATCHES = """
from unittest import mock
import icefield, icefield.compat
import icechunk
real = icefield.Repository
with mock.patch("icechunk.Repository") as first:
    assert icechunk.Repository is first is icefield.Repository
    with mock.patch("icefield.Repository") as second, mock.patch("icechunk.Repository") as third:
        assert icechunk.Repository is third is icefield.Repository
    assert icechunk.Repository is first is icefield.Repository
assert icechunk.Repository is real is icefield.Repository
with mock.patch("icechunk.storage.s3_storage") as patched:
    assert icefield.storage.s3_storage is patched
with mock.patch("icechunk.__version__", "3.0"):
    assert icechunk.__version__ == "3.0" != icefield.__version__
assert icechunk.__version__ == "2.3.0" != icefield.__version__
with mock.patch("icechunk.VirtualChunkSpec"):  # Not imported yet.
    pass
assert isinstance(icechunk.VirtualChunkSpec, type)
with mock.patch("icechunk.new_name", 1, create=True):
    assert icefield.new_name == 1
assert not hasattr(icefield, "new_name") and not hasattr(icechunk, "new_name")
assert vars(icechunk)["Repository"] is real and "new_name" not in vars(icechunk)
try:
    with mock.patch.dict(icechunk.__dict__, Repository=None):
        pass
except TypeError:
    assert icechunk.Repository is real is icefield.Repository
    print("fine")
"""

PICKLES = """
import pickle, subprocess, sys
import icefield, icefield.compat
import icechunk
assert pickle.loads(pickle.dumps(icechunk)) is icechunk
assert pickle.loads(pickle.dumps(icechunk.Session)) is icefield.Session
storage = pickle.dumps((icechunk, icechunk.local_filesystem_storage("somewhere")))
child = '''
import pickle, sys
module, storage = pickle.load(sys.stdin.buffer)
import icechunk
assert module is icechunk and module.__version__ == "2.3.0", module
assert isinstance(storage, icechunk.Storage)
'''
subprocess.run([sys.executable, "-c", child], input=storage, check=True)
print("fine")
"""

TRAVELS = """
import icefield.compat
import icechunk
import cloudpickle, pickle, subprocess, sys
def used():
    return icechunk.__version__, icechunk.Session.__name__
sent = cloudpickle.dumps(used)
child = "import pickle, sys; assert pickle.load(sys.stdin.buffer)() == ('2.3.0', 'Session')"
subprocess.run([sys.executable, "-c", child], input=sent, check=True)
print("fine")
"""

REFUSES = """
import sys, types
sys.modules["icechunk"] = other = types.ModuleType("icechunk")
try:
    import icefield.compat
except ImportError as error:
    assert "before anything that imports icechunk" in str(error), error
    assert sys.modules["icechunk"] is other
    print("fine")
"""

OPT_IN = """
import sys
import icefield, icefield.xarray, icefield.dask
assert "icechunk" not in sys.modules and "icefield.compat" not in sys.modules
print("fine")
"""

MAKES_VERSION_2 = """
import icefield
from icefield import Repository, in_memory_storage
assert icefield.spec_version() == 1 == Repository.create(in_memory_storage()).spec_version
import icefield.compat
import icechunk
assert icechunk.spec_version() == icechunk.SpecVersion.current() == 2
for cls in (icechunk.Repository, icefield.Repository):
    assert cls.create(in_memory_storage()).spec_version == 2
    assert cls.open_or_create(in_memory_storage()).spec_version == 2
    assert cls.create(in_memory_storage(), spec_version=1).spec_version == 1
print("fine")
"""

GIVES_NO_WARNING = """
import logging, pickle, sys
import numpy as np
import zarr
import icefield.compat
import icechunk, icechunk.storage
assert sys.warnoptions == ["error"]
said = []
class Kept(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())
logging.getLogger("icefield").addHandler(Kept())
config = icechunk.RepositoryConfig.default()
config.storage = icechunk.StorageSettings(unsafe_use_conditional_create=False)
storage = icechunk.local_filesystem_storage(sys.argv[1])
repository = icechunk.Repository.create(storage, config)
assert "unsafe_use_conditional_create" in said.pop()
session = repository.writable_session("main")
group = zarr.create_group(session.store)
group.attrs["large"] = np.random.default_rng(1).bytes(3 << 20).hex()
pickle.dumps(session.fork())
assert "commit or flush" in said.pop()
(snapshot, *_) = repository.ancestry(branch="main")
assert snapshot.manifests == [] and "list_manifest_files" in said.pop()
assert said == []
# The package gives the warnings of icechunk.
try:
    repository.total_chunks_storage()
except DeprecationWarning:
    print("fine")
"""

NATIVE = """
import icefield, icefield.compat
from icechunk._icechunk_python import ConflictError, IcechunkError, PySession, S3StaticCredentials, SnapshotInfo
import icechunk._icechunk_python as native
import icechunk
assert icechunk._icechunk_python is native is icefield._icechunk_python
assert IcechunkError is icefield.IcechunkError and ConflictError is icefield.ConflictError
assert S3StaticCredentials is icefield.S3StaticCredentials and SnapshotInfo is icefield.SnapshotInfo
session = icechunk.Repository.create(icechunk.in_memory_storage()).writable_session("main")
assert isinstance(session._session, PySession)
assert set(native._all_error_kinds()) == set(icechunk.ErrorKind)
print("fine")
"""

_PROGRAMS = {
    "native": NATIVE,
    "makes version 2": MAKES_VERSION_2,
    "same": SAME,
    "its own": ITS_OWN,
    "lazy": LAZY,
    "reloads": RELOADS,
    "reloads at once": RELOADS_AT_ONCE,
    "patches": PATCHES,
    "pickles": PICKLES,
    "travels": TRAVELS,
    "refuses": REFUSES,
    "opt in": OPT_IN,
}


@pytest.mark.parametrize("name", _PROGRAMS)
def test_programs(name: str) -> None:
    _is_fine("-c", _PROGRAMS[name])


def test_no_warnings_but_those_of_icechunk(tmp_path: Path) -> None:
    """Where warnings are errors; what icefield would warn of is in the log."""
    _is_fine("-W", "error", "-c", GIVES_NO_WARNING, str(tmp_path / "repository"))


def _is_fine(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("fine")
