"""Windows that move along a dimension: what comes in, what goes, in one commit for all arrays that have it."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Iterable
from typing import Any

from icefield import _native
from icefield._checks import text, truth, whole
from icefield._exceptions import from_native
from icefield._repository.handle import Handle
from icefield._values.reports import Window

__all__ = ["Windows"]

_KIND = "invalid-argument"


class Windows(Handle):
    """Appends, prepends, trims and rolls datasets along a dimension. No chunk is rewritten; readers see the window before
    or the one after.

    Common arguments: `branch`; `group`, below which arrays with the dimension move; `labels`, coordinates of the elements
    that come in (without them, regular axes go on with their step); `keep`, what stays at most, a number of elements or a
    length of time such as `"7 days"`; `key`, a name for this move: a second one with the same key does nothing; `message`;
    `mask`, whether the start may lie within a chunk (elements before it are then fill values). Each returns the id of the
    snapshot. Writers that were faster are waited for and the move is done again; what collides for good raises a
    `ConflictError`, and what cannot move an `InvalidInputError` that names the array.
    """

    def append(self, dimension: str, elements: int, **options: Any) -> str:
        """So many elements come in at the end, empty, for the writer to fill."""
        return self._begin(dimension, options, append=_count(elements)).wait()[0]

    def prepend(self, dimension: str, elements: int, **options: Any) -> str:
        """So many elements come in at the start."""
        return self._begin(dimension, options, prepend=_count(elements)).wait()[0]

    def trim(self, dimension: str, *, start: int = 0, end: int = 0, **options: Any) -> str:
        """So many elements go at the start and at the end."""
        change = {"trim_start": _count(start, "start"), "trim_end": _count(end, "end")}
        return self._begin(dimension, options, **change).wait()[0]

    def roll(self, dimension: str, elements: int, **options: Any) -> str:
        """So many elements come in at the end, and as many go at the start; with a negative number, the other way."""
        return self._begin(dimension, options, roll=_any_count(elements)).wait()[0]

    async def append_async(self, dimension: str, elements: int, **options: Any) -> str:
        """As `append`, to be awaited."""
        return (await self._begin(dimension, options, append=_count(elements)))[0]

    async def prepend_async(self, dimension: str, elements: int, **options: Any) -> str:
        """As `prepend`, to be awaited."""
        return (await self._begin(dimension, options, prepend=_count(elements)))[0]

    async def trim_async(
        self, dimension: str, *, start: int = 0, end: int = 0, **options: Any
    ) -> str:
        """As `trim`, to be awaited."""
        change = {"trim_start": _count(start, "start"), "trim_end": _count(end, "end")}
        return (await self._begin(dimension, options, **change))[0]

    async def roll_async(self, dimension: str, elements: int, **options: Any) -> str:
        """As `roll`, to be awaited."""
        return (await self._begin(dimension, options, roll=_any_count(elements)))[0]

    def window(self, dimension: str, *, branch: str = "main", group: str = "/") -> Window:
        """What a dimension shows at the tip of a branch."""
        session = self._repository.readonly_session("branch", text(branch, "branch"), None)
        return Window(*_native.window(session.wait(), text(group, "group"), dimension))

    def _begin(
        self, dimension: str, options: dict[str, Any], **change: int
    ) -> _native.Task[tuple[str, tuple[int, int, int] | None]]:
        document = _document(options) | change
        branch = options.get("branch", "main")
        return _native.change_window(
            self._repository, text(branch, "branch"), text(dimension, "dimension"), json.dumps(document)
        )


def _count(value: object, name: str = "elements") -> int:
    return whole(value, name, _KIND)


def _any_count(value: object) -> int:
    return whole(value, "elements", _KIND, -(2**63))


_OPTIONS = ("branch", "group", "labels", "keep", "key", "message", "mask", "drop_coverage", "absolute", "tries")


def _document(options: dict[str, Any]) -> dict[str, Any]:
    """What the caller says beside the change itself."""
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f"there is no argument {name!r}; there are {', '.join(_OPTIONS)}")
    document: dict[str, Any] = {}
    for name in ("group", "key", "message"):
        if options.get(name) is not None:
            document[name] = text(options[name], name)
    for name in ("mask", "drop_coverage", "absolute"):
        document[name] = name in options and truth(options[name], name)
    if options.get("tries") is not None:
        document["tries"] = whole(options["tries"], "tries", _KIND, 1)
    keep = options.get("keep")
    if keep is not None:
        document["keep"] = keep if isinstance(keep, str) else str(whole(keep, "keep", _KIND))
    labels = options.get("labels")
    if labels is not None:
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            raise TypeError("`labels` must be a sequence of numbers")
        document["labels"] = [_label(label, at) for at, label in enumerate(labels)]
    return document


def _label(value: Any, at: int) -> float:
    """A coordinate, as floats of 64 bits hold it."""
    if isinstance(value, bool | str) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise TypeError(f"`labels[{at}]` must be a number, not {type(value).__name__}")
    try:
        label = float(value)
    except OverflowError:
        label = math.inf
    if not math.isfinite(label):
        raise from_native(_KIND, f"`labels[{at}]` is {value!r}, but a label must be a finite number: others have no order")
    if hasattr(value, "__index__") and int(label) != operator.index(value):
        raise from_native(
            _KIND,
            f"`labels[{at}]` is {value!r}, which a float of 64 bits does not hold exactly: leave `labels` out, so that they "
            "go on in equal steps, or write the coordinate through a session",
        )
    return label
