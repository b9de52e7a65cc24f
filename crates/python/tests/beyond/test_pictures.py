"""What a notebook shows."""

from __future__ import annotations

from xml.etree import ElementTree

import icefield as ic
import pytest

from making import write


def drawn(text: str) -> str:
    """The text, which must be well-formed: a notebook shows the rest of the page behind it."""
    ElementTree.fromstring(f"<div>{text}</div>")
    return text


def test_a_repository_shows_its_history(repo: ic.Repository) -> None:
    write(repo, "main", slice(0, 10), 2.0)
    repo.create_tag("v1", repo.lookup_branch("main"))
    text = drawn(repo._repr_html_())
    assert "2.0 to x" in text and "v1" in text and "main" in text


def test_messages_are_escaped(repo: ic.Repository) -> None:
    session = repo.writable_session("main")
    session.commit("<script>alert('&')</script>", allow_empty=True)
    assert "<script>" not in drawn(repo._repr_html_())


@pytest.mark.parametrize("writable", [True, False])
def test_a_session_shows_where_it_is(repo: ic.Repository, writable: bool) -> None:
    session = repo.writable_session("main") if writable else repo.readonly_session("main")
    text = drawn(session._repr_html_())
    assert session.snapshot_id in text


def test_a_diff_shows_paths(repo: ic.Repository) -> None:
    before = repo.lookup_branch("main")
    after = write(repo, "main", slice(0, 10), 2.0)
    diff = repo.diff(from_snapshot_id=before, to_snapshot_id=after)
    assert "/x" in drawn(diff._repr_html_())


def test_a_graph_of_the_history_is_drawn(repo: ic.Repository) -> None:
    graph = repo.ancestry_graph(branch="main")
    assert "the first" in str(graph)
    assert "the first" in drawn(graph._repr_html_())
