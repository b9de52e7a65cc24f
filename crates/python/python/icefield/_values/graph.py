"""The graph of a history: as lines for a terminal, and as SVG for a notebook."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from icefield._display import escape
from icefield._values.snapshot import SnapshotInfo

__all__ = ["AncestryGraph"]

_COLOURS = ("#2a9d8f", "#7b5cd6", "#e07a2f", "#c2407c", "#3b82c4", "#8a9a1b")
_TAG_COLOUR = "#3b82c4"
_STEP = 28
_LANE = 20
_LEFT = 15
# Characters that XML does not allow, not even escaped.
_UNDRAWABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Row(NamedTuple):
    """One snapshot, the lane it is in, the lanes open above and below it, and those that end in it."""

    snapshot: SnapshotInfo
    lane: int
    above: tuple[int, ...]
    ending: tuple[int, ...]
    branches: tuple[str, ...]
    tags: tuple[str, ...]


class AncestryGraph:
    """The history of one or more branches, the newest snapshot first. `print` it, or show it in a notebook."""

    __slots__ = ("_plain", "_rows")

    _rows: list[_Row]
    _plain: bool

    @classmethod
    def _of(
        cls,
        snapshots: Iterable[SnapshotInfo],
        branches: Mapping[str, str],
        tags: Mapping[str, str] | None = None,
        *,
        plain: bool = False,
    ) -> AncestryGraph:
        """The graph of snapshots (each once; parents may be missing), and of the names that point to their ids."""
        graph = cls.__new__(cls)
        graph._plain = plain
        graph._rows = list(_rows(_newest_first(snapshots), branches, tags or {}))
        return graph

    def __str__(self) -> str:
        width = max((max((row.lane, *row.above)) for row in self._rows), default=0) + 1
        lines: list[str] = []
        for place, row in enumerate(self._rows):
            if place:
                lines.extend(self._between(row, width))
            open_lanes = [it for it in row.above if it != row.lane and it not in row.ending]
            cells = ["│" if lane in open_lanes else " " for lane in range(width)]
            cells[row.lane] = "●"
            lines.append(f"{self._cells(cells)} {self._label(row)}".rstrip())
        return "".join(f"{line}\n" for line in lines)

    __repr__ = __str__

    def _between(self, row: _Row, width: int) -> list[str]:
        """The lanes above a snapshot, and how those that end in it join its lane."""
        lines = [self._cells(["│" if lane in row.above else " " for lane in range(width)]).rstrip()]
        joining = [lane for lane in row.ending if lane != row.lane]
        if joining:
            first, last = min(row.lane, *joining), max(row.lane, *joining)
            cells = ["│" if lane in row.above else " " for lane in range(width)]
            for lane in range(first, last + 1):
                cells[lane] = "┼" if lane in row.above and lane not in joining else "─"
            for lane in joining:
                inner = first < lane < last
                cells[lane] = "┴" if inner else ("╯" if lane > row.lane else "╰")
            cells[row.lane] = "├" if row.lane == first else ("┤" if row.lane == last else "┼")
            lines = [self._cells(cells, "─", first, last)]
        return lines

    def _cells(self, cells: Sequence[str], bridge: str = " ", first: int = -1, last: int = -1) -> str:
        shown = ""
        for lane, cell in enumerate(cells):
            shown += self._painted(cell, lane) if cell != " " else " "
            if lane + 1 < len(cells):
                shown += bridge if first <= lane < last else " "
        return shown

    def _painted(self, text: str, lane: int) -> str:
        if self._plain:
            return text
        colour = _COLOURS[lane % len(_COLOURS)].lstrip("#")
        red, green, blue = (int(colour[place : place + 2], 16) for place in (0, 2, 4))
        return f"\x1b[38;2;{red};{green};{blue}m{text}\x1b[0m"

    def _label(self, row: _Row) -> str:
        names = [self._painted(it, row.lane) for it in row.branches]
        names += [it if self._plain else f"\x1b[3m{it}\x1b[0m" for it in row.tags]
        identity = row.snapshot.id[:8]
        shown = identity if self._plain else f"\x1b[2m{identity}\x1b[0m"
        if names:
            shown += f" ({', '.join(names)})"
        return f"{shown} {_first_line(row.snapshot.message)}"

    def _repr_html_(self) -> str:
        """The SVG, with a horizontal scroll bar if the page is too narrow."""
        return f'<div class="icefield" style="overflow-x:auto">{self._repr_svg_()}</div>'

    def _repr_svg_(self) -> str:
        lanes = max((max((row.lane, *row.above)) for row in self._rows), default=0) + 1
        text_at = _LEFT + lanes * _LANE + 14
        longest = 0
        places = {row.snapshot.id: (place, row) for place, row in enumerate(self._rows)}
        # The lines come first, so that the circles are on top of them.
        shown = [
            self._stroke(row.lane, place, parent[1].lane, parent[0])
            for place, row in enumerate(self._rows)
            if (parent := places.get(row.snapshot.parent_id or ""))
        ]
        for place, row in enumerate(self._rows):
            y = _LEFT + place * _STEP
            label = f"<tspan opacity='0.6'>{row.snapshot.id[:8]}</tspan>"
            plain_label = row.snapshot.id[:8]
            names = [(it, self._colour(row.lane)) for it in row.branches]
            names += [(it, "currentColor" if self._plain else _TAG_COLOUR) for it in row.tags]
            for name, colour in names:
                label += f" <tspan font-weight='bold' fill='{colour}'>{_drawable(name)}</tspan>"
                plain_label += f" {name}"
            message = _first_line(row.snapshot.message)
            label += f" {_drawable(message)}"
            longest = max(longest, len(plain_label) + len(message) + 1)
            x = _LEFT + row.lane * _LANE
            shown.append(f"<circle cx='{x}' cy='{y}' r='5' fill='{self._colour(row.lane)}'/>")
            shown.append(f"<text x='{text_at}' y='{y + 4}' fill='currentColor'>{label}</text>")
        width = text_at + longest * 8 + _LEFT
        height = max(len(self._rows) - 1, 0) * _STEP + 2 * _LEFT
        return (
            f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
            f"style='font-family:monospace;font-size:13px'>{''.join(shown)}</svg>"
        )

    def _colour(self, lane: int) -> str:
        return "currentColor" if self._plain else _COLOURS[lane % len(_COLOURS)]

    def _stroke(self, lane: int, place: int, end: int, end_place: int) -> str:
        """A line from a snapshot to its parent: down its lane, and over to the parent's in the last step."""
        x, to = _LEFT + lane * _LANE, _LEFT + end * _LANE
        top, bottom = _LEFT + place * _STEP, _LEFT + end_place * _STEP
        turn, middle = bottom - _STEP, bottom - _STEP // 2
        return (
            f"<path d='M {x} {top} V {turn} C {x} {middle}, {to} {middle}, {to} {bottom}' "
            f"fill='none' stroke='{self._colour(lane)}' stroke-width='2'/>"
        )


