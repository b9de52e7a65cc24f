"""The differences themselves: a case that is named fails as it is said, and no name is left over."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from differences import Difference, covering

_HERE = Path(__file__).parent
_CASES = """
def test_sees_another_value(): assert False
def test_does_not_raise():
    import pytest
    with pytest.raises(ValueError): pass
def test_raises_what_is_said(): {}["missing"]
def test_raises_by_accident(): None.missing
def test_has_gone(): pass
def test_has_gone_at_times(): pass
"""
_NAMED = """
for module in DIFFERENCES:
    DIFFERENCES[module] = {
        "test_cases.py::test_sees_another_value": Difference("x"),
        "test_cases.py::test_does_not_raise": Difference("x"),
        "test_cases.py::test_raises_what_is_said": raising("x", "KeyError"),
        "test_cases.py::test_raises_by_acc*": raising("x", "KeyError"),
        "test_cases.py::test_has_gone": Difference("x"),
        "test_cases.py::test_has_gone_at_times": Difference("x", always=False),
    }
"""


def _ran(directory: Path, more: str, *arguments: str) -> str:
    """What pytest says of a suite with the fixtures of this one, but other cases and differences."""
    for name in ("children.py", "conftest.py", "making.py", "under_test.py", "pytest.ini"):
        shutil.copy(_HERE / name, directory / name)
    differences = (_HERE / "differences.py").read_text(encoding="utf-8")
    (directory / "differences.py").write_text(differences + _NAMED + more, encoding="utf-8")
    (directory / "test_cases.py").write_text(_CASES, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *arguments]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=120
    )
    return done.stdout + done.stderr


def test_a_case_fails_as_it_is_said(tmp_path: Path) -> None:
    said = _ran(tmp_path, "")
    outcomes = dict(
        line.removeprefix("test_cases.py::").split(" ")[:2]
        for line in said.splitlines()
        if line.startswith("test_cases.py::")
    )
    assert outcomes == {
        "test_sees_another_value": "XFAIL",
        "test_does_not_raise": "XFAIL",
        "test_raises_what_is_said": "XFAIL",
        "test_raises_by_accident": "FAILED",
        "test_has_gone": "FAILED",
        "test_has_gone_at_times": "XPASS",
    }


def test_a_name_of_no_case_is_an_error(tmp_path: Path) -> None:
    more = """
for named in DIFFERENCES.values():
    named["test_cases.py::test_gone[*"] = Difference("x")
    # The name before it covers the case.
    named["test_cases.py::test_raises_by_accident"] = Difference("x")
"""
    said = _ran(tmp_path, more)
    assert "test_cases.py::test_gone[*, test_cases.py::test_raises_by_accident" in said
    assert "passed" not in said and "failed" not in said
    # Who runs a part of the suite is not told.
    part = _ran(tmp_path, more, "test_cases.py::test_sees_another_value")
    assert "1 xfailed" in part
    # But who deselects cases is: the names are wrong whichever are run.
    assert "test_gone" in _ran(tmp_path, more, "-k", "another")


def test_the_first_name_that_covers_a_case_counts() -> None:
    named = {name: Difference(name) for name in ("a.py::x[1*", "a.py::x*", "a.py::y", "a.py::x[2]")}
    assert covering("a.py::x[12]", named) == "a.py::x[1*"
    assert covering("a.py::x[2]", named) == "a.py::x*"
    assert covering("a.py::y", named) == "a.py::y"
    assert covering("a.py::y2", named) is None
    assert covering("b.py::x[1]", named) is None
