"""The rules of conflicts: our `Compatible` detector and the reference, on the same edits, must find the same."""

import icechunk

import reference
from lib import case, commit, delete, session, set_bytes, set_json, write

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
    repository = reference.create(path)
    first = repository.writable_session("main")
    perform(first.store, START)
    first.commit("start")
    mine, others = repository.writable_session("main"), repository.writable_session("main")
    perform(mine.store, ours)
    perform(others.store, theirs)
    others.commit("theirs")
    try:
        mine.rebase(icechunk.ConflictDetector())
    except icechunk.RebaseFailedError as failed:
        return sorted(described(conflict) for conflict in failed.conflicts)
    return []


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


def in_ours(path, ours, theirs):
    applied = write(path, [
        {"op": "create"}, session(), *START, commit("start"),
        session(name="ours"), *ours, session(name="theirs"), *theirs, commit("theirs"),
        {"op": "use", "name": "ours"}, {"op": "rebase"}])
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
