"""Parts of values: ranges, offsets and suffixes, one or many at once."""

from __future__ import annotations

from typing import Any

import pytest
from making import PROTOTYPE, Keys, array_document, group_document
from under_test import raises, run
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest

CHUNK = bytes(range(100))
LARGE = bytes(i % 256 for i in range(5000))


@pytest.fixture(params=["inline", "stored"])
def chunk(request: pytest.FixtureRequest, keys: Keys) -> tuple[Keys, bytes]:
    data = CHUNK if request.param == "inline" else LARGE
    keys.put("a/zarr.json", array_document((2 * len(data),), (len(data),)))
    keys.put("a/c/0", data)
    return keys, data


@pytest.fixture
def document(keys: Keys) -> tuple[Keys, bytes]:
    data = group_document({"some": "attribute"})
    keys.put("zarr.json", data)
    return keys, data


@pytest.mark.parametrize(("start", "end"), [(0, 1), (0, 10), (5, 20), (99, 100), (0, 100)])
def test_a_range_of_a_chunk(chunk: tuple[Keys, bytes], start: int, end: int) -> None:
    keys, data = chunk
    assert keys.get("a/c/0", RangeByteRequest(start, end)) == data[start:end]


@pytest.mark.parametrize("start", [0, 1, 50, 99])
def test_an_offset_into_a_chunk(chunk: tuple[Keys, bytes], start: int) -> None:
    keys, data = chunk
    assert keys.get("a/c/0", OffsetByteRequest(start)) == data[start:]


@pytest.mark.parametrize("length", [1, 7, 100])
def test_a_suffix_of_a_chunk(chunk: tuple[Keys, bytes], length: int) -> None:
    keys, data = chunk
    assert keys.get("a/c/0", SuffixByteRequest(length)) == data[-length:]


@pytest.mark.parametrize(("start", "end"), [(0, 0), (3, 3)])
def test_an_empty_range_of_a_chunk(chunk: tuple[Keys, bytes], start: int, end: int) -> None:
    keys, _ = chunk
    assert keys.get("a/c/0", RangeByteRequest(start, end)) == b""


def test_an_empty_suffix_of_a_chunk(chunk: tuple[Keys, bytes]) -> None:
    keys, _ = chunk
    assert keys.get("a/c/0", SuffixByteRequest(0)) == b""


@pytest.mark.parametrize("beyond", [1, 1000])
def test_a_range_past_the_end_of_a_chunk_is_an_error(
    chunk: tuple[Keys, bytes], beyond: int
) -> None:
    keys, data = chunk
    with raises("InvalidInputError", "invalid-byte-range"):
        keys.get("a/c/0", RangeByteRequest(1, len(data) + beyond))


@pytest.mark.parametrize("beyond", [0, 1, 1000])
def test_an_offset_past_the_end_of_a_chunk_is_an_error(
    chunk: tuple[Keys, bytes], beyond: int
) -> None:
    keys, data = chunk
    with raises("InvalidInputError", "invalid-byte-range"):
        keys.get("a/c/0", OffsetByteRequest(len(data) + beyond))


def test_a_suffix_longer_than_a_chunk_is_an_error(chunk: tuple[Keys, bytes]) -> None:
    keys, data = chunk
    with raises("InvalidInputError", "invalid-byte-range"):
        keys.get("a/c/0", SuffixByteRequest(len(data) + 1))


def test_a_range_that_ends_before_it_starts_is_an_error(chunk: tuple[Keys, bytes]) -> None:
    keys, _ = chunk
    with raises("InvalidInputError", "invalid-byte-range"):
        keys.get("a/c/0", RangeByteRequest(3, 1))


def test_a_negative_start_is_an_error(chunk: tuple[Keys, bytes]) -> None:
    keys, _ = chunk
    with pytest.raises((OverflowError, ValueError)):
        keys.get("a/c/0", RangeByteRequest(-1, 2))


@pytest.mark.parametrize("odd", ["nonsense", (0, 1), 5])
def test_what_is_no_byte_request_is_a_value_error(chunk: tuple[Keys, bytes], odd: Any) -> None:
    keys, _ = chunk
    with pytest.raises(ValueError, match="byte_range"):
        keys.get("a/c/0", odd)


@pytest.mark.parametrize(
    "wanted", [RangeByteRequest(0, 1), OffsetByteRequest(1), SuffixByteRequest(1)]
)
def test_a_part_of_a_missing_chunk_is_nothing(chunk: tuple[Keys, bytes], wanted: Any) -> None:
    keys, _ = chunk
    assert keys.get("a/c/1", wanted) is None


