"""Simulated processes: threads of which one moves at a time, a step whenever the schedule says so."""

from __future__ import annotations

import threading


class Killed(BaseException):
    """The process is gone, in the middle of whatever it did."""


class TurnTaker(threading.Thread):
    """A process. It lives in `live`, which calls `pause` wherever others may move in between."""

    def __init__(self, name: str) -> None:
        super().__init__(daemon=True, name=name)
        self._turn, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._killed = False
        self.over = False
        self.crash: BaseException | None = None

    def live(self) -> None:
        raise NotImplementedError

    def pause(self) -> None:
        """Within `live`: gives the turn back and waits for the next one."""
        self._back.release()
        self._turn.acquire()
        if self._killed:
            raise Killed

    def run(self) -> None:
        self._turn.acquire()
        try:
            if not self._killed:
                self.live()
        except Killed:
            pass
        except BaseException as crash:
            self.crash = crash
        self.over = True
        self._back.release()

    def move(self) -> None:
        """Lets it make a step. Raises what ended it, if it ended by mistake."""
        self._turn.release()
        self._back.acquire()
        if self.crash is not None:
            raise self.crash

    def kill(self) -> None:
        """Ends it wherever it is."""
        self._killed = True
        while not self.over:
            self._turn.release()
            self._back.acquire()
        self.join()
