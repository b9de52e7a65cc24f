"""Medians, ratios and whether the targets are met: for people and as JSON."""

import statistics
from dataclasses import dataclass, field
from typing import Any

from cases import Case, Measured, Target

__all__ = ["Row", "as_json", "rows", "table"]

OURS = "icefield"


@dataclass(frozen=True)
class Row:
    """One number of a case: seconds for one operation, of each contender in each round."""

    name: str
    rounds: dict[str, list[float]]
    targets: list[Target]
    processor: dict[str, list[float]] = field(default_factory=dict)
    """The same, of all processors together: steadier on a machine that does other things, too."""

    def median(self, contender: str) -> float | None:
        return _median(self.rounds.get(contender))

    def speed(self, other: str) -> float | None:
        """How many times as fast as `other` we are: the median of the rounds, each against its own."""
        ours, theirs = self.rounds.get(OURS), self.rounds.get(other)
        if not ours or not theirs:
            return None
        return statistics.median(b / a for a, b in zip(ours, theirs, strict=True))

    def met(self, target: Target) -> bool | None:
        """None if it was not measured."""
        if target.of is None:
            ours = self.median(OURS)
            return None if ours is None else ours <= target.seconds
        speed = self.speed(target.of)
        return None if speed is None else speed >= target.times


def _median(seconds: list[float] | None) -> float | None:
    return statistics.median(seconds) if seconds else None


def rows(cases: list[Case], results: list[tuple[str, str, Measured]]) -> list[Row]:
    """Rows from (case, contender, numbers), in the order of the rounds."""
    found: list[Row] = []
    for case in cases:
        of_case = [(who, measured) for name, who, measured in results if name == case.name]
        names = dict.fromkeys(name for _, measured in of_case for name in measured)
        for name in names:
            rounds: dict[str, list[float]] = {}
            processor: dict[str, list[float]] = {}
            for who, measured in of_case:
                if name in measured:
                    rounds.setdefault(who, []).append(measured[name].seconds)
                    processor.setdefault(who, []).append(measured[name].processor)
            found.append(Row(name, rounds, case.targets.get(name, []), processor))
    return found


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e6:,.0f} us" if seconds < 0.01 else f"{seconds * 1e3:,.1f} ms"


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _verdict(row: Row) -> str:
    words = {True: "met", False: "MISSED", None: "not measured"}
    return "; ".join(f"{target}: {words[row.met(target)]}" for target in row.targets)


def table(found: list[Row], names: list[str]) -> str:
    """The rows, one a line; ratios are speeds, ours to the other's (2.00: twice as fast)."""
    others = [name for name in names if name != OURS]
    processor = [f"{name}, processors" for name in names]
    head = ["one operation", *names, *(f"x {other}" for other in others), "target", *processor]
    lines = [head]
    for row in found:
        lines.append(
            [
                row.name,
                *(_time(row.median(name)) for name in names),
                *(_ratio(row.speed(other)) for other in others),
                _verdict(row),
                *(_time(_median(row.processor.get(name))) for name in names),
            ]
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = []
    for number, line in enumerate(lines):
        text.append(
            "| "
            + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            + " |"
        )
        if number == 0:
            text.append("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text)


def as_json(found: list[Row], about: dict[str, Any]) -> dict[str, Any]:
    """Everything that was measured, with the verdicts. Times in seconds for one operation."""
    return {
        "schema": 1,
        **about,
        "rows": [
            {
                "name": row.name,
                "rounds": row.rounds,
                "processor": row.processor,
                "medians": {who: row.median(who) for who in row.rounds},
                "speeds": {who: row.speed(who) for who in row.rounds if who != OURS},
                "targets": [
                    {"target": str(target), "met": row.met(target)} for target in row.targets
                ],
            }
            for row in found
        ],
    }
