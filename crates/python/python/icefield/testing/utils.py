"""A hierarchy in a model and in a repository, and the states of a session."""

from __future__ import annotations

from collections.abc import Iterator

from icefield.repository import Repository
from icefield.session import Session
from icefield.storage import in_memory_storage
from icefield.store import IcechunkStore
from icefield.testing.models import GroupNode, ModelStore

__all__ = [
    "precommit_postcommit_readonly",
    "tree_to_model_and_icechunk",
    "update_paths_after_move",
]


def tree_to_model_and_icechunk(
    tree: GroupNode, add_hypothesis_note: bool = True
) -> tuple[ModelStore, Session, Repository]:
    """Writes a hierarchy into a model, and into an uncommitted session of a new repository in memory."""
    model = ModelStore()
    root = tree.materialize(model)
    repository = Repository.create(storage=in_memory_storage())
    session = repository.writable_session("main")
    tree.materialize(session.store)
    if add_hypothesis_note:
        from hypothesis import note

        note(str(root.tree()))
    return model, session, repository


def precommit_postcommit_readonly(
    session: Session, repo: Repository, *, allow_empty: bool = False
) -> Iterator[tuple[str, IcechunkStore]]:
    """The store of a session before its commit and after it, and the store of a reader. Commits in between."""
    yield "pre-commit", session.store
    session.commit("committed between two looks", allow_empty=allow_empty)
    yield "post-commit", session.store
    yield "readonly", repo.readonly_session(branch="main").store


def update_paths_after_move(
    source: str, dest: str, arrays: set[str], groups: set[str]
) -> list[set[str]]:
    """The paths of arrays and groups after a node was moved with everything below it."""

    def moved(path: str) -> str:
        below = path == source or path.startswith(f"{source}/")
        return dest + path.removeprefix(source) if below else path

    return [set(map(moved, arrays)), set(map(moved, groups))]
