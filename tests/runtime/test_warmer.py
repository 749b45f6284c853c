"""When the engine brings rows into memory: after a while, at once when idle, with pauses between works."""

from __future__ import annotations

from millpond.runtime.warmer import FIRST_S, FOREVER_S, PART_S, PAUSE_S, Warmer


class Storage:
    """Takes three parts to be warm; then fails, if it is to."""

    def __init__(self, fails: bool = False) -> None:
        self.parts: list[float] = []
        self.fails = fails

    @property
    def warming(self) -> bool:
        return len(self.parts) < 3

    def warm(self, seconds: float) -> None:
        if self.fails:
            raise OSError("the store cannot be read")
        self.parts.append(seconds)

    def take_renewed(self) -> set[str]:
        return {f"part {len(self.parts)}"}


def test_clients_that_come_back_go_first_and_then_between_parts() -> None:
    storage, now = Storage(), [10.0]
    warmer = Warmer(storage, lambda: now[0])  # pyright: ignore[reportArgumentType]
    assert warmer.rest() == FIRST_S and not warmer.step(busy=False) and not storage.parts
    now[0] += FIRST_S
    assert warmer.step(busy=True) == {"part 1"} and storage.parts == [PART_S]
    assert not warmer.step(busy=True)
    assert 0 < warmer.rest() <= 1.01 * PAUSE_S
    now[0] += 2 * PAUSE_S
    assert warmer.step(busy=False) == {"part 2"}
    assert warmer.rest() <= 0
    assert warmer.step(busy=False) == {"part 3"}
    assert warmer.rest() == FOREVER_S and not warmer.step(busy=False)


def test_what_cannot_be_read_is_left_where_it_is() -> None:
    now = [10.0]
    warmer = Warmer(Storage(fails=True), lambda: now[0])  # pyright: ignore[reportArgumentType]
    now[0] += FIRST_S
    warmer.step(busy=False)
    assert warmer.rest() == FOREVER_S
