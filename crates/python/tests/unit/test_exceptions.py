"""Errors: their tree, what they say, and that they survive pickling."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

import icefield
from icefield import Conflict, ConflictType, ErrorKind
from icefield._exceptions import from_native

CONFLICT = Conflict(ConflictType.ChunkDoubleUpdate, "/a", [[0, 1]])
EVERY: list[icefield.IcechunkError] = [
    icefield.AlreadyExistsError("there", "branch-already-exists"),
    icefield.ConflictError("A", "B"),
    icefield.ConflictError(),
    icefield.ConflictError("A", None, "a text", "config-updated"),
    icefield.FormatError("damaged", "deserialization"),
    icefield.IcechunkError("something"),
    icefield.InternalError("a mistake"),
    icefield.InvalidInputError("wrong", "invalid-path"),
    icefield.NodeNotFoundError("no array", "node-not-found"),
    icefield.NotFoundError("missing"),
    icefield.OutcomeUnknownError("who knows", snapshot="C"),
    icefield.ReadOnlyError("reads only", "read-only-session"),
    icefield.RebaseFailedError("S", [CONFLICT]),
    icefield.RefNotFoundError("no branch", "branch-not-found"),
    icefield.RepositoryNotFoundError("nothing there", "repository-not-found"),
    icefield.SessionStateError("not now", "no-changes-to-commit"),
    icefield.SnapshotNotFoundError("no snapshot", "snapshot-not-found"),
    icefield.StorageError("no network", "io"),
]


@pytest.mark.parametrize("error", EVERY, ids=lambda it: type(it).__name__)
def test_pickled_errors_are_the_same(error: icefield.IcechunkError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is type(error)
        assert (str(again), again.kind, again.args) == (str(error), error.kind, error.args)
        assert vars(again) == vars(error)


@pytest.mark.parametrize("error", EVERY, ids=lambda it: type(it).__name__)
def test_every_error_shows_its_public_name_and_its_text(error: icefield.IcechunkError) -> None:
    assert repr(error).startswith(f"icefield.{type(error).__name__}(")
    assert str(error) == error.message
    assert error.message


def test_every_class_is_in_the_list() -> None:
    classes = {
        it
        for it in map(icefield.__getattr__, icefield.__all__)
        if isinstance(it, type) and issubclass(it, icefield.IcechunkError)
    }
    assert classes == {type(it) for it in EVERY}


def test_the_tree() -> None:
    assert issubclass(icefield.NotFoundError, KeyError)
    assert issubclass(icefield.InvalidInputError, ValueError)
    assert issubclass(icefield.RebaseFailedError, icefield.ConflictError)
    assert issubclass(icefield.OutcomeUnknownError, icefield.StorageError)
    for cls in (
        icefield.NodeNotFoundError,
        icefield.RefNotFoundError,
        icefield.RepositoryNotFoundError,
        icefield.SnapshotNotFoundError,
    ):
        assert issubclass(cls, icefield.NotFoundError)


def test_a_not_found_error_says_its_text_without_the_quotes_of_a_key_error() -> None:
    assert str(icefield.NodeNotFoundError("no array /a")) == "no array /a"


def test_the_kind_of_an_error_without_one_is_unknown() -> None:
    assert icefield.IcechunkError("x").kind == str(ErrorKind.UNKNOWN) == "unknown"


def test_a_conflict_error_has_its_parents() -> None:
    error = icefield.ConflictError("A", "B")
    assert (error.expected_parent, error.actual_parent) == ("A", "B")
    assert error.kind == ErrorKind.COMMIT_CONFLICT
    assert "A" in str(error) and "B" in str(error)
    assert icefield.ConflictError().expected_parent is None


def test_a_failed_rebase_has_its_conflicts() -> None:
    error = icefield.RebaseFailedError("S", [CONFLICT])
    assert error.snapshot == "S"
    assert error.conflicts == [CONFLICT]
    assert error.kind == ErrorKind.REBASE_FAILED
    assert error.expected_parent is None
    assert "1" in str(error)


# Native code says nothing more of most errors: no details, not empty ones.
@pytest.mark.parametrize("details", [None, "{}"])
@pytest.mark.parametrize("kind", list(ErrorKind))
def test_every_kind_makes_an_error_of_a_class_for_it(kind: ErrorKind, details: str | None) -> None:
    error = from_native(kind, "a text", details)
    assert isinstance(error, icefield.IcechunkError)
    assert error.kind == kind
    assert str(error) == "a text"
    assert type(error) is not icefield.IcechunkError


@pytest.mark.parametrize(
    ("kind", "cls"),
    [
        ("branch-not-found", icefield.RefNotFoundError),
        ("node-not-found", icefield.NodeNotFoundError),
        ("read-only-storage", icefield.ReadOnlyError),
        ("invalid-path", icefield.InvalidInputError),
        ("cannot-delete-main", icefield.SessionStateError),
        ("throttled", icefield.StorageError),
        ("unsupported-spec-version", icefield.FormatError),
        ("forked", icefield.SessionStateError),
        ("outcome-unknown", icefield.OutcomeUnknownError),
        ("of a later version", icefield.InternalError),
    ],
)
def test_kinds_have_the_class_of_what_to_do_about_them(
    kind: str, cls: type[icefield.IcechunkError]
) -> None:
    assert type(from_native(kind, "a text")) is cls


def test_details_of_native_errors() -> None:
    details = {"expected_parent": "A", "actual_parent": "B"}
    conflict = from_native("commit-conflict", "moved", json.dumps(details))
    assert isinstance(conflict, icefield.ConflictError)
    assert (conflict.expected_parent, conflict.actual_parent) == ("A", "B")
    found = [
        {"type": 6, "path": "/a", "chunks": [[0, 1]]},
        {"type": 3, "path": "/b", "chunks": None},
    ]
    rebase = from_native(
        "rebase-failed", "in conflict", json.dumps({"snapshot": "S", "conflicts": found})
    )
    assert isinstance(rebase, icefield.RebaseFailedError)
    assert rebase.snapshot == "S"
    assert rebase.conflicts == [CONFLICT, Conflict(ConflictType.ZarrMetadataDoubleUpdate, "/b")]
    assert str(rebase) == "in conflict"
    unknown = from_native("outcome-unknown", "who knows", '{"snapshot": "S"}')
    assert isinstance(unknown, icefield.OutcomeUnknownError)
    assert unknown.snapshot == "S"
