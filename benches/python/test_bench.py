"""The benchmark runs and says what it should; how fast it is, is not for a test to say."""

import json
from pathlib import Path

import pytest
from cases import CASES, Case, Measured, Taken, Target, available
from report import Row, as_json, rows, table
from run import main


def test_a_quick_run_measures_every_case(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "measured.json"
    assert main(["--quick", "--json", str(out), "--directory", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    measured = json.loads(out.read_text())
    assert measured["schema"] == 1
    names = {row["name"] for row in measured["rows"]}
    for case in available(None):
        assert set(case.targets) <= names
    for row in measured["rows"]:
        assert row["name"] in printed
        assert row["rounds"]["icefield"] and all(
            seconds > 0 for seconds in row["rounds"]["icefield"]
        )
        assert {"LocalStore"} <= set(row["rounds"])
    # Only the numbers are left behind.
    assert list(tmp_path.iterdir()) == [out]


def test_one_case_and_two_contenders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--quick", "--case", "open", "--contenders", "icefield,LocalStore"]
    assert main([*arguments, "--directory", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "open and read an attribute" in printed
    assert "x icechunk" not in printed


def _nothing(*_: object) -> Measured:
    return {}


def test_ratios_are_medians_of_rounds() -> None:
    case = Case("c", _nothing, {"set": [Target("icechunk", 2.0), Target(seconds=0.5)]})
    results: list[tuple[str, str, Measured]] = [
        ("c", "icefield", {"set": Taken(1.0, 0.5)}),
        ("c", "icechunk", {"set": Taken(2.0, 0.5)}),
        ("c", "icechunk", {"set": Taken(30.0, 0.5)}),
        ("c", "icefield", {"set": Taken(10.0, 0.5)}),
        ("c", "icefield", {"set": Taken(1.0, 0.5)}),
        ("c", "icechunk", {"set": Taken(1.0, 0.5)}),
    ]
    (row,) = rows([case], results)
    assert row.median("icefield") == 1.0
    # 2, 3 and 1 times as fast: the round in which both were slow counts as any other.
    assert row.speed("icechunk") == 2.0
    assert [row.met(target) for target in row.targets] == [True, False]
    text = table([row], ["icefield", "icechunk"])
    assert "2 x icechunk: met" in text
    assert "at most 500 ms: MISSED" in text
    assert as_json([row], {})["rows"][0]["speeds"] == {"icechunk": 2.0}


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    row = Row("set", {"icefield": [1.0]}, [Target("icechunk", 2.0)])
    assert row.met(row.targets[0]) is None
    assert "not measured" in table([row], ["icefield"])


@pytest.mark.parametrize("arguments", [["--contenders", "nobody"], ["--case", "nothing"]])
def test_a_wrong_name_is_refused(arguments: list[str]) -> None:
    with pytest.raises((ValueError, SystemExit)):
        main(["--quick", *arguments])


def test_the_names_of_cases_are_distinct() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
