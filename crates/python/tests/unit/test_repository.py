"""Repositories: opening, sessions at a time, histories, and what needs a later format version."""

import asyncio
import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import icefield
from icefield import ErrorKind, Repository

UTC = datetime.UTC
NEEDS_VERSION_2: dict[str, tuple[Any, ...]] = {
    "get_metadata": (),
    "set_metadata": ({"a": 1},),
    "update_metadata": ({"a": 1},),
    "get_status": (),
    "set_status": (icefield.RepoStatus(icefield.RepoAvailability.online),),
    "feature_flags": (),
    "enabled_feature_flags": (),
    "disabled_feature_flags": (),
    "set_feature_flag": ("move_node", True),
    "inspect_repo_info": (),
    "rearrange_session": ("main",),
}


def commit(repository: Repository, value: int, message: str = "more") -> str:
    session = repository.writable_session("main")
    zarr.open_array(session.store, path="a")[0] = value
    return session.commit(message)


@pytest.mark.parametrize("name", NEEDS_VERSION_2)
def test_what_needs_format_version_2_says_so(name: str) -> None:
    older = Repository.create(icefield.in_memory_storage(), spec_version=1)
    for call in (getattr(older, name), _waiting(getattr(older, f"{name}_async"))):
        with pytest.raises(icefield.FormatError, match="version 2") as caught:
            call(*NEEDS_VERSION_2[name])
        assert caught.value.kind == ErrorKind.UNSUPPORTED_SPEC_VERSION


