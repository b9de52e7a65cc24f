"""Windows that move along a dimension: elements enter and leave all arrays that have it, in one commit."""

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
    """Appends to, prepends to, trims and rolls datasets along a dimension. No chunk is rewritten;
    readers see either the old window or the new one.

    Common arguments: `branch`; `group`, below which arrays with the dimension move; `labels`,
    coordinates of the new elements (without them, regular axes continue with their step); `keep`,
    the largest length afterwards, a number of elements or a length of time such as `"7 days"`;
    `key`, a name for this move: a second move with the same key does nothing; `message`; `mask`,
    whether the window may start within a chunk (elements before the start then read as fill
    values). Each method returns the id of the snapshot. If a concurrent commit comes first, the
    move is retried; an unresolvable conflict raises a `ConflictError`, and an array that cannot
    move an `InvalidInputError` that names it.
    """

    def append(self, dimension: str, elements: int, **options: Any) -> str:
        """Adds elements at the end, which are empty until they are written."""
        return self._begin(dimension, options, append=_count(elements)).wait()[0]

    def prepend(self, dimension: str, elements: int, **options: Any) -> str:
        """Adds elements at the start."""
        return self._begin(dimension, options, prepend=_count(elements)).wait()[0]

    def trim(self, dimension: str, *, start: int = 0, end: int = 0, **options: Any) -> str:
        """Removes elements at the start and at the end."""
        change = {"trim_start": _count(start, "start"), "trim_end": _count(end, "end")}
        return self._begin(dimension, options, **change).wait()[0]

    def roll(self, dimension: str, elements: int, **options: Any) -> str:
        """Adds elements at the end and removes as many at the start; a negative number does the opposite."""
        return self._begin(dimension, options, roll=_any_count(elements)).wait()[0]

    async def append_async(self, dimension: str, elements: int, **options: Any) -> str:
        """The asynchronous form of `append`."""
        return (await self._begin(dimension, options, append=_count(elements)))[0]

    async def prepend_async(self, dimension: str, elements: int, **options: Any) -> str:
        """The asynchronous form of `prepend`."""
        return (await self._begin(dimension, options, prepend=_count(elements)))[0]

    async def trim_async(
        self, dimension: str, *, start: int = 0, end: int = 0, **options: Any
    ) -> str:
        """The asynchronous form of `trim`."""
        change = {"trim_start": _count(start, "start"), "trim_end": _count(end, "end")}
        return (await self._begin(dimension, options, **change))[0]

    async def roll_async(self, dimension: str, elements: int, **options: Any) -> str:
        """The asynchronous form of `roll`."""
        return (await self._begin(dimension, options, roll=_any_count(elements)))[0]

    def window(self, dimension: str, *, branch: str = "main", group: str = "/") -> Window:
        """The window of a dimension at the tip of a branch."""
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
    """The common arguments of a change."""
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
    """A coordinate as a float of 64 bits."""
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
