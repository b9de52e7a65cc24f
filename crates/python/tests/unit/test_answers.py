"""What forks send back: their own changes, however much was changed before them."""

import asyncio
import pickle
from typing import Any

import dask
import dask.array
import numpy as np
import pytest
import zarr

import icefield
from icefield import ErrorKind, ForkAnswer, Repository
from icefield import session as sessions
from icefield._answers import Answers
from icefield.dask import store_dask


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def put(session: icefield.Session, index: int, value: int) -> None:
    zarr.open_array(session.store, path="a", mode="r+")[index] = value


def values(session: icefield.Session) -> list[int]:
    return [int(it) for it in np.asarray(zarr.open_array(session.store, path="a", mode="r")[:])]


def changed_before(repository: Repository, chunks: int) -> icefield.Session:
    """A session that wrote so many chunks, and is to be forked."""
    session = repository.writable_session("main")
    put(session, 3, 33)
    array = zarr.create_array(
        session.store, name="before", shape=(max(1, chunks),), chunks=(1,), dtype="i4"
    )
    if chunks:
        array[:] = np.arange(chunks)
    return session


def test_answers_bring_back_what_a_fork_wrote(disk: Repository) -> None:
    session = changed_before(disk, 3)
    fork = again(session.fork())
    put(fork, 0, 10)
    session.merge(again(fork.answer()))
    assert values(session) == [10, 1, 2, 33]
    # Again, with what was written since; and in the process where the fork is.
    put(fork, 1, 11)
    asyncio.run(session.merge_async(again(fork.answer()), fork.answer(), fork))
    session.commit("merged")
    assert values(disk.readonly_session("main")) == [10, 11, 2, 33]


def test_an_answer_says_what_the_fork_has_when_it_is_pickled_or_merged(disk: Repository) -> None:
    session = disk.writable_session("main")
    fork = session.fork()
    answer = fork.answer()
    put(fork, 0, 10)
    sent = again(answer)
    put(fork, 1, 11)
    session.merge(sent)
    assert values(session) == [10, 1, 2, 3]
    session.merge(answer)
    assert values(session) == [10, 11, 2, 3]


def test_answers_are_public(disk: Repository) -> None:
    assert icefield.ForkAnswer is sessions.ForkAnswer
    assert ForkAnswer.__module__ == "icefield.session"
    assert "ForkAnswer" in icefield.__all__ and "ForkAnswer" in sessions.__all__
    pickled = pickle.dumps(disk.writable_session("main").fork().answer())
    assert b"icefield.session" in pickled and b"_answers" not in pickled


def test_the_length_of_an_answer_is_that_of_its_changes(disk: Repository) -> None:
    answers, forks = [], []
    for chunks in (0, 300, 3_000):
        fork = again(changed_before(disk, chunks).fork())
        put(fork, 0, 10)
        answers.append(len(pickle.dumps(fork.answer())))
        forks.append(len(pickle.dumps(fork)))
    assert forks[2] > forks[0] + 10_000
    # Ids and times are random, and compress as they may.
    assert max(answers) < min(answers) + 100 < 2_000


def test_an_answer_may_be_sent_on(disk: Repository) -> None:
    session = changed_before(disk, 3)
    fork = again(session.fork())
    put(fork, 0, 10)
    sent = again(again(fork.answer()))
    assert "bytes" in repr(sent)
    session.merge(sent)
    assert values(session)[0] == 10


def test_an_answer_to_somebody_else(disk: Repository) -> None:
    fork = again(changed_before(disk, 3).fork())
    put(fork, 0, 10)
    for other in (changed_before(disk, 3), changed_before(disk, 3).fork()):
        with pytest.raises(icefield.SessionStateError) as caught:
            other.merge(again(fork.answer()))
        assert caught.value.kind == ErrorKind.MERGE_NOT_ALLOWED


def test_an_answer_to_what_was_forked_again(disk: Repository) -> None:
    session = changed_before(disk, 3)
    sent = session.fork()
    fork = again(sent)
    put(fork, 0, 10)
    put(session, 1, 11)
    answer = again(fork.answer())
    later = session.fork()
    for one in (session, later):
        with pytest.raises(icefield.SessionStateError, match="forked again") as caught:
            one.merge(answer)
        assert caught.value.kind == ErrorKind.MERGE_NOT_ALLOWED
    sent.merge(answer)
    session.merge(sent)
    assert values(session) == [10, 11, 2, 33]


def test_answers_that_collide(disk: Repository) -> None:
    session = changed_before(disk, 3)
    one, other = again(session.fork()), again(session.fork())
    put(one, 0, 10)
    put(other, 0, 20)
    with pytest.raises(icefield.SessionStateError) as caught:
        session.merge(again(one.answer()), again(other.answer()))
    assert caught.value.kind == ErrorKind.MERGE_FAILED
    assert values(session) == [0, 1, 2, 33]


def test_what_is_no_answer(disk: Repository) -> None:
    session = changed_before(disk, 3)
    broken = ForkAnswer.__new__(ForkAnswer)
    for state in (b"", "x", None):
        with pytest.raises(ValueError, match="Invalid state"):
            broken.__setstate__(state)
    answer = session.fork()._session.to_answer().wait()
    broken.__setstate__(answer[:-1])
    with pytest.raises(icefield.IcechunkError) as caught:
        session.merge(broken)
    assert caught.value.kind == ErrorKind.PICKLE


@pytest.mark.parametrize("held", [[], [0], [1, 2], [0, 1, 2]])
def test_answers_of_tasks_are_put_together(disk: Repository, held: list[int]) -> None:
    """As where dask merges them: of some, the fork is in this process, of others only the bytes."""
    session = changed_before(disk, 300)
    origin = session.fork()
    answers = []
    for number in range(3):
        fork = again(origin)
        put(fork, number, 10 + number)
        found = Answers([ForkAnswer(fork)])
        answers.append(found if number in held else again(found))
    whole = len(pickle.dumps(again(origin)))
    together = Answers.of([[answers[0]], [[answers[1]], answers[2]]])
    assert len(pickle.dumps(together)) < whole / 2
    merged = again(together).merged(origin)
    assert isinstance(merged, icefield.ForkSession)
    assert values(merged) == [10, 11, 12, 33]
    # It is a fork like any other.
    assert values(again(merged)) == [10, 11, 12, 33]
    session.merge(merged)
    assert values(session) == [10, 11, 12, 33]


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_dask_sends_answers(disk: Repository, scheduler: str) -> None:
    session = changed_before(disk, 30)
    fork = session.fork()
    source = dask.array.from_array(np.arange(4, dtype="i4") + 20, chunks=1)
    target: Any = zarr.open_array(fork.store, path="a")
    with dask.config.set(scheduler=scheduler, num_workers=2):
        merged = store_dask(sources=[source, source], targets=[target, target], split_every=2)
    session.merge(merged)
    assert values(session) == [20, 21, 22, 23]
    assert zarr.open_array(session.store, path="before")[7] == 7
