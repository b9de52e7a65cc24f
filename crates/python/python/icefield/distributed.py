"""For engines that write one session from many places.

Get the session of an array, merge the sessions of tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from icefield.session import ForkSession, Session

if TYPE_CHECKING:
    import zarr
    from zarr.core.metadata import ArrayV3Metadata

__all__ = ["extract_session", "merge_sessions"]


def extract_session(
    zarray: zarr.Array[ArrayV3Metadata], axis: Any = None, keepdims: Any = None
) -> Session:
    """The session whose store an array is in.

    `axis` and `keepdims` are there for reductions, which pass them, and not used.
    """
    session = getattr(zarray.store, "session", None)
    if not isinstance(session, Session):
        raise TypeError(
            f"the array is not in the store of a session, but in {type(zarray.store).__name__}"
        )
    return session


def merge_sessions(
    *sessions: ForkSession | list[ForkSession] | list[list[ForkSession]],
) -> ForkSession:
    """Merges forks of one session, nested in lists as they may be, into the first, and returns it.

    Forks must not have written the same chunk; see `Session.merge`.
    """
    forks: list[ForkSession] = []
    for fork in _flat(sessions):
        if not isinstance(fork, ForkSession):
            raise TypeError(
                "merge_sessions only accepts ForkSession objects, as Session.fork() makes them. "
                "Received "
                f"{type(fork).__name__!r} instance instead. To merge forks into the session that "
                "is committed, use "
                "Session.merge(*forks)"
            )
        forks.append(fork)
    if not forks:
        raise ValueError("merge_sessions needs at least one fork")
    first, *others = forks
    # Tasks of one process may have written to one and the same session.
    others = [other for other in others if other._session is not first._session]
    if others:
        first.merge(*others)
    return first


def _flat(sessions: Any) -> Iterator[Any]:
    for item in sessions:
        if isinstance(item, list | tuple):
            yield from _flat(item)
        else:
            yield item
