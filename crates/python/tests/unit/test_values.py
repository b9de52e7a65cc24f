"""Snapshots, differences, statistics, the log, and the picture of a history."""

from __future__ import annotations

import copy
import datetime
import pickle
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

import icefield
from icefield import (
    AncestryGraph,
    ChunkStorageStats,
    ChunkType,
    Diff,
    FeatureFlag,
    GCSummary,
    ManifestFileInfo,
    RepoAvailability,
    RepoStatus,
    SessionMode,
    SnapshotInfo,
    SpecVersion,
    Update,
    UpdateType,
    VirtualChunkSpec,
)

NOON = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)
SNAPSHOT = SnapshotInfo._from_native(("B", "A", 1_714_564_800_000_000, "text", '{"n": [1, null]}'))
DIFF = Diff._from_native(
    {
        "new_groups": ["/g"],
        "new_arrays": ["/g/a"],
        "deleted_groups": [],
        "deleted_arrays": ["/old"],
        "updated_groups": ["/"],
        "updated_arrays": ["/t"],
        "updated_chunks": {"/t": [[0, 1]], "/g/a": [[2]]},
        "moved_nodes": [("/x", "/y")],
    }
)
EVERY: list[Any] = [
    SNAPSHOT,
    DIFF,
    ManifestFileInfo._from_native(("M", 10, 2)),
    GCSummary._from_native({"bytes_deleted": 5, "chunks_deleted": 1}),
    ChunkStorageStats._from_native((1, 2, 3)),
    FeatureFlag(id=3, name="move_node", default_enabled=True, setting=None),
    Update(kind=UpdateType.NewCommit("main", "B"), updated_at=NOON, backup_path=None),
    UpdateType.GCRan(),
    VirtualChunkSpec([1, 2], "s3://b/k", 0, 9, "etag"),
]


@pytest.mark.parametrize("value", EVERY, ids=lambda it: type(it).__name__)
def test_values_are_equal_to_their_copies(value: Any) -> None:
    for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert again == value
        assert hash(again) == hash(value)
        assert repr(again) == repr(value)
    assert value != "something else"


@pytest.mark.parametrize(
    "value", [it for it in EVERY if it is not DIFF], ids=lambda it: type(it).__name__
)
def test_values_show_the_call_that_makes_them(value: Any) -> None:
    again = eval(repr(value), {"icefield": icefield, "datetime": datetime})
    assert again == value


@pytest.mark.parametrize("value", EVERY[:6], ids=lambda it: type(it).__name__)
def test_values_cannot_be_changed(value: Any) -> None:
    for name in value._names:
        with pytest.raises(AttributeError):
            setattr(value, name, 1)
    with pytest.raises(AttributeError):
        value.something = 1


def test_a_snapshot() -> None:
    assert SNAPSHOT.id == "B"
    assert SNAPSHOT.parent_id == "A"
    assert SNAPSHOT.written_at == NOON
    assert SNAPSHOT.message == "text"
    assert SNAPSHOT.metadata == {"n": [1, None]}
    SNAPSHOT.metadata["n"].append(2)
    assert SNAPSHOT.metadata == {"n": [1, None]}
    assert "written_at: 2024-05-01T12:00:00+00:00" in str(SNAPSHOT)


def test_the_manifests_of_a_snapshot_are_read_as_in_version_1_of_the_reference() -> None:
    manifests = [ManifestFileInfo(id="M", size_bytes=10, num_chunk_refs=2)]
    row = ("B", None, 0, "text", "{}")
    snapshot = SnapshotInfo._from_native(row, lambda: manifests)
    with pytest.warns(DeprecationWarning, match="list_manifest_files"):
        assert snapshot.manifests == manifests
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot
    with pytest.warns(DeprecationWarning), pytest.raises(AttributeError, match="no repository"):
        _ = SNAPSHOT.manifests


def test_a_message_is_text_in_a_notebook() -> None:
    row = ("B", None, 0, "<script>", '{"<b>": "</b>"}')
    shown = SnapshotInfo._from_native(row)._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown and "<b>" not in shown


