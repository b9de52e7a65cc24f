"""Our side writes a repository; the reference, zarr and xarray must read what was meant."""

import numpy as np
import xarray
import zarr

import contents
import reference
from lib import (ROOT, case, commit, delete, icefield, keys_of, session, set_bytes, set_json, sets, write)
from reference_writes import COMMIT_METADATA, ODD_BRANCHES, ODD_TAGS, dataset

GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {}}


def plain_tree(path):
    """Writes every array into a plain Zarr directory with zarr-python, and returns what it holds."""
    return contents.write_all(zarr.storage.LocalStore(path))


def tip(path, branch="main"):
    return reference.open(path).readonly_session(branch).store


def assert_keys_equal(store, tree):
    """Asserts that a store holds each key of a directory, no other, and the same bytes."""
    expected = keys_of(tree)
    assert reference.keys(store) == expected
    for key in expected:
        assert reference.read(store, key) == (tree / key).read_bytes(), key


def open_dataset(store):
    return xarray.open_zarr(store, consolidated=False, chunks=None, decode_times=False).load()


@case
def every_dtype_codec_fill_value_and_shape(work):
    expected = plain_tree(work / "tree")
    write(work / "repo", [{"op": "create"}, session(), *sets(work / "tree"), commit("everything")])
    store = tip(work / "repo")
    contents.assert_arrays_equal(store, expected)
    assert_keys_equal(store, work / "tree")
    reference.assert_agreement(work / "repo")


@case
def an_imported_tree(work):
    expected = plain_tree(work / "tree")
    icefield("init", work / "repo")
    icefield("import", work / "tree", work / "repo", "-m", "imported")
    store = tip(work / "repo")
    contents.assert_arrays_equal(store, expected)
    assert_keys_equal(store, work / "tree")
    found = reference.assert_agreement(work / "repo")
    assert [s["message"] for s in found["snapshots"].values() if s["parent_id"]] == ["imported"]


@case
def a_tree_imported_into_a_group_and_exported_again(work):
    expected = plain_tree(work / "tree")
    icefield("init", work / "repo")
    icefield("import", work / "tree", work / "repo", "--group", "/below/here")
    below = zarr.open_group(tip(work / "repo"), path="below/here", mode="r")
    for path, values in expected.items():
        contents.assert_equal(below[path][...], values, path)
    icefield("export", work / "repo", work / "again")
    assert keys_of(work / "again" / "below" / "here") == keys_of(work / "tree")
    for key in keys_of(work / "tree"):
        assert (work / "again/below/here" / key).read_bytes() == (work / "tree" / key).read_bytes(), key


@case
def months_appended_along_time_open_in_xarray(work):
    icefield("init", work / "repo")
    sources = [ROOT / f"fixtures/nemo/nemo-2015-0{month}.zarr" for month in (1, 2, 3)]
    months = [open_dataset(source) for source in sources]
    for number, source in enumerate(sources):
        how = ["--append", "time_counter"] if number else []
        icefield("import", source, work / "repo", "-m", f"month {number + 1}", *how)
    repository = reference.open(work / "repo")
    versions = reference.ancestry(repository)[-2::-1]
    assert len(versions) == 3
    for number, version in enumerate(versions):
        found = open_dataset(repository.readonly_session(snapshot_id=version).store)
        expected = xarray.concat(months[:number + 1], "time_counter", data_vars="minimal",
                                 coords="minimal", compat="override")
        xarray.testing.assert_equal(found, expected)
        assert found.tos.attrs == expected.tos.attrs
    reference.assert_agreement(work / "repo")


@case
def a_dataset_of_xarray_round_trips(work):
    for step in range(2):
        written = dataset(step)
        written.to_zarr(work / f"{step}.zarr", consolidated=False, zarr_format=3, mode="w")
        icefield(*(["init", work / "repo"] if step == 0 else ["ls", work / "repo"]))
        how = ["--append", "time"] if step else []
        icefield("import", work / f"{step}.zarr", work / "repo", "-m", f"step {step}", *how)
    parts = [open_dataset(work / f"{step}.zarr") for step in range(2)]
    expected = xarray.concat(parts, "time", data_vars="minimal", coords="minimal", compat="override")
    xarray.testing.assert_identical(open_dataset(tip(work / "repo")), expected)


