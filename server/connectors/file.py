"""Files by a path pattern: what is there is read, then what comes: new files, lines at the end of old ones.

    WITH (connector = 'file', path = '/data/*.csv')    -- csv, jsonl or parquet by extension
    WITH (connector = 'posix_fs', posix_fs.root = '/data', match_pattern = '*') FORMAT PLAIN ENCODE CSV (…)

Files are read in the order of their names, each from its beginning to its present end. A file that is shorter
than what was read of it, or that is gone or another one, stalls the source: its rows could not be read again.
"""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterator, Mapping

from ...runtime.source import SourceBatch
from ...sql.entries import Sink
from ...storage.errors import DataException, InvalidParameterValue, IoError
from ...storage.schema import Schema
from .base import boolean_option, check_options, connector, integer_option
from .file_csv import CsvFormat
from .file_json import JsonFormat
from .file_parquet import ParquetFormat
from .file_progress import START, FileFormat, Progress, decode_offset, encode_offset
from .file_sink import FileSinkWriter, check_file_sink

LOOK_INTERVAL_S = 0.2
"""Time between two looks at the directory when there was nothing to read."""
REPLAY_ROWS = 100_000

OPTIONS = {
    "path": "file name or pattern with * ? [ ] and ** for directories at any depth",
    "format": "csv, jsonl or parquet; by the file name's extension when not given",
    "header": "whether a csv file's first line has the column names (true)",
    "delimiter": "of csv columns (,)",
    "rows_per_poll": "rows of one batch at most",
}
_FORMATS = {
    "csv": "csv",
    "tsv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "parquet": "parquet",
}
_NOT_FORMATS = ("", "plain", "append_only", "none")


class FileConnector:
    """What both spellings share."""

    stable_replay = True

    def columns(self, options: Mapping[str, str]) -> None:
        _ = self.pattern(options)

    def pattern(self, options: Mapping[str, str]) -> str:
        """Checks the options' names; the path pattern."""
        raise NotImplementedError

    def open(self, schema: Schema, options: Mapping[str, str]) -> FileReader:
        """Raises InvalidParameterValue for a bad option."""
        pattern = self.pattern(options)
        wanted = Schema(tuple(column for column in schema if not column.hidden))
        return FileReader(
            pattern, file_format(pattern, wanted, options), integer_option(options, "rows_per_poll", 0)
        )


@connector
class LocalFiles(FileConnector):
    """`connector = 'file'`."""

    name = "file"

    def check_sink(self, sink: Sink) -> None:
        check_file_sink(sink)

    def open_sink(self, sink: Sink) -> FileSinkWriter:
        return FileSinkWriter(sink)

    def pattern(self, options: Mapping[str, str]) -> str:
        check_options(self.name, options, OPTIONS)
        if not options.get("path"):
            raise InvalidParameterValue("a file source needs a path", hint="WITH (path = '/data/*.csv').")
        return options["path"]


@connector
class PosixFiles(FileConnector):
    """`connector = 'posix_fs'`, RisingWave's spelling."""

    name = "posix_fs"

    def pattern(self, options: Mapping[str, str]) -> str:
        check_options(self.name, options, ["posix_fs.root", "match_pattern", *OPTIONS])
        if not options.get("posix_fs.root"):
            raise InvalidParameterValue("a posix_fs source needs posix_fs.root, the directory of the files")
        return os.path.join(options["posix_fs.root"], options.get("match_pattern", "*"))


def file_format(pattern: str, schema: Schema, options: Mapping[str, str]) -> FileFormat:
    """The format named by ENCODE, by the option `format`, or by the pattern's extension."""
    given = [options.get("encode", ""), options.get("format", ""), os.path.splitext(pattern)[1].lstrip(".")]
    name = next(text.lower() for text in [*given, "?"] if text.lower() not in _NOT_FORMATS)
    kind = _FORMATS.get(name)
    if kind is None:
        raise InvalidParameterValue(
            f'the format of the files "{pattern}" is not known',
            hint="Say FORMAT PLAIN ENCODE CSV, JSON or PARQUET, or format = 'csv', 'jsonl' or 'parquet'.",
        )
    if kind == "csv":
        return _csv(schema, options, "\t" if name == "tsv" else ",")
    return JsonFormat(schema) if kind == "json" else ParquetFormat(schema)


