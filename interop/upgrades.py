"""`icefield upgrade` and `downgrade`: the reference reads what became of a repository of version 1, goes on with it, and an older one refuses it."""

import json

import icechunk
import numpy as np
import zarr

import contents
import reference
from lib import Skip, assert_same, case, dump, icefield

CONTAINER = "file:///somewhere/"


def old(path):
    """A repository of version 1 with two branches, tags, a deleted tag and a saved configuration, made by the reference."""
    options = {"spec_version": 1} if reference.NEWER else {}
    config = icechunk.RepositoryConfig.default()
    config.inline_chunk_threshold_bytes = 16
    container = icechunk.VirtualChunkContainer(CONTAINER, icechunk.local_filesystem_store("/somewhere"))
    config.set_virtual_chunk_container(container)
    repository = icechunk.Repository.create(reference.storage(path), config=config, **options)
    repository.save_config()
    session = repository.writable_session("main")
    expected = contents.write_all(session.store)
    first = session.commit("everything", metadata={"n": 1, "deep": {"a": [1, None]}})
    repository.create_branch("other", first)
    repository.create_tag("v1", first)
    repository.create_tag("gone", first)
    repository.delete_tag("gone")
    session = repository.writable_session("other")
    zarr.create_group(session.store, path="on_other")
    session.commit("on other")
    session = repository.writable_session("main")
    store = session.store
    zarr.create_array(store, name="late", shape=(4,), chunks=(2,), dtype="i4")[:] = np.arange(4)
    session.commit("late")
    return repository, expected


def histories(repository):
    return {name: [(info.id, info.message, dict(info.metadata), info.written_at)
                   for info in repository.ancestry(branch=name)]
            for name in ["main", "other"]}


@case
def the_reference_reads_and_goes_on_with_what_we_upgraded(work):
    if not reference.NEWER:
        raise Skip("this release does not know version 2")
    path = work / "repo"
    repository, expected = old(path)
    before, seen = histories(repository), dump(path)
    icefield("upgrade", path, "--dry-run")
    assert reference.open(path).spec_version == icechunk.SpecVersion.v1
    icefield("upgrade", path)

    upgraded = reference.open(path)
    assert upgraded.spec_version == icechunk.SpecVersion.v2
    assert histories(upgraded) == before
    assert_same(dump(path), seen)
    assert upgraded.list_tags() == {"v1"}
    try:
        upgraded.create_tag("gone", upgraded.lookup_tag("v1"))
        raise AssertionError("the name of a deleted tag is taken")
    except icechunk.IcechunkError:
        pass
    assert upgraded.config.inline_chunk_threshold_bytes == 16
    assert CONTAINER in upgraded.config.virtual_chunk_containers
    contents.assert_arrays_equal(upgraded.readonly_session("other").store, expected)

    kinds = [type(update.kind).__name__ for update in upgraded.ops_log()]
    commits = [kind for kind in kinds if kind == "NewCommit"]
    assert (kinds[0], kinds[-1], len(commits)) == ("RepoMigrated", "RepoInitialized", 3), kinds

    for number in range(3):
        session = reference.open(path).writable_session("main")
        zarr.open_group(session.store, mode="a").create_group(f"theirs{number}")
        tip = session.commit(f"theirs {number}")
        icefield("mv", path, f"theirs{number}", f"ours{number}")
        moved = reference.open(path).writable_session("main")
        assert f"ours{number}" in zarr.open_group(moved.store, mode="a")
        assert reference.ancestry(reference.open(path))[1] == tip
    reference.assert_agreement(path, ["main", "other"], ["v1"], ["gone"])


@case
def a_log_like_that_of_the_reference(work):
    if not reference.NEWER:
        raise Skip("this release does not know version 2")
    repository, _ = old(work / "ours")
    # The same files: ids and times are the same.
    import shutil
    shutil.copytree(work / "ours", work / "theirs")
    icefield("upgrade", work / "ours")
    theirs = reference.open(work / "theirs")
    icechunk.upgrade_icechunk_repository(theirs, dry_run=False)

    def log(path):
        return [(str(update.kind), update.updated_at) for update in reference.open(path).ops_log()]

    ours, theirs = log(work / "ours"), log(work / "theirs")
    assert [kind for kind, _ in ours] == [kind for kind, _ in theirs], (ours, theirs)
    assert ours[1:] == theirs[1:], (ours, theirs)


@case
def a_session_of_the_reference_that_was_open_is_refused(work):
    path = work / "repo"
    repository, _ = old(path)
    session = repository.writable_session("main")
    zarr.create_group(session.store, path="lost")
    icefield("upgrade", path)
    try:
        session.commit("after the upgrade")
        raise AssertionError("it was acknowledged and lost")
    except icechunk.IcechunkError:
        pass
    if reference.NEWER:
        assert "after the upgrade" not in [info.message for info in reference.open(path).ancestry(branch="main")]


