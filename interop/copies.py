"""Copies and bundles: the reference reads them as it reads the source, and both go on there."""

import json

import zarr

import reference
from expiration import LENGTH, assert_usable, begin
from lib import SPEC, assert_same, case, commit, dump, icefield, session, set_bytes, write


def with_refs(path, ours):
    """Six commits, a tag, a branch that goes its own way, and a deleted tag."""
    data, ids = begin(path, ours)
    icefield("branch", "create", path, "other", "--ref", "main~1")
    write(path, [session("other"), set_bytes("a/c/0", bytes(LENGTH)), commit("apart")])
    icefield("tag", "create", path, "gone")
    icefield("tag", "delete", path, "gone")
    return data, ids


def copied(path, work):
    """A copy of a repository, and what comes out of a bundle of it."""
    icefield("copy", path, work / "copy")
    icefield("bundle", path, work / "bundle")
    icefield("unbundle", work / "bundle", work / "unbundled")
    return [work / "copy", work / "unbundled"]


def assert_copies(path, work, data):
    refs = {"branches": ("main", "other"), "tags": ("third",), "deleted_tags": ("gone",)}
    source = reference.assert_agreement(path, **refs)
    for there in copied(path, work):
        assert_same(reference.assert_agreement(there, **refs), source)
        assert json.loads(icefield("info", there, "--json"))["spec_version"] == SPEC
    if SPEC == 2:
        names = {type(update.kind).__name__ for update in reference.open(work / "copy").ops_log()}
        assert len(names) > 1, names
    # What lands in the source since comes with the next copy, also over commits to another branch there.
    write(path, [session(), set_bytes("a/c/1", bytes(LENGTH)), commit("later")])
    there = reference.open(work / "copy").writable_session("other")
    zarr.open_array(there.store, path="a").attrs["theirs"] = True
    there.commit("theirs")
    icefield("copy", path, work / "copy", "--ref", "main")
    found = reference.open(work / "copy")
    assert found.lookup_branch("main") == reference.open(path).lookup_branch("main")
    assert dump(work / "copy")["tags"] == dump(path)["tags"]
    icefield("branch", "delete", work / "unbundled", "other")
    icefield("tag", "delete", work / "unbundled", "third")
    icefield("tag", "create", work / "unbundled", "fourth")
    assert reference.open(work / "unbundled").lookup_tag("fourth")


@case
def the_reference_reads_copies_and_bundles_of_what_we_wrote(work):
    data, _ = with_refs(work / "repo", ours=True)
    assert_copies(work / "repo", work, data)


@case
def the_reference_reads_copies_and_bundles_of_what_it_wrote(work):
    data, _ = with_refs(work / "repo", ours=False)
    assert_copies(work / "repo", work, data)


@case
def what_expired_is_copied_with_the_logs_that_a_rebase_needs(work):
    data, _ = begin(work / "repo", ours=True)
    icefield("expire", work / "repo", "--keep-last", "2")
    for there in copied(work / "repo", work):
        assert_usable(there, data)
