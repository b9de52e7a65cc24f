"""Which keys the store knows, what it answers for the others, and what it accepts."""

from __future__ import annotations

import pytest
from making import Keys, array_document, group_document, small_array
from under_test import raises

NOT_KEYS = ["foo", "", "a/foo", "a/0", "c", "zarr.jsonx", "a/zarr.json.bak", "a/c.0", "a/c/x"]
BAD_COORDINATES = ["a/c/-1", "a/c/1.5", "a/c/", "a/c/1/", "a/c/99999999999999", "a/c/ 1", "a/c//1"]
OLD_KEYS = [".zgroup", ".zarray", ".zattrs", ".zmetadata", "a/.zarray", "a/.zattrs", "g/.zgroup"]


@pytest.fixture
def filled(keys: Keys) -> Keys:
    for key, data in small_array().items():
        keys.put(key, data)
    keys.put("g/zarr.json", group_document())
    keys.put("g/abc/zarr.json", array_document((4, 4), (2, 2)))
    keys.put("scalar/zarr.json", array_document((), ()))
    keys.put("zero/zarr.json", array_document((0,), (1,)))
    keys.put("a/c/0", b"x")
    return keys


@pytest.mark.parametrize("key", NOT_KEYS[:4] + NOT_KEYS[5:])
def test_get_of_what_is_no_key_is_an_error(filled: Keys, key: str) -> None:
    with raises("InvalidInputError", "invalid-key"):
        filled.get(key)


@pytest.mark.parametrize("key", NOT_KEYS[:4] + NOT_KEYS[5:])
def test_exists_of_what_is_no_key_is_an_error(filled: Keys, key: str) -> None:
    with raises("InvalidInputError", "invalid-key"):
        filled.has(key)


@pytest.mark.parametrize("key", NOT_KEYS[:4] + NOT_KEYS[5:])
def test_set_of_what_is_no_key_is_an_error(filled: Keys, key: str) -> None:
    with raises("InvalidInputError", "invalid-key"):
        filled.put(key, b"x")


@pytest.mark.parametrize("key", NOT_KEYS[:4] + NOT_KEYS[5:])
def test_delete_of_what_is_no_key_is_an_error(filled: Keys, key: str) -> None:
    with raises("InvalidInputError", "invalid-key"):
        filled.delete(key)


@pytest.mark.parametrize("key", ["foo", "a/foo", "a/0"])
def test_size_of_what_is_no_key_is_an_error(filled: Keys, key: str) -> None:
    with raises("InvalidInputError", "invalid-key"):
        filled.size(key)


def test_an_invalid_key_is_also_a_value_error(filled: Keys) -> None:
    with pytest.raises(ValueError):
        filled.get("foo")


def test_the_error_names_the_key(filled: Keys) -> None:
    with raises("InvalidInputError", "invalid-key", match="some/odd key"):
        filled.get("some/odd key")


@pytest.mark.parametrize("key", BAD_COORDINATES)
def test_set_with_coordinates_that_are_no_numbers_is_an_error(filled: Keys, key: str) -> None:
    with raises("InvalidInputError", "invalid-key"):
        filled.put(key, b"x")


@pytest.mark.parametrize("key", BAD_COORDINATES)
def test_get_with_coordinates_that_are_no_numbers_is_an_error(filled: Keys, key: str) -> None:
    with raises("InvalidInputError", "invalid-key"):
        filled.get(key)


@pytest.mark.parametrize("key", OLD_KEYS)
def test_get_of_zarr_2_metadata_finds_nothing(filled: Keys, key: str) -> None:
    assert filled.get(key) is None


@pytest.mark.parametrize("key", OLD_KEYS)
def test_exists_of_zarr_2_metadata_is_false(filled: Keys, key: str) -> None:
    assert not filled.has(key)


@pytest.mark.parametrize("key", OLD_KEYS)
def test_set_of_zarr_2_metadata_is_refused(filled: Keys, key: str) -> None:
    with raises("SessionStateError", "unimplemented"):
        filled.put(key, b"{}")


