"""Exports in parts, each written by a worker to the place that all of them reach.

```text
here        begin: a temporary directory        finish: documents, the final name
                 |                                    ^
workers          `---> write parts of the chunks -----´
```
A part that is written twice is the same bytes under the same keys, so nothing is merged but counts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from icefield import _native
from icefield._checks import text
from icefield._importing import absolute
from icefield._repository.exchange import export_document, location_of
from icefield._shares import Facts, added, share_count
from icefield._values.reports import ExportReport

if TYPE_CHECKING:
    import os

    from icefield._pools import Pool
    from icefield.session import Session

__all__ = ["export_in_shares", "sum_of", "write_part"]


def export_in_shares(
    session: Session,
    destination: str | os.PathLike[str],
    pool: Pool,
    shares: int | None,
    format: str,
) -> ExportReport:
    """Writes what a session sees to a directory or a bucket."""
    # Workers are elsewhere.
    where = absolute(location_of(destination, "destination"))
    document = export_document(session._place, text(format, "format"), False)
    of = share_count(shares, pool)
    # It pickles, and stays as it is while the session is written to.
    seen = session if session.read_only else session.fork()
    place = (where, document)
    begun = _native.begin_export(seen._session, where, document).wait()
    facts: Facts = {}

    def take(more: Facts) -> None:
        added(facts, more)

    try:
        pool.merged(
            "share",
            write_part,
            [(seen, begun, place, (number, of)) for number in range(of)],
            sum_of,
            take,
        )
        report = json.loads(_native.finish_export(seen._session, begun, where, document).wait())
    except BaseException as error:
        _give_up(seen, begun, place, error)
        raise
    return ExportReport(**added(report, facts))


def write_part(
    session: Session, begun: bytes, place: tuple[str, str], part: tuple[int, int]
) -> Facts:
    """Writes one of so many parts, however often it is called."""
    facts: Facts = json.loads(_native.export_part(session._session, begun, *place, part).wait())
    return facts


def sum_of(*facts: Facts) -> Facts:
    """What several parts come to."""
    total: Facts = {}
    for more in facts:
        added(total, more)
    return total


def _give_up(session: Session, begun: bytes, place: tuple[str, str], error: BaseException) -> None:
    """Removes what was written, or says in the error what is left."""
    try:
        left = _native.abandon_export(session._session, begun, *place).wait()
    except Exception as why:
        error.add_note(f"what the export wrote was not removed: {why}")
        return
    if left:
        error.add_note(
            f"{place[0].split('?')[0]} holds {left} objects of the export: delete them, or export to another place"
        )