@case
def a_history_of_changes_of_every_kind(work):
    expected = plain_tree(work / "tree")
    everything = sets(work / "tree")
    shrunk = (work / "tree/shapes/many_chunks/zarr.json").read_text().replace("600", "3")
    write(work / "repo", [
        {"op": "create"},
        session(), *everything, commit("first", COMMIT_METADATA),
        {"op": "branch", "name": "work", "from": "main"},
        {"op": "tag", "name": "v1", "from": "main"},
        session(), delete("numbers/int8/c/0"), delete("codecs/zarr.json"), delete("text/fixed/zarr.json"), commit("less"),
        session(), {"op": "set", "key": "shapes/many_chunks/zarr.json", "text": shrunk},
        set_bytes("shapes/many_chunks/c/1", b"\1\2\3\4"), commit("shrink"),
        session(), set_json("text/fixed/zarr.json", GROUP), set_json("новое/zarr.json", GROUP), commit("several\nlines, ünïcode"),
        session("work"), set_bytes("numbers/int8/c/0", b"\1" * 4), commit("on work", {"branch": "work"}),
    ])
    repository = reference.open(work / "repo")
    messages = [info.message for info in repository.ancestry(branch="main")]
    assert messages == ["several\nlines, ünïcode", "shrink", "less", "first", "Repository initialized"], messages
    first = list(repository.ancestry(branch="main"))[-2]
    assert dict(first.metadata) == COMMIT_METADATA
    assert repository.lookup_tag("v1") == first.id
    contents.assert_arrays_equal(repository.readonly_session(tag="v1").store, expected)

    main = zarr.open_group(tip(work / "repo"), mode="r")
    assert "codecs" not in main and isinstance(main["text/fixed"], zarr.Group)
    np.testing.assert_array_equal(main["shapes/many_chunks"][:], [0, 0x04030201, 2])
    reference.assert_agreement(work / "repo", ["main", "work"], ["v1"])


@case
def refs_of_any_name(work):
    refs = [{"op": "branch", "name": name, "from": "main"} for name in ODD_BRANCHES]
    refs += [{"op": "tag", "name": name, "from": "main"} for name in [*ODD_TAGS, "deleted", "never again"]]
    write(work / "repo", [
        {"op": "create"}, session(), set_json("zarr.json", GROUP), commit("first"), *refs,
        {"op": "branch", "name": "gone", "from": "main"}, {"op": "delete_branch", "name": "gone"},
        {"op": "delete_tag", "name": "deleted"}, {"op": "delete_tag", "name": "never again"},
    ])
    reference.assert_agreement(work / "repo", ["main", *ODD_BRANCHES], ODD_TAGS, ["deleted", "never again"])
    repository = reference.open(work / "repo")
    for name in ["deleted", "v1.0"]:
        try:
            repository.create_tag(name, snapshot_id=repository.lookup_branch("main"))
        except Exception as refusal:
            print(f"     the reference refuses the tag {name!r}: {str(refusal).splitlines()[0][:60]}")
        else:
            raise AssertionError(f"the reference made a tag {name!r} that was already taken")


@case
def the_reference_edits_the_refs_of_our_repository(work):
    write(work / "repo", [{"op": "create"}, session(), set_json("zarr.json", GROUP), commit("first"),
                          {"op": "branch", "name": "ours", "from": "main"}, {"op": "tag", "name": "ours", "from": "main"}])
    repository = reference.open(work / "repo")
    root = reference.ancestry(repository)[-1]
    repository.delete_tag("ours")
    repository.reset_branch("ours", root)
    repository.create_tag("theirs", snapshot_id=repository.lookup_branch("main"))
    found = reference.assert_agreement(work / "repo", ["main", "ours"], ["theirs"], ["ours"])
    assert found["branches"]["ours"] == root


@case
def an_empty_repository(work):
    icefield("init", work / "repo")
    repository = reference.open(work / "repo")
    assert [info.message for info in repository.ancestry(branch="main")] == ["Repository initialized"]
    reference.assert_agreement(work / "repo")
    session = repository.writable_session("main")
    zarr.create_group(session.store, attributes={"by": "the reference"})
    session.commit("first")
    reference.assert_agreement(work / "repo")
