"""The family of errors: classes, kinds, messages."""

from __future__ import annotations

from typing import Any

import pytest
from making import Keys
from under_test import ic

BASES = {
    "IcechunkError": Exception,
    "ConflictError": "IcechunkError",
    "RebaseFailedError": "ConflictError",
    "NotFoundError": "IcechunkError",
    "NodeNotFoundError": "NotFoundError",
    "SnapshotNotFoundError": "NotFoundError",
    "RefNotFoundError": "NotFoundError",
    "RepositoryNotFoundError": "NotFoundError",
    "ReadOnlyError": "IcechunkError",
    "AlreadyExistsError": "IcechunkError",
    "InvalidInputError": "IcechunkError",
    "SessionStateError": "IcechunkError",
    "StorageError": "IcechunkError",
    "FormatError": "IcechunkError",
    "InternalError": "IcechunkError",
}
PLAIN = sorted(set(BASES) - {"ConflictError", "RebaseFailedError"})
KINDS = [
    "commit-conflict", "branch-update-conflict", "rebase-failed", "config-updated",
    "node-not-found", "ancestor-node-not-found", "chunk-not-found", "key-not-found",
    "snapshot-not-found", "no-snapshot-at-time", "ref-not-found", "branch-not-found",
    "tag-not-found", "repository-not-found", "node-already-exists", "branch-already-exists",
    "tag-already-exists", "tag-previously-deleted", "read-only-session", "read-only-store",
    "read-only-storage", "read-only-repository", "invalid-key", "invalid-chunk-index",
    "zero-length-chunk", "invalid-ref-name", "invalid-snapshot-id", "invalid-path",
    "bad-key-prefix", "bad-metadata", "not-an-array", "not-a-group", "invalid-byte-range",
    "invalid-virtual-ref", "no-container-for-virtual-chunk",
    "unauthorized-virtual-chunk-container", "parent-directory-not-clean",
    "bad-snapshot-chain-for-diff", "commit-not-allowed", "merge-failed",
    "cannot-fork-read-only-session", "no-changes-to-commit", "cannot-delete-main",
    "unimplemented", "object-not-found", "object-store", "io", "throttled",
    "virtual-chunk-fetch", "virtual-chunk-modified", "deserialization", "invalid-file-format",
    "unsupported-spec-version", "unsupported-operation-for-version", "pickle", "unknown",
]  # fmt: skip


@pytest.mark.parametrize("name", sorted(BASES))
def test_bases(name: str) -> None:
    base: Any = BASES[name]
    assert issubclass(getattr(ic, name), getattr(ic, base) if isinstance(base, str) else base)


@pytest.mark.parametrize(
    "name", [n for n in sorted(BASES) if n.endswith("NotFoundError")]
)
def test_what_is_not_found_is_a_key_error(name: str) -> None:
    assert issubclass(getattr(ic, name), KeyError)


def test_invalid_input_is_a_value_error() -> None:
    assert issubclass(ic.InvalidInputError, ValueError)


@pytest.mark.parametrize("name", PLAIN)
def test_an_error_has_a_message_and_a_kind(name: str) -> None:
    error = getattr(ic, name)("what happened", "io")
    assert (error.message, error.kind) == ("what happened", "io")
    assert str(error) == "what happened"


@pytest.mark.parametrize("name", PLAIN)
def test_an_error_without_a_kind(name: str) -> None:
    assert getattr(ic, name)("what happened").kind == "unknown"


def test_an_error_needs_a_message() -> None:
    with pytest.raises(TypeError):
        ic.IcechunkError()


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str) -> None:
    member = ic.ErrorKind(kind)
    assert member == kind
    assert str(member) == kind
    assert member.name == kind.upper().replace("-", "_")


def test_an_unknown_kind() -> None:
    with pytest.raises(ValueError):
        ic.ErrorKind("no-such-kind")


@pytest.mark.parametrize("name", sorted(BASES))
def test_errors_are_of_the_package(name: str) -> None:
    assert getattr(ic, name).__module__ == ic.__name__


def test_a_raised_kind_compares_with_the_enum(repo: Any) -> None:
    with pytest.raises(ic.RefNotFoundError) as caught:
        repo.lookup_branch("nope")
    assert caught.value.kind == ic.ErrorKind.REF_NOT_FOUND
    assert caught.value.message
    assert "nope" in str(caught.value)


def test_one_handler_for_all(repo: Any) -> None:
    operations: list[Any] = [
        lambda: repo.lookup_branch("nope"),
        lambda: repo.delete_branch("main"),
        lambda: repo.lookup_snapshot("zz"),
        lambda: repo.writable_session("main").commit("empty"),
        lambda: repo.readonly_session("main").fork(),
        lambda: Keys(repo.readonly_session("main").store).put("zarr.json", b"{}"),
    ]
    for operation in operations:
        with pytest.raises(ic.IcechunkError):
            operation()


NAMES = [
    "Repository", "Session", "ForkSession", "IcechunkStore", "Storage", "RepositoryConfig",
    "ConflictSolver", "Diff", "GCSummary", "SnapshotInfo", "ChunkType", "SessionMode",
    "SpecVersion", "VersionSelection", "VirtualChunkSpec", "Credentials", "ObjectStoreConfig",
    "initialize_logs", "set_logs_filter", "print_debug_info", "spec_version", "user_agent",
    "supported_spec_versions", "upgrade_icechunk_repository", "shutdown_telemetry",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_of_the_package(name: str) -> None:
    assert callable(getattr(ic, name))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("repository", "Repository"), ("session", "Session"), ("session", "ForkSession"),
        ("store", "IcechunkStore"), ("storage", "local_filesystem_storage"),
        ("config", "RepositoryConfig"), ("conflicts", "ConflictDetector"),
        ("credentials", "s3_credentials"), ("virtual", "VirtualChunkSpec"),
        ("snapshots", "SnapshotInfo"), ("ops", "GCSummary"), ("xarray", "to_icechunk"),
        ("dask", "store_dask"), ("distributed", "merge_sessions"),
        ("distributed", "extract_session"),
    ],
)  # fmt: skip
def test_modules_of_the_package(module: str, name: str) -> None:
    import importlib

    found = getattr(importlib.import_module(f"{ic.__name__}.{module}"), name)
    assert callable(found)


def test_the_version_is_text() -> None:
    assert isinstance(ic.__version__, str)
    assert ic.user_agent()


@pytest.mark.parametrize("directive", ["debug", "warn", "icechunk=trace", None])
def test_filters_of_logs(directive: str | None) -> None:
    ic.set_logs_filter(directive)
    ic.set_logs_filter(None)


def test_debug_information_names_versions(capsys: pytest.CaptureFixture[str]) -> None:
    ic.print_debug_info()
    printed = capsys.readouterr().out
    assert "python" in printed and "zarr" in printed and ic.__version__ in printed