@pytest.mark.parametrize(("start", "end"), [(0, 4), (2, 6), (0, 1)])
def test_a_range_of_a_document(document: tuple[Keys, bytes], start: int, end: int) -> None:
    keys, data = document
    assert keys.get("zarr.json", RangeByteRequest(start, end)) == data[start:end]


def test_an_offset_into_a_document(document: tuple[Keys, bytes]) -> None:
    keys, data = document
    assert keys.get("zarr.json", OffsetByteRequest(4)) == data[4:]


@pytest.mark.parametrize("length", [1, 4, 20])
def test_a_suffix_of_a_document(document: tuple[Keys, bytes], length: int) -> None:
    keys, data = document
    assert keys.get("zarr.json", SuffixByteRequest(length)) == data[-length:]


@pytest.mark.parametrize(
    "wanted", [RangeByteRequest(0, 4000), OffsetByteRequest(4000), SuffixByteRequest(4000)]
)
def test_a_part_beyond_a_document_is_an_error(document: tuple[Keys, bytes], wanted: Any) -> None:
    keys, _ = document
    with raises("InvalidInputError", "invalid-byte-range"):
        keys.get("zarr.json", wanted)


def test_a_part_of_a_missing_document_is_nothing(keys: Keys) -> None:
    assert keys.get("zarr.json", RangeByteRequest(0, 1)) is None


def test_many_parts_keep_their_order(chunk: tuple[Keys, bytes]) -> None:
    keys, data = chunk
    wanted = [
        ("a/c/0", RangeByteRequest(5, 9)),
        ("a/c/0", None),
        ("a/c/0", SuffixByteRequest(3)),
        ("a/c/0", OffsetByteRequest(90)),
        ("a/zarr.json", RangeByteRequest(0, 2)),
    ]
    assert keys.parts(wanted) == [data[5:9], data, data[-3:], data[90:], b'{"']


def test_the_same_part_may_be_asked_for_often(chunk: tuple[Keys, bytes]) -> None:
    keys, data = chunk
    assert keys.parts([("a/c/0", RangeByteRequest(1, 3))] * 50) == [data[1:3]] * 50


def test_no_parts(chunk: tuple[Keys, bytes]) -> None:
    keys, _ = chunk
    assert keys.parts([]) == []


def test_a_missing_part_is_nothing(chunk: tuple[Keys, bytes]) -> None:
    keys, data = chunk
    assert keys.parts([("a/c/0", None), ("a/c/1", None)]) == [data, None]


def test_a_missing_document_among_parts_is_nothing(chunk: tuple[Keys, bytes]) -> None:
    keys, data = chunk
    assert keys.parts([("missing/zarr.json", None), ("a/c/0", None)]) == [None, data]


def test_parts_come_from_an_iterator(chunk: tuple[Keys, bytes]) -> None:
    keys, data = chunk
    found = run(keys.store.get_partial_values(PROTOTYPE, iter([("a/c/0", None)])))
    assert [bytes(part.to_bytes()) for part in found] == [data]


def test_ranges_after_a_commit(session: Any, repo: Any) -> None:
    keys = Keys(session.store)
    keys.put("zarr.json", group_document())
    keys.put("a/zarr.json", array_document((5000,), (5000,)))
    keys.put("a/c/0", LARGE)
    session.commit("ranges")
    fresh = Keys(repo.readonly_session("main").store)
    assert fresh.get("a/c/0", RangeByteRequest(100, 300)) == LARGE[100:300]
    assert fresh.get("a/c/0", SuffixByteRequest(9)) == LARGE[-9:]


def test_the_buffer_is_of_the_prototype(chunk: tuple[Keys, bytes]) -> None:
    keys, data = chunk
    found = run(keys.store.get("a/c/0", PROTOTYPE))
    assert isinstance(found, PROTOTYPE.buffer)
    assert len(found) == len(data)


def test_what_was_read_is_not_changed_by_writing(chunk: tuple[Keys, bytes]) -> None:
    keys, data = chunk
    found = run(keys.store.get("a/c/0", PROTOTYPE))
    keys.put("a/c/0", bytes(len(data)))
    assert bytes(found.to_bytes()) == data


def test_what_was_written_is_not_changed_by_its_writer(keys: Keys) -> None:
    import numpy as np

    keys.put("a/zarr.json", array_document((2000,), (1000,)))
    for index, length in enumerate([100, 1000]):
        mine = np.ones(length, dtype="uint8")
        run(keys.store.set(f"a/c/{index}", PROTOTYPE.buffer.from_array_like(mine)))
        mine[:] = 7
        assert keys.get(f"a/c/{index}") == b"\x01" * length
