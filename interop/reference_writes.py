"""The reference writes a repository; our side must read it, chunk by chunk."""

import icechunk
import numpy as np
import xarray
import zarr

import contents
import reference
from lib import assert_same, case, dump, icefield

COMMIT_METADATA = {
    "author": "someone", "n": 1, "real": 1.5, "negative": -7, "big": 2**53, "none": None, "yes": True,
    "list": [1, "two", None, False, []], "map": {"z": 1, "a": {"deep": [2**40]}}, "é": "ü", "empty": {},
    "long": "x" * 70_000,
}
ODD_BRANCHES = ["odd name {x} é~%#", "release-1.2", "branch.twice", "日本語", "a:b@c=d", "UPPER", "main2", "[all] *?"]
ODD_TAGS = ["v1.0", "tag.twice", "odd tag [y] ü", "2015-01-16T00:00:00Z"]


@case
def every_dtype_codec_fill_value_and_shape(work):
    repository = reference.create(work / "repo")
    session = repository.writable_session("main")
    contents.write_all(session.store)
    session.commit("everything")
    reference.assert_agreement(work / "repo")


@case
def an_exported_repository_is_a_plain_zarr_tree(work):
    repository = reference.create(work / "repo")
    session = repository.writable_session("main")
    expected = contents.write_all(session.store)
    session.commit("everything")
    icefield("export", work / "repo", work / "tree")
    contents.assert_arrays_equal(zarr.storage.LocalStore(work / "tree", read_only=True), expected)


@case
def a_new_repository(work):
    reference.create(work / "repo")
    found = reference.assert_agreement(work / "repo")
    assert len(found["snapshots"]) == 1


@case
def a_history_of_changes_of_every_kind(work):
    repository = reference.create(work / "repo")

    def change(message, edit, branch="main", metadata=None):
        session = repository.writable_session(branch)
        edit(session.store)
        return session.commit(message, metadata=metadata)

    def begin(store):
        root = zarr.create_group(store, attributes={"v": 1})
        series = root.create_array("series", shape=(6,), chunks=(2,), dtype="i4", dimension_names=["t"])
        series[:] = np.arange(6)
        root.create_array("g/plane", shape=(40, 40), chunks=(20, 20), dtype="f8")[:] = contents.RANDOM.random((40, 40))

    def append(store):
        series = zarr.open_array(store, path="series")
        series.resize((10,))
        series[6:] = np.arange(6, 10)

    def recreate(store):
        root = zarr.open_group(store)
        root.attrs["v"] = 2
        del root["g/plane"]
        root.create_array("g/plane", shape=(3,), chunks=(3,), dtype="u1")[:] = [9, 8, 7]

    def array_to_group(store):
        root = zarr.open_group(store)
        del root["g/plane"]
        root.create_group("g/plane", attributes={"now": "a group"})

    def delete_group(store):
        root = zarr.open_group(store)
        del root["g"]
        root.create_group("g", attributes={"again": True})
        root.create_array("g/brief", shape=(2,), chunks=(1,), dtype="i1")[:] = 1
        del root["g/brief"]

    first = change("first", begin, metadata=COMMIT_METADATA)
    second = change("append", append)
    change("shrink", lambda store: zarr.open_array(store, path="series").resize((3,)))
    change("recreate", recreate)
    change("delete one chunk", lambda store: reference.remove(store, "series/c/0"))
    change("array to group", array_to_group)
    change("delete a group", delete_group)
    change("several\nlines, and ünïcode", lambda store: zarr.open_group(store).update_attributes({"v": 3}))

    for name in ODD_BRANCHES:
        repository.create_branch(name, first)
    for name in ODD_TAGS:
        repository.create_tag(name, snapshot_id=second)
    for number, name in enumerate(ODD_BRANCHES[:3]):
        change(f"on {name}", lambda store: zarr.open_array(store, path="series").__setitem__(0, number), branch=name)
    repository.create_branch("moved", second)
    repository.reset_branch("moved", first)
    repository.create_branch("gone", first)
    change("on a branch that goes away", lambda store: zarr.open_array(store, path="series").__setitem__(1, 5), branch="gone")
    repository.delete_branch("gone")
    for name in ["deleted", "deleted.too"]:
        repository.create_tag(name, snapshot_id=first)
        repository.delete_tag(name)
    reference.assert_agreement(work / "repo", ["main", "moved", *ODD_BRANCHES], ODD_TAGS, ["deleted", "deleted.too"])


