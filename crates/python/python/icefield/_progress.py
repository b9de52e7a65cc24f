"""How far long work is: told to a function, or shown by a bar of the kind that tqdm has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

__all__ = ["Bar", "Progress", "told"]


@runtime_checkable
class Bar(Protocol):
    """What `tqdm.tqdm` objects have, and any bar that is to be driven like them."""

    total: Any
    n: Any

    def update(self, n: int = 1) -> object: ...
    def refresh(self) -> object: ...


Progress: TypeAlias = Callable[[str, int, int | None], object] | Bar
"""`progress(stage, done, total)`, called at most twenty times a second and at the end of each stage, with None for a
total that nobody knows; or a bar such as `tqdm.tqdm()`, whose `total` and `n` are kept up to date.

It is called from a thread of the package. What it raises is reported like an exception in a `__del__`, and the work goes
on.
"""


def told(progress: Progress | None) -> Callable[[str, int, int | None], object] | None:
    """The function for the native side."""
    if progress is None:
        return None
    if isinstance(progress, Bar) and not isinstance(progress, type):
        return _driven(progress)
    if callable(progress) and not isinstance(progress, type):
        return progress
    raise TypeError(
        "`progress` must be a function of (stage, done, total) or a bar such as tqdm.tqdm(), not "
        f"{progress.__name__ if isinstance(progress, type) else type(progress).__name__}"
    )


def _driven(bar: Bar) -> Callable[[str, int, int | None], object]:
    def show(stage: str, done: int, total: int | None) -> None:
        bar.total = total
        describe = getattr(bar, "set_description", None)
        if describe is not None:
            describe(stage, refresh=False)
        # Stages begin anew at nothing.
        bar.n = done
        bar.refresh()

    return show
