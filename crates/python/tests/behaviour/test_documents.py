"""Metadata documents: which are accepted, which are refused, and that they come back as written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from making import Keys, array_document, group_document, put_all, small_array
from under_test import raises

BAD = {
    "not json": b"not json",
    "nothing": b"",
    "a list": b"[1]",
    "not utf-8": b"\xff\xfe",
    "no node type": b"{}",
    "an unknown node type": b'{"zarr_format":3,"node_type":"thing"}',
    "an array without a shape": b'{"zarr_format":3,"node_type":"array"}',
    "a NaN": b'{"zarr_format":3,"node_type":"group","attributes":{"x":NaN}}',
    "an infinity": b'{"zarr_format":3,"node_type":"group","attributes":{"x":-Infinity}}',
    "half a document": b'{"zarr_format":3,"node_type":"gro',
    "a negative shape": array_document((-4,), (1,)),
    "a fractional shape": array_document((4,), (1,)).replace(b"[4]", b"[4.5]"),
    "a shape of text": array_document((4,), (1,)).replace(b"[4]", b'["4"]'),
}


@pytest.mark.parametrize("what", sorted(BAD))
def test_a_bad_document_is_refused(keys: Keys, what: str) -> None:
    with raises("InvalidInputError", "bad-metadata"):
        keys.put("q/zarr.json", BAD[what])
    assert not keys.has("q/zarr.json")


def test_a_refused_document_leaves_the_old_one(keys: Keys) -> None:
    put_all_keys = small_array()
    for key, data in put_all_keys.items():
        keys.put(key, data)
    with raises("InvalidInputError", "bad-metadata"):
        keys.put("a/zarr.json", b"{")
    assert keys.get("a/zarr.json") == put_all_keys["a/zarr.json"]


@pytest.mark.parametrize(
    "document",
    [
        b'{"zarr_format":3,"node_type":"group"}',
        b'{"node_type":"group","zarr_format":3,"attributes":{}}',
        b'{ "zarr_format" : 3,\n "node_type" : "group",\t"attributes" : {"b":1,"a":2} }',
        group_document({"text": "grün", "number": 1.25, "list": [1, None, {"deep": True}]}),
        group_document({"escaped": 'a"b\\c\n'}),
        array_document((10, 20), (3, 7), dimension_names=["y", "x"]),
        array_document((10, 20), (3, 7), dimension_names=["y", None]),
        array_document((), ()),
        array_document((0, 5), (1, 5)),
        array_document((4,), (1,), data_type="float64", fill_value="NaN"),
        array_document((4,), (1,), storage_transformers=[]),
        array_document((4,), (1,), attributes={"units": "K"}),
    ],
    ids=lambda document: str(len(document)),
)
def test_a_document_comes_back_byte_for_byte(session: Any, repo: Any, document: bytes) -> None:
    put_all(session, {"zarr.json": group_document(), "n/zarr.json": document})
    assert Keys(session.store).get("n/zarr.json") == document
    session.commit("document")
    assert Keys(repo.readonly_session("main").store).get("n/zarr.json") == document


def test_an_unknown_data_type_is_kept(keys: Keys) -> None:
    keys.put("q/zarr.json", array_document(data_type="zonk"))
    assert keys.document("q/zarr.json")["data_type"] == "zonk"


def test_unknown_members_are_kept(keys: Keys) -> None:
    document = json.loads(group_document())
    document["my_extension"] = {"name": "x", "must_understand": False}
    keys.put("q/zarr.json", json.dumps(document).encode())
    assert keys.document("q/zarr.json") == document


def test_the_same_document_is_no_change(stocked: Any) -> None:
    session = stocked.writable_session("main")
    keys = Keys(session.store)
    data = keys.get("a/zarr.json")
    assert data is not None
    keys.put("a/zarr.json", data)
    assert not session.has_uncommitted_changes


def test_another_document_is_a_change(stocked: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).put("a/zarr.json", array_document(attributes={"new": 1}))
    assert session.has_uncommitted_changes
    assert session.status().updated_arrays == {"/a"}


def test_a_group_with_other_attributes_is_a_change(stocked: Any) -> None:
    session = stocked.writable_session("main")
    Keys(session.store).put("zarr.json", group_document({"new": 1}))
    assert session.status().updated_groups == {"/"}


def test_an_array_cannot_become_a_group(stocked: Any) -> None:
    session = stocked.writable_session("main")
    with raises("AlreadyExistsError", "node-already-exists"):
        Keys(session.store).put("a/zarr.json", group_document())


def test_a_group_cannot_become_an_array(stocked: Any) -> None:
    session = stocked.writable_session("main")
    with raises("AlreadyExistsError", "node-already-exists"):
        Keys(session.store).put("zarr.json", array_document())


def test_a_new_node_cannot_change_its_type(keys: Keys) -> None:
    keys.put("n/zarr.json", group_document())
    with raises("AlreadyExistsError", "node-already-exists"):
        keys.put("n/zarr.json", array_document())


def test_a_smaller_shape_hides_chunks(stocked: Any) -> None:
    session = stocked.writable_session("main")
    keys = Keys(session.store)
    keys.put("a/zarr.json", array_document((1,), (1,)))
    session.commit("shrink")
    fresh = Keys(stocked.readonly_session("main").store)
    assert fresh.below("a") == ["a/c/0", "a/zarr.json"]
    assert fresh.get("a/c/1") is None


def test_growing_after_shrinking_does_not_bring_chunks_back(stocked: Any) -> None:
    for size in [1, 4]:
        session = stocked.writable_session("main")
        Keys(session.store).put("a/zarr.json", array_document((size,), (1,)))
        session.commit(f"size {size}")
    fresh = Keys(stocked.readonly_session("main").store)
    assert fresh.below("a") == ["a/c/0", "a/zarr.json"]


def test_shrinking_and_growing_in_one_session_does_not_bring_chunks_back(stocked: Any) -> None:
    session = stocked.writable_session("main")
    keys = Keys(session.store)
    for size in [1, 4]:
        keys.put("a/zarr.json", array_document((size,), (1,)))
    session.commit("there and back")
    fresh = Keys(stocked.readonly_session("main").store)
    assert fresh.get("a/c/1") is None


def test_a_larger_shape_keeps_chunks_and_admits_more(stocked: Any) -> None:
    session = stocked.writable_session("main")
    keys = Keys(session.store)
    keys.put("a/zarr.json", array_document((10,), (1,)))
    keys.put("a/c/9", b"\x09")
    session.commit("grow")
    fresh = Keys(stocked.readonly_session("main").store)
    assert fresh.get("a/c/0") == b"\x01"
    assert fresh.get("a/c/9") == b"\x09"


def test_a_very_large_document(session: Any, repo: Any) -> None:
    document = group_document({"text": "x" * 3_000_000})
    put_all(session, {"zarr.json": document})
    session.commit("large")
    assert Keys(repo.readonly_session("main").store).get("zarr.json") == document


def test_a_deep_path(session: Any, repo: Any) -> None:
    path = "/".join(f"level{index}" for index in range(60))
    put_all(session, {f"{path}/zarr.json": array_document((1,), (1,)), f"{path}/c/0": b"x"})
    session.commit("deep")
    assert Keys(repo.readonly_session("main").store).get(f"{path}/c/0") == b"x"


def test_consolidated_metadata_is_not_supported(keys: Keys) -> None:
    assert keys.store.supports_consolidated_metadata is False
