"""Progress of long work, told to a function or a bar."""

from __future__ import annotations

import io
from pathlib import Path

import icefield as ic
import pytest
from tqdm import tqdm

from making import new


def test_a_function_is_told_stages_and_counts(tmp_path: Path, repo: ic.Repository) -> None:
    told: list[tuple[str, int, int | None]] = []
    repo.export(tmp_path / "out", progress=lambda *now: told.append(now))
    assert told[-1][0] == "finishing"
    assert max(done for _, done, _ in told) == 4
    assert {total for _, _, total in told} <= {None, 4}


def test_a_check_tells_its_stages(repo: ic.Repository) -> None:
    stages: list[str] = []
    repo.fsck(progress=lambda stage, done, total: stages.append(stage))
    assert len(set(stages)) > 1


def test_a_bar_of_tqdm_is_driven(tmp_path: Path, repo: ic.Repository) -> None:
    shown = io.StringIO()
    with tqdm(file=shown) as bar:
        repo.export(tmp_path / "out", progress=bar)
    assert "finishing" in shown.getvalue()


def test_imports_and_retention_tell_too(tmp_path: Path, repo: ic.Repository) -> None:
    told: list[str] = []
    repo.export(tmp_path / "out")
    other = new(tmp_path / "other")
    other.import_files(tmp_path / "out", progress=lambda stage, *_: told.append(stage))
    assert told
    told.clear()
    other.retain(last=1, progress=lambda stage, *_: told.append(stage))
    assert told


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_a_function_raises_does_not_stop_the_work(tmp_path: Path, repo: ic.Repository) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no screen")

    assert repo.export(tmp_path / "out", progress=broken).chunks == 4


@pytest.mark.parametrize("progress", [3, "bar", tqdm])
def test_what_is_no_progress(tmp_path: Path, repo: ic.Repository, progress: object) -> None:
    with pytest.raises(TypeError, match="progress"):
        repo.export(tmp_path / "out", progress=progress)  # type: ignore[arg-type]
