"""Progress of long work, told to a function or a bar."""

from __future__ import annotations

import asyncio
import io
import threading
import time
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


def test_what_a_function_raises_is_reported_once_and_does_not_stop_the_work(
    tmp_path: Path, repo: ic.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", reported.append)

    def broken(*_: object) -> None:
        raise RuntimeError("no screen")

    assert repo.export(tmp_path / "out", progress=broken).chunks == 4
    assert [it.exc_type for it in reported] == [RuntimeError]


def test_a_function_may_use_the_package(repo: ic.Repository) -> None:
    seen: list[list[str]] = []
    again: list[str] = []

    def tell(stage: str, done: int, total: int | None) -> None:
        seen.append(sorted(repo.list_branches()))
        if not again:
            repo.fsck(progress=lambda stage, *_: again.append(stage))

    # In a thread, so that what never ends fails.
    checking = threading.Thread(target=lambda: repo.fsck(progress=tell), daemon=True)
    checking.start()
    checking.join(60)
    assert not checking.is_alive()
    assert again
    assert seen
    assert all(it == ["main"] for it in seen)


def test_all_calls_are_over_at_the_end_and_slow_ones_miss_no_stage(repo: ic.Repository) -> None:
    told: list[str] = []
    quick: list[str] = []

    def slow(stage: str, *_: object) -> None:
        time.sleep(0.05)
        told.append(stage)

    repo.fsck(progress=slow)
    before = list(told)
    repo.fsck(progress=lambda stage, *_: quick.append(stage))
    assert list(dict.fromkeys(before)) == list(dict.fromkeys(quick))
    assert told == before


def test_methods_that_are_awaited_tell_too(tmp_path: Path, repo: ic.Repository) -> None:
    told: list[str] = []

    async def work() -> None:
        def tell(stage: str, *_: object) -> None:
            told.append(f"{stage} of {','.join(repo.list_branches())}")

        await repo.fsck_async(progress=tell)
        assert told
        told.clear()
        await repo.export_async(tmp_path / "out", progress=tell)

    asyncio.run(asyncio.wait_for(work(), 60))
    assert told[-1] == "finishing of main"


def test_an_error_of_the_work_comes_through(tmp_path: Path, repo: ic.Repository) -> None:
    threads = threading.active_count()
    with pytest.raises(ic.RefNotFoundError):
        repo.export(tmp_path / "out", branch="no", progress=lambda *_: None)
    assert threading.active_count() <= threads


@pytest.mark.parametrize("progress", [3, "bar", tqdm])
def test_what_is_no_progress(tmp_path: Path, repo: ic.Repository, progress: object) -> None:
    with pytest.raises(TypeError, match="progress"):
        repo.export(tmp_path / "out", progress=progress)  # type: ignore[arg-type]
