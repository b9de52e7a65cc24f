"""The errors of the package. The class tells how a caller can react to a failure, the code tells what failed.

```text
IcechunkError
├── ConflictError                 another client was first: rebase, or start again
│   └── RebaseFailedError         the solver left conflicts
├── NotFoundError                 (also a KeyError)
│   ├── NodeNotFoundError
│   ├── SnapshotNotFoundError
│   ├── RefNotFoundError
│   └── RepositoryNotFoundError
├── AlreadyExistsError
├── ReadOnlyError
├── InvalidInputError             (also a ValueError)
├── SessionStateError
├── StorageError
│   └── OutcomeUnknownError       a write may or may not have happened
├── FormatError
└── InternalError
```

Every error has `message` (the result of `str()`) and `kind` (one of `ErrorKind`). All of them
pickle, so that they can return from a worker process.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from icefield._error_kind import ErrorKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from icefield._conflicts import Conflict

__all__ = [
    "AlreadyExistsError",
    "ConflictError",
    "ErrorKind",
    "FormatError",
    "IcechunkError",
    "InternalError",
    "InvalidInputError",
    "NodeNotFoundError",
    "NotFoundError",
    "OutcomeUnknownError",
    "ReadOnlyError",
    "RebaseFailedError",
    "RefNotFoundError",
    "RepositoryNotFoundError",
    "SessionStateError",
    "SnapshotNotFoundError",
    "StorageError",
]


class IcechunkError(Exception):
    """The base class of all errors of this package.

    `kind` is one of `ErrorKind`, "unknown" if it is not given.
    """

    def __init__(self, message: str, kind: str | None = None) -> None:
        super().__init__(*((message,) if kind is None else (message, kind)))
        self._message = message
        self._kind = kind

    @property
    def message(self) -> str:
        """The failure, its object, and what to do about it."""
        return self._message

    @property
    def kind(self) -> str:
        """The code of the failure, one of `ErrorKind`."""
        return str(self._kind or ErrorKind.UNKNOWN)

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"{_shown(type(self))}(message={self.message!r}, kind={self.kind!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, self.__dict__.copy()


class ConflictError(IcechunkError):
    """Another client committed to the branch, or made the same change, in the meantime.

    The snapshots are ids; None if the failure is not of a commit.
    """

    def __init__(
        self,
        expected_parent: str | None = None,
        actual_parent: str | None = None,
        message: str | None = None,
        kind: str | None = None,
    ) -> None:
        super().__init__(
            message
            or f"the branch is at snapshot {actual_parent}, but the session is based on {expected_parent}; "
            "rebase the session, or open a new one",
            kind or ErrorKind.COMMIT_CONFLICT,
        )
        self.args = tuple(it for it in (expected_parent, actual_parent) if it is not None)
        self._expected_parent = expected_parent
        self._actual_parent = actual_parent

    @property
    def expected_parent(self) -> str | None:
        """The snapshot that the session is based on."""
        return self._expected_parent

    @property
    def actual_parent(self) -> str | None:
        """The snapshot that the branch is at."""
        return self._actual_parent

    def __repr__(self) -> str:
        parents = f"expected_parent={self.expected_parent}, actual_parent={self.actual_parent}"
        return f"{_shown(type(self))}({parents})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._expected_parent, self._actual_parent), self.__dict__.copy()


class RebaseFailedError(ConflictError):
    """A rebase found conflicts that its solver does not resolve."""

    def __init__(self, snapshot: str, conflicts: list[Conflict]) -> None:
        super().__init__(
            message=f"the rebase onto snapshot {snapshot} found conflicts that the solver does not solve: "
            f"{len(conflicts)}",
            kind=ErrorKind.REBASE_FAILED,
        )
        self.args = (snapshot, conflicts)
        self._snapshot = snapshot
        self._conflicts = list(conflicts)

    @property
    def snapshot(self) -> str:
        """The snapshot that the session could not be rebased onto."""
        return self._snapshot

    @property
    def conflicts(self) -> list[Conflict]:
        """The conflicts."""
        return list(self._conflicts)

    def __repr__(self) -> str:
        return f"{_shown(type(self))}(snapshot={self.snapshot!r}, conflicts={self._conflicts!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._snapshot, self._conflicts), self.__dict__.copy()


class NotFoundError(IcechunkError, KeyError):
    """A requested object does not exist. Also a `KeyError`."""


class NodeNotFoundError(NotFoundError):
    """There is no such group, array or chunk."""


class SnapshotNotFoundError(NotFoundError):
    """There is no such snapshot, or none at that time."""


class RefNotFoundError(NotFoundError):
    """There is no such branch or tag."""


class RepositoryNotFoundError(NotFoundError):
    """There is no repository at that location."""


class AlreadyExistsError(IcechunkError):
    """The object to create exists already."""


class ReadOnlyError(IcechunkError):
    """A write to a read-only object."""


class InvalidInputError(IcechunkError, ValueError):
    """An invalid argument, key, index or metadata. Also a `ValueError`."""


class SessionStateError(IcechunkError):
    """The session or repository is not in a state that allows this."""


class StorageError(IcechunkError):
    """The storage failed, or its settings are wrong. Many failures are temporary: try again."""


class OutcomeUnknownError(StorageError):
    """The storage failed during a write, so the change may or may not have happened: check before trying again.

    `snapshot` is the id of the snapshot that the change would have published, if there is one.
    """

    def __init__(
        self, message: str, kind: str | None = None, *, snapshot: str | None = None
    ) -> None:
        super().__init__(message, kind or ErrorKind.OUTCOME_UNKNOWN)
        self._snapshot = snapshot

    @property
    def snapshot(self) -> str | None:
        """The snapshot that may have been published."""
        return self._snapshot


class FormatError(IcechunkError):
    """An object of the repository cannot be read or written: it is damaged, or of an unknown version."""


class InternalError(IcechunkError):
    """A bug of this package. Please report it."""


def _shown(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


_CLASSES: tuple[tuple[type[IcechunkError], str], ...] = (
    (
        ConflictError,
        "commit-conflict branch-update-conflict config-updated repo-info-updated "
        "update-attempts-exhausted",
    ),
    (
        RebaseFailedError,
        "rebase-failed",
    ),
    (
        NotFoundError,
        "key-not-found manifest-info-not-found",
    ),
    (
        NodeNotFoundError,
        "node-not-found ancestor-node-not-found chunk-not-found",
    ),
    (
        SnapshotNotFoundError,
        "snapshot-not-found no-snapshot-at-time",
    ),
    (
        RefNotFoundError,
        "ref-not-found branch-not-found tag-not-found",
    ),
    (
        RepositoryNotFoundError,
        "repository-not-found",
    ),
    (
        AlreadyExistsError,
        "node-already-exists branch-already-exists tag-already-exists "
        "tag-previously-deleted move-wont-overwrite",
    ),
    (
        ReadOnlyError,
        "read-only-session read-only-store read-only-storage read-only-repository",
    ),
    (
        InvalidInputError,
        "invalid-key invalid-chunk-index zero-length-chunk invalid-manifest-split-index "
        "invalid-ref-type invalid-ref-name invalid-snapshot-id invalid-path "
        "bad-key-prefix bad-metadata bad-prefix not-an-array not-a-group "
        "invalid-byte-range invalid-commit-configuration invalid-array-metadata "
        "invalid-feature-flag invalid-virtual-ref invalid-credentials "
        "no-container-for-virtual-chunk unauthorized-virtual-chunk-container "
        "empty-prefix-creation parent-directory-not-clean bad-snapshot-chain-for-diff "
        "invalid-setting invalid-argument",
    ),
    (
        SessionStateError,
        "commit-not-allowed merge-not-allowed cannot-fork-read-only-session "
        "rearrange-session-only non-rearrange-session move-into-self-or-descendant "
        "move-destination-parent-missing move-destination-parent-not-group "
        "no-changes-to-commit no-amend-for-initial-commit not-on-branch no-snapshot "
        "cannot-delete-main uncommitted-changes merge-failed not-allowed unimplemented "
        "rebase-tx-log-pruned feature-flag-disabled tag-error "
        "invalid-repository-migration forked cancelled interrupted",
    ),
    (
        StorageError,
        "gc-deletes-failing object-not-found object-store io storage-config "
        "cannot-parse-url bad-redirect semaphore-acquire throttled storage-other "
        "virtual-chunk-fetch virtual-chunk-modified invalid-object-size",
    ),
    (
        FormatError,
        "serialization deserialization config-deserialization invalid-file-format "
        "unsupported-spec-version unsupported-operation-for-version snapshot-timestamp "
        "duplicate-snapshot-id",
    ),
    (
        InternalError,
        "concurrency flush partial-values-panic conflicting-path-not-found "
        "inconsistent-manifests poison-lock pickle unknown",
    ),
    (
        OutcomeUnknownError,
        "outcome-unknown",
    ),
)
_CLASS_OF: dict[str, type[IcechunkError]] = {
    kind: cls for cls, kinds in _CLASSES for kind in kinds.split()
}


def from_native(
    kind: str, message: str, details: str | Mapping[str, Any] | None = None
) -> IcechunkError:
    """The error that native code reports: its code, its message, and a JSON object with the
    attributes of its class, if there are any.
    """
    cls = _CLASS_OF.get(kind, InternalError)
    known: Mapping[str, Any] = json.loads(details) if isinstance(details, str) else details or {}
    if cls is RebaseFailedError:
        from icefield._conflicts import Conflict

        conflicts = [Conflict._from_document(it) for it in known.get("conflicts") or ()]
        failed = RebaseFailedError(str(known.get("snapshot") or ""), conflicts)
        failed._message = message
        return failed
    if cls is ConflictError:
        expected, actual = known.get("expected_parent"), known.get("actual_parent")
        return ConflictError(expected, actual, message, kind)
    if cls is OutcomeUnknownError:
        return OutcomeUnknownError(message, kind, snapshot=known.get("snapshot"))
    return cls(message, kind)


# Tracebacks show the name from which users import the class.
for _name in __all__:
    globals()[_name].__module__ = "icefield"
del _name
