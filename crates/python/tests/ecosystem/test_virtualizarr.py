"""VirtualiZarr, which knows nothing of this package, writes references into it through `icefield.compat`."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import xarray as xr
from chosen import NAME, compat_line, ic

_WRITE = """
import sys
from pathlib import Path

import icechunk
import numpy as np
import virtualizarr
import xarray as xr
from virtualizarr.manifests import ChunkManifest, ManifestArray
from zarr.core.metadata.v3 import ArrayV3Metadata

source, repository = sys.argv[1:]
prefix = Path(source).parent.as_uri() + "/"


def weather(first_chunk):
    # Two chunks of (2, 3) float64, one after the other in one file.
    entries = {
        f"{i}.0": {"path": Path(source).as_uri(), "offset": (first_chunk + i) * 48, "length": 48}
        for i in range(2)
    }
    metadata = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": (4, 3),
        "data_type": "float64",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": (2, 3)}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0.0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {},
        "dimension_names": None,
    }
    array = ManifestArray(
        metadata=ArrayV3Metadata.from_dict(metadata),
        chunkmanifest=ChunkManifest(entries=entries),
    )
    return xr.Dataset(
        {"temperature": (("time", "x"), array, {"units": "K"})},
        coords={"time": ("time", np.arange(first_chunk * 2, first_chunk * 2 + 4))},
        attrs={"title": "virtual"},
    )


config = icechunk.RepositoryConfig.default()
config.set_virtual_chunk_container(
    icechunk.VirtualChunkContainer(prefix, icechunk.local_filesystem_store(prefix))
)
access = icechunk.containers_credentials({prefix: None})
repo = icechunk.Repository.create(
    icechunk.local_filesystem_storage(repository), config, authorize_virtual_chunk_access=access
)
repo.save_config()

session = repo.writable_session("main")
assert isinstance(session.store, icechunk.IcechunkStore)
weather(0).vz.to_icechunk(session.store)
session.commit("two chunks")

session = repo.writable_session("main")
weather(2).vz.to_icechunk(session.store, append_dim="time")
session.commit("two more")
print(icechunk.__name__, icechunk.IcechunkStore.__module__.split(".")[0])
"""


def _python(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_virtualizarr_writes_and_the_result_reads_back(tmp_path: Path) -> None:
    data = np.arange(24, dtype="<f8").reshape(8, 3)
    source = tmp_path / "data" / "weather.bin"
    source.parent.mkdir()
    source.write_bytes(data.tobytes())

    said = _python(compat_line() + _WRITE, str(source), str(tmp_path / "repository"))
    # The classes are those of the module under test, under the name that VirtualiZarr imports.
    assert said.split()[-1] == NAME

    prefix = source.parent.as_uri() + "/"
    repository = ic.Repository.open(
        ic.local_filesystem_storage(str(tmp_path / "repository")),
        authorize_virtual_chunk_access=ic.containers_credentials({prefix: None}),
    )
    session = repository.readonly_session("main")
    assert session.all_virtual_chunk_locations() == [source.as_uri()] * 4
    with xr.open_zarr(session.store, consolidated=False) as read:
        np.testing.assert_array_equal(read["temperature"].values, data)
        assert read["time"].values.tolist() == list(range(8))
        assert read.attrs == {"title": "virtual"}
        assert read["temperature"].attrs["units"] == "K"


def test_a_reference_outside_of_every_container_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "elsewhere" / "weather.bin"
    source.parent.mkdir()
    source.write_bytes(bytes(192))
    script = compat_line() + _WRITE.replace(
        'prefix = Path(source).parent.as_uri() + "/"', 'prefix = "file:///nowhere/at/all/"'
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(source), str(tmp_path / "repository")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert "weather.bin" in done.stderr and "ontainer" in done.stderr


# VirtualiZarr 2.8 reads repositories, too, and its wheel has the tests of that. 2.5 does not.
if importlib.util.find_spec("virtualizarr.parsers.icechunk") is not None:

    def test_its_own_tests_of_reading_pass(tmp_path: Path) -> None:
        script = compat_line() + (
            "import pathlib, sys, pytest, virtualizarr\n"
            "theirs = pathlib.Path(virtualizarr.__file__).parent / 'tests/test_parsers/test_icechunk'\n"
            # Not by the settings of this folder: they use marks of their own.
            "sys.exit(pytest.main(['-q', '-c', '/dev/null', '-p', 'no:cacheprovider',"
            " '--basetemp', sys.argv[1], str(theirs)]))"
        )
        said = _python(script, str(tmp_path / "theirs"))
        assert " passed" in said
        assert "skipped" not in said
