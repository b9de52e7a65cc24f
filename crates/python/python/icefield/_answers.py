"""Answers of forks: their own edits, without those that they began with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from icefield import _native

if TYPE_CHECKING:
    from icefield.session import ForkSession, Session

__all__ = ["Answers", "ForkAnswer"]


class ForkAnswer:
    """The edits of a fork, on their way back to the session that was forked.

    `ForkSession.answer` creates it, it pickles, and `Session.merge` takes it. It has the state of
    the fork when the answer is pickled or merged: only the changes of the fork itself, not those
    made before the session was forked. Another process can neither read nor write an answer: for
    that, pickle the fork.
    """

    __slots__ = ("_bytes", "_fork")

    _fork: ForkSession | None
    _bytes: bytes | None

    def __init__(self, fork: ForkSession) -> None:
        self._fork = fork
        self._bytes = None

    @classmethod
    def _of(cls, sent: bytes) -> ForkAnswer:
        """An answer in the serialized form of a worker's native session."""
        answer = cls.__new__(cls)
        answer.__setstate__(sent)
        return answer

    def __repr__(self) -> str:
        if self._bytes is None:
            return f"<icefield answer of {self._fork!r}>"
        return f"<icefield answer of {len(self._bytes)} bytes>"

    def __getstate__(self) -> bytes:
        if self._bytes is not None:
            return self._bytes
        assert self._fork is not None
        return self._fork._session.to_answer().wait()

    def __setstate__(self, state: object) -> None:
        if not isinstance(state, bytes) or not state:
            raise ValueError("Invalid state: this is not the pickle of an answer of this version")
        self._fork = None
        self._bytes = state

    def _returned(self) -> _native.Session | bytes:
        """The object to merge: the fork of the answer, or its serialized edits."""
        if self._bytes is not None:
            return self._bytes
        assert self._fork is not None
        return self._fork._returned()


# The public module, which pickles name.
ForkAnswer.__module__ = "icefield.session"


class Answers:
    """The answers of several tasks to one session.

    If one of their forks is in this process, all are merged into it.
    """

    __slots__ = ("_all",)

    _all: list[ForkAnswer]

    def __init__(self, answers: Iterable[ForkAnswer]) -> None:
        self._all = list(answers)
        known: list[ForkSession] = []
        for answer in self._all:
            fork = answer._fork
            # Tasks of one process may share a session.
            if fork is not None and not any(fork._session is it._session for it in known):
                known.append(fork)
        if known:
            first, *others = known
            sent = [answer for answer in self._all if answer._fork is None]
            if others or sent:
                first.merge(*others, *sent)
            self._all = [ForkAnswer(first)]

    @classmethod
    def of(cls, nested: Any) -> Answers:
        """Flattens answers that may be nested in lists."""
        return cls(answer for answers in _flat(nested) for answer in answers._all)

    def merged(self, origin: Session) -> ForkSession:
        """A fork with the edits of all answers; `origin` is the fork that was sent, or an equal one."""
        from icefield.session import ForkSession

        first, *others = self._all
        fork = first._fork
        if fork is None:
            assert first._bytes is not None
            fork = ForkSession(origin._session.open_answer(first._bytes))
            fork._place = origin._place
            fork._defaults = dict(origin._defaults)
        if others:
            fork.merge(*others)
        return fork

    def __getstate__(self) -> list[ForkAnswer]:
        return self._all

    def __setstate__(self, state: list[ForkAnswer]) -> None:
        self._all = state


def _flat(nested: Any) -> Iterator[Answers]:
    for item in nested:
        if isinstance(item, list | tuple):
            yield from _flat(item)
        else:
            yield item