def _waiting(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        async def run() -> Any:
            return await function(*args)

        return asyncio.run(run())

    return call


def test_the_operations_log_needs_format_version_2() -> None:
    older = Repository.create(icefield.in_memory_storage(), spec_version=1)
    with pytest.raises(icefield.FormatError):
        older.ops_log()

    async def awaited() -> list[Any]:
        return [it async for it in older.ops_log_async()]

    with pytest.raises(icefield.FormatError):
        asyncio.run(awaited())
    with pytest.raises(icefield.FormatError):
        _ = older.status
    with pytest.raises(icefield.FormatError):
        _ = older.metadata


def test_amending_is_not_supported_by_the_version(older: Repository) -> None:
    with pytest.raises(icefield.FormatError) as caught:
        older.rewrite_manifests("again", branch="main", commit_method="amend")
    assert caught.value.kind == ErrorKind.UNSUPPORTED_OPERATION_FOR_VERSION
    wrong: Any = "replace"
    with pytest.raises(ValueError, match="'replace'"):
        older.rewrite_manifests("again", branch="main", commit_method=wrong)


def test_new_repositories_have_version_1(tmp_path: Path) -> None:
    storage = icefield.local_filesystem_storage(str(tmp_path / "r"))
    assert Repository.fetch_spec_version(storage) is None
    assert not Repository.exists(storage)
    assert Repository.create(storage).spec_version is icefield.SpecVersion.v1
    assert Repository.fetch_spec_version(storage) is icefield.SpecVersion.v1
    assert asyncio.run(Repository.exists_async(storage))


@pytest.mark.parametrize(
    ("version", "error"),
    [(3, ValueError), (7, ValueError), ("1", TypeError), (-1, icefield.FormatError)],
)
def test_other_versions_are_refused(version: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Repository.create(icefield.in_memory_storage(), spec_version=version)


def test_a_missing_repository(tmp_path: Path) -> None:
    with pytest.raises(icefield.RepositoryNotFoundError):
        Repository.open(icefield.local_filesystem_storage(str(tmp_path / "none")))


def test_arguments_of_wrong_types_are_named() -> None:
    wrong: Any = "memory://"
    with pytest.raises(TypeError, match="`storage` must be a Storage"):
        Repository.open(wrong)
    with pytest.raises(TypeError, match="`config` must be a RepositoryConfig"):
        Repository.create(icefield.in_memory_storage(), wrong)
    with pytest.raises(TypeError, match="authorize_virtual_chunk_access"):
        Repository.create(icefield.in_memory_storage(), None, wrong)


def test_one_version_must_be_given(memory: Repository) -> None:
    with pytest.raises(ValueError, match="Must provide one of branch, tag, or snapshot_id"):
        memory.readonly_session()
    with pytest.raises(ValueError, match="Must provide one of"):
        memory.readonly_session("main", tag="t")
    with pytest.raises(ValueError, match="Must provide one of"):
        memory.ancestry(branch="main", tag="t")
    with pytest.raises(ValueError, match="from_branch, from_tag, or from_snapshot_id"):
        memory.diff(to_branch="main")


def test_sessions_as_of_a_time(memory: Repository) -> None:
    newest, before = list(memory.ancestry(branch="main"))[:2]
    session = memory.readonly_session("main", as_of=before.written_at)
    assert session.snapshot_id == before.id
    elsewhere = newest.written_at.astimezone(datetime.timezone(datetime.timedelta(hours=-7)))
    assert memory.readonly_session("main", as_of=elsewhere).snapshot_id == newest.id
    with pytest.raises(icefield.SnapshotNotFoundError) as caught:
        memory.readonly_session("main", as_of=datetime.datetime(2000, 1, 1, tzinfo=UTC))
    assert caught.value.kind == ErrorKind.NO_SNAPSHOT_AT_TIME


def test_a_time_needs_a_time_zone_and_a_branch(memory: Repository) -> None:
    with pytest.raises(TypeError, match="non-None tzinfo"):
        memory.readonly_session("main", as_of=datetime.datetime(2030, 1, 1))
    with pytest.raises(TypeError, match="non-None tzinfo"):
        memory.expire_snapshots(datetime.datetime(2030, 1, 1))
    with pytest.raises(ValueError, match="with a branch name"):
        memory.readonly_session(tag="t", as_of=datetime.datetime(2030, 1, 1, tzinfo=UTC))


def test_ancestry_both_ways(memory: Repository) -> None:
    ids = [commit(memory, value) for value in range(1, 4)]
    found = list(memory.ancestry(branch="main"))
    assert [it.id for it in found[:3]] == ids[::-1]
    assert found[-1].parent_id is None

    async def later() -> list[str]:
        return [it.id async for it in memory.async_ancestry(snapshot_id=ids[1])]

    assert asyncio.run(later()) == [it.id for it in found[1:]]


def test_a_missing_branch_fails_at_once(memory: Repository) -> None:
    with pytest.raises(icefield.RefNotFoundError):
        memory.ancestry(branch="none")


def test_a_history_can_be_left_early(memory: Repository) -> None:
    async def first() -> str:
        history = memory.async_ancestry(branch="main")
        async for it in history:
            found = it.id
            break
        await history.aclose()
        await history.aclose()
        assert [it async for it in history] == []
        return found

    assert asyncio.run(first()) == memory.lookup_branch("main")


def test_the_graph_shows_names_and_messages(memory: Repository) -> None:
    commit(memory, 1, "<script>")
    memory.create_branch("dev", memory.lookup_branch("main"))
    memory.create_tag("first", list(memory.ancestry(branch="main"))[-1].id)
    text = str(memory.ancestry_graph(plain=True))
    assert "main" in text and "dev" in text and "first" in text
    svg = memory.ancestry_graph()._repr_svg_()
    assert "&lt;script&gt;" in svg and "<script>" not in svg
    html = memory.ancestry_graph()._repr_html_()
    assert svg in html and html.startswith("<div") and html.endswith("</div>")
    assert str(asyncio.run(memory.ancestry_graph_async(plain=True))) == text


def test_pictures_escape_all_text(memory: Repository) -> None:
    commit(memory, 1, "<img src=x>")
    session = memory.writable_session("main")
    zarr.open_array(session.store, path="a")[1] = 7
    for html in (memory._repr_html_(), session._repr_html_(), session.store._repr_html_()):
        assert "<svg" in html
        assert "&lt;img" in html and "<img" not in html
    assert "1 chunks" in session._repr_html_()


def test_reopening_keeps_what_is_not_given(memory: Repository) -> None:
    other = memory.reopen(icefield.RepositoryConfig(inline_chunk_threshold_bytes=7))
    assert other.config.inline_chunk_threshold_bytes == 7
    assert other.reopen().config.inline_chunk_threshold_bytes == 7
    assert asyncio.run(other.reopen_async()).config.inline_chunk_threshold_bytes == 7


def test_default_metadata_goes_to_later_sessions(memory: Repository) -> None:
    before = memory.writable_session("main")
    memory.set_default_commit_metadata({"who": "x", "n": 1})
    assert memory.default_commit_metadata() == {"who": "x", "n": 1}
    before.commit("before", {"n": 2}, allow_empty=True)
    memory.writable_session("main").commit("after", {"n": 3}, allow_empty=True)
    after, older = list(memory.ancestry(branch="main"))[:2]
    assert (older.metadata, after.metadata) == ({"n": 2}, {"who": "x", "n": 3})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**64, -(2**63) - 1, "\ud800"])
def test_metadata_that_would_change_is_refused(memory: Repository, value: object) -> None:
    for metadata in ({"k": value}, {"k": {"deep": [1, value]}}):
        with pytest.raises(icefield.InvalidInputError, match=r"metadata\['k'\]"):
            memory.writable_session("main").commit("x", metadata, allow_empty=True)
        with pytest.raises(icefield.InvalidInputError, match=r"metadata\['k'\]"):
            memory.set_default_commit_metadata(metadata)


def test_metadata_that_is_no_json(memory: Repository) -> None:
    loop: dict[str, Any] = {}
    loop["k"] = loop
    wrong: Any = {1: 2}
    session = memory.writable_session("main")
    with pytest.raises(icefield.InvalidInputError, match="contains itself"):
        session.commit("x", loop)
    with pytest.raises(TypeError, match="must be strings"):
        session.commit("x", wrong)
    with pytest.raises(TypeError, match="object"):
        session.commit("x", {"k": object()})
    wrong = [("k", 1)]
    with pytest.raises(TypeError, match="must be a dict"):
        session.commit("x", wrong)