AncestryGraph.__module__ = "icefield"


def _drawable(text: str) -> str:
    return escape(_UNDRAWABLE.sub("\ufffd", text))


def _first_line(message: str) -> str:
    return message.split("\n", 1)[0]


def _newest_first(snapshots: Iterable[SnapshotInfo]) -> list[SnapshotInfo]:
    """Sorts snapshots: each before its parent, otherwise the newest first."""
    known = {it.id: it for it in snapshots}
    children: dict[str, int] = defaultdict(int)
    for it in known.values():
        if it.parent_id in known:
            children[it.parent_id] += 1
    ready = [it for it in known.values() if not children[it.id]]
    ordered = []
    while ready:
        newest = max(ready, key=lambda it: (it.written_at, it.id))
        ready.remove(newest)
        ordered.append(newest)
        parent = known.get(newest.parent_id or "")
        if parent is not None:
            children[parent.id] -= 1
            if not children[parent.id]:
                ready.append(parent)
    return ordered


def _rows(
    snapshots: Sequence[SnapshotInfo], branches: Mapping[str, str], tags: Mapping[str, str]
) -> Iterable[_Row]:
    """Lanes from the newest snapshot down: each child leads to its parent, lanes of one parent join in it."""
    lanes: dict[int, str] = {}
    main = branches.get("main")
    for snapshot in snapshots:
        above = tuple(sorted(lanes))
        ending = tuple(lane for lane in above if lanes[lane] == snapshot.id)
        if ending:
            lane = ending[0]
        elif snapshot.id == main:
            lane = 0
        else:
            # The first lane is kept free for the main branch as long as that is still to come.
            taken = {*lanes, 0} if main in {it.id for it in snapshots} else set(lanes)
            lane = next(it for it in count() if it not in taken)
        for it in ending:
            del lanes[it]
        if snapshot.parent_id is not None:
            lanes[lane] = snapshot.parent_id
        yield _Row(
            snapshot,
            lane,
            above,
            ending,
            tuple(sorted(name for name, id in branches.items() if id == snapshot.id)),
            tuple(sorted(name for name, id in tags.items() if id == snapshot.id)),
        )