def test_a_diff() -> None:
    assert DIFF.new_groups == {"/g"}
    assert DIFF.deleted_arrays == {"/old"}
    assert DIFF.updated_chunks == {"/g/a": [[2]], "/t": [[0, 1]]}
    assert DIFF.moved_nodes == [("/x", "/y")]
    assert not DIFF.is_empty()
    DIFF.new_groups.add("/h")
    DIFF.updated_chunks["/t"][0].append(7)
    assert DIFF.new_groups == {"/g"}
    assert DIFF.updated_chunks["/t"] == [[0, 1]]


def test_a_diff_shows_what_there_is() -> None:
    assert "Arrays deleted:\n    /old\n" in str(DIFF)
    assert "/x -> /y" in repr(DIFF)
    assert "Groups deleted" not in str(DIFF)
    many = Diff(updated_chunks={"/t": [[place] for place in range(99)]})
    assert "... 89 more" in str(many)
    assert "&lt;" in Diff(new_arrays=["/<a>"])._repr_html_()


def test_an_empty_diff() -> None:
    assert Diff().is_empty()
    assert str(Diff()) == ""
    assert "no differences" in Diff()._repr_html_()


def test_a_summary_of_a_collection() -> None:
    summary = GCSummary._from_native({"bytes_deleted": 5, "chunks_deleted": 1})
    assert (summary.bytes_deleted, summary.chunks_deleted, summary.snapshots_deleted) == (5, 1, 0)
    assert summary.delete_errors == summary.skipped_phases == []


def test_statistics_add_up() -> None:
    stats = ChunkStorageStats(native_bytes=1, virtual_bytes=2, inlined_bytes=3)
    assert (stats.non_virtual_bytes(), stats.total_bytes()) == (4, 6)
    assert stats + stats == ChunkStorageStats(native_bytes=2, virtual_bytes=4, inlined_bytes=6)
    with pytest.raises(TypeError):
        stats + 1  # type: ignore[operator]


def test_types_of_updates_are_types_of_updates() -> None:
    commit = UpdateType.NewCommit("main", new_snap_id="B")
    assert isinstance(commit, UpdateType)
    assert (commit.branch, commit.new_snap_id) == ("main", "B")
    assert commit != UpdateType.NewDetachedSnapshot("B")
    assert UpdateType.FeatureFlagChanged(3, None).new_value is None
    with pytest.raises(TypeError, match="takes branch, new_snap_id"):
        UpdateType.NewCommit("main")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="name is a"):
        UpdateType.TagCreated(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="nested classes"):
        UpdateType()


def test_a_status() -> None:
    status = RepoStatus(RepoAvailability.read_only, NOON, "moving house")
    assert status == RepoStatus(RepoAvailability.read_only, NOON, "moving house")
    assert pickle.loads(pickle.dumps(status)) == status
    assert RepoStatus(RepoAvailability.online).set_at.tzinfo is not None
    status.availability = RepoAvailability.online
    assert status.availability == 0


def test_a_feature_flag_has_its_default_unless_it_is_set() -> None:
    assert FeatureFlag(id=3, name="x", default_enabled=True, setting=None).enabled
    assert not FeatureFlag(id=3, name="x", default_enabled=True, setting=False).enabled


def test_enumerations_are_numbers_with_names() -> None:
    assert [int(it) for it in ChunkType] == [0, 1, 2, 3]
    assert str(ChunkType.native) == repr(ChunkType.native) == "ChunkType.native"
    assert ChunkType["NATIVE"] is ChunkType.native
    assert SpecVersion(1) is SpecVersion.v1 < SpecVersion.v2
    assert SpecVersion.current() is icefield.spec_version() is SpecVersion.v1
    assert icefield.supported_spec_versions() == [SpecVersion.v2, SpecVersion.v1]
    assert SessionMode.readonly != 0  # type: ignore[comparison-overlap]
    assert int(SessionMode.rearrange) == 2
    for member in (ChunkType.inline, SpecVersion.v2, SessionMode.writable, RepoAvailability.online):
        assert pickle.loads(pickle.dumps(member)) is member


