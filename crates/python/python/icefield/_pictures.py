"""The representations of repositories, sessions and stores in notebooks: fields, the hierarchy, and a graph of the history.

Showing an object reads the history, and a repository the newest snapshot of a branch. The graph and the
hierarchy end after a few snapshots and nodes, and are left out if they cannot be read, so that showing
an object never fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

from icefield._display import table
from icefield._exceptions import IcechunkError
from icefield._iterators import CloseableIterator
from icefield._tree import tree_html
from icefield._values import AncestryGraph, SnapshotInfo

if TYPE_CHECKING:
    from icefield import _native
    from icefield.repository import Repository
    from icefield.session import Session
    from icefield.store import IcefieldStore

__all__ = ["repository_html", "session_html", "store_html"]

_MOST_BRANCHES = 12
_MOST_SNAPSHOTS = 24
_MOST_SNAPSHOTS_OF_A_SESSION = 8


def repository_html(repository: Repository) -> str:
    """The fields of a repository, and its newest snapshots on all branches."""
    fields: list[tuple[str, object, str]] = []
    if repository._place is not None:
        fields.append(("storage", str(repository._place.storage), ""))
    try:
        native = repository._repository
        fields.append(("format version", native.spec_version(), ""))
        branches = native.list_branches().wait()
        tags = native.list_tags().wait()
        fields.append(("branches", _counted(branches), ""))
        fields.append(("tags", _counted(tags), ""))
        shown = sorted(branches, key=lambda name: (name != "main", name))[:_MOST_BRANCHES]
        picture = _history(native, [("branch", name) for name in shown], _MOST_SNAPSHOTS)
        if shown:
            session = native.readonly_session("branch", shown[0], None).wait()
            picture = _titled(f"arrays of {shown[0]}", tree_html(session)) + picture
    except IcechunkError as error:
        picture = _unreadable(error)
    return table("icefield.Repository", fields) + picture


def session_html(session: Session) -> str:
    """The fields of a session, the number of its changes, and the snapshots that it is based on."""
    try:
        fields: list[tuple[str, object, str]] = [
            ("read only", session.read_only, ""),
            ("snapshot", session.snapshot_id, ""),
        ]
        if not session.read_only:
            fields.append(("branch", session.branch or "none: a fork", ""))
            fields.append(("changes", _changes(session), ""))
        picture = tree_html(session._session)
        if session._place is not None:
            picture += _history(
                session._place.repository(),
                [("snapshot", session.snapshot_id)],
                _MOST_SNAPSHOTS_OF_A_SESSION,
            )
    except IcechunkError as error:
        return table(f"icefield.{type(session).__name__}", []) + _unreadable(error)
    return table(f"icefield.{type(session).__name__}", fields) + picture


def store_html(store: IcefieldStore) -> str:
    """The fields of a store, and its session."""
    try:
        fields: list[tuple[str, object, str]] = [
            ("read only", store._read_only or store.session._facts()[0], "")
        ]
    except IcechunkError:
        # The representation of the session shows the reason.
        fields = []
    return table("icefield.IcefieldStore", fields) + session_html(store.session)


def _changes(session: Session) -> str:
    if not session.has_uncommitted_changes:
        return "none"
    row = session._session.status().wait()
    counts = [
        (len(row["new_groups"]) + len(row["new_arrays"]), "new"),
        (len(row["updated_groups"]) + len(row["updated_arrays"]), "updated"),
        (len(row["deleted_groups"]) + len(row["deleted_arrays"]), "deleted"),
    ]
    nodes = ", ".join(f"{count} {what}" for count, what in counts if count)
    chunks = sum(len(it) for it in row["updated_chunks"].values())
    parts = [f"{nodes} nodes" if nodes else "", f"{chunks} chunks" if chunks else ""]
    return "; ".join(part for part in parts if part) or "some"


def _history(
    native: _native.Repository, tips: Sequence[tuple[str, str]], most: int
) -> str:
    """The graph of the newest snapshots of some tips."""
    snapshots: dict[str, SnapshotInfo] = {}
    cut = False
    for tip in tips:
        rows = CloseableIterator(native.ancestry(*tip), SnapshotInfo._from_native)
        for row in islice(rows, most + 1):
            if row.id in snapshots:
                break
            snapshots[row.id] = row
        rows.close()
    if len(snapshots) > most:
        cut = True
        newest = sorted(snapshots.values(), key=lambda it: it.written_at, reverse=True)[:most]
        snapshots = {it.id: it for it in newest}
    branches = {name: native.lookup_branch(name) for name in native.list_branches().wait()}
    tags = {name: native.lookup_tag(name) for name in native.list_tags().wait()}
    graph = AncestryGraph._of(
        snapshots.values(),
        {name: task.wait() for name, task in branches.items()},
        {name: task.wait() for name, task in tags.items()},
        plain=False,
    )
    more = '<div class="icefield">older snapshots are not shown</div>' if cut else ""
    return graph._repr_html_() + more


def _titled(title: str, picture: str) -> str:
    return f'<div class="icefield"><div class="name">{escape(title)}</div></div>{picture}'


def _counted(names: Sequence[str]) -> str:
    shown = ", ".join(sorted(names)[:_MOST_BRANCHES])
    more = len(names) - _MOST_BRANCHES
    return f"{shown} and {more} more" if more > 0 else shown


def _unreadable(error: IcechunkError) -> str:
    return f'<div class="icefield">the history cannot be shown: {escape(error.message)}</div>'
