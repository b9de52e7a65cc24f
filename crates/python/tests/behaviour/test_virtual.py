"""Virtual chunks: references into files that stay where they are."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from making import Keys
from places import CONTENT, Place
from under_test import ic, raises
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_reference_reads_the_file(place: Place) -> None:
    place.refer()
    assert place.keys.get("a/c/0") == CONTENT[10:20]


def test_a_reference_is_a_chunk(place: Place) -> None:
    place.refer()
    assert place.keys.has("a/c/0")
    assert place.keys.size("a/c/0") == 10
    assert place.keys.children("a/c") == ["0"]
    assert place.session.chunk_type("/a", [0]) == ic.ChunkType.virtual


def test_a_committed_reference(place: Place) -> None:
    place.refer()
    place.session.commit("virtual")
    session = place.repo.readonly_session("main")
    assert Keys(session.store).get("a/c/0") == CONTENT[10:20]
    assert session.chunk_type("/a", [0]) == ic.ChunkType.virtual


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        (RangeByteRequest(2, 5), slice(12, 15)),
        (OffsetByteRequest(7), slice(17, 20)),
        (SuffixByteRequest(2), slice(18, 20)),
    ],
)
def test_parts_of_a_reference(place: Place, wanted: Any, part: slice) -> None:
    place.refer()
    assert place.keys.get("a/c/0", wanted) == CONTENT[part]


def test_a_part_beyond_a_reference(place: Place) -> None:
    place.refer()
    with raises("InvalidInputError", "invalid-byte-range"):
        place.keys.get("a/c/0", RangeByteRequest(2, 50))


def test_a_chunk_replaces_a_reference(place: Place) -> None:
    place.refer()
    place.keys.put("a/c/0", b"mine")
    assert place.keys.get("a/c/0") == b"mine"
    assert place.session.all_virtual_chunk_locations() == []


def test_a_reference_replaces_a_chunk(place: Place) -> None:
    place.keys.put("a/c/0", b"mine")
    place.refer()
    assert place.keys.get("a/c/0") == CONTENT[10:20]


def test_a_reference_is_deleted(place: Place) -> None:
    place.refer()
    place.keys.delete("a/c/0")
    assert place.keys.get("a/c/0") is None


def test_locations(place: Place) -> None:
    place.refer()
    place.refer("a/c/1", offset=0)
    found = place.session.all_virtual_chunk_locations()
    assert set(found) == {place.location}


def test_committed_locations(place: Place) -> None:
    place.refer()
    place.session.commit("virtual")
    found = place.repo.readonly_session("main").all_virtual_chunk_locations()
    assert found == [place.location]


def test_references_show_in_the_status(place: Place) -> None:
    place.refer()
    assert place.session.status().updated_chunks == {"/a": [[0]]}


@pytest.mark.parametrize("location", ["file:///elsewhere/x", "s3://bucket/x", "gs://b/x"])
def test_a_location_outside_every_container(place: Place, location: str) -> None:
    with raises("InvalidInputError", "no-container-for-virtual-chunk"):
        place.refer(location=location)
    assert not place.keys.has("a/c/0")


def test_a_location_outside_every_container_may_be_stored(place: Place) -> None:
    place.refer(location="s3://bucket/x", validate_container=False)
    assert place.keys.has("a/c/0")
    with raises("InvalidInputError", "no-container-for-virtual-chunk"):
        place.keys.get("a/c/0")


@pytest.mark.parametrize("location", ["nonsense", "", "/absolute/path", "relative/path"])
def test_a_location_must_be_a_url(place: Place, location: str) -> None:
    with raises("InvalidInputError", "invalid-virtual-ref"):
        place.refer(location=location, validate_container=False)


@pytest.mark.parametrize("more", [{"offset": -1}, {"length": -1}, {"offset": 2**64}])
def test_numbers_that_do_not_fit(place: Place, more: dict[str, Any]) -> None:
    with pytest.raises((OverflowError, ValueError)):
        place.refer(**more)


def test_an_empty_reference(place: Place) -> None:
    with raises("InvalidInputError", "zero-length-chunk"):
        place.refer(length=0)


def test_a_reference_that_ends_past_all_numbers(place: Place) -> None:
    with raises("InvalidInputError"):
        place.refer(offset=2**64 - 1, length=5)


@pytest.mark.parametrize("key", ["a/c/8", "b/c/2/0"])
def test_a_reference_outside_the_grid(place: Place, key: str) -> None:
    with raises("InvalidInputError", "invalid-chunk-index"):
        place.refer(key)


@pytest.mark.parametrize("key", ["a/c/0/0", "a/c", "b/c/0"])
def test_a_reference_with_a_wrong_number_of_coordinates(place: Place, key: str) -> None:
    with raises("InvalidInputError"):
        place.refer(key)


def test_a_reference_for_what_is_no_key(place: Place) -> None:
    with raises("InvalidInputError", "invalid-key"):
        place.refer("foo")


def test_a_reference_for_metadata(place: Place) -> None:
    with raises("SessionStateError", "not-allowed"):
        place.refer("zarr.json")


def test_a_reference_without_an_array(place: Place) -> None:
    with raises("NodeNotFoundError", "node-not-found"):
        place.refer("missing/c/0")


def test_offset_and_length_are_given_by_name(place: Place) -> None:
    with pytest.raises(TypeError):
        place.store.set_virtual_ref("a/c/0", place.location, 0, 10)


def test_a_reference_past_the_end_of_the_file(place: Place) -> None:
    place.refer(offset=190, length=50)
    with raises("StorageError", "virtual-chunk-fetch"):
        place.keys.get("a/c/0")


def test_a_reference_to_a_missing_file(place: Place) -> None:
    place.refer(location=f"{place.prefix}missing.bin")
    with raises("StorageError", "virtual-chunk-fetch"):
        place.keys.get("a/c/0")


def test_a_file_changed_after_its_checksum(place: Place) -> None:
    place.refer(checksum=datetime(2000, 1, 1, tzinfo=UTC))
    with raises("StorageError", "virtual-chunk-modified"):
        place.keys.get("a/c/0")


def test_a_file_not_changed_after_its_checksum(place: Place) -> None:
    place.refer(checksum=datetime(2090, 1, 1, tzinfo=UTC))
    assert place.keys.get("a/c/0") == CONTENT[10:20]


def test_a_wrong_etag(place: Place) -> None:
    place.refer(checksum="wrong")
    with raises("StorageError", "virtual-chunk-modified"):
        place.keys.get("a/c/0")


@pytest.mark.parametrize("odd", [5, b"x", datetime(2090, 1, 1)])
def test_a_checksum_of_another_type(place: Place, odd: Any) -> None:
    with pytest.raises(TypeError):
        place.refer(checksum=odd)


def test_a_file_without_checksum_may_change(place: Place) -> None:
    place.refer()
    (place.directory / "f.bin").write_bytes(b"z" * 200)
    assert place.keys.get("a/c/0") == b"z" * 10


def test_without_a_grant_nothing_is_read(tmp_path: Path) -> None:
    place = Place(tmp_path, granted=False)
    place.refer()
    assert place.repo.authorized_virtual_container_prefixes == set()
    with raises("InvalidInputError", "unauthorized-virtual-chunk-container"):
        place.keys.get("a/c/0")


def test_a_grant_on_reopening(tmp_path: Path) -> None:
    place = Place(tmp_path, granted=False)
    place.refer()
    place.session.commit("virtual")
    repo = place.repo.reopen(authorize_virtual_chunk_access=place.access)
    assert repo.authorized_virtual_container_prefixes == {place.prefix}
    assert Keys(repo.readonly_session("main").store).get("a/c/0") == CONTENT[10:20]


def test_reopening_keeps_grants(place: Place) -> None:
    place.refer()
    place.session.commit("virtual")
    repo = place.repo.reopen()
    assert Keys(repo.readonly_session("main").store).get("a/c/0") == CONTENT[10:20]


def test_grants_are_not_stored(place: Place) -> None:
    place.refer()
    place.session.commit("virtual")
    place.repo.save_config()
    keys = Keys(ic.Repository.open(place.storage).readonly_session("main").store)
    with raises("InvalidInputError", "unauthorized-virtual-chunk-container"):
        keys.get("a/c/0")


def test_containers_are_stored(place: Place) -> None:
    place.repo.save_config()
    config = ic.Repository.open(place.storage).config
    assert set(config.virtual_chunk_containers) == {place.prefix}
    assert config.get_virtual_chunk_container(place.prefix).url_prefix == place.prefix
    assert config.get_virtual_chunk_container("file:///other/") is None


@pytest.mark.parametrize("odd", [5, "x"])
def test_a_grant_must_be_one(place: Place, odd: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        ic.Repository.open(place.storage, authorize_virtual_chunk_access={place.prefix: odd})


def test_a_named_container(tmp_path: Path) -> None:
    place = Place(tmp_path, name="mine")
    place.refer(location="vcc://mine/f.bin")
    assert place.keys.get("a/c/0") == CONTENT[10:20]
    assert place.session.all_virtual_chunk_locations() == [place.location]


def test_a_named_container_that_moved(tmp_path: Path) -> None:
    """A reference stores the name of its container, not the place of it."""
    place = Place(tmp_path, name="mine")
    place.refer(location="vcc://mine/f.bin")
    place.session.commit("by name")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "f.bin").write_bytes(bytes(reversed(CONTENT)))
    prefix = f"file://{elsewhere}/"
    config = place.repo.config
    config.clear_virtual_chunk_containers()
    store = ic.local_filesystem_store(str(elsewhere))
    config.set_virtual_chunk_container(ic.VirtualChunkContainer(prefix, store, name="mine"))
    config.set_virtual_chunk_container(
        ic.VirtualChunkContainer(place.prefix, ic.local_filesystem_store(str(place.directory)))
    )
    files = ic.Credentials.LocalFileSystemAccess()
    moved = place.repo.reopen(
        config, authorize_virtual_chunk_access={prefix: files, place.prefix: files}
    )
    session = moved.readonly_session("main")
    assert session.all_virtual_chunk_locations() == [f"{prefix}f.bin"]
    assert Keys(session.store).get("a/c/0") == bytes(reversed(CONTENT))[10:20]


def test_an_unknown_named_container(tmp_path: Path) -> None:
    place = Place(tmp_path, name="mine")
    with raises("InvalidInputError", "no-container-for-virtual-chunk"):
        place.refer(location="vcc://other/f.bin")


def test_rows_of_chunks(place: Place) -> None:
    from under_test import collect

    place.refer("a/c/1")
    place.keys.put("a/c/0", b"inline")
    place.keys.put("a/c/3", b"n" * 600)
    place.session.commit("kinds")
    store = place.repo.readonly_session("main").store
    rows: dict[int, tuple[Any, ...]] = {}
    for coords, kinds, paths, offsets, lengths, inlined in collect(
        lambda: store.array_chunk_iterator("a")
    ):
        for i, coord in enumerate(coords):
            rows[int(coord[0])] = (
                int(kinds[i]), paths[i], int(offsets[i]), int(lengths[i]), inlined.get(i)
            )  # fmt: skip
    assert rows[0] == (3, "", 0, 6, b"inline")
    assert rows[1] == (2, place.location, 10, 10, None)
    assert (rows[3][0], rows[3][2], rows[3][3], rows[3][4]) == (1, 0, 600, None)
    assert len(rows[3][1]) == 20
    assert set(rows) == {0, 1, 3}


def test_sizes_of_what_is_virtual(place: Place) -> None:
    place.refer()
    place.refer("a/c/1")
    made = place.session.commit("virtual")
    stats = place.repo.chunk_storage_stats()
    assert (stats.native_bytes, stats.virtual_bytes, stats.inlined_bytes) == (0, 10, 0)
    manifest = place.repo.list_manifest_files(made)[0]
    assert place.repo.inspect_manifest(manifest.id)["total_virtual"] == 2
