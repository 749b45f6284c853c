"""`Local`: a whole database in this process, over a disk that can be made to fail.

Sessions speak to it as the wire does, without the wire: a statement in, rows or a SqlError out.
"""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from millpond.server.backend import CopyDirection, Result
from millpond.server.config import Config
from millpond.server.database import Database
from millpond.storage.commit import Storage
from millpond.storage.limits import StorageLimits
from millpond.storage.memory import MemoryStore

from ..simulation.fake_disk import FakeDisk

DATA = Path("/data")
ANSWER_S = 60
LIMITS = StorageLimits(checkpoint_s=1e9, checkpoint_bytes=1 << 40)
Rows = list[tuple[Any, ...]]


class Local:
    """A database on `disk`; `restart` ends the process, `crash` lets it end without goodbye."""

    def __init__(self) -> None:
        self.disk = FakeDisk(Random(1))
        self.batches: list = []
        self._start()

    def _start(self) -> None:
        store = lambda folder, fresh: MemoryStore([] if fresh else self.batches)  # noqa: E731
        storage = Storage.open(DATA, disk=self.disk, limits=LIMITS, open_store=store)
        self.database = Database(Config(data="/data"), storage=storage)
        self.database.start()
        self.session = self.connect()

    def connect(self) -> Session:
        number = len(self.database.clients) + 1
        return Session(self.database.connect({"user": "tester", "_pid": str(number)}))

    def sql(self, text: str) -> Rows:
        return self.session.sql(text)

    def restart(self) -> None:
        self.close()
        self._start()

    def crash(self) -> None:
        """kill -9: what was written stays, nothing more is, nobody says goodbye."""
        left = self.disk.at_rest()
        self.close()
        self.disk = left
        self.batches = []
        self._start()

    def close(self) -> None:
        self.disk.space, self.disk.write_failure, self.disk.sync_failure = None, 0.0, 0.0
        self.database.close()

    @property
    def state(self):
        return self.database.engine.state

    def equal(self, view: str, query: str) -> None:
        """Both within one snapshot."""
        self.sql("BEGIN READ ONLY")
        try:
            left, right = (sorted(map(repr, self.sql(text))) for text in (f"SELECT * FROM {view}", query))
        finally:
            self.sql("COMMIT")
        assert left == right


class Session:
    """One client."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def sql(self, text: str) -> Rows:
        """The rows of one statement. Raises its SqlError."""
        return self.wait(self.submit(text))

    def submit(self, text: str) -> Result | Future[Result]:
        try:
            return self.client.execute(self.client.prepare(text), (), alone=True)
        except BaseException:
            self.client.fail()
            raise

    def wait(self, outcome: Result | Future[Result]) -> Rows:
        try:
            result = outcome.result(ANSWER_S) if isinstance(outcome, Future) else outcome
            rows = rows_of(result)
            done = self.client.sync()
            if done is not None:
                done.result(ANSWER_S)
        except BaseException:
            self.client.fail()
            raise
        return rows

    def copy(self, table: str, columns: list[pa.Array]) -> None:
        """COPY of whole columns into a table."""
        result = self.submit(f"COPY {table} FROM STDIN")
        assert isinstance(result, Result) and result.copy is CopyDirection.IN and result.copy_in is not None
        result.copy_in.write(columns)
        self.wait(result.copy_in.finish())


def rows_of(result: Result) -> Rows:
    """All rows of a result that is there."""
    found: Rows = []
    for batch in result.batches:
        assert not isinstance(batch, Future)
        found += zip(*(column.to_pylist() for column in batch), strict=True)
    return found
