"""`StretchProcess`: checkpoints' work done by another process.

A checkpoint decodes the changelog, nets it and writes it for the store: work that nobody waits for, but in
the server's process it would take turns with the engine for the interpreter, however many processors there
are. So with an embedded log a process of its own does it (`stretch_worker.py`), at a lower priority, and the
server only takes in the files. What the process cannot do, or does not live to do, the caller does himself.
"""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from . import stretch_worker
from .budget import MemoryBudget, private_bytes, processor_s
from .changelog import StoredSpec
from .log import LogSource, Position
from .replay import Stretch
from .stretch_files import Indexes
from .stretch_messages import Done, Failed, Part, Reply, Request

STRETCH_BYTES = 32 << 20

END_S = 2.0
"""Time for the process to end by itself."""

STUCK_S = 30.0
"""A process that neither answers nor uses the processor for so long is given up."""


class ProcessLost(Exception):
    """The process could not be started or has ended; nothing is wrong with the log or the store."""


class StretchProcess:
    """Used by one thread, but for `nbytes` and `kill`. `folder` belongs to it and is emptied."""

    def __init__(self, log: Path, folder: Path) -> None:
        self._log = log.resolve()
        self._folder = folder.resolve()
        self.stretch_bytes = STRETCH_BYTES
        """Changelog that goes into one file, and that the process holds in memory at a time."""
        self._process: subprocess.Popen[bytes] | None = None
        self._worker: Connection | None = None
        shutil.rmtree(folder, ignore_errors=True)

    @property
    def nbytes(self) -> int:
        """Memory that is the process's own. From any thread."""
        process = self._process
        return 0 if process is None or process.poll() is not None else private_bytes(process.pid)

    def stretches(
        self, after: Position | None, end: Position, specs: Mapping[str, StoredSpec], indexes: Indexes
    ) -> Generator[tuple[Stretch, Path | None], None, None]:
        """The log behind `after` (None: from its base) up to `end`: as `follow` gives it, with rows in files.

        Each file is the caller's, who closes the generator before asking again. Raises ProcessLost, and
        what `follow` raises.
        """
        self._folder.mkdir(exist_ok=True)
        request = Request(self._log, self._folder, after, end, specs, indexes, self.stretch_bytes)
        process, worker = self._send(request)
        done = False
        try:
            while not done:
                reply = _receive(process, worker)
                done = not isinstance(reply, Part)
                if isinstance(reply, Failed):
                    raise reply.error
                if isinstance(reply, Part):
                    yield reply.stretch, reply.file
        finally:
            if not done:
                # It would go on writing files that nobody takes.
                self._end()

    def kill(self) -> None:
        """From any thread: ends the process at once. Who is waiting for it hears that it is lost."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """Ends the process and removes what it left."""
        if self._process is not None and self._worker is not None:
            self._worker.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _send(self, request: Request) -> tuple[subprocess.Popen[bytes], Connection]:
        """Twice, if need be: a process that had nothing to do may have ended."""
        for _ in range(2):
            process, worker = self._running()
            try:
                worker.send(request)
                return process, worker
            except OSError:
                self._end()
        raise ProcessLost("it does not take requests")

    def _running(self) -> tuple[subprocess.Popen[bytes], Connection]:
        process, worker = self._process, self._worker
        if process is not None and worker is not None and process.poll() is None:
            return process, worker
        self._end()
        ours, its = socket.socketpair()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-m", stretch_worker.__name__, str(its.fileno())]
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, env=environment, pass_fds=(its.fileno(),)
            )
        except OSError as error:
            ours.close()
            raise ProcessLost(f"could not start it: {error}") from error
        finally:
            its.close()
        self._process, self._worker = process, Connection(ours.detach())
        return self._process, self._worker

    def _end(self) -> None:
        """Ends the process at once and removes the files that nobody took."""
        process, self._process = self._process, None
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()
        if process is None:
            return
        process.kill()
        process.wait()
        for path in self._folder.glob("*"):
            path.unlink(missing_ok=True)


def process_for(log: LogSource, data: Path, budget: MemoryBudget | None) -> StretchProcess | None:
    """One for the log, with a folder in the data directory; None where the work is better done here."""
    folder = log.shared_folder
    if folder is None or not (budget is None or budget.affords_process):
        return None
    return StretchProcess(folder, data / "checkpoint")


def _receive(process: subprocess.Popen[bytes], worker: Connection) -> Reply:
    used = processor_s(process.pid)
    try:
        while not worker.poll(STUCK_S):
            before, used = used, processor_s(process.pid)
            if used == before:
                # Stopped, or starved: the store must not stay behind for that.
                raise ProcessLost(f"it has not moved for {STUCK_S:.0f} s")
        reply = worker.recv()
    except (EOFError, OSError, pickle.UnpicklingError) as error:
        raise ProcessLost("it has ended") from error
    assert isinstance(reply, Part | Done | Failed), reply
    return reply
