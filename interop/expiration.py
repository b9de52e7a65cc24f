"""Histories that one side let expire are what both sides read, and both go on from there."""

import datetime
import json

import icechunk
import numpy as np
import zarr

import contents
import reference
from lib import case, commit, dump, icefield, session, set_bytes, set_json, write

LENGTH = 600
ROUNDS = 6


def begin(path, ours):
    """Six commits that grow one array, and a tag at the third. Returns the data and the ids, oldest first."""
    if ours:
        write(path, [{"op": "create"}])
    else:
        reference.create(path)
    data = contents.noise(LENGTH * ROUNDS)
    for number in range(ROUNDS):
        metadata = {
            "zarr_format": 3, "node_type": "array", "shape": [LENGTH * (number + 1)], "data_type": "uint8",
            "fill_value": 0, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [LENGTH]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "codecs": [{"name": "bytes"}], "attributes": {},
        }
        write(path, [
            session(),
            set_json("a/zarr.json", metadata),
            set_bytes(f"a/c/{number}", bytes(data[LENGTH * number:LENGTH * (number + 1)])),
            commit(f"round {number}"),
        ])
        if number == 2:
            icefield("tag", "create", path, "third")
    return data, list(reversed(reference.ancestry(reference.open(path))))[1:]


def history_of_both(path, branch="main"):
    """The messages from the tip on, about which both must agree."""
    messages = [info.message for info in reference.open(path).ancestry(branch=branch)]
    log = json.loads(icefield("log", path, "--ref", branch, "--json"))
    assert [one["message"] for one in log["snapshots"]] == messages
    return messages


def assert_usable(path, data):
    """Both read the data, and commit once more each; the reference rebases over what we wrote."""
    found = zarr.open_array(reference.open(path).readonly_session("main").store, path="a", mode="r")
    np.testing.assert_array_equal(found[:], data)
    reference.assert_agreement(path, tags=("third",))
    stale = reference.open(path).writable_session("main")
    zarr.open_array(stale.store, path="a").attrs["late"] = True
    write(path, [session(), set_json("ours/zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}}),
                 commit("ours")])
    stale.rebase(icechunk.ConflictDetector())
    stale.commit("theirs")
    assert history_of_both(path)[:2] == ["theirs", "ours"]


@case
def the_reference_reads_what_we_let_expire(work):
    path = work / "repo"
    data, _ = begin(path, ours=True)
    icefield("expire", path, "--keep-last", "2")
    assert history_of_both(path) == ["round 5", "round 4", "round 2", "Repository initialized"]
    assert_usable(path, data)


@case
def the_reference_reads_what_we_let_expire_of_its_own(work):
    path = work / "repo"
    data, _ = begin(path, ours=False)
    icefield("expire", path, "--older-than", "0s")
    assert history_of_both(path) == ["round 5", "round 2", "Repository initialized"]
    assert_usable(path, data)


@case
def a_session_of_the_reference_sees_what_is_hidden_between_two_snapshots(work):
    path = work / "repo"
    begin(path, ours=True)
    icefield("branch", "reset", path, "main", "--ref", "tag:third")
    stale = reference.open(path).writable_session("main")
    for number in (0, 1):
        write(path, [session(), set_bytes(f"a/c/{number}", bytes(contents.noise(LENGTH))), commit(f"again {number}")])
    icefield("expire", path, "--keep-last", "1")
    assert history_of_both(path) == ["again 1", "round 2", "Repository initialized"]
    # Chunk 0 was written by the commit that has expired.
    zarr.open_array(stale.store, path="a")[:LENGTH] = 7
    try:
        stale.rebase(icechunk.ConflictDetector())
    except icechunk.RebaseFailedError as failed:
        assert failed.conflicts, failed
    else:
        raise AssertionError("the reference rebased over a log that tells less than there is")


@case
def we_read_what_the_reference_let_expire(work):
    path = work / "repo"
    data, ids = begin(path, ours=False)
    before = dump(path)
    tip_time = before["snapshots"][ids[-1]]["flushed_at"]
    bound = reference.EPOCH + datetime.timedelta(microseconds=tip_time)
    reference.open(path).expire_snapshots(older_than=bound)
    messages = history_of_both(path)
    assert messages[0] == "round 5" and messages[-1] == "Repository initialized" and len(messages) < 7, messages
    assert_usable(path, data)
    # And we let more of it expire.
    icefield("expire", path, "--keep-last", "1")
    assert history_of_both(path)[0] == "theirs"
