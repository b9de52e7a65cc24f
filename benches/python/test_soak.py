"""The soak runs, and finds what grows."""

import json
from pathlib import Path

import numpy as np
import pytest
import soak


def _samples(resident: list[int]) -> list[soak.Sample]:
    return [{"resident_kib": kib, "descriptors": 9, "threads": 4} for kib in resident]


def test_what_grows_is_found_and_what_swings_is_not() -> None:
    leak = soak.growth(_samples([50_000 + 100 * at for at in range(90)]))
    assert [found["name"] for found in leak if not found["is_flat"]] == ["resident_kib"]
    swing = soak.growth(_samples([50_000 + at % 7 * 100 for at in range(90)]))
    assert all(found["is_flat"] for found in swing)
    assert soak.growth([]) == []


@pytest.mark.parametrize("version", [1, 2])
def test_a_life_reads_what_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    monkeypatch.setattr(soak, "COLLECTED", 3)
    life = soak.Life(tmp_path / "repository", version)
    for _ in range(5):
        life.live()
    assert (life.round, life.commits, life.forks) == (5, 7, 4)
    life.values[0] += 1
    with pytest.raises(AssertionError, match="not what was written"):
        life.live()


def test_a_repository_is_replaced_by_one_without_its_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak, "RENEWED", 4)
    life = soak.Life(tmp_path / "repository", 2)
    for _ in range(4):
        life.live()
    # The new one has its first snapshot, the array and the last round.
    assert len(list(life.repository.ancestry(branch="main"))) == 3
    assert np.flatnonzero(life.values).tolist() == [3]
    assert (life.round, life.commits) == (4, 5)
    life.live()
    assert (life.commits, life.forks) == (7, 4)
    assert len(list((tmp_path / "repository").iterdir())) == 1


def test_rounds_begin_when_they_are_due_and_late_ones_are_left_out() -> None:
    pace = soak.Pace(2)
    assert [pace.wait(elapsed) for elapsed in (0, 0.25, 0.75)] == [0, 0.25, 0.25]
    assert pace.missed == 0
    # That at 1.5 seconds is left out, and that at 2 is late.
    assert [pace.wait(elapsed) for elapsed in (2.25, 2.375)] == [0, 0.125]
    assert pace.missed == 1


@pytest.mark.parametrize("rate", ["0", "-1", "nan", "inf", "x"])
def test_a_rate_is_a_positive_number(rate: str) -> None:
    with pytest.raises(SystemExit):
        soak.main(["--minutes", "1", "--rate", rate])


def test_few_samples_are_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "figures.json"
    arguments = ["--minutes", "0.001", "--rate", "1000", "--directory", str(tmp_path)]
    assert soak.main([*arguments, "--figures", str(out)]) == 1
    assert "too few" in capsys.readouterr().out
    assert json.loads(out.read_text())["counts"]["commits"] >= 2
    assert list(tmp_path.iterdir()) == [out]
