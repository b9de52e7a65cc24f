"""GRIB through `icefield import`: the reference implementation and xarray read what eccodes and cfgrib read in the files."""

import json
import warnings

import eccodes
import numpy as np
import xarray

import grib_corpus
from archive_lib import attempt, folder_of, new_repository, refused, store_of
from grib_corpus import LATLON, level, message, points, smooth
from lib import case, icefield

# Degrees that places may differ by: the files have millionths, and other libraries add up increments.
PLACE = 2e-6


def write(work, name, content):
    path = folder_of(work) / f"{name}.grib2"
    path.write_bytes(content)
    return str(path)


def opened(repository, group=None):
    return xarray.open_zarr(store_of(repository), group=group, consolidated=False, chunks=None, decode_timedelta=True)


def moment(field):
    date, time = str(field["dataDate"]), f"{field['dataTime']:04}"
    return np.datetime64(f"{date[:4]}-{date[4:6]}-{date[6:]}T{time[:2]}:{time[2:]}", "ns")


def selected(dataset, field):
    """The array of a dataset that a field went into, at its coordinates."""
    kind = field["typeOfLevel"]
    of_kind = [
        name for name, array in dataset.data_vars.items()
        if name.split("_")[0] == field["cfVarName"] and array.attrs.get("GRIB_typeOfLevel") == kind
    ]
    at = {"time": moment(field), "step": np.timedelta64(field["endStep"], "h")}
    found = []
    for name in of_kind:
        array = dataset[name]
        if array.attrs["GRIB_gridType"] != field["gridType"]:
            continue
        where = dict(at)
        if "number" in array.dims:
            where["number"] = field["number"]
        if kind in array.dims:
            where[kind] = field["level"]
        found.append(array.sel(where))
    assert len(found) == 1, f"{field['cfVarName']} on {kind}: {of_kind}"
    return found[0]


def same_field(array, field, name):
    """Each value, at its place, is that of eccodes, to the last bit of its type."""
    wanted = field["values"].astype(array.dtype)
    # eccodes turns the rows of this grid over, and not their places.
    if field["latitudes"] is None or "latitude" not in array.coords or "southward" in name:
        assert np.array_equal(array.values.ravel(), wanted, equal_nan=True), name
        return
    latitude, longitude, values = xarray.broadcast(array.latitude, array.longitude, array)
    order = array.dims
    place = [it.transpose(*order).values.ravel() for it in (latitude, longitude, values)]
    ours = np.lexsort((np.round(place[1] % 360, 4) % 360, np.round(place[0], 4)))
    theirs = np.lexsort((np.round(field["longitudes"] % 360, 4) % 360, np.round(field["latitudes"], 4)))
    near = np.abs(place[0][ours] - field["latitudes"][theirs]).max()
    turn = (place[1][ours] - field["longitudes"][theirs] + 180) % 360 - 180
    assert near < PLACE and np.abs(turn).max() < PLACE, f"{name}: {near} and {np.abs(turn).max()} degrees away"
    placed = field["placed"].astype(array.dtype)
    assert np.array_equal(place[2][ours], placed[theirs], equal_nan=True), name


@case
def every_packing_and_grid(work):
    repository = new_repository(work)
    eccodes.codes_grib_multi_support_on()
    files = {name: write(work, name, content) for name, content in grib_corpus.everything().items() if name != "twice"}
    for name, path in files.items():
        icefield("import", path, repository, "--group", f"/{name}")
    messages, packings, grids = 0, set(), set()
    for name, path in files.items():
        dataset = opened(repository, name)
        for field in grib_corpus.read(path):
            # Of no name, or with levels that have none in eccodes: the Rust tests look at them.
            if field["cfVarName"] == "unknown" or name in ("layers", "surfaces"):
                continue
            same_field(selected(dataset, field), field, f"{name}, {field['cfVarName']} at byte {field['offset']}")
            messages += 1
            packings.add(field["packingType"])
            grids.add(field["gridType"])
    assert messages >= 60, messages
    assert len(packings) >= 8 and len(grids) >= 7, (packings, grids)


