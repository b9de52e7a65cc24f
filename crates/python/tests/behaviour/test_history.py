"""History: ancestry, snapshots, differences between snapshots, status."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from making import Keys, array_document, commit, create, group_document, keys_of, small_array
from under_test import NO_SNAPSHOT, collect, raises

ROOT = "1CECHNKREP0F1RSTCMT0"
NO_SUCH = "AAAAAAAAAAAAAAAAAAA0"


@pytest.fixture
def history(storage: Any) -> tuple[Any, list[str]]:
    """A repository with an array, a chunk, a large chunk with another array, new attributes."""
    repo = create(storage)
    return repo, [
        commit(repo, small_array(), "array"),
        commit(repo, {"a/c/0": b"1"}, "chunk"),
        commit(repo, {"a/c/1": b"2" * 600, "b/zarr.json": array_document()}, "more"),
        commit(repo, {"zarr.json": group_document({"x": 1})}, "attributes"),
    ]


def test_ancestry_goes_back_to_the_root(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    found = list(repo.ancestry(branch="main"))
    assert [snapshot.id for snapshot in found] == [*reversed(ids), ROOT]
    assert [snapshot.message for snapshot in found] == [
        "attributes", "more", "chunk", "array", "Repository initialized"
    ]  # fmt: skip


def test_parents_make_a_chain(history: tuple[Any, list[str]]) -> None:
    repo, _ = history
    found = list(repo.ancestry(branch="main"))
    assert [s.parent_id for s in found] == [s.id for s in found[1:]] + [None]


def test_ancestry_of_a_snapshot(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    assert [s.id for s in repo.ancestry(snapshot_id=ids[1])] == [ids[1], ids[0], ROOT]


def test_ancestry_of_a_tag(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_tag("t", ids[0])
    assert [s.id for s in repo.ancestry(tag="t")] == [ids[0], ROOT]


def test_ancestry_of_another_branch(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_branch("b", ids[1])
    made = commit(repo, {"a/c/2": b"x"}, branch="b")
    assert [s.id for s in repo.ancestry(branch="b")] == [made, ids[1], ids[0], ROOT]


def test_ancestry_asynchronously(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    found = collect(lambda: repo.async_ancestry(branch="main"))
    assert [s.id for s in found] == [*reversed(ids), ROOT]


def test_ancestry_is_lazy_enough_to_take_one(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    assert next(iter(repo.ancestry(branch="main"))).id == ids[-1]


@pytest.mark.parametrize(
    "of", [{}, {"branch": "main", "tag": "t"}, {"branch": "main", "snapshot_id": ROOT}]
)
def test_ancestry_is_of_one_thing(repo: Any, of: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="branch, tag, or snapshot_id"):
        list(repo.ancestry(**of))


@pytest.mark.parametrize("of", [{"branch": "nope"}, {"tag": "nope"}])
def test_ancestry_of_a_missing_ref(repo: Any, of: dict[str, str]) -> None:
    with raises("RefNotFoundError", "ref-not-found"):
        list(repo.ancestry(**of))


def test_ancestry_of_what_is_no_id(repo: Any) -> None:
    with raises("InvalidInputError", "invalid-snapshot-id"):
        list(repo.ancestry(snapshot_id="zz"))


def test_the_root_says_so(repo: Any) -> None:
    root = repo.lookup_snapshot(ROOT)
    assert root.message == "Repository initialized"
    assert root.parent_id is None
    assert root.metadata == {"__icechunk": {"is_root": True}}


def test_a_snapshot_has_a_time(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    at = repo.lookup_snapshot(ids[0]).written_at
    assert at.tzinfo is not None
    assert abs(datetime.now(UTC) - at) < timedelta(hours=1)


def test_snapshots_compare(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    assert repo.lookup_snapshot(ids[0]) == repo.lookup_snapshot(ids[0])
    assert repo.lookup_snapshot(ids[0]) != repo.lookup_snapshot(ids[1])


def test_snapshots_do_not_change(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    with pytest.raises(AttributeError):
        repo.lookup_snapshot(ids[0]).id = "other"


def test_a_snapshot_shows_itself(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    snapshot = repo.lookup_snapshot(ids[1])
    assert ids[1] in repr(snapshot)
    assert "chunk" in repr(snapshot)
    assert ids[1] in snapshot._repr_html_()


def test_lookup_of_a_missing_snapshot(repo: Any) -> None:
    with raises(*NO_SNAPSHOT):
        repo.lookup_snapshot(NO_SUCH)


@pytest.mark.parametrize("text", ["", "zz", "not an id"])
def test_lookup_of_what_is_no_id(repo: Any, text: str) -> None:
    with raises("InvalidInputError", "invalid-snapshot-id"):
        repo.lookup_snapshot(text)


def test_the_graph_shows_messages(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    text = str(repo.ancestry_graph(branch="main", plain=True))
    assert "attributes" in text and "array" in text and "main" in text
    assert ids[0][:8] in text


DIFFERENCES: dict[str, tuple[dict[str, bytes | None], dict[str, Any]]] = {
    "a new group": ({"n/zarr.json": group_document()}, {"new_groups": {"/n"}}),
    "a new nested group": ({"n/m/zarr.json": group_document()}, {"new_groups": {"/n/m"}}),
    "a new array": ({"n/zarr.json": array_document()}, {"new_arrays": {"/n"}}),
    "a new array with chunks": (
        {"n/zarr.json": array_document(), "n/c/1": b"x"},
        {"new_arrays": {"/n"}, "updated_chunks": {"/n": [[1]]}},
    ),
    "a deleted array": ({"b/zarr.json": None}, {"deleted_arrays": {"/b"}}),
    "a deleted group": ({"g/zarr.json": None}, {"deleted_groups": {"/g"}}),
    "new attributes of a group": (
        {"g/zarr.json": group_document({"x": 2})}, {"updated_groups": {"/g"}}
    ),
    "new attributes of an array": (
        {"a/zarr.json": array_document(attributes={"x": 2})}, {"updated_arrays": {"/a"}}
    ),
    "a new shape": ({"a/zarr.json": array_document((9,))}, {"updated_arrays": {"/a"}}),
    "chunks": (
        {"a/c/3": b"x", "a/c/0": b"y"}, {"updated_chunks": {"/a": [[0], [3]]}}
    ),
    "a deleted chunk": ({"a/c/0": None}, {"updated_chunks": {"/a": [[0]]}}),
    "several": (
        {"n/zarr.json": group_document(), "b/zarr.json": None, "a/c/3": b"x"},
        {"new_groups": {"/n"}, "deleted_arrays": {"/b"}, "updated_chunks": {"/a": [[3]]}},
    ),
}  # fmt: skip
FIELDS = [
    "new_groups", "new_arrays", "deleted_groups", "deleted_arrays", "updated_groups",
    "updated_arrays", "updated_chunks", "moved_nodes",
]  # fmt: skip


def told(diff: Any) -> dict[str, Any]:
    found = {field: getattr(diff, field) for field in FIELDS}
    return {field: value for field, value in found.items() if value}


def edit(session: Any, edits: dict[str, bytes | None]) -> None:
    keys = Keys(session.store)
    for key, data in edits.items():
        if data is None:
            keys.delete(key)
        else:
            keys.put(key, data)


@pytest.fixture
def base(memory: Any) -> Any:
    repo = create(memory)
    items = {
        **small_array(), "b/zarr.json": array_document(), "g/zarr.json": group_document(),
        "a/c/0": b"1", "b/c/0": b"1",
    }  # fmt: skip
    commit(repo, items)
    return repo


@pytest.mark.parametrize("name", sorted(DIFFERENCES))
def test_status(base: Any, name: str) -> None:
    edits, expected = DIFFERENCES[name]
    session = base.writable_session("main")
    edit(session, edits)
    status = session.status()
    assert told(status) == expected
    assert not status.is_empty()


@pytest.mark.parametrize("name", sorted(DIFFERENCES))
def test_diff(base: Any, name: str) -> None:
    edits, expected = DIFFERENCES[name]
    before = base.lookup_branch("main")
    session = base.writable_session("main")
    edit(session, edits)
    made = session.commit("edits")
    assert told(base.diff(from_snapshot_id=before, to_branch="main")) == expected
    assert told(base.diff(from_snapshot_id=before, to_snapshot_id=made)) == expected


def test_a_new_session_has_an_empty_status(base: Any) -> None:
    status = base.writable_session("main").status()
    assert told(status) == {}
    assert status.is_empty()


def test_a_node_made_and_deleted_is_not_in_the_status(base: Any) -> None:
    session = base.writable_session("main")
    edit(session, {"n/zarr.json": array_document()})
    edit(session, {"n/zarr.json": None})
    assert told(session.status()) == {}


def test_a_diff_over_several_commits(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    diff = repo.diff(from_snapshot_id=ids[0], to_branch="main")
    assert told(diff) == {
        "new_arrays": {"/b"},
        "updated_groups": {"/"},
        "updated_chunks": {"/a": [[0], [1]]},
    }


def test_a_diff_from_the_root(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    diff = repo.diff(from_snapshot_id=ROOT, to_snapshot_id=ids[0])
    assert told(diff) == {"new_groups": {"/"}, "new_arrays": {"/a"}}


def test_a_diff_between_tags(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_tag("from", ids[0])
    repo.create_tag("to", ids[1])
    assert told(repo.diff(from_tag="from", to_tag="to")) == {"updated_chunks": {"/a": [[0]]}}


def test_a_diff_between_branches(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_branch("old", ids[2])
    assert told(repo.diff(from_branch="old", to_branch="main")) == {"updated_groups": {"/"}}


def test_a_diff_shows_itself(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    text = repr(repo.diff(from_snapshot_id=ids[1], to_branch="main"))
    assert text == (
        "Arrays created:\n    /b\n\n"
        "Group definitions updated:\n    /\n\n"
        "Chunks updated:\n    /a:\n        [1]\n"
    )


def test_a_diff_shows_as_html(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    assert "/b" in repo.diff(from_snapshot_id=ids[1], to_branch="main")._repr_html_()


@pytest.mark.parametrize(
    ("start", "end"), [(-1, -1), (-1, 0), (1, 1)], ids=["same tip", "backwards", "same"]
)
def test_a_diff_goes_forwards(history: tuple[Any, list[str]], start: int, end: int) -> None:
    repo, ids = history
    with raises("InvalidInputError", "bad-snapshot-chain-for-diff"):
        repo.diff(from_snapshot_id=ids[start], to_snapshot_id=ids[end])


def test_a_diff_needs_an_ancestor(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    repo.create_branch("b", ids[0])
    made = commit(repo, {"a/c/2": b"x"}, branch="b")
    with raises("InvalidInputError", "bad-snapshot-chain-for-diff"):
        repo.diff(from_snapshot_id=made, to_branch="main")


@pytest.mark.parametrize(
    "ends",
    [
        {},
        {"from_branch": "main"},
        {"to_branch": "main"},
        {"from_branch": "main", "from_tag": "t", "to_branch": "main"},
        {"from_branch": "main", "to_branch": "main", "to_snapshot_id": ROOT},
    ],
    ids=lambda ends: "-".join(ends) or "nothing",
)
def test_a_diff_has_two_ends(repo: Any, ends: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="snapshot_id"):
        repo.diff(**ends)


@pytest.mark.parametrize(
    "ends", [{"from_branch": "no", "to_branch": "main"}, {"from_branch": "main", "to_tag": "no"}]
)
def test_a_diff_with_a_missing_ref(repo: Any, ends: dict[str, str]) -> None:
    with raises("RefNotFoundError", "ref-not-found"):
        repo.diff(**ends)


def test_a_diff_with_what_is_no_id(repo: Any) -> None:
    with raises("InvalidInputError", "invalid-snapshot-id"):
        repo.diff(from_snapshot_id="zz", to_branch="main")


def test_time_travel(history: tuple[Any, list[str]]) -> None:
    repo, ids = history
    seen = [Keys(repo.readonly_session(snapshot_id=name).store).all() for name in ids]
    assert [len(keys) for keys in seen] == [2, 3, 5, 5]
    assert keys_of(repo).document("zarr.json")["attributes"] == {"x": 1}
