"""Arrays over several manifests: what one side has split, the other reads, and writes on."""

import json

import icechunk
import numpy as np
import zarr

import archives
import contents
import reference
from lib import SPEC, Skip, case, commit, dump, icefield, session, set_bytes, set_json, sha256, write
from taking_turns import array_metadata, group

# Chunks of 400 bytes that do not compress, 40 in a step: 100 steps are more than 1 MiB of references.
CHUNK = 400
COLUMNS = 40
STEPS = 100
ROUNDS = 3
# Steps in a cell, by the rule of the case that has one.
CELL = 30


def noise(steps):
    return contents.noise(steps, COLUMNS * CHUNK)


def metadata(steps):
    return set_json("a/zarr.json", array_metadata([steps, COLUMNS * CHUNK], [1, CHUNK]))


def column(number):
    return slice(number * CHUNK, (number + 1) * CHUNK)


def chunk(values, step, number):
    return set_bytes(f"a/c/{step}/{number}", values[step, column(number)].tobytes())


def write_all(path, values):
    every = [chunk(values, step, number) for step in range(len(values)) for number in range(COLUMNS)]
    write(path, [session(), set_json("zarr.json", group("us", 0)), metadata(len(values)), *every, commit("all by us")])


def append_theirs(path, values):
    """They append the last step."""
    add_last_step(reference.open(path), values)


def add_last_step(repository, values):
    theirs = repository.writable_session("main")
    array = zarr.open_array(theirs.store, path="a", mode="r+")
    array.resize(values.shape)
    array[-1:] = values[-1:]
    theirs.commit("a step by them")


def boxes(path):
    """The boxes of the manifests of `/a` on `main`, from the file itself."""
    tip = json.loads(icefield("log", path, "-n", "1", "--json"))["snapshots"][0]["id"]
    nodes = json.loads(icefield("inspect", path, "snapshot", tip, "--json"))["nodes"]
    [manifests] = [node["manifests"] for node in nodes if node["path"] == "/a"]
    return sorted(manifest["extents"] for manifest in manifests)


def assert_both_read(path, values):
    """Every reference leads either side to the bytes that were written."""
    store = reference.open(path).readonly_session("main").store
    np.testing.assert_array_equal(zarr.open_array(store, path="a", mode="r")[...], values)
    found = dump(path)
    chunks = found["snapshots"][found["branches"]["main"]]["nodes"]["/a"]["chunks"]
    expected = {f"c/{step}/{number}": sha256(values[step, column(number)].tobytes())
                for step in range(len(values)) for number in range(COLUMNS)}
    assert {key: chunk["sha256"] for key, chunk in chunks.items()} == expected


def take_turns(path, check):
    """They append a step, we change a chunk; `check(boxes, steps, ours)` looks at what each commit made."""
    values = noise(STEPS)
    write_all(path, values)
    check(boxes(path), STEPS, True)
    assert_both_read(path, values)
    for number in range(ROUNDS):
        values = np.concatenate([values, noise(1)])
        append_theirs(path, values)
        check(boxes(path), len(values), False)
        assert_both_read(path, values)
        values[10 * number, column(number)] = noise(1)[0, :CHUNK]
        write(path, [session(), chunk(values, 10 * number, number), commit("a chunk by us")])
        check(boxes(path), len(values), True)
        assert_both_read(path, values)


@case
def by_size_and_in_one_in_turns(work):
    """No rule is stored: they write one manifest for each array, and we split it again."""
    write(work / "repo", [{"op": "create"}])

    def check(found, steps, ours):
        if ours:
            assert len(found) > 1, found
            ends = [rows[1] for rows, _ in found]
            assert [rows[0] for rows, _ in found] == [0, *ends[:-1]] and ends[-1] == steps, found
        else:
            assert found == [[[0, steps], [0, COLUMNS]]], found

    take_turns(work / "repo", check)


@case
def by_a_stored_rule_in_turns(work):
    """The rule is theirs, in the stored configuration: both make the same cells."""
    axis = icechunk.ManifestSplitDimCondition.Axis(0)
    splitting = icechunk.ManifestSplittingConfig.from_dict({icechunk.ManifestSplitCondition.AnyArray(): {axis: CELL}})
    config = icechunk.RepositoryConfig(manifest=icechunk.ManifestConfig(splitting=splitting))
    reference.create(work / "repo")
    reference.open(work / "repo", config=config).save_config()

    def check(found, steps, ours):
        edges = [*range(0, steps, CELL), steps]
        assert found == [[[start, end], [0, COLUMNS]] for start, end in zip(edges, edges[1:])], (ours, found)

    take_turns(work / "repo", check)