def of_cfgrib(path, **keys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how = {"indexpath": "", "filter_by_keys": keys}
        return xarray.open_dataset(path, engine="cfgrib", backend_kwargs=how, decode_timedelta=True).load()


def same_as_cfgrib(found, wanted, name):
    for variable in wanted.data_vars:
        ours, theirs = found[variable].squeeze(), wanted[variable].squeeze()
        assert ours.dtype == theirs.dtype, name
        # cfgrib knows no rows and columns of a few grids.
        if "values" not in theirs.dims:
            ours = ours.transpose(*theirs.dims)
        found_values = ours.values.reshape(theirs.shape)
        assert np.array_equal(found_values, theirs.values, equal_nan=True), f"{name}: {variable}"
        assert ours.attrs["units"].replace("**", "") == theirs.attrs["units"].replace("**", ""), f"{name}: {variable}"
    for coordinate in ("time", "step", "valid_time", "number"):
        if coordinate in wanted.coords and coordinate in found.coords:
            ours, theirs = found[coordinate].squeeze(), wanted[coordinate].squeeze()
            assert np.array_equal(ours.values, theirs.values), f"{name}: {coordinate}"
    for coordinate in ("latitude", "longitude"):
        ours, theirs = found[coordinate].values, wanted[coordinate].values
        turn = (ours.reshape(theirs.shape) - theirs + 180) % 360 - 180
        assert np.abs(turn).max() < PLACE, f"{name}: {coordinate}"


@case
def what_cfgrib_reads(work):
    files = grib_corpus.everything()
    repository = new_repository(work)
    # cfgrib does not undo the order of these points, and does not know where those are.
    others = ("columns", "back_and_forth", "polar_ellipsoid", "lambert_southward", "across", "half", "westward")
    names = [name for name in files if name.startswith("grid_") and name.removeprefix("grid_") not in others]
    for name in [*names, "forecast", "ensemble"]:
        icefield("import", write(work, name, files[name]), repository, "--group", f"/{name}")
    for name in names:
        same_as_cfgrib(opened(repository, name), of_cfgrib(folder_of(work) / f"{name}.grib2"), name)
    path = folder_of(work) / "forecast.grib2"
    forecast = opened(repository, "forecast")
    for keys in [{"typeOfLevel": "isobaricInhPa"}, {"shortName": "2t"}, {"shortName": "10u"}, {"shortName": "msl"}]:
        same_as_cfgrib(forecast, of_cfgrib(path, **keys), str(keys))
    same_as_cfgrib(opened(repository, "ensemble"), of_cfgrib(folder_of(work) / "ensemble.grib2"), "ensemble")


@case
def files_behind_one_another(work):
    files = {name: content for name, content in grib_corpus.cubes().items() if name[:5] in ("time_", "step_")}
    paths = {name: write(work, name, content) for name, content in files.items()}
    for along in ("time", "step"):
        group = [path for name, path in paths.items() if name.startswith(along)]
        together, grown = new_repository(work, f"{along}_together"), new_repository(work, f"{along}_grown")
        icefield("import", *group, together, "--concat", along)
        icefield("import", group[0], grown)
        for path in group[1:]:
            icefield("import", path, grown, "--append", along)
        wanted = xarray.concat([of_cfgrib(path) for path in group], along)
        for repository in (together, grown):
            same_as_cfgrib(opened(repository), wanted, f"along {along}")


@case
def thousands_of_messages(work):
    count, each = points(LATLON), 50
    fields = []
    for time in range(0, 2400, 100):
        for at in range(each):
            keys = level("t", at=1000 - 10 * at, dataTime=time)
            fields.append(message(keys, "ccsds", values=smooth(count, time + at)))
    path = write(work, "many", b"".join(fields))
    repository = new_repository(work)
    report = json.loads(icefield("import", path, repository, "--json"))
    assert report["warnings"] == [], report
    found = opened(repository).t
    assert found.shape == (24, 1, each, 4, 6)
    wanted = of_cfgrib(path)
    same_as_cfgrib(opened(repository), wanted, "many")


@case
def what_must_not_be_imported(work):
    repository = new_repository(work)
    files = grib_corpus.everything()
    good = files["step_0"]
    handle = eccodes.codes_grib_new_from_samples("GRIB1")
    old = write(work, "old", eccodes.codes_get_message(handle))
    refused(repository, [old, repository], "edition 1", "grib_set -s edition=2", "message 1")
    cut = write(work, "cut", good[:-9])
    refused(repository, [cut, repository], "message 2", f"at byte {len(good) // 2}", "cut off")
    twice = write(work, "twice", files["twice"])
    refused(repository, [twice, repository], "message 2", "message 1", "--overlap first")
    plain = write(work, "plain", good)
    refused(repository, [plain, repository, "--virtual"], "no codec of Zarr")
    handle = eccodes.codes_grib_new_from_samples("sh_pl_grib2")
    waves = write(work, "waves", good + eccodes.codes_get_message(handle))
    refused(repository, [waves, repository], "message 3", "template 3.50", "spectral", "--skip-unsupported")
    code, out, said = attempt("import", waves, repository, "--skip-unsupported", "--json")
    assert code == 0, said
    omitted = json.loads(out)["omitted"]
    assert [it["path"] for it in omitted] == ["/t_unsupported"] and "3.50" in omitted[0]["reason"], omitted
    for which, at in (("first", 0), ("last", 1)):
        chosen = new_repository(work, which)
        icefield("import", twice, chosen, "--overlap", which)
        wanted = grib_corpus.read(twice)[at]
        same_field(opened(chosen).t.squeeze(), wanted, which)
