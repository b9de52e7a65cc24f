"""Moving the chunks of an array: shifting by an offset, reindexing by a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from making import Keys, array_document, commit, create, group_document, keys_of
from under_test import raises

Chunks = list[bytes | None]


@pytest.fixture
def filled(memory: Any) -> Any:
    """A session on an array of four chunks, `1` and `2` in the first two, and one of 3 by 3."""
    repo = create(memory)
    items = {
        "zarr.json": group_document(),
        "a/zarr.json": array_document((4,), (1,)),
        "s/zarr.json": array_document((3, 3), (1, 1)),
        "a/c/0": b"1",
        "a/c/1": b"2",
    }
    for i in range(3):
        for j in range(3):
            items[f"s/c/{i}/{j}"] = bytes([65 + 3 * i + j])
    commit(repo, items)
    return repo.writable_session("main")


def line(session: Any) -> Chunks:
    keys = Keys(session.store)
    return [keys.get(f"a/c/{index}") for index in range(4)]


def square(session: Any) -> list[str]:
    keys = Keys(session.store)
    rows = []
    for i in range(3):
        row = [keys.get(f"s/c/{i}/{j}") for j in range(3)]
        rows.append("".join("." if chunk is None else chunk.decode() for chunk in row))
    return rows


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (0, [b"1", b"2", None, None]),
        (1, [None, b"1", b"2", None]),
        (2, [None, None, b"1", b"2"]),
        (3, [None, None, None, b"1"]),
        (4, [None, None, None, None]),
        (100, [None, None, None, None]),
        (-1, [b"2", None, None, None]),
        (-2, [None, None, None, None]),
        (-100, [None, None, None, None]),
    ],
)
def test_shift(filled: Any, offset: int, expected: Chunks) -> None:
    filled.shift_array("/a", [offset])
    assert line(filled) == expected


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        ((0, 1), [".AB", ".DE", ".GH"]),
        ((1, 0), ["...", "ABC", "DEF"]),
        ((-1, 0), ["DEF", "GHI", "..."]),
        ((1, -1), ["...", "BC.", "EF."]),
        ((-2, -2), ["I..", "...", "..."]),
        ((0, 3), ["...", "...", "..."]),
    ],
)
def test_shift_in_two_dimensions(filled: Any, offset: tuple[int, ...], expected: list[str]) -> None:
    filled.shift_array("/s", offset)
    assert square(filled) == expected


def test_shifts_add_up(filled: Any) -> None:
    filled.shift_array("/a", [2])
    filled.shift_array("/a", [-2])
    assert line(filled) == [b"1", b"2", None, None]


def test_a_shift_is_committed(filled: Any) -> None:
    filled.shift_array("/a", [1])
    filled.commit("shift")
    assert line(filled) == [None, b"1", b"2", None]


def test_a_shift_shows_as_chunks(filled: Any) -> None:
    filled.shift_array("/a", [1])
    assert filled.status().updated_chunks == {"/a": [[0], [1], [2]]}


def test_a_shift_is_discarded(filled: Any) -> None:
    filled.shift_array("/a", [1])
    filled.discard_changes()
    assert line(filled) == [b"1", b"2", None, None]


def test_a_shift_of_uncommitted_chunks(filled: Any) -> None:
    Keys(filled.store).put("a/c/0", b"9")
    filled.shift_array("/a", [1])
    assert line(filled) == [None, b"9", b"2", None]


def test_resizing_and_shifting_prepends(filled: Any) -> None:
    keys = Keys(filled.store)
    keys.put("a/zarr.json", array_document((6,), (1,)))
    filled.shift_array("/a", [2])
    keys.put("a/c/0", b"n")
    filled.commit("prepend")
    assert [keys.get(f"a/c/{i}") for i in range(6)] == [b"n", None, b"1", b"2", None, None]


def test_the_offset_may_be_any_iterable(filled: Any) -> None:
    filled.shift_array("/a", iter([1]))
    assert line(filled) == [None, b"1", b"2", None]


@pytest.mark.parametrize("offset", [[], [1, 1], [0, 0, 0]])
def test_the_offset_has_a_number_per_dimension(filled: Any, offset: list[int]) -> None:
    with raises("InvalidInputError"):
        filled.shift_array("/a", offset)
    assert not filled.has_uncommitted_changes


@pytest.mark.parametrize("offset", [5, ["x"], [None], [1.5], None])
def test_the_offset_is_of_numbers(filled: Any, offset: Any) -> None:
    with pytest.raises(TypeError):
        filled.shift_array("/a", offset)


REINDEX: dict[str, Callable[[Any], Any]] = {
    "shift": lambda session: session.shift_array("/missing", [1]),
    "reindex": lambda session: session.reindex_array("/missing", lambda index: index),
}
REINDEX_GROUP: dict[str, Callable[[Any], Any]] = {
    "shift": lambda session: session.shift_array("/", [1]),
    "reindex": lambda session: session.reindex_array("/", lambda index: index),
}


@pytest.mark.parametrize("what", sorted(REINDEX))
def test_an_array_that_is_missing(filled: Any, what: str) -> None:
    with raises("NodeNotFoundError", "node-not-found"):
        REINDEX[what](filled)


@pytest.mark.parametrize("what", sorted(REINDEX_GROUP))
def test_a_group_has_no_chunks(filled: Any, what: str) -> None:
    with raises("InvalidInputError", "not-an-array"):
        REINDEX_GROUP[what](filled)


def test_reindex_visits_existing_chunks(filled: Any) -> None:
    seen: list[Any] = []
    filled.reindex_array("/a", lambda index: seen.append(tuple(index)))
    assert sorted(seen) == [(0,), (1,)]
    assert not filled.has_uncommitted_changes


def test_reindex_leaves_stale_chunks(filled: Any) -> None:
    filled.reindex_array("/a", lambda index: [index[0] + 2])
    assert line(filled) == [b"1", b"2", b"1", b"2"]


def test_reindex_with_an_inverse_clears(filled: Any) -> None:
    filled.reindex_array(
        "/a", lambda index: [index[0] + 2], lambda index: [index[0] - 2] if index[0] > 1 else None
    )
    assert line(filled) == [None, None, b"1", b"2"]


def test_reindex_reverses(filled: Any) -> None:
    filled.reindex_array("/a", lambda index: (3 - index[0],), lambda index: (3 - index[0],))
    assert line(filled) == [None, None, b"2", b"1"]


def test_reindex_transposes(filled: Any) -> None:
    filled.reindex_array("/s", lambda index: (index[1], index[0]))
    assert square(filled) == ["ADG", "BEH", "CFI"]


def test_reindex_moves_some(filled: Any) -> None:
    filled.reindex_array("/a", lambda index: [3] if index[0] == 1 else None)
    assert line(filled) == [b"1", b"2", None, b"2"]


def test_reindex_is_committed(filled: Any) -> None:
    filled.reindex_array("/a", lambda index: [index[0] + 2])
    filled.commit("reindex")
    assert line(filled) == [b"1", b"2", b"1", b"2"]


@pytest.mark.parametrize("target", [[99], [4]])
def test_reindex_out_of_the_grid(filled: Any, target: list[int]) -> None:
    with raises("InvalidInputError", "invalid-chunk-index"):
        filled.reindex_array("/a", lambda index: target)


def test_reindex_to_a_wrong_number_of_coordinates(filled: Any) -> None:
    with raises("InvalidInputError", "invalid-chunk-index"):
        filled.reindex_array("/a", lambda index: [0, 0])


@pytest.mark.parametrize("target", [5, "x", [-1], ["x"]])
def test_reindex_to_what_is_no_index(filled: Any, ic: Any, target: Any) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError, ic.IcechunkError)):
        filled.reindex_array("/a", lambda index: target)
    assert not filled.has_uncommitted_changes


def test_an_error_in_the_function_is_told(filled: Any, ic: Any) -> None:
    def fail(index: Any) -> Any:
        raise ZeroDivisionError("mine")

    with pytest.raises((ZeroDivisionError, ic.IcechunkError), match="mine"):
        filled.reindex_array("/a", fail)
    assert not filled.has_uncommitted_changes


@pytest.mark.parametrize("odd", [5, None, "x"])
def test_reindex_needs_a_function(filled: Any, odd: Any) -> None:
    with pytest.raises(TypeError):
        filled.reindex_array("/a", odd)


def test_a_shift_conflicts_like_writes(memory: Any, ic: Any) -> None:
    repo = create(memory)
    items = {"zarr.json": group_document(), "a/zarr.json": array_document((4,), (1,))}
    commit(repo, {**items, "a/c/0": b"1"})
    session = repo.writable_session("main")
    session.shift_array("/a", [1])
    commit(repo, {"a/c/1": b"t"})
    with raises("RebaseFailedError") as caught:
        session.rebase(ic.ConflictDetector())
    assert caught.value.conflicts[0].conflicted_chunks == [[1]]


def test_a_shift_does_not_conflict_elsewhere(memory: Any, ic: Any) -> None:
    repo = create(memory)
    items = {"zarr.json": group_document(), "a/zarr.json": array_document((4,), (1,))}
    commit(repo, {**items, "a/c/0": b"1"})
    session = repo.writable_session("main")
    session.shift_array("/a", [1])
    commit(repo, {"a/c/3": b"t"})
    session.commit("shift", rebase_with=ic.ConflictDetector())
    keys = keys_of(repo)
    assert [keys.get(f"a/c/{i}") for i in range(4)] == [None, b"1", None, b"t"]
