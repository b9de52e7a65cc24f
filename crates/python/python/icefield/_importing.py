"""Distributed imports: workers survey files, import shares and merge answers; this process plans and commits.

```text
workers     survey files          do shares, each in a fork      merge answers
               |                     ^                              |
here           `---> plan, divide ---´                              `---> merge the last one, commit
```
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from icefield import _native
from icefield._repository.exchange import sources_of
from icefield._repository.exchange_options import ImportOptions, Sources, import_document
from icefield._shares import Done, Shared, share_count
from icefield._values.imports import ImportPlan, ImportReport

if TYPE_CHECKING:
    from icefield._pools import Calls, Pool
    from icefield.session import ForkSession, Session

__all__ = ["absolute", "do_share", "import_in_shares", "plan_in_shares", "survey"]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def import_in_shares(
    sources: Sources, session: Session, pool: Pool, shares: int | None, options: ImportOptions
) -> ImportReport:
    """Imports sources into a session, and commits it if a message is given."""
    names, document = _described(sources, options, plan=False)
    count = share_count(shares, pool)
    work = session.fork()
    surveys = _surveys(work, names, document, pool, count)
    with work._changing:
        divided = _native.divide_import(work._session, surveys, document, count).wait()
    del surveys
    first, others, report = divided
    shared = Shared(work, json.loads(report))

    # The first share reads the chunks that it refers to, to compare them.
    beside = [names[number] for number in first[0]] if first and options.get("virtual") else []

    def do(shares: Sequence[tuple[list[int], bytes]]) -> None:
        def calls(fork: ForkSession) -> Calls:
            return [
                (fork, share, ([names[number] for number in numbers], beside), document)
                for numbers, share in shares
            ]

        shared.run(pool, do_share, calls)

    if first is not None:
        do([first])
    do(others)
    session.merge(work)
    facts = shared.facts
    message = options.get("message")
    if message is not None and session.has_uncommitted_changes:
        facts["snapshot_id"] = session.commit(message)
    return ImportReport._of(facts)


def plan_in_shares(
    sources: Sources, session: Session, pool: Pool, shares: int | None, options: ImportOptions
) -> ImportPlan:
    """Says what an import would do, of what workers find in the files."""
    names, document = _described(sources, options, plan=True)
    work = session.fork()
    surveys = _surveys(work, names, document, pool, share_count(shares, pool))
    return ImportPlan._of(json.loads(_native.plan_import(work._session, surveys, document).wait()))


def _described(sources: Sources, options: ImportOptions, plan: bool) -> tuple[list[str], str]:
    """The files that sources stand for, and what an import of them is told."""
    for name in ("branch", "progress"):
        if name in options:
            raise TypeError(
                f"import_files() into a session takes no {name!r}: the session has its branch, and dask a dashboard"
            )
    # Workers are elsewhere.
    names = [absolute(name) for name in _native.expand_sources(list(sources_of(sources))).wait()]
    return names, json.dumps({**import_document(options, names), "plan": plan})


def _surveys(
    fork: ForkSession, names: list[str], document: str, pool: Pool, count: int
) -> list[bytes]:
    """What planning needs of the files."""
    calls = [(fork, batch, document) for batch in _batches(names, count)]
    return pool.results("survey", survey, calls)


def survey(fork: ForkSession, names: list[str], document: str) -> bytes:
    """Surveys some files for the plan."""
    return _native.survey_sources(fork._session, names, document).wait()


def do_share(
    fork: ForkSession, share: bytes, names: tuple[list[str], list[str]], document: str
) -> Done:
    """Imports a share in a fork of its own. Repeated calls use separate forks."""
    answer, report = _native.run_share(fork._session, share, names, document).wait()
    facts: dict[str, Any] = json.loads(report)
    return answer, facts


def _batches(names: list[str], count: int) -> list[list[str]]:
    """Divides names into at most so many lists of consecutive names."""
    count = max(1, min(count, len(names)))
    ends = [number * len(names) // count for number in range(count + 1)]
    return [names[start:end] for start, end in zip(ends, ends[1:], strict=False)]


def absolute(name: str) -> str:
    """A path as any process finds it; a URL as it is."""
    return name if _URL.match(name) else os.path.join(os.getcwd(), name)
