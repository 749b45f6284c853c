"""The process that turns changelog into files for a store, beside the server that has the store.

    python -m millpond.storage.stretch_worker

It reads `Request`s from its standard input and answers each on its standard output with `Part`s and then a
`Done` or a `Failed` (`stretch_messages.py`). It ends with its input, or when idle for IDLE_S. It reads a log
that another process writes, as a standby does, and knows nothing but what it is told, so it can be killed at
any time: whoever asked does the work himself then.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys
from collections.abc import Callable
from typing import BinaryIO

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


def serve(requests: BinaryIO, replies: BinaryIO, orphaned: Callable[[], bool]) -> None:
    """Answers requests until there are no more."""

    def pause() -> None:
        if orphaned():
            # Nobody will take in what is being written.
            os._exit(0)

    def send(reply: Reply) -> None:
        pickle.dump(reply, replies, pickle.HIGHEST_PROTOCOL)
        replies.flush()

    while select.select([requests], [], [], IDLE_S)[0]:
        try:
            request: Request = pickle.load(requests)
        except EOFError:
            return
        try:
            with no_collections():
                _answer(request, send, pause)
            send(Done())
        except (OSError, LogTruncated, LogDamaged) as error:
            send(Failed(error))
        except Exception as error:
            send(Failed(RuntimeError(f"{type(error).__name__}: {error}")))
        release_memory()


def _answer(request: Request, send: Callable[[Reply], None], pause: Callable[[], None]) -> None:
    epochs = LogReader(request.log).read(request.after, request.end)
    for number, stretch in enumerate(follow(epochs, request.specs, request.stretch_bytes, pause)):
        path = request.folder / f"{os.getpid()}-{stretch.position.epoch}-{number}.sst"
        written = write_stretch(path, stretch, request.indexes, pause)
        send(Part(without_rows(stretch), path if written else None))


def main() -> None:
    # Signals for the whole group are for the server: it ends this process by ending its input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.nice(NICE)
    keep_heap_small()
    parent = os.getppid()
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What libraries may print must not come between replies.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        serve(sys.stdin.buffer, replies, lambda: os.getppid() != parent)
    except BrokenPipeError:
        # Nobody listens any more.
        os._exit(0)


if __name__ == "__main__":
    main()
