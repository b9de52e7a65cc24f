"""Functions for engines that write one session from many processes.

Get the session of an array, merge the sessions of tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from icefield.session import ForkAnswer, ForkSession, Session

if TYPE_CHECKING:
    import zarr
    from zarr.core.metadata import ArrayV3Metadata

__all__ = ["extract_session", "merge_sessions"]

_Sent: TypeAlias = ForkSession | ForkAnswer


def extract_session(
    zarray: zarr.Array[ArrayV3Metadata], axis: Any = None, keepdims: Any = None
) -> Session:
    """The session whose store an array is in.

    Reductions pass `axis` and `keepdims`, which have no effect.
    """
    store = getattr(zarray, "store", None)
    if store is None:
        raise TypeError(
            "extract_session takes a Zarr array, as zarr.open_array(session.store, path=…) gives it, not "
            f"{type(zarray).__name__}"
        )
    session = getattr(store, "session", None)
    if not isinstance(session, Session):
        raise TypeError(
            f"the array is not in the store of a session, but in {type(store).__name__}"
        )
    return session


def merge_sessions(*sessions: _Sent | Sequence[_Sent] | Sequence[Sequence[_Sent]]) -> ForkSession:
    """Merges forks of one session, which may be nested in lists, into the first, and returns it.

    All but the first may be answers of `ForkSession.answer`. Forks must not have written the same
    chunk; see `Session.merge`.
    """
    sent: list[_Sent] = []
    for one in _flat(sessions):
        if not isinstance(one, ForkSession | ForkAnswer):
            raise TypeError(
                "merge_sessions only accepts ForkSession objects, as Session.fork() makes them, and "
                "their answers. Received "
                f"{type(one).__name__!r} instance instead. To merge forks into the session that "
                "is committed, use "
                "Session.merge(*forks)"
            )
        sent.append(one)
    if not sent:
        raise ValueError("merge_sessions needs at least one fork")
    first, *others = sent
    if isinstance(first, ForkAnswer):
        raise TypeError(
            "merge_sessions merges into the first, which must be a ForkSession, and this is a "
            "ForkAnswer: pass the fork that was sent before the answers to it, as in "
            "merge_sessions(fork, *answers), or use Session.merge(*answers)"
        )
    # Tasks of one process may share a session.
    others = [other for other in others if _fork_of(other) is not first._session]
    if others:
        first.merge(*others)
    return first


def _fork_of(sent: _Sent) -> Any:
    """The session of a fork, or of the fork of an answer if that is in this process."""
    fork = sent._fork if isinstance(sent, ForkAnswer) else sent
    return None if fork is None else fork._session


def _flat(sessions: Any) -> Iterator[Any]:
    for item in sessions:
        if isinstance(item, list | tuple):
            yield from _flat(item)
        else:
            yield item
