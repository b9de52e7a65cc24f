"""The rules of conflicts: our `Compatible` detector and the reference, on the same edits, must find the same."""

import icechunk

import reference
from lib import SPEC, Skip, case, commit, delete, session, set_bytes, set_json, write

CHUNK = 600


def array(length, **members):
    return {
        "zarr_format": 3, "node_type": "array", "shape": [length], "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": [{"name": "bytes"}], "attributes": {"x": 1, "y": 1}, **members,
    }


def group(**attributes):
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes}


def node(path, metadata):
    return set_json(f"{path}/zarr.json" if path else "zarr.json", metadata)


def chunk(path, index, value):
    return set_bytes(f"{path}/c/{index}", bytes([value]) * CHUNK)


def no_chunk(path, index):
    return delete(f"{path}/c/{index}")


def gone(path):
    return delete(f"{path}/zarr.json")


START = [node("", group(x=1)), node("g", group(x=1, y=1)), node("g/a", array(10)), node("b", array(10))] + [
    chunk(path, index, 100) for path in ("g/a", "b") for index in range(5)]

# What it is, what we do, what they do.
RULES = [
    ("an equal group", [node("n", group())], [node("n", group())]),
    ("another group", [node("n", group())], [node("n", group(z=1))]),
    ("an equal empty array", [node("n", array(3))], [node("n", array(3))]),
    ("a node below a new array", [node("n", group()), node("n/m", group())], [node("n", array(3))]),
    ("a node below a deleted group", [node("g/n", group())], [gone("g")]),
    ("equal metadata", [node("b", array(10, attributes={"x": 2}))], [node("b", array(10, attributes={"x": 2}))]),
    ("different attributes", [node("b", array(10, attributes={"x": 2, "y": 1}))],
     [node("b", array(10, attributes={"x": 1, "y": 2}))]),
    ("metadata of a group, twice", [node("g", group(x=2, y=1))], [node("g", group(x=1, y=2))]),
    ("metadata of a deleted array", [node("b", array(9))], [gone("b")]),
    ("metadata of a deleted group", [node("g", group())], [gone("g")]),
    ("a resize, and chunks inside", [node("b", array(8))], [chunk("b", 7, 1)]),
    ("a resize, and chunks outside", [node("b", array(8))], [chunk("b", 8, 1)]),
    ("another fill value, and chunks", [node("b", array(10, fill_value=1))], [chunk("b", 7, 1)]),
    ("chunks of a deleted array", [chunk("b", 1, 1), no_chunk("b", 2)], [gone("b")]),
    ("chunks, and attributes", [chunk("b", 1, 1)], [node("b", array(10, attributes={"x": 2, "y": 1}))]),
    ("chunks, and a resize", [chunk("b", 1, 1), chunk("b", 9, 1)], [node("b", array(8))]),
    ("one chunk, different bytes", [chunk("b", 1, 1), chunk("b", 2, 1)], [chunk("b", 1, 2), chunk("b", 3, 2)]),
    ("one chunk, equal bytes", [chunk("b", 1, 1)], [chunk("b", 1, 1)]),
    ("one chunk, deleted by both", [no_chunk("b", 1)], [no_chunk("b", 1)]),
    ("one chunk, deleted and written", [no_chunk("b", 1)], [chunk("b", 1, 1)]),
    ("different chunks", [chunk("b", 1, 1)], [chunk("b", 2, 2)]),
    ("deleting an array with new chunks", [gone("b")], [chunk("b", 2, 2)]),
    ("deleting an array with new metadata", [gone("b")], [node("b", array(9))]),
    ("deleting a group with new metadata", [gone("g")], [node("g", group())]),
    ("deleting a group with a new node", [gone("g")], [node("g/n", group())]),
    ("deleting a group with new chunks below it", [gone("g")], [chunk("g/a", 2, 2)]),
    ("deleting what they deleted", [gone("b")], [gone("b")]),
    ("deleting and creating, and unrelated changes", [gone("b"), node("b", array(4))], [chunk("g/a", 1, 1)]),
]