@pytest.mark.parametrize("key", OLD_KEYS)
def test_delete_of_zarr_2_metadata_does_nothing(filled: Keys, key: str) -> None:
    before = filled.all()
    filled.delete(key)
    assert filled.all() == before


def test_size_of_zarr_2_metadata_is_not_found(filled: Keys) -> None:
    with raises("NodeNotFoundError", "key-not-found"):
        filled.size(".zgroup")


@pytest.mark.parametrize("index", [4, 5, 4294967295])
def test_set_outside_the_grid_is_an_error(filled: Keys, index: int) -> None:
    with raises("InvalidInputError", "invalid-chunk-index"):
        filled.put(f"a/c/{index}", b"x")


@pytest.mark.parametrize("key", ["g/abc/c/2/0", "g/abc/c/0/2", "g/abc/c/2/2"])
def test_set_outside_a_grid_of_two_dimensions_is_an_error(filled: Keys, key: str) -> None:
    with raises("InvalidInputError", "invalid-chunk-index"):
        filled.put(key, b"abcd")


@pytest.mark.parametrize("key", ["g/abc/c/2/0", "a/c/4", "zero/c/0"])
def test_get_outside_the_grid_finds_nothing(filled: Keys, key: str) -> None:
    assert filled.get(key) is None
    assert not filled.has(key)


@pytest.mark.parametrize("key", ["a/c/0/0", "a/c", "g/abc/c/0", "g/abc/c/0/0/0", "g/abc/c"])
def test_set_with_a_wrong_number_of_coordinates_is_an_error(filled: Keys, key: str) -> None:
    with raises("InvalidInputError"):
        filled.put(key, b"abcd")


def test_set_of_an_index_of_a_scalar_is_an_error(filled: Keys) -> None:
    with raises("InvalidInputError"):
        filled.put("scalar/c/0", b"s")


def test_set_in_an_array_without_elements_is_an_error(filled: Keys) -> None:
    with raises("InvalidInputError", "invalid-chunk-index"):
        filled.put("zero/c/0", b"s")


def test_the_chunk_of_a_scalar_has_no_coordinates(filled: Keys) -> None:
    filled.put("scalar/c", b"s")
    assert filled.get("scalar/c") == b"s"
    assert filled.below("scalar") == ["scalar/c", "scalar/zarr.json"]


def test_set_of_an_empty_chunk_is_refused(filled: Keys) -> None:
    with raises("InvalidInputError", "zero-length-chunk"):
        filled.put("a/c/3", b"")
    assert filled.get("a/c/3") is None


@pytest.mark.parametrize("key", ["missing/c/0", "g/missing/c/0/0", "missing/c"])
def test_set_of_a_chunk_without_array_is_not_found(filled: Keys, key: str) -> None:
    with raises("NodeNotFoundError", "node-not-found"):
        filled.put(key, b"x")


def test_set_of_a_chunk_of_a_group_is_an_error(filled: Keys) -> None:
    with raises("InvalidInputError", "not-an-array"):
        filled.put("g/c/0", b"x")


def test_get_of_a_chunk_of_a_group_is_an_error(filled: Keys) -> None:
    with raises("InvalidInputError", "not-an-array"):
        filled.get("g/c/0")


@pytest.mark.parametrize("key", ["missing/c/0", "missing/zarr.json", "a/c/2", "a/b/zarr.json"])
def test_get_of_what_is_not_there_finds_nothing(filled: Keys, key: str) -> None:
    assert filled.get(key) is None


@pytest.mark.parametrize("key", ["missing/c/0", "missing/zarr.json", "a/c/2", "a/c/9"])
def test_exists_of_what_is_not_there_is_false(filled: Keys, key: str) -> None:
    assert not filled.has(key)


