"""Sinks to files: each batch of whole epochs one file, there whole or not at all.

    CREATE SINK s FROM v WITH (connector = 'file', path = '/data/out') FORMAT PLAIN ENCODE JSON | PARQUET

A file is written beside its place, synced and renamed; its name ends with the number of its last change, and
so the highest name tells how far the sink is. JSON files have one record a line; FORMAT UPSERT writes
{"key": …, "value": …} with a null value for a row that goes.
"""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ...planner.define_sink import SINK_ID, sink_format
from ...runtime.sink import SinkBatch
from ...sql.entries import Sink
from ...storage.errors import FeatureNotSupported, InvalidParameterValue, IoError
from .base import check_options
from .sink_records import only_insertions, records_of

OPTIONS = {
    "path": "directory of the files",
    "primary_key": "columns that make the record's key",
    "force_append_only": "true: leave out rows that go, and the older form of those that change",
    "type": "append-only, upsert or debezium, where FORMAT does not say",
}
_NUMBER = re.compile(r"-(\d{20})\.(?:jsonl|parquet)$")


class FileSinkWriter:
    """Writes one sink's files (`runtime.sink.SinkWriter`)."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._folder = Path(sink.options["path"])
        self._prefix = f"{sink.name}-{sink.options[SINK_ID][:8]}"
        self._parquet = file_encoding(sink) == "parquet"
        self._lock: int | None = None

    def progress(self) -> int:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._take_lock()
            names = [path.name for path in self._folder.glob(f"{self._prefix}-*")]
            for name in names:
                if name.endswith(".part"):
                    (self._folder / name).unlink()
        except OSError as error:
            raise self._problem(error) from error
        return max((int(found[1]) for name in names if (found := _NUMBER.search(name))), default=0)

    def write(self, batch: SinkBatch) -> None:
        if sink_format(dict(self._sink.options)) == "plain" and not (batch.rows.weights > 0).any():
            # Nothing comes of it, now or when it is sent again.
            return
        name = f"{self._prefix}-{batch.last:020d}.{'parquet' if self._parquet else 'jsonl'}"
        try:
            part = self._folder / f"{name}.part"
            if self._parquet:
                self._write_parquet(part, batch)
            else:
                self._write_json(part, batch)
            _sync(part)
            part.rename(self._folder / name)
            _sync(self._folder)
        except OSError as error:
            raise self._problem(error) from error

    def _write_json(self, path: Path, batch: SinkBatch) -> None:
        records = records_of(self._sink, batch)
        if sink_format(dict(self._sink.options)) == "upsert":
            lines = [f'{{"key":{key},"value":{value or "null"}}}\n' for key, value in records]
        else:
            lines = [f"{value}\n" for _, value in records]
        path.write_text("".join(lines))

    def _write_parquet(self, path: Path, batch: SinkBatch) -> None:
        rows = only_insertions(self._sink, batch).rows
        table = pa.Table.from_arrays(list(rows.columns), names=list(self._sink.schema.names))
        pq.write_table(table, path)

    def _problem(self, error: OSError) -> IoError:
        return IoError(f'could not write to "{self._folder}": {error.strerror}')

    def _take_lock(self) -> None:
        """No other process may be writing: one that was taken over from may still be about to."""
        self._lock = os.open(self._folder / f".{self._prefix}.lock", os.O_CREAT | os.O_RDWR)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)


def check_file_sink(sink: Sink) -> None:
    """Raises SqlError for a bad option."""
    check_options("file", sink.options, OPTIONS)
    if not sink.options.get("path"):
        raise InvalidParameterValue("a file sink needs a path", hint="Say path = '/data/out', a directory.")
    encode = file_encoding(sink)
    if encode not in ("json", "parquet"):
        raise FeatureNotSupported(f"a file sink with ENCODE {encode.upper()} is not supported")
    if encode == "parquet" and sink_format(dict(sink.options)) != "plain":
        raise FeatureNotSupported("Parquet files are written with FORMAT PLAIN only")


def file_encoding(sink: Sink) -> str:
    return (sink.options.get("encode") or "json").lower()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
