"""Compares two descriptions: what is missing, what differs, and whether each difference has its reason."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Names = dict[str, Any]


@dataclass(frozen=True, order=True)
class Finding:
    """One thing that differs: the dotted name, the aspect (signature, bases, kind, …), and what it is on both sides."""

    name: str
    aspect: str
    text: str = field(compare=False)

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.aspect

    def __str__(self) -> str:
        return f"{self.name} [{self.aspect}]: {self.text}"


@dataclass
class Report:
    """The result of a comparison; `ok` if nothing is missing and every difference has a reason that is needed."""

    compared: int
    missing: list[str]
    explained: list[tuple[Finding, str]]
    unexplained: list[Finding]
    stale: list[tuple[str, str]]
    additions: list[str]

    @property
    def ok(self) -> bool:
        return not (self.missing or self.unexplained or self.stale)

    def lines(self, with_additions: bool = False) -> Iterator[str]:
        for name in self.missing:
            yield f"missing: {name}"
        for finding in self.unexplained:
            yield f"different, without a reason: {finding}"
        for finding, reason in self.explained:
            yield f"different: {finding}\n    because {reason}"
        for name, aspect in self.stale:
            yield f"listed, but no longer a difference: {name} [{aspect}]"
        if with_additions:
            for name in self.additions:
                yield f"ours only: {name}"
        yield (
            f"{self.compared} names compared: {len(self.missing)} missing, "
            f"{len(self.unexplained)} different without a reason, "
            f"{len(self.explained)} different with one, {len(self.stale)} reasons out of date, "
            f"{len(self.additions)} names only in ours"
        )


def reasons(file: Path) -> dict[tuple[str, str], str]:
    """The reasons of a file with tables `[[difference]]` of name, aspect and reason."""
    with file.open("rb") as source:
        listed = tomllib.load(source).get("difference", [])
    return {(it["name"], it["aspect"]): it["reason"] for it in listed}


def compare(reference: Names, ours: Names, known: dict[tuple[str, str], str]) -> Report:
    """Compares the description of the reference with ours."""
    comparison = _Comparison()
    for module, names in reference["modules"].items():
        if module not in ours["modules"]:
            comparison.missing.append(module)
            continue
        comparison.module = f"{module}." if module else ""
        comparison.names(names, ours["modules"][module], comparison.module)
    comparison.additions.extend(it for it in ours["modules"] if it not in reference["modules"])
    comparison.module = ""
    for probe, value in reference["probes"].items():
        comparison.compared += 1
        if ours["probes"].get(probe) != value:
            mine = ours["probes"].get(probe)
            comparison.found(probe, "value", f"{value} in the reference, {mine} in ours")
    findings = sorted(set(comparison.findings))
    seen = {it.key for it in findings}
    return Report(
        compared=comparison.compared,
        missing=sorted(comparison.missing),
        explained=[(it, known[it.key]) for it in findings if it.key in known],
        unexplained=[it for it in findings if it.key not in known],
        stale=sorted(it for it in known if it not in seen),
        additions=sorted(comparison.additions),
    )


class _Comparison:
    def __init__(self) -> None:
        self.compared = 0
        self.missing: list[str] = []
        self.findings: list[Finding] = []
        self.additions: list[str] = []
        self.module = ""

    def found(self, name: str, aspect: str, text: str) -> None:
        # Many names are found in several modules: a difference counts once.
        self.findings.append(Finding(name.removeprefix(self.module), aspect, text))

    def names(self, reference: Names, ours: Names, prefix: str) -> None:
        for name, theirs in reference.items():
            if not theirs.get("public", True):
                continue
            self.compared += 1
            if name not in ours:
                self.missing.append(prefix + name)
            else:
                self.thing(theirs, ours[name], prefix + name)
        self.additions.extend(
            prefix + name
            for name, mine in ours.items()
            if name not in reference and mine.get("public", True)
        )

    def thing(self, theirs: Names, mine: Names, name: str) -> None:
        kinds = theirs["kind"], mine["kind"]
        if kinds[0] != kinds[1]:
            self.found(name, "kind", f"a {kinds[0]} in the reference, a {kinds[1]} in ours")
            return
        for aspect, text in signature_differences(theirs.get("signature"), mine.get("signature")):
            self.found(name, aspect, text)
        known = theirs.get("async"), mine.get("async")
        if None not in known and known[0] != known[1]:
            self.found(name, "async", f"{known[0]} in the reference, {known[1]} in ours")
        if theirs.get("settable") and not mine.get("settable"):
            self.found(name, "settable", "can be set in the reference, not in ours")
        for aspect in ("compared", "hashable"):
            if theirs.get(aspect) and not mine.get(aspect):
                self.found(name, aspect, f"is {aspect} in the reference, not in ours")
        lacking = set(theirs.get("bases", ())) - set(mine.get("bases", ()))
        if lacking:
            self.found(name, "bases", f"not derived from {', '.join(sorted(lacking))}")
        if "members" in theirs:
            self.names(theirs["members"], mine["members"], f"{name}.")


def signature_differences(theirs: Any, mine: Any) -> Iterator[tuple[str, str]]:
    """What a call that works with the reference may find different here. Optional parameters that we add do not count."""
    if theirs is None or mine is None:
        return
    shown = f"({_shown(theirs)}) in the reference, ({_shown(mine)}) in ours"
    if {"VAR_POSITIONAL", "VAR_KEYWORD"} <= {it["kind"] for it in mine}:
        if all(it["kind"] != "VAR_POSITIONAL" for it in theirs):
            yield "signature", shown
        return
    known = {it["name"]: it for it in mine}
    positional = [it for it in mine if it["kind"].startswith("POSITIONAL")]
    rest = any(it["kind"] == "VAR_KEYWORD" for it in mine)
    for place, wanted in enumerate(it for it in theirs if it["kind"] != "VAR_KEYWORD"):
        have = known.get(wanted["name"])
        by_place = wanted["kind"].startswith("POSITIONAL")
        by_name = wanted["kind"] in ("POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY")
        if by_place:
            at = positional[place] if place < len(positional) else None
            if at is None or (by_name and at["name"] != wanted["name"]):
                yield "signature", shown
                return
            have = at
        elif have is None or (by_name and have["kind"] == "POSITIONAL_ONLY"):
            if not (rest and by_name):
                yield "signature", shown
                return
            continue
        if by_name and have["kind"] == "POSITIONAL_ONLY":
            yield "signature", shown
            return
        if not _same_default(wanted["default"], have["default"]):
            yield "signature", shown
            return
    given = {it["name"] for it in theirs}
    for place, it in enumerate(mine):
        required = it["default"] is None and not it["kind"].startswith("VAR")
        by_place = it["kind"].startswith("POSITIONAL") and place < len(theirs)
        if required and it["name"] not in given and not by_place:
            yield "signature", shown
            return


def _same_default(theirs: str | None, mine: str | None) -> bool:
    if theirs is None or mine is None:
        return theirs is None  # a default that we add breaks no call
    return "..." in (theirs, mine) or theirs == mine


def _shown(signature: list[dict[str, Any]]) -> str:
    marks = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}
    parts = []
    for place, it in enumerate(signature):
        before = signature[place - 1]["kind"] if place else ""
        if it["kind"] == "KEYWORD_ONLY" and before not in ("KEYWORD_ONLY", "VAR_POSITIONAL"):
            parts.append("*")
        if before == "POSITIONAL_ONLY" and it["kind"] != "POSITIONAL_ONLY":
            parts.append("/")
        default = "" if it["default"] is None else f"={it['default']}"
        parts.append(f"{marks.get(it['kind'], '')}{it['name']}{default}")
    return ", ".join(parts)