@pytest.mark.parametrize("key", ["zarr.json", "a/zarr.json", "g/abc/zarr.json", "a/c/0"])
def test_exists_of_what_is_there(filled: Keys, key: str) -> None:
    assert filled.has(key)


@pytest.mark.parametrize("key", ["abc/0/0", "g/abc/0/0"])
def test_a_name_that_ends_in_c_is_not_split(filled: Keys, key: str) -> None:
    filled.put("ab/zarr.json", array_document((4, 4), (2, 2)))
    filled.put("g/ab/zarr.json", array_document((4, 4), (2, 2)))
    with raises("InvalidInputError", "invalid-key"):
        filled.put(key, b"abcd")


def test_an_array_may_be_named_c(filled: Keys) -> None:
    filled.put("g/c/zarr.json", array_document())
    filled.put("g/c/c/1", b"x")
    assert filled.get("g/c/c/1") == b"x"
    assert filled.below("g/c") == ["g/c/c/1", "g/c/zarr.json"]


def test_a_leading_slash_is_ignored_by_get(filled: Keys) -> None:
    assert filled.get("/a/zarr.json") == filled.get("a/zarr.json")
    assert filled.get("/a/c/0") == b"x"


def test_names_beyond_ascii(filled: Keys) -> None:
    filled.put("größe/zarr.json", array_document())
    filled.put("größe/c/0", b"x")
    assert filled.get("größe/c/0") == b"x"
    assert "größe" in filled.children("")


def test_names_with_spaces_and_dots(filled: Keys) -> None:
    filled.put("air temp. (2 m)/zarr.json", group_document())
    assert filled.has("air temp. (2 m)/zarr.json")
    assert "air temp. (2 m)" in filled.children("")


def test_a_step_up_is_no_way_out(filled: Keys) -> None:
    with raises("InvalidInputError", "invalid-key"):
        filled.get("../zarr.json")


def test_chunks_of_another_key_encoding_are_refused(filled: Keys) -> None:
    encoding = {"name": "v2", "configuration": {"separator": "."}}
    filled.put("old/zarr.json", array_document(chunk_key_encoding=encoding))
    with raises("InvalidInputError", "invalid-key"):
        filled.put("old/0", b"x")


def test_set_replaces(filled: Keys) -> None:
    filled.put("a/c/0", b"y")
    assert filled.get("a/c/0") == b"y"


def test_set_if_not_exists_keeps_a_chunk(filled: Keys) -> None:
    filled.put_new("a/c/0", b"z")
    assert filled.get("a/c/0") == b"x"


def test_set_if_not_exists_writes_a_missing_chunk(filled: Keys) -> None:
    filled.put_new("a/c/1", b"z")
    assert filled.get("a/c/1") == b"z"


def test_set_if_not_exists_keeps_a_document(filled: Keys) -> None:
    filled.put_new("a/zarr.json", array_document((8,)))
    assert filled.document("a/zarr.json")["shape"] == [4]


def test_set_if_not_exists_writes_a_missing_document(filled: Keys) -> None:
    filled.put_new("fresh/zarr.json", array_document((8,)))
    assert filled.document("fresh/zarr.json")["shape"] == [8]


def test_set_if_not_exists_refuses_what_is_no_key(filled: Keys) -> None:
    with raises("InvalidInputError", "invalid-key"):
        filled.put_new("foo", b"z")


def test_large_chunks_come_back(filled: Keys) -> None:
    filled.put("big/zarr.json", array_document((1 << 20,), (1 << 20,)))
    data = bytes(range(256)) * 4096
    filled.put("big/c/0", data)
    assert filled.get("big/c/0") == data
    assert filled.size("big/c/0") == 1 << 20


@pytest.mark.parametrize("length", [1, 511, 512, 513, 1024])
def test_chunks_around_the_inline_threshold_come_back(filled: Keys, length: int) -> None:
    data = bytes(i % 251 for i in range(length))
    filled.put("a/c/3", data)
    assert filled.get("a/c/3") == data
    assert filled.size("a/c/3") == length
