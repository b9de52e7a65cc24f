"""Every operation of version 2, by both sides in turn on one repository, and what each sees of it afterwards.

A round is one side's: it saves a configuration, moves an array, amends the move, commits, amends the commit, flushes, tags, deletes a tag,
creates, resets and deletes branches, lets snapshots expire, and collects. A model of what that must come to is kept beside it.
"""

import datetime
import json
import time

import icechunk
import numpy as np
import zarr

import contents
import reference
from lib import amend, commit, dump, icefield, session, set_bytes, set_json, write

LENGTH = 600
# Histories keep so many snapshots beside the first one.
KEPT = 3
# So few entries in `repo` that the log goes over many pages.
UPDATES_PER_PAGE = 7


def array_metadata(length):
    """An array of bytes without compression."""
    return {
        "zarr_format": 3, "node_type": "array", "shape": [length], "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [LENGTH]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes"}], "attributes": {},
    }


class Ours:
    """A round by our programs."""

    def __init__(self, path):
        self.path = path
        self.operations = []

    def configure(self, threshold):
        icefield("config", "set", self.path, "inline_chunk_threshold_bytes", threshold)

    def move(self, source, target, message):
        icefield("mv", self.path, source, target, "-m", message)

    def amend_move(self, source, target, message):
        self.operations += [session(), {"op": "move", "from": source, "to": target}, amend(message)]

    def commit_and_amend(self, array, number, chunks, message):
        metadata = set_json(f"{array}/zarr.json", array_metadata(LENGTH * (number + 1)))
        key = f"{array}/c/{number}"
        self.operations += [session(), metadata, set_bytes(key, chunks[0]), commit(f"{message}, first"),
                            session(), set_bytes(key, chunks[1]), amend(message)]

    def flush(self, array, number, chunk, message, tag):
        self.operations += [session(), set_bytes(f"{array}/c/{number}", chunk), {"op": "flush", "message": message, "tag": tag}]

    def refs(self, operations, reset):
        # With all since the move, in one process.
        write(self.path, [*self.operations, *(operation(*each) for each in operations)])
        self.operations.clear()
        icefield("branch", "reset", self.path, reset, "--ref", "main")

    def expire(self, _):
        icefield("expire", self.path, "--keep-last", KEPT)

    def collect(self):
        return json.loads(icefield("gc", self.path, "--older-than", "0s", "--force-age", "--json"))["snapshots"]["deleted"]


def operation(op, name, source=None):
    return {"op": op, "name": name, "from": source} if source else {"op": op, "name": name}


class Theirs:
    """A round by the reference, each step by a handle of its own."""

    def __init__(self, path):
        self.path = path

    def open(self):
        return reference.open(self.path)

    def configure(self, threshold):
        config = self.open().config
        config.inline_chunk_threshold_bytes = threshold
        reference.open(self.path, config=config).save_config()

    def move(self, source, target, message):
        rearranging = self.open().rearrange_session("main")
        rearranging.move(f"/{source}", f"/{target}")
        rearranging.commit(message)

    def amend_move(self, source, target, message):
        rearranging = self.open().rearrange_session("main")
        rearranging.move(f"/{source}", f"/{target}")
        rearranging.amend(message)

    def commit_and_amend(self, array, number, chunks, message):
        for chunk, how in zip(chunks, ("commit", "amend")):
            writing = self.open().writable_session("main")
            found = zarr.open_array(writing.store, path=array)
            found.resize((LENGTH * (number + 1),))
            found[LENGTH * number:] = np.frombuffer(chunk, "u1")
            writing.commit(f"{message}, first") if how == "commit" else writing.amend(message)

    def flush(self, array, number, chunk, message, tag):
        writing = self.open().writable_session("main")
        zarr.open_array(writing.store, path=array)[LENGTH * number:] = np.frombuffer(chunk, "u1")
        self.open().create_tag(tag, writing.flush(message))

    def refs(self, operations, reset):
        repository = self.open()
        for op, name, *source in operations:
            match op:
                case "tag":
                    repository.create_tag(name, repository.lookup_branch(*source))
                case "branch":
                    repository.create_branch(name, repository.lookup_branch(*source))
                case "delete_tag":
                    repository.delete_tag(name)
                case "delete_branch":
                    repository.delete_branch(name)
        repository.reset_branch(reset, repository.lookup_branch("main"))

    def expire(self, oldest_kept):
        # The bound is exclusive.
        self.open().expire_snapshots(oldest_kept)

    def collect(self):
        return self.open().garbage_collect(datetime.datetime.now(datetime.timezone.utc)).snapshots_deleted