def _csv(schema: Schema, options: Mapping[str, str], default: str) -> CsvFormat:
    header = boolean_option(options, "header", True)
    header = boolean_option(options, "encode.header", header)
    header = not boolean_option(options, "encode.without_header", not header)
    delimiter = options.get("delimiter", options.get("encode.delimiter", default))
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter.lower(), delimiter)
    if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
        raise InvalidParameterValue('option "delimiter" must be a single one-byte character')
    return CsvFormat(schema, header, delimiter)


class FileReader:
    """Reads the files of one source (`runtime.source.SourceReader`)."""

    def __init__(self, pattern: str, format_: FileFormat, rows_per_poll: int) -> None:
        self._pattern = pattern
        self._format = format_
        self._rows = rows_per_poll
        self._offset: bytes | None = b""
        self._files: dict[str, Progress] = {}
        self._ends: dict[str, int] = {}
        self._looked = float("-inf")

    def poll(self, offset: bytes | None, rows_max: int) -> SourceBatch | None:
        if offset != self._offset:
            self._files, self._offset = decode_offset(offset), offset
            self._looked = float("-inf")
        batch = self._next(min(rows_max, self._rows or rows_max))
        if batch is None and time.monotonic() - self._looked >= LOOK_INTERVAL_S:
            self._look()
            batch = self._next(min(rows_max, self._rows or rows_max))
        return batch

    def _look(self) -> None:
        """Finds the files there are, and how far each goes."""
        self._looked = time.monotonic()
        self._ends = {path: self._end(path) for path in matching(self._pattern)}
        for path, progress in self._files.items():
            end = self._ends.get(path)
            if end is None:
                raise self._vanished(path, progress)
            if end < progress.at:
                raise DataException(
                    f'file "{path}" was truncated: it has {end} {self._unit()}, {progress.at} were read'
                )

    def _vanished(self, path: str, progress: Progress) -> IoError:
        return IoError(
            f'file "{path}" has vanished, of which {progress.at} {self._unit()} were read',
            hint="Put it back: its rows are content of the source.",
        )

    def _unit(self) -> str:
        return "rows" if isinstance(self._format, ParquetFormat) else "bytes"

    def _end(self, path: str) -> int:
        try:
            return self._format.end(path)
        except OSError as error:
            raise IoError(f'could not read file "{path}": {error.strerror}') from error

    def _next(self, rows_max: int) -> SourceBatch | None:
        """The next rows of the first file that has some beyond what was read."""
        for path, end in self._ends.items():
            progress = self._files.get(path, START)
            if end <= progress.at:
                continue
            try:
                piece = self._format.read(path, progress, end, rows_max)
            except FileNotFoundError:
                raise self._vanished(path, progress) from None
            except OSError as error:
                raise IoError(f'could not read file "{path}": {error.strerror}') from error
            if piece is not None:
                self._files = {**self._files, path: piece.progress}
                self._offset = encode_offset(self._files)
                return SourceBatch(piece.columns, self._offset, errors=piece.errors)
        return None

    def replay(self, until: bytes) -> Iterator[SourceBatch]:
        done: dict[str, Progress] = {}
        for path, progress in decode_offset(until).items():
            try:
                for piece in self._format.replay(path, progress, REPLAY_ROWS):
                    done[path] = piece.progress
                    yield SourceBatch(piece.columns, encode_offset(done), errors=piece.errors)
            except OSError as error:
                raise IoError(f'could not read file "{path}": {error.strerror}') from error

    def close(self) -> None:
        pass


def matching(pattern: str) -> list[str]:
    """The regular files that match, by name."""
    return sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
