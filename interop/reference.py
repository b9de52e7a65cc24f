"""The reference implementation, as the judge of what a repository holds."""

import asyncio
import datetime
import json
import urllib.parse

import icechunk
import zarr

from lib import SPEC, assert_same, dump, partly, sha256

NEWER = int(icechunk.__version__.split(".")[0]) >= 2
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
PROTOTYPE = zarr.core.buffer.default_buffer_prototype()


def storage(path):
    """The reference's store for a local directory, or for a place that says itself what it is."""
    if is_bucket(path):
        return path.reference_storage()
    return icechunk.local_filesystem_storage(str(path))


def is_bucket(path):
    return hasattr(path, "reference_storage")


def create(path, **options):
    """Creates a repository of the version that the cases run on; the older releases know version 1 alone."""
    if NEWER:
        options["spec_version"] = SPEC
    return icechunk.Repository.create(storage(path), **options)


def open(path, **options):
    return icechunk.Repository.open(storage(path), **options)


def read(store, key):
    """The bytes that a Zarr reader gets for a key, or `None`."""
    buffer = asyncio.run(store.get(key, PROTOTYPE))
    return None if buffer is None else bytes(buffer.to_bytes())


def put(store, key, value):
    asyncio.run(store.set(key, PROTOTYPE.buffer.from_bytes(value)))


def remove(store, key):
    asyncio.run(store.delete(key))


def keys(store):
    async def listed():
        return sorted([key async for key in store.list()])
    return asyncio.run(listed())


def ancestry(repository, branch="main"):
    """Ids from the tip to the initial snapshot."""
    return [info.id for info in repository.ancestry(branch=branch)]


def describe(repository, branches, tags, deleted_tags=(), encoded=True):
    """What the reference says of a repository with these refs, in the shape of our `dump`.

    The names are given, because on a local disk it lists refs with unusual characters in their
    percent-encoded form (`encoded`); that the two lists agree is checked here.
    """
    assert_listed(repository, branches, tags, encoded)
    tips = {"branches": {name: repository.lookup_branch(name) for name in branches},
            "tags": {name: repository.lookup_tag(name) for name in tags}}
    snapshots = {}
    for tip in [*tips["branches"].values(), *tips["tags"].values()]:
        for info in repository.ancestry(snapshot_id=tip):
            if info.id not in snapshots:
                snapshots[info.id] = snapshot(repository, info)
    return partly({**tips, "deleted_tags": sorted(deleted_tags), "snapshots": snapshots})


def assert_listed(repository, branches, tags, encoded):
    decode = urllib.parse.unquote if encoded else str
    listed = {decode(name) for name in repository.list_branches()}
    assert listed == set(branches), f"branches listed: {sorted(listed)}"
    listed = {decode(name) for name in repository.list_tags()}
    # It drops encoded tags with unusual characters from its list, because it cannot look the encoded name up.
    plain = {name for name in tags if not encoded or urllib.parse.quote(name) == name}
    assert plain <= listed <= set(tags), f"tags listed: {sorted(listed)}"


def snapshot(repository, info):
    store = repository.readonly_session(snapshot_id=info.id).store
    return partly({
        "parent_id": info.parent_id,
        "message": info.message,
        "flushed_at": (info.written_at - EPOCH) // datetime.timedelta(microseconds=1),
        "metadata": dict(info.metadata),
        "nodes": nodes(store),
    })


def nodes(store):
    found = {}
    present = keys(store)
    for key in present:
        if key == "zarr.json" or key.endswith("/zarr.json"):
            document = read(store, key)
            metadata = json.loads(document)
            path = "/" + key.removesuffix("zarr.json").removesuffix("/")
            kind = metadata["node_type"]
            node = {"type": kind, "zarr_json": metadata, "zarr_json_sha256": sha256(document)}
            if kind == "array":
                node["chunks"] = {}
            found[path] = partly(node)
    for key in present:
        path, relative = split_chunk_key(key, found)
        if path is not None:
            value = read(store, key)
            index = [int(part) for part in relative.split("/")[1:]]
            kind = str(store.session.chunk_type(path, index)).split(".")[-1].lower()
            chunk = {"kind": kind, "length": len(value), "sha256": sha256(value)}
            found[path]["chunks"][relative] = partly(chunk)
    return found


def split_chunk_key(key, nodes):
    """The array that a chunk key belongs to, and the key relative to it."""
    parts = key.split("/")
    if parts[-1] == "zarr.json":
        return None, None
    at = len(parts) - 1 - parts[::-1].index("c")
    path = "/" + "/".join(parts[:at])
    assert nodes[path]["type"] == "array", f"{key} belongs to no array"
    return path, "/".join(parts[at:])


def assert_agreement(path, branches=("main",), tags=(), deleted_tags=()):
    """Asserts that our side reads in a repository just what the reference reads, chunk by chunk."""
    expected = describe(open(path), branches, tags, deleted_tags, encoded=not is_bucket(path))
    found = dump(path)
    found["deleted_tags"] = sorted(found["deleted_tags"])
    assert_same(found, expected)
    return found