def test_a_virtual_chunk() -> None:
    spec = VirtualChunkSpec((1, 2), "s3://b/k", 3, 4, last_updated_at_checksum=NOON)
    assert (spec.index, spec.location, spec.offset, spec.length) == ([1, 2], "s3://b/k", 3, 4)
    assert spec.etag_checksum is None
    assert spec.last_updated_at_checksum == NOON


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((1, "s3://b/k", 0, 1), TypeError),
        (([1.5], "s3://b/k", 0, 1), TypeError),
        (([1], 5, 0, 1), TypeError),
        (([1], "s3://b/k", "0", 1), TypeError),
        (([-1], "s3://b/k", 0, 1), icefield.InvalidInputError),
        (([2**32], "s3://b/k", 0, 1), icefield.InvalidInputError),
        (([1], "s3://b/k", -1, 1), icefield.InvalidInputError),
        (([1], "s3://b/k", 0, 2**64), icefield.InvalidInputError),
        (([1], "s3://b/k", 0, 1, 7), TypeError),
        (([1], "s3://b/k", 0, 1, None, datetime.datetime(2024, 1, 1)), TypeError),
    ],
)
def test_wrong_virtual_chunks(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        VirtualChunkSpec(*arguments)


def snapshot(name: str, parent: str | None, minute: int, message: str = "") -> SnapshotInfo:
    at = NOON + datetime.timedelta(minutes=minute)
    return SnapshotInfo(id=name, parent_id=parent, written_at=at, message=message, metadata={})


HISTORY = [
    snapshot("root", None, 0),
    snapshot("a", "root", 1, "first line\nsecond line"),
    snapshot("b", "a", 2),
    snapshot("c", "b", 3),
    snapshot("d", "a", 4),
    snapshot("e", "a", 5, "<&>"),
]


def graph(plain: bool = True) -> AncestryGraph:
    branches = {"main": "c", "dev": "d", "fix": "e"}
    return AncestryGraph._of(HISTORY, branches, {"v1": "a"}, plain=plain)


def test_a_picture_of_a_history_as_text() -> None:
    assert str(graph()).splitlines() == [
        "  ●   e (fix) <&>",
        "  │",
        "  │ ● d (dev)",
        "  │ │",
        "● │ │ c (main)",
        "│ │ │",
        "● │ │ b",
        "├─┴─╯",
        "●     a (v1) first line",
        "│",
        "●     root",
    ]


def test_colours_are_left_out_of_plain_pictures() -> None:
    assert "\x1b[" in str(graph(plain=False))
    assert "\x1b[" not in str(graph())


def test_a_picture_of_a_history_as_svg() -> None:
    for plain in (True, False):
        svg = ElementTree.fromstring(graph(plain)._repr_svg_())
        space = "{http://www.w3.org/2000/svg}"
        assert len(svg.findall(f"{space}circle")) == len(HISTORY)
        assert len(svg.findall(f"{space}path")) == len(HISTORY) - 1
        assert "<&>" in "".join(svg.itertext())


def test_a_picture_of_a_history_in_a_page() -> None:
    """What a notebook puts into its page: well-formed, with all texts as texts."""
    names = {"main": "b", "<b>'\"&": "b"}
    odd = [snapshot("b", None, 0, "<script>alert('&')</script> \x1b[31m \0 ❄ 🧊\nmore")]
    graph = AncestryGraph._of(odd, names, {"</svg></div>": "b"})
    page = ElementTree.fromstring(graph._repr_html_())
    assert page.tag == "div"
    (svg,) = page
    assert svg.tag == "{http://www.w3.org/2000/svg}svg"
    shown = "".join(page.itertext())
    for text in ("<script>alert('&')</script>", "</svg></div>", "<b>'\"&", "❄ 🧊", "�[31m"):
        assert text in shown
    assert "more" not in shown
    assert not [it for it in page.iter() if "script" in it.tag]


def test_a_picture_of_an_empty_history() -> None:
    empty = AncestryGraph._of([], {}, plain=True)
    assert str(empty) == ""
    ElementTree.fromstring(empty._repr_svg_())
    ElementTree.fromstring(empty._repr_html_())


def test_a_history_whose_beginning_is_not_known() -> None:
    cut = AncestryGraph._of([HISTORY[2], HISTORY[3]], {"main": "c"}, plain=True)
    assert str(cut).splitlines() == ["● c (main)", "│", "● b"]