@case
def virtual_references(work):
    """So many references into one file, in any order, that we split them; they read every one."""
    rows, columns, length = 900, 100, 8
    folder = work / "archive"
    folder.mkdir()
    values = contents.noise(rows * columns, length)
    order = np.random.default_rng(5).permutation(len(values))
    (folder / "data.bin").write_bytes(values.tobytes())
    refs = {".zgroup": json.dumps({"zarr_format": 2}), "a/.zarray": json.dumps({
        "zarr_format": 2, "shape": [rows, columns * length], "chunks": [1, length], "dtype": "|u1",
        "compressor": None, "fill_value": 0, "order": "C", "filters": None})}
    for at, place in enumerate(order):
        refs[f"a/{at // columns}.{at % columns}"] = ["data.bin", int(place) * length, length]
    (folder / "refs.json").write_text(json.dumps({"version": 1, "refs": refs}))
    expected = values[order].reshape(rows, columns * length).copy()

    path = work / "repo"
    icefield("init", path)
    icefield("import", folder / "refs.json", path, "--virtual")
    assert len(boxes(path)) > 1, boxes(path)
    # All of it, further down: ninety thousand reads take their time.
    np.testing.assert_array_equal(archives.opened(path, folder)["a"][::25], expected[::25])

    expected = np.concatenate([expected, np.full((1, columns * length), 7, "u1")])
    access = icechunk.containers_credentials({f"file://{folder}/": None})
    add_last_step(icechunk.Repository.open(reference.storage(path), authorize_virtual_chunk_access=access), expected)
    assert boxes(path) == [[[0, rows + 1], [0, columns]]], boxes(path)
    expected[3, :length] = contents.noise(length)
    changed = set_bytes("a/c/3/0", expected[3, :length].tobytes())
    write(path, [session(), changed, commit("a chunk by us")])
    assert len(boxes(path)) > 1, boxes(path)
    np.testing.assert_array_equal(archives.opened(path, folder)["a"][...], expected)
    found = json.loads(icefield("info", path, "-l", "--json"))["chunks"]
    assert found["virtual"]["count"] == rows * columns - 1, found
    assert found["inline"]["count"] == 1 + columns, found


@case
def locations_compressed_with_a_dictionary(work):
    """Where the configuration asks for it, we compress the locations of virtual chunks; they read every one, and go on."""
    if SPEC == 1:
        raise Skip("manifests of version 1 have no dictionaries")
    count, length = 2000, 8
    archive = work / "archive"
    folder = archive / "model-run-7"
    folder.mkdir(parents=True)
    values = contents.noise(count, length)
    refs = {".zgroup": json.dumps({"zarr_format": 2}), "a/.zarray": json.dumps({
        "zarr_format": 2, "shape": [count * length], "chunks": [length], "dtype": "|u1",
        "compressor": None, "fill_value": 0, "order": "C", "filters": None})}
    for at, value in enumerate(values):
        name = f"output-of-step-{at:05}.bin"
        (folder / name).write_bytes(value.tobytes())
        refs[f"a/{at}"] = [f"model-run-7/{name}", 0, length]
    (archive / "refs.json").write_text(json.dumps({"version": 1, "refs": refs}))

    bodies = {}
    for least in (1000, 3000):
        path = work / f"repo-{least}"
        compression = icechunk.ManifestVirtualChunkLocationCompressionConfig(least)
        manifest = icechunk.ManifestConfig(virtual_chunk_location_compression=compression)
        reference.create(path, config=icechunk.RepositoryConfig(manifest=manifest))
        icefield("import", archive / "refs.json", path, "--virtual")
        [name] = [it.name for it in (path / "manifests").iterdir()]
        found = reference.open(path).inspect_manifest(name)
        assert found["compression"]["num_compressed_refs"] == (count if least == 1000 else 0), found
        bodies[least] = found["size_bytes"]
        np.testing.assert_array_equal(archives.opened(path, folder)["a"][...], values.reshape(-1))
    print(f"     bodies with a dictionary and without: {bodies}")
    assert bodies[1000] < 0.9 * bodies[3000], bodies

    # They change the array, we do, and both read all.
    path, expected = work / "repo-1000", values.copy()
    access = icechunk.containers_credentials({f"file://{folder}/": None})
    repository = icechunk.Repository.open(reference.storage(path), authorize_virtual_chunk_access=access)
    expected[1] = contents.noise(length)
    theirs = repository.writable_session("main")
    reference.put(theirs.store, "a/c/1", expected[1].tobytes())
    theirs.commit("a chunk by them")
    expected[3] = contents.noise(length)
    write(path, [session(), set_bytes("a/c/3", expected[3].tobytes()), commit("a chunk by us")])
    np.testing.assert_array_equal(archives.opened(path, folder)["a"][...], expected.reshape(-1))
    found = json.loads(icefield("info", path, "-l", "--json"))["chunks"]
    assert found["virtual"]["count"] == count - 2, found
    icefield("fsck", path)
