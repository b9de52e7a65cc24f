"""What a caller may want to know that is no failure: warnings, or lines of the log where programs expect no such warnings."""

from __future__ import annotations

import logging
import warnings

__all__ = ["IcefieldWarning", "give_as_warnings", "notice"]


class IcefieldWarning(UserWarning):
    """Something that was asked for has no effect, or not the one that might be expected."""


IcefieldWarning.__module__ = "icefield.storage"

_as_warnings = True


def give_as_warnings(wanted: bool) -> None:
    """Lets notices be warnings, or lines of the log `icefield` of Python's own `logging`.

    Programs for icechunk may take warnings for errors (`-W error`), and expect those that icechunk gives.
    """
    global _as_warnings
    _as_warnings = wanted


def notice(message: str, category: type[Warning] = IcefieldWarning, *, stacklevel: int) -> None:
    """Tells the caller something that icechunk does not tell. `stacklevel` is that of a warning from where this is called."""
    if _as_warnings:
        warnings.warn(message, category, stacklevel=stacklevel + 1)
    else:
        logging.getLogger("icefield").warning(message)
