"""The benchmark runs, compares what was made, and says what it should; how fast it is, is not for a test to say."""

import json
from pathlib import Path

import pytest
from cases import CASES, Line, _exponent
from run import main


@pytest.mark.parametrize("case", [case.name for case in CASES])
def test_a_quick_run_measures_every_case(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "measured.json"
    arguments = ["--quick", "--rounds", "1", "--case", case, "--json", str(out)]
    assert main([*arguments, "--directory", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    measured = json.loads(out.read_text())
    targets = [line for line in measured["lines"] if line["target"]]
    assert targets
    for line in measured["lines"]:
        assert line["what"] in printed
        assert line["figure"] in printed
    # Only the numbers are left behind.
    assert list(tmp_path.iterdir()) == [out]


def test_the_exponent_is_that_of_the_times() -> None:
    assert _exponent({10: 1.0, 100: 10.0, 1000: 100.0}) == pytest.approx(1)
    assert _exponent({10: 1.0, 100: 100.0, 1000: 10_000.0}) == pytest.approx(2)


def test_a_missed_target_is_said() -> None:
    assert Line("what", "1", "at least 2", False).verdict == "MISSED"
