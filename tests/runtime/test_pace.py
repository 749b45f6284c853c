"""When a view that is filled gets its next chunk, beside clients that come and go."""

import sys

import pytest

from millpond.runtime.pace import (
    CHUNK_IDLE_S,
    CHUNK_S,
    GIVE_WAY_S,
    PAUSE_BUSY_S,
    PAUSE_S,
    QUIET_S,
    SAVED_S,
    SWITCH_S,
    Pace,
    Switching,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_client_that_was_answered_has_time_to_come_back() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert pace.due(works=False) and pace.rest() == 0
    pace.worked()
    assert not pace.due(works=False) and 0 < pace.rest() <= GIVE_WAY_S
    clock.now += GIVE_WAY_S / 2
    assert not pace.due(works=False)
    clock.now += GIVE_WAY_S
    assert pace.due(works=False) and pace.rest() == 0


def test_clients_that_leave_no_gap_carry_a_chunk_now_and_then() -> None:
    clock = Clock()
    pace = Pace(clock)
    carried = alone = 0
    for _ in range(1000):
        clock.now += 0.001
        alone += pace.due(works=False)
        if pace.due(works=True):
            carried += 1
            pace.fed()
        pace.worked()
    assert alone == 1  # before the first of them
    assert 0.9 * 1 / PAUSE_S <= carried <= 1 / PAUSE_S + 1


def carried(pace: Pace, clock: Clock, seconds: float) -> int:
    """Chunks that epochs of a client carry that is back every millisecond."""
    count, end = 0, clock.now + seconds
    while clock.now < end:
        clock.now += 0.001
        if pace.due(works=True):
            count += 1
            pace.fed()
        pace.worked()
    return count


def test_while_a_checkpoint_works_there_are_few_unless_it_always_does() -> None:
    clock, busy = Clock(), True
    pace = Pace(clock, lambda: busy)
    assert 0 < carried(pace, clock, SAVED_S / 2) <= SAVED_S / 2 / PAUSE_BUSY_S + 1
    carried(pace, clock, SAVED_S)
    assert carried(pace, clock, 1) >= 0.9 / PAUSE_S
    busy = False
    assert carried(pace, clock, 3) >= 2.7 / PAUSE_S
    busy = True
    assert carried(pace, clock, 2) <= 2 / PAUSE_BUSY_S + 1
    assert carried(pace, clock, 3) >= 1.8 / PAUSE_S


def test_long_epochs_carry_larger_chunks() -> None:
    clock = Clock()
    pace = Pace(clock)
    shares: list[float] = []
    for took in (0.001, 0.001, 0.2, 0.2, 5.0, 0.001):
        clock.now += took
        pace.worked()
        assert pace.due(works=True) == (took > PAUSE_S or not shares)
        shares.append(pace.seconds)
        pace.fed()
    assert shares[:2] == [CHUNK_S, CHUNK_S]
    assert CHUNK_S < shares[2] == pytest.approx(0.2 * CHUNK_S / (2 * PAUSE_S))
    assert shares[4:] == [CHUNK_IDLE_S, CHUNK_S]
    clock.now += GIVE_WAY_S
    assert pace.due(works=False) and pace.seconds == CHUNK_S


def test_chunks_take_their_time_once_nobody_writes() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert pace.seconds == CHUNK_IDLE_S
    pace.worked()
    assert pace.seconds == CHUNK_S
    clock.now += 2 * QUIET_S
    assert pace.seconds == CHUNK_IDLE_S


def test_the_switch_interval_is_what_it_was_afterwards() -> None:
    before = sys.getswitchinterval()
    switching = Switching()
    try:
        switching.shorten(True)
        switching.shorten(True)
        assert sys.getswitchinterval() <= SWITCH_S * 1.01
        switching.shorten(False)
        assert abs(sys.getswitchinterval() - before) < 1e-6
    finally:
        sys.setswitchinterval(before)
