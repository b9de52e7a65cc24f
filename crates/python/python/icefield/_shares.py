"""Distributed work in a session: shares, each done in a fork of its own, with merged answers.

This process knows no single chunk before the last answer, and the session does not change before
it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from icefield._answers import ForkAnswer
from icefield._checks import whole

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from distributed import Client

    from icefield._pools import Calls, Pool
    from icefield.session import ForkSession

__all__ = ["Done", "Facts", "Shared", "added", "pool_of", "share_count"]

_SHARES_PER_TASK = 4
"""The number of shares per concurrent task, so that all workers end at about the same time."""

_MOST_SHARES = 100_000

Facts: TypeAlias = dict[str, Any]
"""Numbers, lists and texts of a report."""

Done: TypeAlias = tuple[bytes, Facts]
"""The answer of a fork, and the report of its work."""


class Shared:
    """A fork of the session that collects the answers, and the sum of their reports."""

    def __init__(self, work: ForkSession, facts: Facts) -> None:
        self._work = work
        self.facts = facts

    def take(self, done: Done) -> None:
        """Merges the answer and the report of a fork."""
        answer, more = done
        self._work.merge(ForkAnswer._of(answer))
        added(self.facts, more)

    def run(
        self,
        pool: Pool,
        function: Callable[..., Done],
        calls: Callable[[ForkSession], Calls],
    ) -> None:
        """Does shares, each with the fork in its current state."""
        # The serialized fork does not change while answers are merged.
        sent = self._work.fork()
        pool.merged("share", function, calls(sent), partial(merge_done, sent), self.take)


def merge_done(fork: ForkSession, *done: Done) -> Done:
    """Merges the answers of forks that were created together with this one."""
    into = fork.fork()
    into.merge(*(ForkAnswer._of(answer) for answer, _ in done))
    facts: Facts = {}
    for _, more in done:
        added(facts, more)
    return into._session.to_answer().wait(), facts


def added(facts: Facts, more: Facts) -> Facts:
    """The facts with more of them, which are added to those of the same names."""
    for name, value in more.items():
        if value is not None:
            facts[name] = _sum(facts[name], value) if facts.get(name) is not None else value
    return facts


def _sum(one: Any, other: Any) -> Any:
    """Adds counts and lists. Of numbers by name, such as rounding errors, keeps the largest."""
    if isinstance(one, dict):
        return one | {name: max(value, one.get(name, value)) for name, value in other.items()}
    return one + other


def share_count(shares: int | None, pool: Pool) -> int:
    """The largest number of shares."""
    if shares is None:
        return _SHARES_PER_TASK * pool.width
    return whole(shares, "shares", "invalid-argument", 1, _MOST_SHARES)


def pool_of(client: Client | None, executor: Executor | None) -> Pool:
    """The pool that does the shares: by default the workers of the current client of dask."""
    from icefield._pools import DaskPool, ExecutorPool

    if executor is not None:
        if client is not None:
            raise TypeError("a `client` or an `executor` does the work, not both: pass one of them")
        return ExecutorPool(executor)
    if client is None:
        from distributed import get_client

        client = get_client()
    return DaskPool(client)
