"""Both sides commit on one repository in turn, and each sees all that the other did."""

import icechunk
import numpy as np
import zarr

import contents
import every_operation
import reference
from lib import SPEC, Skip, amend, assert_same, case, commit, dump, partly, session, set_bytes, set_json, write

ROUNDS = 10
LENGTH = 600


def array_metadata(shape, chunks):
    """An array of bytes without compression."""
    return {
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes"}], "attributes": {},
    }


def group(by, number):
    return {"zarr_format": 3, "node_type": "group", "attributes": {"by": by, "round": number}}


def our_turn(path, number, values):
    write(path, [
        session(),
        set_json("zarr.json", group("us", number)),
        set_json("shared/zarr.json", array_metadata([LENGTH * (number + 1)], [LENGTH])),
        set_bytes(f"shared/c/{number}", bytes(values)),
        set_json("counter/zarr.json", array_metadata([], [])),
        set_bytes("counter/c", bytes([number + 1])),
        set_json(f"group{number}/zarr.json", group("us", number)),
        commit(f"round {number} by us", {"round": number}),
    ])


def their_turn(path, number, values):
    session = reference.open(path).writable_session("main")
    root = zarr.open_group(session.store, mode="a")
    root.update_attributes({"by": "them", "round": number})
    if "shared" not in root:
        root.create_array("shared", shape=(0,), chunks=(LENGTH,), dtype="u1", compressors=None)
        root.create_array("counter", shape=(), dtype="u1", compressors=None)
    shared = root["shared"]
    shared.resize((LENGTH * (number + 1),))
    shared[LENGTH * number:] = values
    root["counter"][...] = number + 1
    root.create_group(f"group{number}", attributes={"by": "them", "round": number})
    session.commit(f"round {number} by them", metadata={"round": number})


def take_turns(path, ours):
    """Runs the rounds; `ours(number)` says whose turn it is."""
    expected = np.zeros(0, "u1")
    messages = ["Repository initialized"]
    snapshots = {}
    for number in range(ROUNDS):
        values = contents.noise(LENGTH)
        expected = np.concatenate([expected, values])
        mine = ours(number)
        (our_turn if mine else their_turn)(path, number, values)
        messages.insert(0, f"round {number} by {'us' if mine else 'them'}")

        repository = reference.open(path)
        history = list(repository.ancestry(branch="main"))
        assert [info.message for info in history] == messages
        found = reference.assert_agreement(path)
        walked, at = [], found["branches"]["main"]
        while at:
            walked.append(at)
            at = found["snapshots"][at]["parent_id"]
        assert walked == [info.id for info in history]
        # Nothing that was committed before has changed.
        assert_same(found["snapshots"], partly(snapshots))
        snapshots = found["snapshots"]
        root = zarr.open_group(repository.readonly_session("main").store, mode="r")
        np.testing.assert_array_equal(root["shared"][:], expected)
        assert root["counter"][()] == number + 1


@case
def our_repository_ten_rounds(work):
    write(work / "repo", [{"op": "create"}])
    take_turns(work / "repo", lambda number: number % 2 == 0)


@case
def their_repository_ten_rounds(work):
    reference.create(work / "repo")
    take_turns(work / "repo", lambda number: number % 2 == 1)


@case
def both_amend_in_turns(work):
    if SPEC == 1:
        raise Skip("version 1 has no amended commits")
    path = work / "repo"
    write(path, [{"op": "create"}])
    messages = ["Repository initialized"]
    for number in range(ROUNDS):
        mine = number % 2 == 0
        (our_turn if mine else their_turn)(path, number, contents.noise(LENGTH))
        stale = reference.open(path).writable_session("main")
        # Each amends what the other one committed, then what it amended itself.
        for by in (not mine, mine):
            value, message = number + 10 * by, f"round {number} amended by {'us' if by else 'them'}"
            if by:
                write(path, [session(), set_bytes("counter/c", bytes([value])), amend(message)])
            else:
                own = reference.open(path).writable_session("main")
                root = zarr.open_group(own.store)
                root["counter"][...] = value
                root.create_group("brief", overwrite=True)
                own.amend(message)
            repository = reference.open(path)
            history = [info.message for info in repository.ancestry(branch="main")]
            assert history == [message, *messages], history
            reference.assert_agreement(path)
            root = zarr.open_group(repository.readonly_session("main").store, mode="r")
            assert root["counter"][()] == value
        # A session of theirs on a commit that we amended cannot go on, as they do not rebase over that.
        zarr.open_group(stale.store).attrs["late"] = True
        try:
            stale.commit("too late")
        except icechunk.ConflictError:
            pass
        else:
            raise AssertionError("the reference committed over an amended commit")
        messages.insert(0, message)


@case
def a_session_of_theirs_rebases_over_an_amended_commit_of_ours(work):
    if SPEC == 1:
        raise Skip("version 1 has no amended commits")
    path = work / "repo"
    write(path, [{"op": "create"}])
    their_turn(path, 0, contents.noise(LENGTH))
    stale = reference.open(path).writable_session("main")
    zarr.open_group(stale.store).create_group("late")
    our_turn(path, 1, contents.noise(LENGTH))
    write(path, [session(), set_bytes("counter/c", bytes([9])), amend("amended")])
    stale.rebase(icechunk.ConflictDetector())
    stale.commit("rebased")
    found = reference.assert_agreement(path)
    assert len(found["snapshots"]) == 4
    other = reference.open(path).writable_session("main")
    zarr.open_group(other.store)["counter"][...] = 3
    our_turn(path, 2, contents.noise(LENGTH))
    write(path, [session(), set_bytes("shared/c/0", bytes(LENGTH)), amend("amended")])
    try:
        other.rebase(icechunk.ConflictDetector())
    except icechunk.RebaseFailedError as failed:
        assert {conflict.path for conflict in failed.conflicts} == {"/counter"}, failed.conflicts
    else:
        raise AssertionError("our amended commit names what the old one wrote")


@case
def every_operation_of_version_2_twenty_rounds(work):
    if SPEC == 1:
        raise Skip("version 1 has neither amended nor flushed snapshots")
    path = work / "repo"
    reference.create(path)
    every_operation.in_turns(path, 20, "ours")


@case
def a_session_of_theirs_loses_to_a_commit_of_ours(work):
    lose_to_our_commit(work / "repo")


def lose_to_our_commit(path):
    reference.create(path)
    session = reference.open(path).writable_session("main")
    zarr.create_group(session.store).create_array("a", shape=(2,), chunks=(1,), dtype="i1")[:] = 1
    session.commit("theirs")
    stale = reference.open(path).writable_session("main")
    zarr.open_array(stale.store, path="a").attrs["late"] = True
    our_turn(path, 0, contents.noise(LENGTH))
    before = dump(path)
    try:
        stale.commit("too late")
    except icechunk.ConflictError as conflict:
        assert conflict.actual_parent == before["branches"]["main"]
    else:
        raise AssertionError("the reference committed over our commit")
    # It rebases over our transaction log, and then succeeds.
    stale.rebase(icechunk.ConflictDetector())
    stale.commit("rebased")
    found = reference.assert_agreement(path)
    assert len(found["snapshots"]) == 4
