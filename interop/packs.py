"""Small chunks that share objects: the reference reads them, commits beside them, and collects around them without loss."""

import datetime
import json
import time

import numpy as np
import zarr

import contents
import reference
from collection import collect, objects, sound
from lib import case, commit, icefield, session, set_bytes, set_json, write

LENGTH = 600
CHUNKS = 40


def metadata(chunks=CHUNKS):
    return {
        "zarr_format": 3, "node_type": "array", "shape": [LENGTH * chunks], "data_type": "uint8",
        "fill_value": 0, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [LENGTH]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes"}], "attributes": {}, "dimension_names": ["x"],
    }


def chunks(name, data, numbers):
    return [set_bytes(f"{name}/c/{number}", bytes(data[LENGTH * number:LENGTH * (number + 1)])) for number in numbers]


def begin(path):
    """Two arrays, whose chunks were written in turns into one pack, and half of those of the first again into another."""
    write(path, [{"op": "create"}])
    icefield("config", "set", path, "packed_chunk_threshold_bytes", "1048576")
    a, b = contents.noise(LENGTH * CHUNKS), contents.noise(LENGTH * CHUNKS)[::-1].copy()
    both = [operation for number in range(CHUNKS)
            for operation in chunks("a", a, [number]) + chunks("b", b, [number])]
    write(path, [
        session(), set_json("zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}}),
        set_json("a/zarr.json", metadata()), set_json("b/zarr.json", metadata()),
        *both, commit("both"),
    ])
    icefield("tag", "create", path, "third")
    assert len(objects(path, "chunks")) == 1
    a[: LENGTH * CHUNKS // 2] += 1
    write(path, [session(), *chunks("a", a, reversed(range(CHUNKS // 2))), commit("half of it again")])
    assert len(objects(path, "chunks")) == 2
    return a, b


def assert_read(path, a, b, branch="main"):
    store = reference.open(path).readonly_session(branch).store
    for name, data in [("a", a), ("b", b)]:
        np.testing.assert_array_equal(zarr.open_array(store, path=name, mode="r")[:], data)
    reference.assert_agreement(path, tags=("third",))
    sound(path, "garbage")


@case
def the_reference_reads_chunks_of_packs(work):
    path = work / "repo"
    a, b = begin(path)
    assert_read(path, a, b)
    used = json.loads(icefield("du", path, "--json"))
    assert used["packs"]["objects"]["count"] == 2, used
    # What it writes lies beside them, and what it rebases over them.
    stale = reference.open(path).writable_session("main")
    zarr.open_array(stale.store, path="b")[:LENGTH] = 7
    b[:LENGTH] = 7
    a[-LENGTH:] = 9
    write(path, [session(), *chunks("a", a, [CHUNKS - 1]), commit("ours")])
    stale.rebase(reference.icechunk.ConflictDetector())
    stale.commit("theirs")
    assert_read(path, a, b)


@case
def the_reference_collects_around_packs_without_loss(work):
    path = work / "repo"
    a, b = begin(path)
    repository = reference.open(path)
    # A pack that nothing refers to, beside those that few chunks refer to.
    icefield("branch", "create", path, "side")
    write(path, [session("side"), *chunks("b", a, range(CHUNKS)), commit("garbage soon")])
    icefield("branch", "delete", path, "side")
    assert len(objects(path, "chunks")) == 3
    icefield("tag", "delete", path, "third")
    now = datetime.datetime.now(datetime.timezone.utc)
    repository.expire_snapshots(now)
    time.sleep(1.1)
    summary = reference.open(path).garbage_collect(datetime.datetime.now(datetime.timezone.utc))
    assert summary.chunks_deleted == 1, summary
    store = reference.open(path).readonly_session("main").store
    for name, data in [("a", a), ("b", b)]:
        np.testing.assert_array_equal(zarr.open_array(store, path=name, mode="r")[:], data)
    assert collect(path)["chunks"]["deleted"] == 0


@case
def what_is_repacked_is_read_and_collected_by_the_reference(work):
    path = work / "repo"
    a, b = begin(path)
    planned = json.loads(icefield("repack", path, "--fill", "1", "--dry-run", "--json"))
    assert planned["outcome"] == "planned" and planned["chunks"]["count"] == CHUNKS * 3 // 2, planned
    done = json.loads(icefield("repack", path, "a", "--order", "x", "--json"))
    assert done["outcome"] == "committed" and done["chunks"]["count"] == CHUNKS, done
    assert_read(path, a, b)
    again = json.loads(icefield("repack", path, "a", "--order", "x", "--json"))
    assert again["outcome"] == "unchanged", again
    icefield("repack", path, "--fill", "1")
    assert_read(path, a, b)
    icefield("tag", "delete", path, "third")
    reference.open(path).expire_snapshots(datetime.datetime.now(datetime.timezone.utc))
    time.sleep(1.1)
    reference.open(path).garbage_collect(datetime.datetime.now(datetime.timezone.utc))
    store = reference.open(path).readonly_session("main").store
    for name, data in [("a", a), ("b", b)]:
        np.testing.assert_array_equal(zarr.open_array(store, path=name, mode="r")[:], data)
    used = json.loads(icefield("du", path, "--json"))
    assert used["packs"]["dead_bytes"] == 0 and used["missing_chunks"] == 0, used


@case
def copies_and_bundles_of_packs_are_read_by_the_reference(work):
    path = work / "repo"
    a, b = begin(path)
    icefield("copy", path, work / "copy")
    assert objects(work / "copy", "chunks") == objects(path, "chunks")
    assert_read(work / "copy", a, b)
    icefield("bundle", path, work / "one.bundle")
    icefield("unbundle", work / "one.bundle", work / "again")
    assert_read(work / "again", a, b)
    # The settings are of no use to the reference, and it opens the repository all the same.
    assert reference.open(path).config is not None
