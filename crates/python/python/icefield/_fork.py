"""What happens when the process forks.

The child has one thread, so nothing that the parent's runtime was doing goes on there: the native
side forgets the runtime and refuses the parent's objects by an error ("forked") instead of a
deadlock. Objects that the child opens, or unpickles, work.
"""

from __future__ import annotations

import os
import sys

from icefield import _native

__all__ = ["register"]

_registered = False


def register() -> None:
    """Registers the handlers, once for each process image."""
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


# Whoever imports the native module for what may be shared with a child imports this.
register()