def in_the_reference(path, ours, theirs):
    """The conflicts that the reference finds, as our probe names them."""
    mine = raced(path, ours, theirs)
    try:
        mine.rebase(icechunk.ConflictDetector())
    except icechunk.RebaseFailedError as failed:
        return sorted(described(conflict) for conflict in failed.conflicts)
    return []


def raced(path, ours, theirs, start=START):
    """A session of the reference with edits, on a branch that has gone on with others."""
    repository = reference.create(path)
    first = repository.writable_session("main")
    perform(first.store, start)
    first.commit("start")
    mine, others = opened(repository, ours), opened(repository, theirs)
    others.commit("theirs")
    return mine


def opened(repository, edits):
    """A session that has made edits. Nodes are moved in sessions of their own kind."""
    if not any(edit["op"] == "move" for edit in edits):
        found = repository.writable_session("main")
        perform(found.store, edits)
        return found
    found = repository.rearrange_session("main")
    for edit in edits:
        found.move(edit["from"], edit["to"])
    return found


def perform(store, edits):
    import base64
    for edit in edits:
        if edit["op"] == "delete":
            reference.remove(store, edit["key"])
        elif "text" in edit:
            reference.put(store, edit["key"], edit["text"].encode())
        else:
            reference.put(store, edit["key"], base64.b64decode(edit["base64"]))


def described(conflict):
    chunks = sorted(list(index) for index in conflict.conflicted_chunks or [])
    return str(conflict.conflict_type).split(".")[-1], conflict.path, chunks


def in_ours(path, ours, theirs, start=START, strict=False):
    applied = write(path, [
        {"op": "create"}, session(), *start, commit("start"),
        session(name="ours"), *ours, session(name="theirs"), *theirs, commit("theirs"),
        {"op": "use", "name": "ours"}, {"op": "rebase", "strict": strict}])
    [conflicts] = applied["rebases"]
    return sorted((it["kind"], it["path"], it["chunks"]) for it in conflicts)


@case
def the_compatible_detector_finds_what_the_reference_finds(work):
    different = []
    for number, (rule, ours, theirs) in enumerate(RULES):
        expected = in_the_reference(work / f"reference-{number}", ours, theirs)
        found = in_ours(work / f"ours-{number}", ours, theirs)
        if comparable(found) != comparable(expected):
            different.append(f"{rule}: the reference finds {expected}, we find {found}")
    print(f"     {len(RULES)} rules, {len(RULES) - len(different)} alike")
    assert not different, "\n".join(different)


def comparable(conflicts, names_chunks=("chunkdoubleupdate",)):
    """The reference names chunks of one kind of conflict only."""
    plain = [(kind.replace(" ", "").lower(), path, chunks) for kind, path, chunks in conflicts]
    return sorted((kind, path, chunks if kind in names_chunks else []) for kind, path, chunks in plain)


def moved(start, end):
    return {"op": "move", "from": start, "to": end}


# An array moves from one group to another.
MOVE = [moved("/g/a", "/h/a")]
MOVES_START = [*START, node("h", group(x=1))]
# What we find, as our probe names it.
FOLLOWS = ["EditOfMovedNode"]
GONE = ["ZarrMetadataUpdateOfDeletedArray"]
TAKEN = ["NewNodeConflictsWithExistingNode"]
REFUSED = ["MoveOperationCannotBeRebased"]
CARRIED = []

