"""Work in a session that is done in shares, elsewhere: each in a fork of its own, whose answer is merged.

Here nothing is known of single chunks until the last answer, and the session is as it was until that is there.
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

__all__ = ["Done", "Facts", "Shared", "pool_of", "share_count"]

_SHARES_PER_TASK = 4
"""Shares for each task that runs at a time, so that all end at about the same time."""

_MOST_SHARES = 100_000

Facts: TypeAlias = dict[str, Any]
"""Numbers, lists and texts of a report."""

Done: TypeAlias = tuple[bytes, Facts]
"""The answer of a fork, and what was done in it."""


class Shared:
    """A fork of the session that takes over what was done, and the report of all of it."""

    def __init__(self, work: ForkSession, facts: Facts) -> None:
        self._work = work
        self.facts = facts

    def take(self, done: Done) -> None:
        """Takes over what was done in a fork."""
        answer, more = done
        self._work.merge(ForkAnswer._of(answer))
        _add(self.facts, more)

    def run(
        self,
        pool: Pool,
        function: Callable[..., Done],
        calls: Callable[[ForkSession], Calls],
    ) -> None:
        """Does shares, each with the fork as it is now."""
        # What is sent stays as it is while answers are merged.
        sent = self._work.fork()
        pool.merged("share", function, calls(sent), partial(merge_done, sent), self.take)


def merge_done(fork: ForkSession, *done: Done) -> Done:
    """Merges what was done in forks that were made together with this one."""
    into = fork.fork()
    into.merge(*(ForkAnswer._of(answer) for answer, _ in done))
    facts: Facts = {}
    for _, more in done:
        _add(facts, more)
    return into._session.to_answer().wait(), facts


def _add(facts: Facts, more: Facts) -> None:
    for name, value in more.items():
        if value is not None:
            facts[name] = _sum(facts[name], value) if facts.get(name) is not None else value


def _sum(one: Any, other: Any) -> Any:
    """Adds counts and lists; of numbers by names, such as the errors of roundings, the larger one counts."""
    if isinstance(one, dict):
        return one | {name: max(value, one.get(name, value)) for name, value in other.items()}
    return one + other


def share_count(shares: int | None, pool: Pool) -> int:
    """How many shares there are, at the most."""
    if shares is None:
        return _SHARES_PER_TASK * pool.width
    return whole(shares, "shares", "invalid-argument", 1, _MOST_SHARES)


def pool_of(client: Client | None, executor: Executor | None) -> Pool:
    """Where shares are done: by default on the workers of the current client of dask."""
    from icefield._pools import DaskPool, ExecutorPool

    if executor is not None:
        if client is not None:
            raise TypeError("a `client` or an `executor` does the work, not both: pass one of them")
        return ExecutorPool(executor)
    if client is None:
        from distributed import get_client

        client = get_client()
    return DaskPool(client)
