"""Work in a session that is divided into numbered parts, which workers do in forks of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from icefield import _native
from icefield._conflicts import StrictConflictDetector
from icefield._repository.exchange_options import RechunkOptions, rechunk_document
from icefield._shares import Done, Facts, Shared, share_count
from icefield._values.rechunk import RechunkReport
from icefield._values.reports import MaterializeReport

if TYPE_CHECKING:
    from icefield._pools import Pool
    from icefield.session import ForkSession, Session

__all__ = ["copy_part", "make_part", "materialize_in_shares", "rechunk_in_shares"]


def materialize_in_shares(
    session: Session, path: str, pool: Pool, shares: int | None, message: str | None
) -> MaterializeReport:
    """Copies virtual chunks into the repository."""
    of = share_count(shares, pool)
    work = session.fork()
    shared = Shared(work, {"snapshot_id": None, "chunks": 0, "bytes": 0})
    shared.run(pool, copy_part, lambda fork: [(fork, path, (number, of)) for number in range(of)])
    session.merge(work)
    if message is not None and shared.facts["chunks"] > 0:
        shared.facts["snapshot_id"] = session.commit(message)
    return MaterializeReport(**shared.facts)


def copy_part(fork: ForkSession, path: str, part: tuple[int, int]) -> Done:
    """Copies the virtual chunks of one of so many parts, in a fork of its own."""
    return _done(_native.materialize_part(fork._session, path, part).wait())


def rechunk_in_shares(
    path: str, session: Session, pool: Pool, shares: int | None, options: RechunkOptions
) -> RechunkReport:
    """Changes the layout of an array."""
    for name in ("branch", "progress"):
        if name in options:
            raise TypeError(
                f"rechunk() in a session takes no {name!r}: the session has its branch, and dask a dashboard"
            )
    document = json.dumps(rechunk_document(options, path))
    of = share_count(shares, pool)
    before = session.fork()
    # All forks begin with the new document and without chunks, so their answers do not conflict.
    with session._changing:
        was_needed, report = _native.begin_rechunk(session._session, document).wait()
    facts: Facts = json.loads(report)
    if was_needed:
        work = session.fork()
        shared = Shared(work, facts)
        shared.run(
            pool,
            make_part,
            lambda fork: [(before, fork, document, (number, of)) for number in range(of)],
        )
        session.merge(work)
        message = options.get("message")
        if message is not None:
            # With another grid, concurrent writes to chunks have another meaning.
            facts["snapshot_id"] = session.commit(message, rebase_with=StrictConflictDetector())
    return RechunkReport._of(facts)


def make_part(before: ForkSession, fork: ForkSession, document: str, part: tuple[int, int]) -> Done:
    """Encodes the chunks of one of so many parts from the old chunks, in a fork of its own."""
    return _done(_native.rechunk_part(before._session, fork._session, document, part).wait())


def _done(found: tuple[bytes, str]) -> Done:
    answer, report = found
    facts: dict[str, Any] = json.loads(report)
    return answer, facts
