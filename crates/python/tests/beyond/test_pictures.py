"""What a notebook shows."""

from __future__ import annotations

from xml.etree import ElementTree

import icefield as ic
import pytest
import zarr

from making import array, write


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


def hierarchy(session: ic.Session, *paths: str) -> None:
    for path in paths:
        zarr.create_group(session.store, path=path)


def test_the_hierarchy_is_nested(repo: ic.Repository) -> None:
    session = repo.writable_session("main")
    hierarchy(session, "a", "a/b", "a-b")
    array(session, "a/b/y", 40)
    session.commit("groups")
    for shown in (session, repo, session.store):
        text = drawn(shown._repr_html_())
        page = ElementTree.fromstring(f"<div>{text}</div>")
        names = [it.text for it in page.iter("summary")]
        assert names == ["a/", "b/", "a-b/"]
        inner = page.find(".//details/ul/li/details")
        assert inner is not None and "y (time: 40) float64" in "".join(inner.itertext())


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "a\u202eb", "\"'&", "x" * 500, "a\x01b", "<!--"]
)
def test_names_of_nodes_are_text(repo: ic.Repository, name: str) -> None:
    session = repo.writable_session("main")
    hierarchy(session, name)
    for shown in (session, session.store):
        text = drawn(shown._repr_html_())
        assert "<script" not in text and "<!--" not in text
        assert not any(letter in text for letter in "\u202e\x01")
    assert len(drawn(session._repr_html_())) < 10_000


def test_a_large_hierarchy_is_cut(repo: ic.Repository) -> None:
    session = repo.writable_session("main")
    hierarchy(session, *(f"g{number:04}" for number in range(300)))
    text = drawn(session._repr_html_())
    # The root and `x` are nodes, too.
    assert "102 more nodes are not shown" in text and text.count("<summary>") < 200
