"""Archive files that we import, by copy and by reference, the reference reads: every value is that of the file."""

import hashlib
import json
import shutil

import icechunk
import numpy as np
import zarr

from lib import ROOT, case, icefield

OCEAN = ROOT / "fixtures" / "ocean"
EXPECTED = json.loads((OCEAN / "expected.json").read_text())
MONTHS = ["nemo_1m_20150101-20150201_grid-T.nc", "nemo_1m_20150201-20150301_grid-T.nc",
          "nemo_1m_20150301-20150401_grid-T.nc"]
OSTIA = "ostia_monthly.nc"


def files(work, names):
    """Copies of files in a folder of their own, which is the container."""
    folder = work / "archive"
    folder.mkdir(exist_ok=True)
    return [shutil.copy(OCEAN / name, folder / name) for name in names]


def opened(path, folder=None):
    """The root group as the reference reads it; with a folder, virtual chunks in it, too."""
    storage = icechunk.local_filesystem_storage(str(path))
    access = icechunk.containers_credentials({f"file://{folder}/": None}) if folder else None
    repository = icechunk.Repository.open(storage, authorize_virtual_chunk_access=access)
    return zarr.open_group(repository.readonly_session("main").store, mode="r")


def digest(values):
    return hashlib.sha256(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()).hexdigest()


def assert_months(group):
    """Each month along the time is what its file holds; what has no time is the same in all."""
    for month, name in enumerate(MONTHS):
        for variable, facts in EXPECTED[name].items():
            array = group[variable]
            names = array.metadata.dimension_names
            values = array[month:month + 1] if names[0] == "time_counter" else array[...]
            assert list(values.shape) == facts["shape"], (variable, values.shape)
            assert digest(values) == facts["sha256"], (name, variable)


@case
def months_of_netcdf_by_reference(work):
    names = files(work, MONTHS)
    icefield("init", work / "r")
    report = json.loads(icefield("import", *names, work / "r", "--concat", "time_counter", "--virtual", "--json"))
    assert report["virtual_chunks"] > 0, report
    assert_months(opened(work / "r", work / "archive"))
    # Without access, what lies in the files is out of reach, and nothing else.
    group = opened(work / "r")
    assert group["time_counter"][...].shape == (3,)
    try:
        group["tos"][...]
    except icechunk.IcechunkError as error:
        assert "virtual" in str(error), error
    else:
        raise AssertionError("virtual chunks were read without access")
    # Copied, they need no file.
    icefield("materialize", work / "r", "--grant", f"file://{work}/archive")
    shutil.rmtree(work / "archive")
    assert_months(opened(work / "r"))


@case
def months_of_netcdf_copied(work):
    names = files(work, MONTHS)
    icefield("init", work / "r")
    icefield("import", *names, work / "r", "--concat", "time_counter")
    shutil.rmtree(work / "archive")
    assert_months(opened(work / "r"))


@case
def a_month_appended_by_reference(work):
    first, second, third = files(work, MONTHS)
    icefield("init", work / "r")
    icefield("import", first, work / "r", "--virtual")
    icefield("import", second, third, work / "r", "--virtual", "--append", "time_counter")
    assert_months(opened(work / "r", work / "archive"))


@case
def an_uncompressed_file_both_ways(work):
    [name] = files(work, [OSTIA])
    for options in [["--virtual"], []]:
        path = work / ("r" + "".join(options))
        icefield("init", path)
        icefield("import", name, path, *options)
        group = opened(path, work / "archive")
        for variable, facts in EXPECTED[OSTIA].items():
            values = group[variable][...]
            assert list(values.shape) == facts["shape"], variable
            assert digest(values) == facts["sha256"], variable
