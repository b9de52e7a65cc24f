"""Repositories: creating, opening, asking whether one is there, settings that are saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from making import Keys, commit, create, small_array
from under_test import SPEC_VERSION, in_version, raises


def test_there_is_none_at_first(storage: Any, ic: Any) -> None:
    assert ic.Repository.exists(storage) is False


def test_there_is_one_after_creation(storage: Any, ic: Any) -> None:
    create(storage)
    assert ic.Repository.exists(storage) is True


def test_opening_what_is_not_there(storage: Any, ic: Any) -> None:
    with raises("RepositoryNotFoundError", "repository-not-found"):
        ic.Repository.open(storage)


def test_the_missing_repository_is_a_key_error(storage: Any, ic: Any) -> None:
    with pytest.raises(KeyError):
        ic.Repository.open(storage)


def test_the_spec_version_of_nothing(storage: Any, ic: Any) -> None:
    assert ic.Repository.fetch_spec_version(storage) is None


def test_the_spec_version(storage: Any, ic: Any) -> None:
    repo = create(storage)
    assert repo.spec_version == SPEC_VERSION
    assert ic.Repository.fetch_spec_version(storage) == SPEC_VERSION


def test_the_spec_version_may_be_an_enum(storage: Any, ic: Any) -> None:
    version = in_version(ic.SpecVersion.v1, ic.SpecVersion.v2)
    assert ic.Repository.create(storage, spec_version=version).spec_version == version


@pytest.mark.parametrize("version", [0, 7, "1", "x"])
def test_an_unknown_spec_version(storage: Any, ic: Any, version: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        ic.Repository.create(storage, spec_version=version)
    assert ic.Repository.exists(storage) is False


def test_creating_twice_is_refused(storage: Any) -> None:
    create(storage)
    with raises("InvalidInputError", "parent-directory-not-clean"):
        create(storage)


def test_creating_among_other_files_is_refused(tmp_path: Path, ic: Any) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with raises("InvalidInputError", "parent-directory-not-clean"):
        create(ic.local_filesystem_storage(str(tmp_path)))
    assert [entry.name for entry in tmp_path.iterdir()] == ["notes.txt"]


def test_creating_among_other_files_may_be_allowed(tmp_path: Path, ic: Any) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    storage = ic.local_filesystem_storage(str(tmp_path))
    create(storage, check_clean_root=False)
    assert ic.Repository.exists(storage)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_open_or_create_creates(storage: Any, ic: Any) -> None:
    repo = ic.Repository.open_or_create(storage, create_version=1)
    assert repo.spec_version == ic.SpecVersion.v1
    assert repo.list_branches() == {"main"}


def test_open_or_create_opens(storage: Any, ic: Any) -> None:
    made = commit(create(storage), small_array())
    assert ic.Repository.open_or_create(storage).lookup_branch("main") == made


def test_opening_again_sees_everything(storage: Any, ic: Any) -> None:
    repo = create(storage)
    commit(repo, {**small_array(), "a/c/0": b"x"})
    repo.create_tag("t", repo.lookup_branch("main"))
    again = ic.Repository.open(storage)
    assert again.list_tags() == {"t"}
    assert Keys(again.readonly_session(tag="t").store).get("a/c/0") == b"x"


def test_two_places_are_apart(tmp_path: Path, ic: Any) -> None:
    one = create(ic.local_filesystem_storage(str(tmp_path / "one")))
    two = create(ic.local_filesystem_storage(str(tmp_path / "two")))
    commit(one, small_array())
    assert one.lookup_branch("main") != two.lookup_branch("main")


def test_two_memories_are_apart(ic: Any) -> None:
    create(ic.in_memory_storage())
    assert not ic.Repository.exists(ic.in_memory_storage())


def test_a_path_with_odd_characters(tmp_path: Path, ic: Any) -> None:
    place = tmp_path / "größe & more" / "repo 1"
    repo = create(ic.local_filesystem_storage(str(place)))
    commit(repo, small_array())
    again = ic.Repository.open(ic.local_filesystem_storage(str(place)))
    assert again.lookup_branch("main") == repo.lookup_branch("main")


@pytest.mark.parametrize("odd", [None, "path", 5])
def test_a_repository_needs_a_storage(ic: Any, odd: Any) -> None:
    for start in (ic.Repository.create, ic.Repository.open, ic.Repository.exists):
        with pytest.raises(TypeError):
            start(odd)


@pytest.mark.parametrize("odd", ["config", 5, {"inline_chunk_threshold_bytes": 1}])
def test_a_config_must_be_one(storage: Any, ic: Any, odd: Any) -> None:
    with pytest.raises(TypeError):
        ic.Repository.create(storage, odd, spec_version=1)


def test_no_config_is_saved_by_default(storage: Any, ic: Any) -> None:
    create(storage)
    assert ic.Repository.fetch_config(storage) is None


def test_the_config_of_nothing(storage: Any, ic: Any) -> None:
    with raises("RepositoryNotFoundError", "repository-not-found"):
        ic.Repository.fetch_config(storage)


def test_a_config_is_used(storage: Any, ic: Any) -> None:
    repo = create(storage, ic.RepositoryConfig(inline_chunk_threshold_bytes=7))
    assert repo.config.inline_chunk_threshold_bytes == 7
    assert repo.writable_session("main").config.inline_chunk_threshold_bytes == 7


def test_a_saved_config_is_fetched(storage: Any, ic: Any) -> None:
    repo = create(storage, ic.RepositoryConfig(inline_chunk_threshold_bytes=7))
    repo.save_config()
    saved = ic.Repository.fetch_config(storage)
    assert saved is not None
    assert saved.inline_chunk_threshold_bytes == 7


def test_a_saved_config_is_used_on_opening(storage: Any, ic: Any) -> None:
    create(storage, ic.RepositoryConfig(inline_chunk_threshold_bytes=7)).save_config()
    assert ic.Repository.open(storage).config.inline_chunk_threshold_bytes == 7


def test_a_given_config_wins_over_the_saved(storage: Any, ic: Any) -> None:
    first = ic.RepositoryConfig(
        inline_chunk_threshold_bytes=7, get_partial_values_concurrency=3
    )
    create(storage, first).save_config()
    again = ic.Repository.open(storage, ic.RepositoryConfig(inline_chunk_threshold_bytes=9))
    assert again.config.inline_chunk_threshold_bytes == 9
    assert again.config.get_partial_values_concurrency == 3


def test_saving_a_config_twice(storage: Any, ic: Any) -> None:
    repo = create(storage, ic.RepositoryConfig(inline_chunk_threshold_bytes=7))
    repo.save_config()
    repo.save_config()
    saved = ic.Repository.fetch_config(storage)
    assert saved is not None
    assert saved.inline_chunk_threshold_bytes == 7


def test_reopening_with_another_config(storage: Any, ic: Any) -> None:
    repo = create(storage, ic.RepositoryConfig(inline_chunk_threshold_bytes=7))
    again = repo.reopen(ic.RepositoryConfig(inline_chunk_threshold_bytes=9))
    assert again.config.inline_chunk_threshold_bytes == 9
    assert repo.config.inline_chunk_threshold_bytes == 7
    assert again.lookup_branch("main") == repo.lookup_branch("main")


def test_reopening_without_a_config_keeps_it(storage: Any, ic: Any) -> None:
    repo = create(storage, ic.RepositoryConfig(inline_chunk_threshold_bytes=7))
    assert repo.reopen().config.inline_chunk_threshold_bytes == 7


def test_the_config_shows_what_the_storage_does_by_itself(storage: Any, ic: Any) -> None:
    repo = create(storage)
    assert repo.config.storage == storage.default_settings()
    assert repo.config == repo.config != ic.RepositoryConfig.default()
    assert repo.reopen(repo.config).config == repo.config


def test_settings_of_the_storage_are_shown(disk: Any, ic: Any) -> None:
    retries = ic.StorageRetriesSettings(max_tries=3, initial_backoff_ms=1, max_backoff_ms=2)
    settings = ic.StorageSettings(storage_class="COLD", retries=retries)
    repo = create(disk, ic.RepositoryConfig(storage=settings))
    found = repo.config.storage
    assert (found.storage_class, found.retries.max_tries) == ("COLD", 3)


def test_what_the_storage_does_by_itself_is_not_saved(disk: Any, ic: Any) -> None:
    repo = create(disk)
    config = repo.config
    config.inline_chunk_threshold_bytes = 7
    repo.reopen(config).save_config()
    saved = ic.Repository.fetch_config(disk)
    assert saved.inline_chunk_threshold_bytes == 7
    assert saved.storage is None


@pytest.mark.parametrize(("threshold", "kind"), [(0, "native"), (10, "inline"), (9, "native")])
def test_the_inline_threshold_decides(memory: Any, ic: Any, threshold: int, kind: str) -> None:
    repo = create(memory, ic.RepositoryConfig(inline_chunk_threshold_bytes=threshold))
    commit(repo, {**small_array(), "a/c/0": b"x" * 10})
    found = repo.readonly_session("main").chunk_type("/a", [0])
    assert found == getattr(ic.ChunkType, kind)


def test_changing_a_session_s_config_changes_nothing(stocked: Any) -> None:
    session = stocked.writable_session("main")
    session.config.inline_chunk_threshold_bytes = 1
    assert session.config.inline_chunk_threshold_bytes != 1
    assert stocked.config.inline_chunk_threshold_bytes != 1


def test_the_storage_of_a_repository(storage: Any, ic: Any) -> None:
    repo = create(storage)
    assert isinstance(repo.storage, ic.Storage)
    assert ic.Repository.open(repo.storage).lookup_branch("main") == repo.lookup_branch("main")


def test_the_representation_says_what_it_is(disk: Any, tmp_path: Path) -> None:
    text = repr(create(disk))
    assert "Repository" in text
    assert str(tmp_path) in text


def test_a_repository_shows_as_html(storage: Any) -> None:
    assert "<" in create(storage)._repr_html_()


def test_a_directory_without_a_repository(tmp_path: Path, ic: Any) -> None:
    (tmp_path / "repo").mkdir()
    storage = ic.local_filesystem_storage(str(tmp_path / "repo"))
    assert ic.Repository.exists(storage) is False
    with raises("RepositoryNotFoundError", "repository-not-found"):
        ic.Repository.open(storage)


def test_nothing_is_authorized_by_default(repo: Any) -> None:
    assert repo.authorized_virtual_container_prefixes == set()
