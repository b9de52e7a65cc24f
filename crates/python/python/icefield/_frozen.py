"""Values as keys."""

from __future__ import annotations

from typing import Any

__all__ = ["frozen"]


def frozen(value: Any) -> Any:
    """A hashable object that is equal for equal values."""
    if isinstance(value, dict):
        return frozenset((key, frozen(it)) for key, it in value.items())
    if isinstance(value, set):
        return frozenset(value)
    if isinstance(value, list | tuple):
        return tuple(frozen(it) for it in value)
    return value
