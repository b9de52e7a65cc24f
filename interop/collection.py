"""What one side has expired and collected is whole for both, and the check finds nothing."""

import datetime
import json
import time

import numpy as np
import zarr

import reference
from expiration import LENGTH, begin, history_of_both
from lib import SPEC, case, icefield


def sound(path, *also):
    """The check finds nothing but that the array of these cases has no root group above it, and what else is expected."""
    report = json.loads(icefield("fsck", path, "--json"))
    assert report["sound"] and set(report["kinds"]) <= {"node-without-parent", *also}, report


def collect(path):
    # The store's times may be cut to the second.
    time.sleep(1.1)
    return json.loads(icefield("gc", path, "--older-than", "0s", "--force-age", "--json"))


def assert_whole(path, data):
    sound(path)
    found = zarr.open_array(reference.open(path).readonly_session("main").store, path="a", mode="r")
    np.testing.assert_array_equal(found[:], data)
    reference.assert_agreement(path, tags=("third",))


def objects(path, kind):
    return sorted(entry.name for entry in (path / kind).iterdir())


@case
def what_we_expire_and_collect_is_whole_for_the_reference(work):
    path = work / "repo"
    data, _ = begin(path, ours=True)
    icefield("expire", path, "--keep-last", "1")
    before = collect(path)
    assert before["snapshots"]["deleted"] == 4, before
    assert_whole(path, data)
    assert before["chunks"]["deleted"] == 0, "the newest snapshot has all of them"
    assert len(objects(path, "chunks")) == len(data) // LENGTH


@case
def what_the_reference_expires_and_collects_is_whole_for_us(work):
    path = work / "repo"
    data, ids = begin(path, ours=False)
    repository = reference.open(path)
    now = datetime.datetime.now(datetime.timezone.utc)
    repository.expire_snapshots(now)
    time.sleep(1.1)
    summary = repository.garbage_collect(datetime.datetime.now(datetime.timezone.utc))
    assert summary.snapshots_deleted > 0, summary
    assert_whole(path, data)
    after = collect(path)
    assert after["chunks"]["deleted"] == 0, after
    assert_whole(path, data)


@case
def the_two_collect_in_turns(work):
    path = work / "repo"
    data, _ = begin(path, ours=True)
    for number in range(3):
        side = f"side{number}"
        icefield("branch", "create", path, side)
        store = reference.open(path).writable_session(side)
        array = zarr.open_array(store.store, path="a")
        array[:LENGTH] = np.zeros(LENGTH, dtype="uint8") + number + 1
        store.commit("garbage soon")
        icefield("branch", "delete", path, side)
        if number == 1:
            time.sleep(1.1)
            now = datetime.datetime.now(datetime.timezone.utc)
            assert reference.open(path).garbage_collect(now).chunks_deleted == 1
        else:
            report = collect(path)
            assert report["chunks"]["deleted"] == 1, report
        assert_whole(path, data)


if SPEC == 2:

    @case
    def the_reference_goes_on_where_a_damaged_repo_was_put_back(work):
        path = work / "repo"
        data, _ = begin(path, ours=False)
        whole = (path / "repo").read_bytes()
        (path / "repo").write_bytes(whole[: len(whole) // 2])
        repaired = json.loads(icefield("fsck", path, "--repair", "--json"))
        assert repaired["repo"]["outcome"] == "done", repaired
        assert (path / repaired["repo"]["kept_aside"]).read_bytes() == whole[: len(whole) // 2]
        # The last commit came after the last backup.
        sound(path, "garbage", "put-back-unsettled")
        repository = reference.open(path)
        before = len(list(repository.ops_log()))
        session = repository.writable_session("main")
        zarr.open_array(session.store, path="a")[:LENGTH] = data[:LENGTH]
        session.commit("goes on")
        assert len(list(reference.open(path).ops_log())) == before + 1
        assert history_of_both(path)[0] == "goes on"
        icefield("fsck", path, "--repair", "--give-up-unlisted")
        sound(path, "garbage")
