"""The handling of forks of the process.

The child has one thread, so no work of the parent's runtime continues in it. The native module
starts a new runtime, and refuses objects of the parent with an error ("forked") instead of a
deadlock. Objects that the child opens or unpickles work.
"""

from __future__ import annotations

import os
import sys

from icefield import _native

__all__ = ["register"]

_registered = False


def register() -> None:
    """Registers the handlers, once per process image."""
    global _registered
    if _registered or not hasattr(os, "register_at_fork"):
        return
    _registered = True
    os.register_at_fork(before=_native.before_fork, after_in_child=_after_in_child)


def _after_in_child() -> None:
    _native.after_fork_in_child()
    places = sys.modules.get("icefield._place")
    if places is not None:
        places.forget_all()


# Modules that import the native module for objects which a child may inherit import this one.
register()