def in_turns(path, rounds, first):
    """Runs the rounds; `first` is the side that begins, on an empty repository."""
    config = reference.open(path).config
    config.num_updates_per_repo_info_file = UPDATES_PER_PAGE
    reference.open(path, config=config).save_config()
    write(path, [session(), set_json("zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}}),
                 set_json("b/zarr.json", array_metadata(0)), commit("begin"), operation("branch", "side", "main"),
                 operation("branch", "brief-start", "main"), operation("tag", "round-start", "main")])
    sides = [Ours(path), Theirs(path)] if first == "ours" else [Theirs(path), Ours(path)]
    model = Model()
    before = log_of_both(path)
    for number in range(rounds):
        side = sides[number % 2]
        by = type(side).__name__.lower()
        values = [bytes(contents.noise(LENGTH)) for _ in range(3)]
        source, target = ("b", "a") if number % 2 == 0 else ("a", "b")
        side.configure(number + 1)
        side.move(source, "passing", f"move {number} by {by}")
        side.amend_move("passing", target, f"moved {number} by {by}")
        side.commit_and_amend(target, number, values, f"round {number} by {by}")
        side.flush(target, number, values[2], f"flushed {number} by {by}", f"flushed{number}")
        last = number - 1 if number else "-start"
        side.refs([("tag", f"round{number}", "main"), ("delete_tag", f"round{last}"), ("branch", f"brief{number}", "main"),
                   ("delete_branch", f"brief{last}"), *([("delete_tag", f"flushed{last}")] if number else [])], "side")
        history = list(reference.open(path).ancestry(branch="main"))
        side.expire(history[KEPT - 1].written_at)
        side.collect()
        model.round(number, by, target, values)
        before = model.assert_seen(path, before)
    assert_collected(path, sides)


class Model:
    """What the rounds must have come to."""

    def __init__(self):
        self.values = b""
        self.messages = ["begin"]

    def round(self, number, by, array, values):
        self.number, self.array, self.flushed = number, array, self.values + values[2]
        self.values += values[1]
        self.messages = [f"round {number} by {by}", f"moved {number} by {by}", *self.messages][:KEPT]
        self.message_flushed = f"flushed {number} by {by}"

    def assert_seen(self, path, before):
        """Asserts that both see it, and that the log only grew; returns the log."""
        number = self.number
        found = reference.assert_agreement(
            path, ["main", "side", f"brief{number}"], [f"round{number}", f"flushed{number}"],
            ["round-start", *(f"{kind}{gone}" for gone in range(number) for kind in ("round", "flushed"))])
        repository = reference.open(path)
        history = [info.message for info in repository.ancestry(branch="main")]
        assert history == [*self.messages, "Repository initialized"], history
        flushed = repository.lookup_tag(f"flushed{number}")
        history = [info.message for info in repository.ancestry(snapshot_id=flushed)]
        assert history == [self.message_flushed, *self.messages, "Repository initialized"], history
        tip = found["branches"]["main"]
        assert found["branches"] == {"main": tip, "side": tip, f"brief{number}": tip}, found["branches"]
        for snapshot, expected in [(tip, self.values), (flushed, self.flushed)]:
            root = zarr.open_group(repository.readonly_session(snapshot_id=snapshot).store, mode="r")
            assert list(root) == [self.array] and bytes(root[self.array][:]) == expected
        stored = json.loads(icefield("config", "get", path, "inline_chunk_threshold_bytes", "--json"))["settings"]
        assert [one["value"] for one in stored] == [str(number + 1)], stored
        config = repository.config
        assert (config.inline_chunk_threshold_bytes, config.num_updates_per_repo_info_file) == (number + 1, UPDATES_PER_PAGE)
        log = log_of_both(path)
        # Backups of pages may go; what happened, and when, stays.
        assert [entry[:2] for entry in log[-len(before):]] == [entry[:2] for entry in before]
        kinds = [text.split()[0] for _, text in log[:len(log) - len(before)]]
        assert_kinds(kinds)
        return log


def assert_kinds(kinds):
    """Asserts that a round left one entry of the log for each thing that it did."""
    expected = ["collected", "let", "reset", "replaced", "replaced", "wrote", "saved"] + 2 * ["committed"]
    counted = {kind: kinds.count(kind) for kind in expected}
    assert counted == {kind: expected.count(kind) for kind in expected}, kinds
    assert kinds.count("created") == 3 and kinds.count("deleted") in (2, 3), kinds
    assert len(kinds) == len(expected) + kinds.count("created") + kinds.count("deleted"), kinds


def assert_collected(path, sides):
    """Asserts that one more collection leaves what both reach and nothing else, and the other side's finds nothing to delete."""
    # The store's times may be cut to the second.
    time.sleep(1.1)
    sides[0].collect()
    keys = path.objects() if reference.is_bucket(path) else {f"{each.parent.name}/{each.name}" for each in path.glob("*/*")}
    left = {key.split("/")[1][:-1] for key in keys if key.startswith("snapshots/")}
    reached = {name[:-1] for name in dump(path)["snapshots"]}
    assert left == reached, (left, reached)
    assert sides[1].collect() == 0


def log_of_both(path):
    """Time and text of every entry of the ops log, the newest first, about which both must agree."""
    ours = json.loads(icefield("ops-log", path, "--json"))
    assert "ends" not in ours, ours["ends"]
    theirs = [(update.updated_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), text_of(update.kind), update.backup_path)
              for update in reference.open(path).ops_log()]
    found = [(entry["at"], entry["did"], entry.get("backup")) for entry in ours["operations"]]
    assert found == theirs, next(pair for pair in zip(found, theirs) if pair[0] != pair[1])
    return [entry[:2] for entry in found]


def text_of(kind):
    """An entry of the reference's log as our command line shows it."""
    name = type(kind).__name__
    match name:
        case "RepoInitialized":
            return "created the repository"
        case "ConfigChanged":
            return "saved the configuration"
        case "TagCreated" | "BranchCreated":
            return f"created {name.removesuffix('Created').lower()} {kind.name}"
        case "TagDeleted" | "BranchDeleted":
            return f"deleted {name.removesuffix('Deleted').lower()} {kind.name}, which was at {kind.previous_snap_id}"
        case "BranchReset":
            return f"reset branch {kind.name}, which was at {kind.previous_snap_id}"
        case "NewCommit":
            return f"committed {kind.new_snap_id} to {kind.branch}"
        case "CommitAmended":
            return f"replaced {kind.previous_snap_id} with {kind.new_snap_id} on {kind.branch}"
        case "NewDetachedSnapshot":
            return f"wrote {kind.new_snap_id}, to which no ref points"
        case "GCRan":
            return "collected garbage"
        case "ExpirationRan":
            return "let snapshots expire"
    raise AssertionError(f"{name} is not what a round does")
