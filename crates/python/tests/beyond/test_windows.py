"""Windows that move along a dimension."""

from __future__ import annotations

from typing import Any

import icefield as ic
import numpy as np
import pytest
import zarr

from making import array, opened, values, write


@pytest.fixture
def ramp(repo: ic.Repository) -> ic.Repository:
    """The array counts from 0."""
    session = repo.writable_session("main")
    opened(session, "x")[:] = np.arange(40.0)
    times = array(session, "time", 40)
    times[:] = np.arange(40.0)
    times.attrs["units"] = "hours since 2000-01-01"
    session.commit("a ramp")
    return repo


def test_a_roll_moves_chunks_and_labels(ramp: ic.Repository) -> None:
    ramp.roll("time", 10)
    np.testing.assert_array_equal(values(ramp)[:30], np.arange(10.0, 40.0))
    assert np.isnan(values(ramp)[30:]).all()
    np.testing.assert_array_equal(values(ramp, "time"), np.arange(10.0, 50.0))


def test_the_window_is_told_in_absolute_indices(ramp: ic.Repository) -> None:
    ramp.roll("time", 10)
    window = ramp.window("time")
    assert (window.origin, window.first, window.end, window.length) == (10, 10, 50, 40)


def test_a_roll_back(ramp: ic.Repository) -> None:
    ramp.roll("time", 10)
    ramp.roll("time", -10)
    np.testing.assert_array_equal(values(ramp)[10:], np.r_[np.arange(10.0, 40.0)])
    assert np.isnan(values(ramp)[:10]).all()


def test_an_append_and_a_prepend(ramp: ic.Repository) -> None:
    ramp.append("time", 10)
    assert values(ramp).shape == (50,)
    ramp.prepend("time", 10)
    assert values(ramp).shape == (60,)
    np.testing.assert_array_equal(values(ramp)[10:50], np.arange(40.0))
    np.testing.assert_array_equal(values(ramp, "time"), np.arange(-10.0, 50.0))


def test_a_trim_of_both_ends(ramp: ic.Repository) -> None:
    ramp.trim("time", start=10, end=10)
    np.testing.assert_array_equal(values(ramp), np.arange(10.0, 30.0))


def test_labels_of_what_comes_in(ramp: ic.Repository) -> None:
    ramp.append("time", 2, labels=[100.0, 200.0])
    np.testing.assert_array_equal(values(ramp, "time")[-2:], [100.0, 200.0])


def test_what_is_kept_is_a_number_or_a_time(ramp: ic.Repository) -> None:
    ramp.append("time", 10, keep=30)
    assert ramp.window("time").length == 30
    ramp.append("time", 10, keep="20 hours")
    assert ramp.window("time").length == 20


def test_a_key_makes_a_move_happen_once(ramp: ic.Repository) -> None:
    once = ramp.roll("time", 10, key="2000-01-02")
    assert ramp.roll("time", 10, key="2000-01-02") == once
    assert ramp.window("time").origin == 10


def test_the_message_and_the_branch(ramp: ic.Repository) -> None:
    ramp.create_branch("dev", ramp.lookup_branch("main"))
    ramp.roll("time", 10, branch="dev", message="a day")
    assert next(iter(ramp.ancestry(branch="dev"))).message == "a day"
    assert ramp.window("time").origin == 0


def test_a_reader_keeps_what_it_sees(ramp: ic.Repository) -> None:
    reader = ramp.readonly_session("main")
    ramp.roll("time", 10)
    np.testing.assert_array_equal(opened(reader, "x")[:], np.arange(40.0))


def test_writers_fill_what_came_in(ramp: ic.Repository) -> None:
    ramp.roll("time", 10)
    write(ramp, "main", slice(30, 40), 7.0)
    assert values(ramp)[-1] == 7.0


def test_a_small_array_is_rewritten_where_chunks_cannot_move(ramp: ic.Repository) -> None:
    ramp.trim("time", start=5)
    np.testing.assert_array_equal(values(ramp), np.arange(5.0, 40.0))
    assert ramp.window("time").first == 5


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"elements": -1}, ValueError),
        ({"elements": 1.5}, TypeError),
        ({"elements": True}, TypeError),
        ({"elements": 2**70}, ValueError),
        ({"elements": 1, "labels": [1.0, 2.0]}, ic.IcechunkError),
        ({"elements": 1, "keep": "7 moons"}, ic.IcechunkError),
        ({"elements": 1, "nonsense": 1}, TypeError),
        ({"elements": 1, "labels": 3}, TypeError),
        ({"elements": 1, "tries": 0}, ValueError),
    ],
)
def test_what_is_wrong_is_refused(
    ramp: ic.Repository, change: dict[str, object], error: type[Exception]
) -> None:
    before = ramp.lookup_branch("main")
    with pytest.raises(error):
        ramp.append("time", **change)  # type: ignore[arg-type]
    assert ramp.lookup_branch("main") == before


def test_a_dimension_that_no_array_has(ramp: ic.Repository) -> None:
    with pytest.raises(ic.IcechunkError, match="depth"):
        ramp.roll("depth", 10)


async def test_all_of_them_awaited(ramp: ic.Repository) -> None:
    await ramp.append_async("time", 10)
    await ramp.prepend_async("time", 10)
    await ramp.trim_async("time", start=10, end=10)
    await ramp.roll_async("time", 10)
    assert ramp.window("time").end == 50


def test_below_a_group(tmp_path: object, repo: ic.Repository) -> None:
    session = repo.writable_session("main")
    zarr.create_group(session.store, path="below")
    array(session, "below/y", 40)[:] = 2.0
    session.commit("a group")
    repo.roll("time", 10, group="/below")
    assert repo.window("time", group="/below").origin == 10
    assert repo.window("time", group="/").length == 40


@pytest.mark.parametrize(
    ("label", "error"),
    [
        (float("nan"), ValueError),
        (float("-inf"), ValueError),
        (10**400, ValueError),
        # Not a whole number of 64 bits that a float has.
        (1_700_000_000_123_456_789, ValueError),
        ("2", TypeError),
        (None, TypeError),
        (True, TypeError),
    ],
)
def test_labels_are_finite_numbers_that_are_kept_exactly(
    ramp: ic.Repository, label: Any, error: type[Exception]
) -> None:
    before = ramp.lookup_branch("main")
    with pytest.raises(error, match=r"labels\[1\]"):
        ramp.append("time", 2, labels=[100.0, label])
    assert ramp.lookup_branch("main") == before


@pytest.mark.parametrize("name", ["mask", "drop_coverage", "absolute"])
def test_switches_of_windows_are_true_or_false(ramp: ic.Repository, name: str) -> None:
    before = ramp.lookup_branch("main")
    for wrong in (None, "no", 0):
        with pytest.raises(TypeError, match=name):
            ramp.append("time", 1, **{name: wrong})
    assert ramp.lookup_branch("main") == before
