"""The parity report: what it finds, and what it accepts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parents[2] / "parity"
sys.path.insert(0, str(HERE))
compare: Any = __import__("compare")
describe: Any = __import__("describe")


def package(**names: Any) -> dict[str, Any]:
    return {"modules": {"": names}, "probes": {}}


def function(*parameters: tuple[str, str, str | None]) -> dict[str, Any]:
    kinds = {"/": "POSITIONAL_ONLY", "": "POSITIONAL_OR_KEYWORD", "*": "KEYWORD_ONLY"}
    signature = [{"name": n, "kind": kinds.get(k, k), "default": d} for n, k, d in parameters]
    return {"kind": "function", "signature": signature}


def found(theirs: Any, mine: Any) -> list[str]:
    report = compare.compare(package(it=theirs), package(it=mine), {})
    return [it.aspect for it in report.unexplained]


A, B = ("a", "", None), ("b", "", "1")


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        (function(A, B), function(A, B)),
        (function(A), function(A, B)),
        (function(A), function(A, ("b", "*", "None"))),
        (function(A, ("b", "", None)), function(A, B)),
        (function(("_0", "/", None)), function(A)),
        (function(A, ("b", "*", "1")), function(A, B)),
        (function(A, ("b", "", "...")), function(A, B)),
    ],
)
def test_signatures_that_every_call_finds_the_same(theirs: Any, mine: Any) -> None:
    assert found(theirs, mine) == []


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        (function(A, B), function(A)),
        (function(A, B), function(B, A)),
        (function(A), function(("c", "", None))),
        (function(A), function(("a", "/", None))),
        (function(A, B), function(A, ("b", "*", "1"))),
        (function(A, B), function(A, ("b", "", "2"))),
        (function(A, B), function(A, ("b", "", None))),
        (function(A), function(A, ("c", "", None))),
    ],
)
def test_signatures_that_break_calls(theirs: Any, mine: Any) -> None:
    assert found(theirs, mine) == ["signature"]


def test_what_is_missing_is_missing() -> None:
    cls: dict[str, Any] = {"kind": "class", "bases": [], "members": {"x": {"kind": "data"}}}
    report = compare.compare(package(C=cls, f=function()), package(C=cls | {"members": {}}), {})
    assert report.missing == ["C.x", "f"]
    assert not report.ok


def test_differences_of_classes() -> None:
    member = {"kind": "data", "settable": True}
    theirs = {"kind": "class", "bases": ["KeyError"], "compared": True, "members": {"x": member}}
    mine = {"kind": "class", "bases": [], "compared": False, "members": {"x": {"kind": "data"}}}
    assert found(theirs, mine) == ["bases", "compared", "settable"]
    assert found(theirs, {"kind": "value"}) == ["kind"]


def test_reasons_are_needed_and_must_be_needed() -> None:
    theirs, mine = package(it=function(A)), package(it=function())
    known = {("it", "signature"): "it is better so"}
    assert compare.compare(theirs, mine, known).ok
    assert not compare.compare(theirs, mine, {}).ok
    stale = compare.compare(theirs, theirs, known)
    assert stale.stale == [("it", "signature")]
    assert not stale.ok


def test_the_package_is_described() -> None:
    described = describe.describe("icefield")
    names = described["modules"][""]
    create = names["Repository"]["members"]["create"]["signature"]
    assert [it["name"] for it in create][:2] == ["storage", "config"]
    assert names["NodeNotFoundError"]["bases"].count("KeyError") == 1
    assert not any(part.startswith("_") for it in described["modules"] for part in it.split("."))
    # As programs for icechunk see it.
    assert described["probes"]["spec_version()"] == "SpecVersion.v2 (current)"


def test_every_difference_has_a_reason() -> None:
    reasons = compare.reasons(HERE / "differences.toml")
    assert reasons and all(reasons.values())