# What the others do beside the move; what the reference does with the move, if it came second; what we find by our own rules, if
# the move came first; and by the rules of the reference and by our own, if it came second. If the move came first, the reference
# refuses everything, and so do we by its rules. By our own, what has nothing to do with the move is carried over. If the move came
# second, what the reference loses is refused: `dropped` is a node that disappears, `stuck` a session that was carried over and
# cannot be committed. `orphan` is a node below a group that is not there, which its rules allow, and ours do not.
BESIDE_A_MOVE = [
    ("chunks of the array", [chunk("g/a", 1, 7)], "carried", FOLLOWS, (CARRIED, CARRIED)),
    ("metadata of the array", [node("g/a", array(10, attributes={"x": 2}))], "carried", FOLLOWS, (CARRIED, CARRIED)),
    ("metadata of the group it leaves", [node("g", group(x=2, y=1))], "carried", CARRIED, (CARRIED, CARRIED)),
    ("metadata of the group it goes to", [node("h", group(x=2))], "carried", CARRIED, (CARRIED, CARRIED)),
    ("chunks of another array", [chunk("b", 1, 7)], "carried", CARRIED, (CARRIED, CARRIED)),
    ("a node in the group it leaves", [node("g/n", group())], "carried", CARRIED, (CARRIED, CARRIED)),
    ("a node in the group it goes to", [node("h/n", group())], "carried", CARRIED, (CARRIED, CARRIED)),
    ("the array deleted", [gone("g/a")], "stuck", FOLLOWS, (GONE, GONE)),
    ("the group it leaves deleted", [gone("g")], "stuck", FOLLOWS, (GONE, GONE)),
    ("the group it goes to deleted", [gone("h")], "orphan", ["DeleteOfUpdatedGroup"], (CARRIED, ["NewNodeInDeletedGroup"])),
    ("a group at the target", [node("h/a", group())], "dropped", TAKEN, (TAKEN, TAKEN)),
    ("an array at the target", [node("h/a", array(3))], "dropped", TAKEN, (TAKEN, TAKEN)),
    ("the same move", MOVE, "refused", CARRIED, (REFUSED, CARRIED)),
    ("a move to another place", [moved("/g/a", "/h/z")], "refused", FOLLOWS, (REFUSED, FOLLOWS)),
    ("a move of another node to the target", [moved("/b", "/h/a")], "refused", TAKEN, (REFUSED, TAKEN)),
    ("an unrelated move", [moved("/b", "/h/b")], "refused", CARRIED, (REFUSED, CARRIED)),
    ("a move of its target into the group it leaves", [moved("/h", "/g/h")], "refused", ["DeleteOfUpdatedGroup"],
     (REFUSED, FOLLOWS)),
]


def outcome_in_the_reference(path, ours, theirs):
    mine = raced(path, ours, theirs, MOVES_START)
    try:
        mine.rebase(icechunk.ConflictDetector())
    except icechunk.RebaseFailedError as failed:
        assert comparable([described(it) for it in failed.conflicts]) == [(REFUSED[0].lower(), "", [])]
        return "refused"
    try:
        mine.commit("mine")
    except icechunk.NodeNotFoundError:
        return "stuck"
    store = reference.open(path).readonly_session("main").store
    documents = {key: reference.read(store, key) for key in reference.keys(store) if key.endswith("zarr.json")}
    groups = [key.removesuffix("zarr.json").rstrip("/").rpartition("/")[0] for key in documents]
    if any(f"{group}/zarr.json" not in documents for group in groups if group):
        return "orphan"
    made = {edit["key"]: edit["text"].encode() for edit in theirs if edit["op"] == "set" and "text" in edit}
    target = "h/a/zarr.json"
    return "dropped" if target in made and documents[target] != made[target] else "carried"


@case
def moves_meet_what_the_reference_meets_and_lose_nothing(work):
    if SPEC == 1:
        raise Skip("repositories of version 1 have no moves")
    different = []
    for number, (rule, edits, second, first_strict, ours_second) in enumerate(BESIDE_A_MOVE):
        ours = (REFUSED, first_strict), ours_second
        for order, (mine, others) in enumerate([(edits, MOVE), (MOVE, edits)]):
            name = f"{rule}, the move came {('first', 'second')[order]}"
            at = work / f"{number}-{order}"
            expected = ("refused", second)[order]
            found = outcome_in_the_reference(at / "reference", mine, others)
            if found != expected:
                different.append(f"{name}: the reference says {found}, not {expected}")
            for strict in (False, True):
                expected = ours[order][strict]
                found = in_ours(at / f"ours-{strict}", mine, others, MOVES_START, strict)
                if [kind for kind, _, _ in found] != expected:
                    different.append(f"{name}, strict {strict}: we find {found}, not {expected}")
    print(f"     {len(BESIDE_A_MOVE)} rules in both orders, {len(different)} unlike")
    assert not different, "\n".join(different)