@case
def chunks_at_the_inline_threshold(work):
    config = icechunk.RepositoryConfig.default()
    config.inline_chunk_threshold_bytes = 64
    repository = reference.create(work / "repo", config=config)
    session = repository.writable_session("main")
    root = zarr.create_group(session.store)
    for length in [1, 63, 64, 65, 500]:
        root.create_array(f"a{length}", shape=(2,), chunks=(1,), dtype=f"V{length}", compressors=None)
        reference.put(session.store, f"a{length}/c/0", bytes(contents.noise(length)))
    session.commit("around the threshold")
    found = reference.assert_agreement(work / "repo")
    nodes = found["snapshots"][found["branches"]["main"]]["nodes"]
    kinds = [nodes[f"/a{n}"]["chunks"]["c/0"]["kind"] for n in [1, 63, 64, 65, 500]]
    assert kinds == ["inline", "inline", "inline", "native", "native"], kinds


@case
def manifests_split_along_dimensions(work):
    split = icechunk.ManifestSplittingConfig.from_dict({
        icechunk.ManifestSplitCondition.name_matches("^series$"): {
            icechunk.ManifestSplitDimCondition.DimensionName("time"): 3,
            icechunk.ManifestSplitDimCondition.Axis(1): 2},
        icechunk.ManifestSplitCondition.path_matches("/deep/.*"): {icechunk.ManifestSplitDimCondition.Any(): 1},
    })
    config = icechunk.RepositoryConfig.default()
    config.inline_chunk_threshold_bytes = 4
    config.manifest = icechunk.ManifestConfig(splitting=split)
    repository = reference.create(work / "repo", config=config)
    repository.save_config()
    session = repository.writable_session("main")
    root = zarr.create_group(session.store)
    series = root.create_array("series", shape=(8, 4, 2), chunks=(1, 1, 2), dtype="i4",
                               dimension_names=["time", "y", "x"], compressors=None)
    series[:5] = np.arange(40).reshape(5, 4, 2)
    root.create_array("deep/b", shape=(3, 2), chunks=(1, 1), dtype="i2", compressors=None)[:] = 7
    root.create_array("whole", shape=(6,), chunks=(2,), dtype="i4", compressors=None)[:] = np.arange(6)
    session.commit("split")
    session = repository.writable_session("main")
    series = zarr.open_array(session.store, path="series")
    series.resize((10, 4, 2))
    series[9] = -5
    series[1, 1] = -6
    session.commit("one more cell, one changed")
    repository.rewrite_manifests("rewritten", branch="main")
    reference.assert_agreement(work / "repo")


@case
def a_dataset_appended_by_xarray(work):
    repository = reference.create(work / "repo")
    for step in range(4):
        session = repository.writable_session("main")
        part = dataset(step)
        how = {"append_dim": "time"} if step else {"mode": "w"}
        part.to_zarr(session.store, consolidated=False, zarr_format=3, **how)
        session.commit(f"step {step}", metadata={"step": step})
    reference.assert_agreement(work / "repo")


def dataset(step):
    values = contents.RANDOM.random((1, 30, 50)).astype("f4")
    values[0, :3] = np.nan
    return xarray.Dataset(
        {"t": (("time", "y", "x"), values), "mask": (("y", "x"), np.ones((30, 50), bool))},
        {"time": ("time", np.array([step], "i8"), {"units": "days since 2015-01-01"}), "y": np.arange(30.0)},
        {"title": "a series"},
    )


@case
def a_refused_commit_of_the_reference_changes_nothing_that_we_read(work):
    repository = reference.create(work / "repo")
    session = repository.writable_session("main")
    zarr.create_group(session.store)
    session.commit("first")
    slow, quick = repository.writable_session("main"), repository.writable_session("main")
    for session in (slow, quick):
        zarr.open_group(session.store).create_array("a", shape=(2,), chunks=(1,), dtype="i1")[:] = 1
    quick.commit("quick")
    before = dump(work / "repo")
    try:
        slow.commit("slow")
    except icechunk.ConflictError:
        pass
    else:
        raise AssertionError("the second commit was not refused")
    assert_same(dump(work / "repo"), before)
    reference.assert_agreement(work / "repo")
