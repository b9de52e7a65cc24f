"""Many virtual chunks at once: from specs, and from columns of numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import CONTENT, Place
from under_test import ic, raises


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def numbers(*values: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    return np.array(values, dtype="uint64")


def test_many_references(place: Place) -> None:
    spec = ic.VirtualChunkSpec
    refs = [spec([index], place.location, index * 10, 10) for index in range(8)]
    assert place.store.set_virtual_refs("a", refs) is None
    assert [place.keys.get(f"a/c/{i}") for i in range(8)] == [
        CONTENT[i * 10 : i * 10 + 10] for i in range(8)
    ]


def test_many_references_to_a_path_with_a_slash(place: Place) -> None:
    refs = [ic.VirtualChunkSpec([5], place.location, 40, 10)]
    assert place.store.set_virtual_refs("/a", refs) is None
    assert place.keys.get("a/c/5") == CONTENT[40:50]


def test_no_references(place: Place) -> None:
    assert place.store.set_virtual_refs("a", []) is None


def test_faulty_references_are_returned(place: Place) -> None:
    refs = [
        ic.VirtualChunkSpec([5], place.location, 20, 10),
        ic.VirtualChunkSpec([6], "s3://nope/x", 20, 10),
    ]
    assert place.store.set_virtual_refs("a", refs) == [(6,)]
    assert place.keys.children("a/c") == ["5"]


def test_faulty_references_may_be_stored(place: Place) -> None:
    refs = [ic.VirtualChunkSpec([6], "s3://nope/x", 20, 10)]
    assert place.store.set_virtual_refs("a", refs, validate_containers=False) is None
    assert place.keys.has("a/c/6")


def test_many_references_outside_the_grid(place: Place) -> None:
    with raises("InvalidInputError", "invalid-chunk-index"):
        place.store.set_virtual_refs("a", [ic.VirtualChunkSpec([99], place.location, 0, 10)])


@pytest.mark.parametrize("index", [[0, 0], []])
def test_many_references_with_a_wrong_number_of_coordinates(place: Place, index: list[int]) -> None:
    with raises("InvalidInputError"):
        place.store.set_virtual_refs("a", [ic.VirtualChunkSpec(index, place.location, 0, 10)])


def test_many_references_without_an_array(place: Place) -> None:
    refs = [ic.VirtualChunkSpec([0], place.location, 0, 10)]
    with raises("NodeNotFoundError", "node-not-found"):
        place.store.set_virtual_refs("missing", refs)


def test_many_references_to_a_group(place: Place) -> None:
    with raises("InvalidInputError", "not-an-array"):
        place.store.set_virtual_refs("", [ic.VirtualChunkSpec([0], place.location, 0, 10)])


@pytest.mark.parametrize("odd", [5, [5], ["x"], None])
def test_references_must_be_references(place: Place, odd: Any) -> None:
    with pytest.raises(TypeError):
        place.store.set_virtual_refs("a", odd)


def test_a_spec_knows_its_fields() -> None:
    at = datetime(2000, 1, 1, tzinfo=UTC)
    spec = ic.VirtualChunkSpec([5, 1], "s3://b/k", 1, 10, "etag", at)
    assert (spec.index, spec.location, spec.offset, spec.length) == ([5, 1], "s3://b/k", 1, 10)
    assert (spec.etag_checksum, spec.last_updated_at_checksum) == ("etag", at)


def test_a_spec_has_no_checksums_by_default() -> None:
    spec = ic.VirtualChunkSpec(index=[5], location="s3://b/k", offset=1, length=10)
    assert (spec.etag_checksum, spec.last_updated_at_checksum) == (None, None)


@pytest.mark.parametrize("arguments", [([5], "s3://b/k", -1, 10), ([-5], "s3://b/k", 1, 10)])
def test_a_spec_has_no_negative_numbers(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((OverflowError, ValueError)):
        ic.VirtualChunkSpec(*arguments)


@pytest.mark.parametrize("arguments", [("x", "s3://b/k", 1, 10), ([5], 7, 1, 10), ([5],)])
def test_a_spec_checks_types(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        ic.VirtualChunkSpec(*arguments)


def test_references_from_arrays(place: Place) -> None:
    locations = [place.location] * 3
    found = place.store.set_virtual_refs_arr(
        "a", (3,), locations, numbers(0, 10, 20), numbers(10, 10, 10)
    )
    assert found is None
    assert place.keys.get("a/c/2") == CONTENT[20:30]


def test_references_from_arrays_are_in_row_order(place: Place) -> None:
    locations = [place.location, "", place.location, place.location]
    offsets, lengths = numbers(0, 10, 20, 30), numbers(4, 4, 4, 4)
    assert place.store.set_virtual_refs_arr("b", (2, 2), locations, offsets, lengths) is None
    assert place.keys.get("b/c/1/0") == CONTENT[20:24]
    assert not place.keys.has("b/c/0/1")


def test_references_from_arrays_with_an_offset(place: Place) -> None:
    place.store.set_virtual_refs_arr(
        "a", (1,), [place.location], numbers(0), numbers(10), arr_offset=(5,)
    )
    assert place.keys.children("a/c") == ["5"]


def test_faulty_references_from_arrays_are_returned(place: Place) -> None:
    locations = [place.location, "s3://x/y"]
    found = place.store.set_virtual_refs_arr("a", (2,), locations, numbers(0, 1), numbers(9, 9))
    assert found == [(1,)]
    assert place.keys.children("a/c") == ["0"]


@pytest.mark.parametrize(
    ("shape", "count", "offsets", "offset"),
    [((2,), 1, 1, None), ((2,), 2, 1, None), ((3,), 2, 2, None), ((2,), 2, 2, (1, 1))],
    ids=["too few", "unequal", "shape", "offset"],
)
def test_arrays_must_fit(
    place: Place, shape: tuple[int, ...], count: int, offsets: int, offset: Any
) -> None:
    with pytest.raises(ValueError):
        place.store.set_virtual_refs_arr(
            "a", shape, [place.location] * count, numbers(*[0] * offsets), numbers(*[5] * count),
            arr_offset=offset,
        )  # fmt: skip


def test_references_from_arrays_outside_the_grid(place: Place) -> None:
    locations = [place.location] * 2
    with raises("InvalidInputError", "invalid-chunk-index"):
        place.store.set_virtual_refs_arr(
            "a", (2,), locations, numbers(0, 1), numbers(5, 5), arr_offset=(7,)
        )


def test_references_from_arrays_with_a_wrong_number_of_dimensions(place: Place) -> None:
    locations = [place.location] * 2
    with raises("InvalidInputError"):
        place.store.set_virtual_refs_arr("a", (2, 1), locations, numbers(0, 1), numbers(5, 5))


def test_references_from_arrays_without_an_array(place: Place) -> None:
    with raises("NodeNotFoundError", "node-not-found"):
        place.store.set_virtual_refs_arr("no", (1,), [place.location], numbers(0), numbers(5))


def test_locations_from_arrays_must_be_text(place: Place) -> None:
    locations: Any = [place.location, 5]
    with pytest.raises(TypeError):
        place.store.set_virtual_refs_arr("a", (2,), locations, numbers(0, 1), numbers(5, 5))
