"""What is refused says why in its kind and in its message."""

import array
from typing import Any

import numpy as np
import pytest
import zarr

import icefield
from icefield import ErrorKind, Repository


def test_an_id_that_is_none_of_a_manifest(memory: Repository) -> None:
    for name in ("", "no id", "0" * 19):
        with pytest.raises(icefield.InvalidInputError, match="no id of a manifest") as caught:
            memory.inspect_manifest(name)
        assert caught.value.kind == ErrorKind.INVALID_ARGUMENT
    with pytest.raises(icefield.IcechunkError) as missing:
        memory.inspect_manifest("0" * 20)
    assert missing.value.kind == ErrorKind.OBJECT_NOT_FOUND


@pytest.mark.parametrize("kind", ["branch", "tag"])
def test_a_session_of_a_name_with_a_slash(older: Repository, kind: str) -> None:
    named: Any = {kind: "feature/x"}
    message = f'{kind} name "feature/x" .*feature-x'
    with pytest.raises(icefield.InvalidInputError, match=message) as caught:
        older.readonly_session(**named)
    assert caught.value.kind == ErrorKind.INVALID_REF_NAME


def test_a_writable_session_of_a_name_with_a_slash(older: Repository) -> None:
    with pytest.raises(icefield.InvalidInputError, match="version 1 .*feature-x") as caught:
        older.writable_session("feature//x/")
    assert caught.value.kind == ErrorKind.INVALID_REF_NAME


def put(session: icefield.Session, coordinates: Any, numbers: Any) -> None:
    locations = ["file:///none/x"] * len(numbers)
    task = session._session.set_virtual_refs(
        "/v", coordinates, locations, numbers, numbers, None, False
    )
    task.wait()


@pytest.mark.parametrize("width", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
def test_columns_of_integers_of_any_width(memory: Repository, width: str) -> None:
    session = memory.writable_session("main")
    zarr.create_array(session.store, name="v", shape=(3, 2), chunks=(1, 1), dtype="i4")
    grid = np.array([[0, 1], [2, 0]], dtype=width)
    for coordinates in (grid, grid.ravel()):
        put(session, coordinates, np.array([7, 9], dtype=width))
    assert session.chunk_type("/v", [2, 0]) is icefield.ChunkType.virtual
    assert session.chunk_type("/v", [0, 0]) is not icefield.ChunkType.virtual
    if width.startswith("i"):
        with pytest.raises(ValueError, match="item 1 of the offsets is not a non-negative integer"):
            put(session, grid, np.array([7, -9], dtype=width))


def test_columns_that_are_none(memory: Repository) -> None:
    session = memory.writable_session("main")
    zarr.create_array(session.store, name="v", shape=(3,), chunks=(1,), dtype="i4")
    with pytest.raises(ValueError, match="item 0 of the offsets is not a non-negative integer"):
        put(session, array.array("h", [1, 2]), array.array("d", [1.0, 2.0]))
