"""The process that turns changelog into files for a store, beside the server that has the store.

    python -m millpond.storage.stretch_worker DESCRIPTOR

Over the connection that is open as DESCRIPTOR it gets `Request`s and answers each with `Part`s and then a
`Done` or a `Failed` (`stretch_messages.py`). It ends with the connection, or when idle for IDLE_S. It reads a
log that another process writes, as a standby does, and knows nothing but what it is told, so it can be killed
at any time: whoever asked does the work himself then.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection

from .budget import keep_heap_small, release_memory
from .collector import no_collections
from .log import LogDamaged, LogTruncated
from .log_reader import LogReader
from .replay import follow
from .stretch_files import without_rows, write_stretch
from .stretch_messages import Done, Failed, Part, Reply, Request

NICE = 10
"""Given to it, so that it has the processor after whoever answers clients."""

IDLE_S = 120.0


def serve(server: Connection, orphaned: Callable[[], bool]) -> None:
    """Answers requests until there are no more. Raises OSError when nobody listens."""

    def pause() -> None:
        if orphaned():
            # Nobody will take in what is being written.
            os._exit(0)

    while server.poll(IDLE_S):
        try:
            request: Request = server.recv()
        except EOFError:
            return
        try:
            with no_collections():
                _answer(request, server.send, pause)
            end = Done()
        except (OSError, LogTruncated, LogDamaged) as error:
            end = Failed(error)
        except Exception as error:
            end = Failed(RuntimeError(f"{type(error).__name__}: {error}"))
        server.send(end)
        release_memory()


def _answer(request: Request, send: Callable[[Reply], None], pause: Callable[[], None]) -> None:
    epochs = LogReader(request.log).read(request.after, request.end)
    for number, stretch in enumerate(follow(epochs, request.specs, request.stretch_bytes, pause)):
        path = request.folder / f"{os.getpid()}-{stretch.position.epoch}-{number}.sst"
        written = write_stretch(path, stretch, request.indexes, pause)
        send(Part(without_rows(stretch), path if written else None))


def main() -> None:
    # Signals for the whole group are for the server: it ends this process by closing the connection.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.nice(NICE)
    keep_heap_small()
    parent = os.getppid()
    with suppress(OSError):
        serve(Connection(int(sys.argv[1])), lambda: os.getppid() != parent)
    os._exit(0)


if __name__ == "__main__":
    main()
