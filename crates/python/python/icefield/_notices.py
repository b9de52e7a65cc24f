"""Notices that are no failures: warnings, or lines of the log for programs that expect no such warnings."""

from __future__ import annotations

import logging
import warnings

__all__ = ["IcefieldWarning", "give_as_warnings", "notice"]


class IcefieldWarning(UserWarning):
    """A requested setting has no effect, or another one than the caller may expect."""


IcefieldWarning.__module__ = "icefield.storage"

_as_warnings = True


def give_as_warnings(wanted: bool) -> None:
    """Chooses whether notices are warnings, or lines of the logger `icefield` of Python's `logging`.

    Programs for icechunk may turn warnings into errors (`-W error`), and expect only the warnings
    of icechunk.
    """
    global _as_warnings
    _as_warnings = wanted


def notice(message: str, category: type[Warning] = IcefieldWarning, *, stacklevel: int) -> None:
    """Gives a notice that icechunk does not give. `stacklevel` counts from the caller of this function."""
    if _as_warnings:
        warnings.warn(message, category, stacklevel=stacklevel + 1)
    else:
        logging.getLogger("icefield").warning(message)
