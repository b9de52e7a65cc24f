"""Repositories of format version 2, which cannot be opened yet: errors that say so, and nothing written."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import icefield
from icefield import Repository, SpecVersion, Storage

VECTORS = Path(__file__).resolve().parents[4] / "fixtures" / "vectors"


@pytest.fixture(params=["v2-history", "v2-empty"])
def later(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a repository that the reference implementation wrote."""
    return Path(shutil.copytree(VECTORS / str(request.param) / "repo", tmp_path / "later"))


def _files(root: Path) -> dict[str, bytes]:
    return {str(it.relative_to(root)): it.read_bytes() for it in root.rglob("*") if it.is_file()}


def _opened_in_every_way(storage: Storage) -> list[Exception]:
    ways: list[Callable[[], object]] = [
        lambda: Repository.open(storage),
        lambda: Repository.open_or_create(storage),
        lambda: Repository.open_or_create(storage, check_clean_root=False),
        lambda: Repository.fetch_config(storage),
        lambda: asyncio.run(Repository.open_async(storage)),
        lambda: asyncio.run(Repository.open_or_create_async(storage)),
    ]
    errors: list[Exception] = []
    for way in ways:
        with pytest.raises(icefield.IcechunkError) as caught:
            way()
        errors.append(caught.value)
    return errors


def test_a_repository_of_version_2_is_refused_by_its_version(later: Path) -> None:
    before = _files(later)
    for error in _opened_in_every_way(icefield.local_filesystem_storage(str(later))):
        assert isinstance(error, icefield.FormatError), error
        assert error.kind == "unsupported-spec-version"
        assert "version 2" in str(error)
    assert _files(later) == before


@pytest.mark.parametrize("check", [True, False])
def test_none_is_made_over_it(later: Path, check: bool) -> None:
    before = _files(later)
    with pytest.raises(icefield.IcechunkError, match="not empty") as caught:
        Repository.create(
            icefield.local_filesystem_storage(str(later)), check_clean_root=check
        )
    assert caught.value.kind == "parent-directory-not-clean"
    assert _files(later) == before


def test_what_can_be_asked_without_opening_is_answered(later: Path) -> None:
    storage = icefield.local_filesystem_storage(str(later))
    assert Repository.exists(storage)
    assert Repository.fetch_spec_version(storage) == SpecVersion.v2


def test_none_can_be_made(tmp_path: Path) -> None:
    storage = icefield.local_filesystem_storage(str(tmp_path / "new"))
    for version in (2, SpecVersion.v2):
        with pytest.raises(icefield.FormatError, match="version 2"):
            Repository.create(storage, spec_version=version)
        with pytest.raises(icefield.FormatError, match="version 2"):
            Repository.open_or_create(storage, create_version=version)
    assert not Repository.exists(storage)
    assert SpecVersion.current() == SpecVersion.v1
