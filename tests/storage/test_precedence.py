"""A thread beside the engine sleeps while clients are being answered, and gets its work done all the same."""

from millpond.storage.precedence import PATIENCE_S, SAVED_S, SHARE, STEP_S, Precedence


class World:
    """A clock that sleeping, and working, moves on."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept = 0.0
        self.at: list[tuple[float, str]] = []
        """What the engine does when, in order."""
        self.precedence = Precedence(lambda: self.now, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.move(seconds)

    def move(self, seconds: float) -> None:
        self.now += seconds
        while self.at and self.at[0][0] <= self.now:
            getattr(self.precedence, self.at.pop(0)[1])()

    def work(self, seconds: float) -> float:
        """A step, and how long its thread then sleeps."""
        before = self.slept
        self.move(seconds)
        self.precedence.give_way()
        return self.slept - before


def test_nobody_is_waited_for_when_nobody_is_there() -> None:
    assert World().work(0.001) == 0


def test_it_sleeps_until_clients_are_answered() -> None:
    world = World()
    world.work(0.001)
    world.precedence.begin()
    world.at = [(world.now + 0.0009, "end")]
    assert 0.0007 <= world.work(0.0001) <= 0.0009 + STEP_S
    assert world.work(0.0001) == 0


def test_a_long_epoch_is_not_waited_for() -> None:
    world = World()
    world.work(1.0)
    world.precedence.begin()
    assert world.work(0.0) <= PATIENCE_S + STEP_S
    assert world.work(0.001) == 0


def test_clients_that_never_pause_do_not_end_it() -> None:
    world = World()
    worked = 0.0
    for _ in range(1000):
        world.precedence.begin()
        world.work(0.0001)
        worked += 0.0001
    assert world.slept <= SHARE * worked + SAVED_S + STEP_S
    assert world.slept >= worked
