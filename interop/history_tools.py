"""What our history tools commit, the reference reads: merge, cherry-pick, revert, squash, rename, adopted snapshots."""

import json

import numpy as np
import zarr

import reference
from lib import case, commit, icefield, session, set_bytes, set_json, write


def values(path, branch="main", tag=None):
    """Every array of a version, by its path, as the reference reads it."""
    repository = reference.open(path)
    session = repository.readonly_session(tag=tag) if tag else repository.readonly_session(branch)
    root = zarr.open_group(session.store, mode="r")
    return {name: array[...] for name, array in root.members(max_depth=None) if isinstance(array, zarr.Array)}


def assert_values(found, expected):
    assert sorted(found) == sorted(expected), (sorted(found), sorted(expected))
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def tree(path, **arrays):
    """A plain Zarr directory with these arrays, chunked by two along the first axis."""
    root = zarr.open_group(path, mode="w")
    for name, array in arrays.items():
        made = root.create_array(name, shape=array.shape, chunks=(2, *array.shape[1:]), dtype=array.dtype,
                                 dimension_names=["t", "y"][:array.ndim], compressors=None)
        made[...] = array
    return path


def series(first, count):
    return np.arange(first, first + count * 300, dtype="int32").reshape(count, 300)


def begin(work):
    """`x` with four steps on main, and the branch dev there."""
    repository = work / "repo"
    icefield("init", repository)
    icefield("import", tree(work / "one", x=series(0, 4)), repository, "-m", "one")
    icefield("branch", "create", repository, "dev")
    return repository


@case
def a_merge(work):
    repository = begin(work)
    icefield("import", tree(work / "more", x=series(5000, 2)), repository, "--append", "t")
    icefield("import", tree(work / "side", z=series(9000, 2)), repository, "--branch", "dev", "--group", "/side")
    merged = json.loads(icefield("merge", repository, "dev", "--json"))
    assert merged["outcome"] == "committed"
    expected = {"x": np.concatenate([series(0, 4), series(5000, 2)]), "side/z": series(9000, 2)}
    assert_values(values(repository), expected)
    reference.assert_agreement(repository, branches=("main", "dev"))
    tip = next(iter(reference.open(repository).ancestry(branch="main")))
    assert tip.id == merged["snapshot_id"] and tip.metadata["icefield_merged"] == merged["source"]


@case
def a_cherry_pick_and_a_revert(work):
    repository = begin(work)
    icefield("import", tree(work / "side", z=series(9000, 2)), repository, "--branch", "dev", "--group", "/side")
    icefield("import", tree(work / "more", x=series(5000, 2)), repository, "--branch", "main", "--append", "t")
    icefield("cherry-pick", repository, "dev")
    icefield("revert", repository, "main~1")
    assert_values(values(repository), {"x": series(0, 4), "side/z": series(9000, 2)})
    reference.assert_agreement(repository, branches=("main", "dev"))


@case
def a_squash(work):
    repository = begin(work)
    icefield("import", tree(work / "more", x=series(5000, 2)), repository, "--append", "t")
    icefield("import", tree(work / "side", z=series(9000, 2)), repository, "--group", "/side")
    icefield("squash", repository, "dev", "main", "short", "-m", "both")
    assert_values(values(repository, "short"), values(repository, "main"))
    messages = [info.message for info in reference.open(repository).ancestry(branch="short")]
    assert messages[:2] == ["both", "one"]
    reference.assert_agreement(repository, branches=("main", "dev", "short"))


@case
def a_rename_of_a_subtree(work):
    repository = begin(work)
    icefield("import", tree(work / "side", z=series(9000, 2)), repository, "--group", "/side")
    before = sorted((repository / "chunks").iterdir()) + sorted((repository / "manifests").iterdir())
    icefield("mv", repository, "/side", "/other")
    icefield("mv", repository, "/x", "/other/renamed")
    after = sorted((repository / "chunks").iterdir()) + sorted((repository / "manifests").iterdir())
    assert before == after, "no chunk and no manifest is written"
    assert_values(values(repository), {"other/z": series(9000, 2), "other/renamed": series(0, 4)})
    reference.assert_agreement(repository, branches=("main", "dev"))
    # The reference goes on from there.
    session = reference.open(repository).writable_session("main")
    zarr.open_group(session.store)["other/renamed"][1] = np.full(300, 7, dtype="int32")
    session.commit("theirs")
    expected = series(0, 4)
    expected[1] = 7
    assert_values(values(repository), {"other/z": series(9000, 2), "other/renamed": expected})
    reference.assert_agreement(repository, branches=("main", "dev"))


@case
def a_flushed_snapshot_adopted_by_a_tag(work):
    array = {"zarr_format": 3, "node_type": "array", "shape": [2, 300], "data_type": "int32",
             "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 300]}},
             "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
             "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {}}
    aside = series(40, 2)
    write(work / "repo", [
        {"op": "create"}, session(),
        set_json("zarr.json", {"zarr_format": 3, "node_type": "group"}), set_json("x/zarr.json", array),
        commit("empty"), session(), set_bytes("x/c/0/0", aside.tobytes()),
        {"op": "flush", "message": "aside", "tag": "kept"}])
    assert_values(values(work / "repo"), {"x": np.zeros((2, 300), dtype="int32")})
    assert_values(values(work / "repo", tag="kept"), {"x": aside})
    reference.assert_agreement(work / "repo", tags=("kept",))