@case
def a_release_that_knows_version_1_alone_refuses_what_we_upgraded(work):
    if reference.NEWER:
        raise Skip("this release knows version 2")
    path = work / "repo"
    old(path)
    icefield("upgrade", path)
    try:
        reference.open(path)
        raise AssertionError("it was opened")
    except icechunk.IcechunkError:
        pass


@case
def the_reference_reads_a_downgrade_equal_at_every_ref(work):
    path, copy = work / "repo", work / "older"
    # A repository that the reference began in version 1: a release that knows no other judges the copy, too.
    _, expected = old(path)
    icefield("upgrade", path)
    icefield("mv", path, "late", "moved")
    icefield("branch", "create", path, "feature/a")
    if reference.NEWER:
        session = reference.open(path).writable_session("main")
        zarr.create_array(session.store, name="theirs", shape=(4,), chunks=(2,), dtype="i4")[:] = np.arange(4)
        session.commit("theirs", metadata={"deep": {"a": [1, None, 0.5]}})
        moving = reference.open(path).rearrange_session("other")
        moving.move("/on_other", "/elsewhere")
        moving.commit("moved by them")
    report = json.loads(icefield("downgrade", path, copy, "--leave-out", "--json"))
    assert report["left_out"] == ["branch feature/a"], report
    kinds = {it["kind"] for it in report["not_carried"]}
    assert kinds == {"ref_name", "move", "operations_log"}, report
    assert_judged_equal(path, copy, ["main", "other"], ["v1"], ["gone"])

    older = reference.open(copy)
    contents.assert_arrays_equal(older.readonly_session(tag="v1").store, expected)
    assert older.config.inline_chunk_threshold_bytes == 16
    assert CONTAINER in older.config.virtual_chunk_containers
    # A move is told as a deletion and a creation of one node, which the reference shows at its new path in both lists.
    at = next(info for info in older.ancestry(branch="main") if info.message == "Move /late to /moved")
    difference = older.diff(from_snapshot_id=at.parent_id, to_snapshot_id=at.id)
    assert (difference.new_arrays, len(difference.deleted_arrays)) == ({"/moved"}, 1), difference
    # They go on in turns, and a later downgrade brings on what is new.
    session = older.writable_session("other")
    zarr.create_group(session.store, path="after")
    session.commit("after")
    icefield("mv", copy, "after", "behind", "--branch", "other")
    icefield("mv", path, "moved", "again")
    icefield("downgrade", path, copy, "--ref", "main")
    reference.assert_agreement(copy, ["main", "other"], ["v1"], ["gone"])
    icefield("fsck", copy)


@case
def the_reference_reads_a_downgrade_of_what_expired(work):
    if not reference.NEWER:
        raise Skip("this release does not know version 2")
    path, copy = work / "repo", work / "older"
    repository = icechunk.Repository.create(reference.storage(path), spec_version=2)
    for number in range(6):
        session = repository.writable_session("main")
        group = zarr.open_group(session.store, mode="a")
        group.create_group(f"g{number}")
        if number > 1:
            del group[f"g{number - 2}"]
        tip = session.commit(f"commit {number}")
        if number == 3:
            kept = tip
    repository.create_tag("kept", kept)
    time = next(repository.ancestry(branch="main")).written_at
    repository.expire_snapshots(older_than=time)
    icefield("downgrade", path, copy)
    assert_judged_equal(path, copy, ["main"], ["kept"], [])
    icefield("fsck", copy)
    older = reference.open(copy)
    first = list(older.ancestry(tag="kept"))[-1]
    difference = older.diff(from_snapshot_id=first.id, to_tag="kept")
    assert {"/g2", "/g3"} <= difference.new_groups, difference
    assert not {"/g0", "/g1"} & difference.new_groups, difference


def assert_judged_equal(path, copy, branches, tags, deleted_tags):
    """The reference reads in a copy what we read there, and that is what we read in the source."""
    found = reference.assert_agreement(copy, branches, tags, deleted_tags)
    source = dump(path)
    reached, ids = {}, [found["branches"][name] for name in branches] + [found["tags"][name] for name in tags]
    assert ids == [source["branches"][name] for name in branches] + [source["tags"][name] for name in tags]
    while ids:
        id = ids.pop()
        if id is not None and id not in reached:
            reached[id] = source["snapshots"][id]
            ids.append(reached[id]["parent_id"])
    assert set(reached) == set(found["snapshots"])
    for id, snapshot in reached.items():
        if snapshot["parent_id"] is None:
            # The first snapshot has the mark of its version.
            snapshot["metadata"] = found["snapshots"][id]["metadata"]
        assert_same(found["snapshots"][id], snapshot)
