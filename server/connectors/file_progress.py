"""How far each file has been read: the offset of a file source, as JSON.

Of text files bytes are counted, of Parquet files rows. A checksum of what precedes that place tells whether
it is still the same file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from ...runtime.source import SourceError


@dataclass(frozen=True, slots=True)
class Progress:
    """Place in one file. `skipped`: where lines were given up whose quotes do not end."""

    at: int = 0
    lines: int = 0
    checksum: int = 0
    skipped: tuple[int, ...] = ()


START = Progress()


@dataclass(slots=True)
class Piece:
    """Decoded rows of a file and the place behind them."""

    columns: list[pa.Array]
    progress: Progress
    errors: list[SourceError]


class FileFormat(Protocol):
    """One way of writing rows into files. Errors raised as SqlError stall the source."""

    def end(self, path: str) -> int:
        """How far the file goes at present, in the unit of `Progress.at`. Raises OSError, SqlError."""
        ...

    def read(self, path: str, progress: Progress, end: int, rows_max: int) -> Piece | None:
        """What follows `progress`, at most up to `end`; None when no whole row does."""
        ...

    def replay(self, path: str, until: Progress, rows_max: int) -> Iterator[Piece]:
        """The same rows again, from the beginning of the file."""
        ...


def encode_offset(files: Mapping[str, Progress]) -> bytes:
    return json.dumps(
        {path: [p.at, p.lines, p.checksum, *p.skipped] for path, p in files.items()}, separators=(",", ":")
    ).encode()


def decode_offset(offset: bytes | None) -> dict[str, Progress]:
    files = json.loads(offset) if offset else {}
    return {path: Progress(p[0], p[1], p[2], tuple(p[3:])) for path, p in files.items()}
