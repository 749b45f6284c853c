"""A database in this process, fed from memory: the time from the first batch to the last durable commit.

The connector `bench` serves batches by name and holds them back until `Feed.run` opens the gate, so that
tables and views are there before the first row. Everything else is the real thing: decode aside, rows go
the way of any source, each epoch ends with an fsync in a temporary directory.
"""

from __future__ import annotations

import gc
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from ...runtime.engine import Engine
from ...runtime.published import Published
from ...runtime.source import Connector, SourceBatch
from ...sql.entries import Source, Table
from ...storage.budget import MemoryBudget
from ...storage.commit import Storage
from ...storage.schema import Schema
from ..config import Config
from ..database import Database, storage_limits
from ..local import Answer, LocalSession

EPOCH_ROWS = 100_000
SECONDS_MAX = 1800.0


@dataclass(frozen=True, slots=True)
class Input:
    """Rows of one relation in their order. `deletes`, where true: the row's key goes, or (of a source) the
    row itself."""

    columns: tuple[pa.Array, ...]
    deletes: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.columns[0])


@dataclass(slots=True)
class Stream:
    """An input as a source: offsets count its rows."""

    connector: BenchConnector
    name: str

    @property
    def input(self) -> Input:
        """As it is now: rows may have been appended."""
        return self.connector.inputs[self.name]

    def poll(self, offset: bytes | None, rows_max: int) -> SourceBatch | None:
        first = int(offset or b"0")
        count = min(self.connector.rows_per_batch[self.name], rows_max, len(self.input) - first)
        if not self.connector.gates[self.name].is_set() or count <= 0:
            return None
        return self._batch(first, count)

    def _batch(self, first: int, count: int) -> SourceBatch:
        columns = [column.slice(first, count) for column in self.input.columns]
        deletes = None if self.input.deletes is None else self.input.deletes[first : first + count]
        return SourceBatch(columns, b"%d" % (first + count), deletes)

    def replay(self, until: bytes) -> Iterator[SourceBatch]:
        yield self._batch(0, int(until))

    def close(self) -> None:
        pass


@dataclass(slots=True)
class BenchConnector:
    """`connector = 'bench', input = '<name>'`."""

    inputs: dict[str, Input] = field(default_factory=dict)
    rows_per_batch: dict[str, int] = field(default_factory=dict)
    gates: dict[str, threading.Event] = field(default_factory=dict)
    name: str = "bench"

    def find(self, name: str) -> Connector:
        return self

    def columns(self, options: Mapping[str, str]) -> None:
        return None

    def open(self, schema: Schema, options: Mapping[str, str]) -> Stream:
        return Stream(self, options["input"])


class Feed:
    """A database with relations fed from inputs. A context manager: nothing remains behind it."""

    def __init__(self, budget: MemoryBudget | None = None) -> None:
        """With `budget`, tables are kept within it."""
        self._connector = BenchConnector()
        self._folder = tempfile.TemporaryDirectory(prefix="millpond-bench-")
        config = Config(data=self._folder.name, epoch_rows_max=EPOCH_ROWS)
        storage = None
        if budget is not None:
            storage = Storage.open(self.folder, limits=replace(storage_limits(config), memory=budget))
        self.database = Database(config, self._connector, storage)
        self.database.engine.listeners.append(self._notice)
        self.database.start()
        self.session = LocalSession(self.database)
        self._changed = threading.Condition()
        self._relations: dict[str, str] = {}
        # As a server does when it begins: what is there is left out of collections.
        gc.collect()
        gc.freeze()
        self.cpu_seconds = 0.0
        """Processor time of the last `run`, of all threads, those of checkpoints included."""

    def __enter__(self) -> Feed:
        return self

    def __exit__(self, *error: object) -> None:
        self.session.close()
        self.database.close()
        self._folder.cleanup()
        gc.unfreeze()

    @property
    def folder(self) -> Path:
        return Path(self._folder.name)

    def relation(self, name: str, columns: str, rows: Input, share: float = 1.0, table: bool = False) -> None:
        """Makes a source, or a table, of an input; `share` of each epoch's rows are its."""
        self._connector.inputs[name] = rows
        self._connector.rows_per_batch[name] = max(1, int(EPOCH_ROWS * share))
        self._connector.gates[name] = threading.Event()
        kind = "TABLE" if table else "SOURCE"
        options = f"connector = 'bench', input = '{name}'"
        if not table and rows.deletes is not None:
            options += ", format = 'debezium', before_images = 'true'"
        self.session.execute(f"CREATE {kind} {name} ({columns}) WITH ({options})")
        entry = next(e for e in self.database.engine.published.catalog.of(Source, Table) if e.name == name)
        self._relations[name] = entry.id

    def state_bytes(self) -> int:
        """Bytes of all tables' rows and indexes in memory. While nothing is being committed."""
        engine = self.database.engine
        assert isinstance(engine, Engine)
        return engine.state.storage.tables_bytes

    def execute(self, text: str) -> Answer:
        return self.session.execute(text)

    def run(self, *names: str) -> float:
        """Lets the inputs of these relations in (all when none are named); seconds until all is committed."""
        chosen = names or tuple(self._relations)
        wanted = {self._relations[name]: b"%d" % len(self._connector.inputs[name]) for name in chosen}
        started, cpu = time.perf_counter(), time.process_time()
        for name in chosen:
            self._connector.gates[name].set()
        with self._changed:
            done = self._changed.wait_for(lambda: self._reached(wanted), SECONDS_MAX)
        elapsed = time.perf_counter() - started
        self.cpu_seconds = time.process_time() - cpu
        assert done, self.database.engine.source_status()
        stalled = self.database.engine.published.stalled
        assert not stalled, stalled
        return elapsed

    def append(self, name: str, more: Input) -> None:
        """More rows behind a relation's input, let in at once when its gate is open."""
        before = self._connector.inputs[name]
        columns = tuple(pa.concat_arrays([a, b]) for a, b in zip(before.columns, more.columns, strict=True))
        flags = np.concatenate([_flags(before), _flags(more)])
        self._connector.gates[name].clear()
        self._connector.inputs[name] = Input(columns, flags)

    def _reached(self, wanted: Mapping[str, bytes]) -> bool:
        offsets = self.database.engine.published.offsets
        return all(offsets.get(relation) == end for relation, end in wanted.items())

    def _notice(self, published: Published) -> None:
        with self._changed:
            self._changed.notify_all()


def _flags(rows: Input) -> np.ndarray:
    return np.zeros(len(rows), np.bool_) if rows.deletes is None else rows.deletes


def numbers(answer: Answer) -> Sequence[str | None]:
    """The only row of an answer."""
    (row,) = answer.texts()
    return row