def test_metadata_comes_back_as_it_was(memory: Repository) -> None:
    metadata = {"n": 2**64 - 1, "m": -(2**63), "f": 0.1, "s": "ü\x00", "l": [None, True, {}]}
    memory.writable_session("main").commit("x", metadata, allow_empty=True)
    assert next(memory.ancestry(branch="main")).metadata == metadata


def test_a_transaction_commits_at_its_end(memory: Repository) -> None:
    with memory.transaction("main", message="t", metadata={"k": 1}) as store:
        zarr.open_array(store, path="a")[:] = 9
    assert next(memory.ancestry(branch="main")).message == "t"
    tip = memory.lookup_branch("main")
    with (
        pytest.raises(ZeroDivisionError),
        memory.transaction("main", message="never") as store,
    ):
        zarr.open_array(store, path="a")[:] = 8
        raise ZeroDivisionError
    assert memory.lookup_branch("main") == tip


def test_inspections_are_objects_or_texts(memory: Repository) -> None:
    inspect: Any = memory.inspect_snapshot
    found = inspect(memory.lookup_branch("main"))
    assert found["id"] == memory.lookup_branch("main")
    assert isinstance(inspect(memory.lookup_branch("main"), pretty=True), str)
    assert "\n" not in inspect(memory.lookup_branch("main"), pretty=False)


def test_limits_are_checked(memory: Repository) -> None:
    with pytest.raises(icefield.InvalidInputError, match="max_snapshots_in_memory"):
        memory.chunk_storage_stats(max_snapshots_in_memory=-1)
    with pytest.warns(DeprecationWarning, match="chunk_storage_stats"):
        assert memory.total_chunks_storage() == memory.chunk_storage_stats().native_bytes


LATER = datetime.datetime(2999, 1, 1, tzinfo=UTC)
# Values of a caller that has read "false" from a file, or has not set a switch.
NO_SWITCHES: list[Any] = [None, "false", "no", "", 0, 1, []]
SWITCHES: dict[str, Callable[[Repository, Any], object]] = {
    "delete_expired_branches": lambda it, given: it.expire_snapshots(
        LATER, delete_expired_branches=given
    ),
    "delete_expired_tags": lambda it, given: it.expire_snapshots(LATER, delete_expired_tags=given),
    "dry_run": lambda it, given: it.garbage_collect(LATER, dry_run=given),
    "force": lambda it, given: it.garbage_collect(LATER, force=given),
    "plain": lambda it, given: it.ancestry_graph(plain=given),
    "check_clean_root": lambda it, given: Repository.create(
        icefield.in_memory_storage(), check_clean_root=given
    ),
}


@pytest.mark.parametrize("given", NO_SWITCHES, ids=repr)
@pytest.mark.parametrize("name", SWITCHES)
def test_switches_are_true_or_false(memory: Repository, name: str, given: Any) -> None:
    commit(memory, 1)
    older = list(memory.ancestry(branch="main"))[1].id
    memory.create_branch("old", older)
    memory.create_tag("v1", older)
    objects = memory.storage.list_objects()
    with pytest.raises(TypeError, match=f"`{name}` must be True or False"):
        SWITCHES[name](memory, given)
    assert memory.storage.list_objects() == objects


@pytest.mark.parametrize("given", [True, False, np.True_, np.False_], ids=repr)
def test_switches_are_those_of_numpy_too(memory: Repository, given: Any) -> None:
    commit(memory, 1)
    memory.create_tag("v1", list(memory.ancestry(branch="main"))[1].id)
    memory.expire_snapshots(LATER, delete_expired_tags=given)
    assert memory.list_tags() == (set() if given else {"v1"})


def test_branches_and_tags(memory: Repository) -> None:
    tip = memory.lookup_branch("main")
    memory.create_branch("dev", tip)
    memory.create_tag("v1", tip)
    assert memory.list_branches() == {"main", "dev"}
    assert memory.list_tags() == {"v1"}
    newer = commit(memory, 5)
    with pytest.raises(icefield.ConflictError):
        memory.reset_branch("dev", newer, from_snapshot_id=newer)
    memory.reset_branch("dev", newer, from_snapshot_id=tip)
    assert memory.lookup_branch("dev") == newer
    memory.delete_branch("dev")
    memory.delete_tag("v1")
    with pytest.raises(icefield.RefNotFoundError):
        memory.lookup_tag("v1")
    wrong: Any = 3
    with pytest.raises(TypeError, match="`branch` must be a string"):
        memory.lookup_branch(wrong)


def test_no_credential_is_warned_of(tmp_path: Path) -> None:
    storage = icefield.local_filesystem_storage(str(tmp_path / "r"))
    with pytest.warns(DeprecationWarning, match="LocalFileSystemAccess"):
        repository = Repository.create(
            storage, authorize_virtual_chunk_access={"file:///tmp/": None}
        )
    assert repository.authorized_virtual_container_prefixes == {"file:///tmp/"}
