"""Files of lines: reading whole rows from any place on, again exactly as the first time.

What is one row depends only on the bytes before it, never on how far the file went when it was read:
a row is taken when its line end is there. One exception needs a memory: a quote that is never closed would
swallow the rest of the file. When the file has stood still for a while, its line is given up, and where that
happened stands in the offset.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa

from ...runtime.source import SourceError
from ...storage.errors import BadCopyFormat, DataException, ProgramLimitExceeded
from .file_progress import START, Piece, Progress
from .rows import source_error

CHUNK_BYTES = 4 << 20
ROW_BYTES_MAX = 64 << 20
HEAD_BYTES_MAX = 1 << 20
CHECKSUM_BYTES = 256
QUIET_S = 2.0
"""How long a file must not have grown before a row with an open quote at its end is given up."""
BOM = b"\xef\xbb\xbf"

L = TypeVar("L")


@dataclass(slots=True)
class Decoded:
    """Whole rows at the beginning of some bytes. `open_quote`: what follows is inside quotes to the end."""

    columns: list[pa.Array]
    consumed: int
    errors: list[SourceError]
    open_quote: bool = False


class LineDecoder(Protocol[L]):
    """A text format. A `layout` is what the head of a file says about all its rows."""

    def layout(self, head: bytes, path: str) -> tuple[L, int] | None:
        """The layout and the bytes before the first row; None while the head is not there as a whole."""
        ...

    def decode(self, data: bytes, layout: L, path: str, first_line: int) -> Decoded:
        """The rows of `data`, of which the first begins at line `first_line` (from 1)."""
        ...


class TextFiles(LineDecoder[L]):
    """`FileFormat` of a line decoder (its subclass)."""

    def __init__(self) -> None:
        self._layouts: dict[str, tuple[L, int]] = {}
        self._quiet: tuple[str, int, float] = ("", 0, 0.0)

    def end(self, path: str) -> int:
        return os.stat(path).st_size

    def read(self, path: str, progress: Progress, end: int, rows_max: int) -> Piece | None:
        with open(path, "rb", buffering=0) as file:
            fd = file.fileno()
            progress = self._resume(fd, path, progress)
            layout = self._layout(fd, path, known=progress.at > 0)
            if layout is None:
                return None
            progress = self._begin(progress, fd, layout[1])
            if progress.at >= end:
                return None
            piece, open_quote = self._rows(fd, path, progress, end, rows_max)
            if piece is None and open_quote and self._stands_still(path, end):
                piece = self._give_up(fd, path, progress, end)
            return piece

    def replay(self, path: str, until: Progress, rows_max: int) -> Iterator[Piece]:
        with open(path, "rb", buffering=0) as file:
            fd = file.fileno()
            _ = self._resume(fd, path, until)
            layout = self._layout(fd, path, known=False)
            assert layout is not None
            at = self._begin(START, fd, layout[1])
            for stop in (*until.skipped, until.at):
                while at.at < stop:
                    piece, _ = self._rows(fd, path, at, stop, rows_max)
                    assert piece is not None, path
                    at = piece.progress
                    yield piece
                if stop != until.at or stop in until.skipped:
                    piece = self._give_up(fd, path, at, until.at)
                    assert piece is not None, path
                    at = piece.progress
                    yield piece

    def _resume(self, fd: int, path: str, progress: Progress) -> Progress:
        """Checks that the bytes before `progress` are those that were read."""
        if progress.at and progress.checksum != _checksum(fd, progress.at):
            raise DataException(
                f'file "{path}" is not the file that was read before: '
                f"its content differs before byte {progress.at}"
            )
        return progress

    def _layout(self, fd: int, path: str, known: bool) -> tuple[L, int] | None:
        """The file's layout, None while its head is not whole. `known`: what was found before still holds."""
        if not known or path not in self._layouts:
            head = os.pread(fd, HEAD_BYTES_MAX, 0)
            found = self.layout(head, path)
            if found is None:
                if len(head) == HEAD_BYTES_MAX:
                    raise ProgramLimitExceeded(
                        f'the first line of file "{path}" is longer than {HEAD_BYTES_MAX} bytes'
                    )
                return None
            self._layouts[path] = found
        return self._layouts[path]

    def _begin(self, progress: Progress, fd: int, head: int) -> Progress:
        """`progress`, behind the head if it stands before it."""
        if progress.at or not head:
            return progress
        return replace(progress, at=head, lines=os.pread(fd, head, 0).count(b"\n"))

    def _rows(
        self, fd: int, path: str, progress: Progress, end: int, rows_max: int
    ) -> tuple[Piece | None, bool]:
        """(the rows behind `progress`, whether there are none because of an open quote)."""
        size = CHUNK_BYTES
        layout = self._layouts[path][0]
        while True:
            data = os.pread(fd, min(size, end - progress.at), progress.at)
            whole = len(data) == end - progress.at
            if size == CHUNK_BYTES:
                data, cut = _lines(data, rows_max)
                whole = whole and not cut
            decoded = self.decode(data, layout, path, progress.lines + 1)
            if decoded.consumed:
                return self._piece(fd, data, decoded, progress), False
            if whole:
                return None, decoded.open_quote
            if size >= ROW_BYTES_MAX:
                if decoded.open_quote:
                    return None, True
                raise ProgramLimitExceeded(
                    f'line {progress.lines + 1} of file "{path}" is longer than {ROW_BYTES_MAX} bytes'
                )
            size *= 4

    def _piece(self, fd: int, data: bytes, decoded: Decoded, progress: Progress) -> Piece:
        at = progress.at + decoded.consumed
        lines = progress.lines + data.count(b"\n", 0, decoded.consumed)
        return Piece(
            decoded.columns, replace(progress, at=at, lines=lines, checksum=_checksum(fd, at)), decoded.errors
        )

    def _stands_still(self, path: str, end: int) -> bool:
        now = time.monotonic()
        if self._quiet[:2] != (path, end):
            self._quiet = (path, end, now)
        return now - self._quiet[2] >= QUIET_S

    def _give_up(self, fd: int, path: str, progress: Progress, end: int) -> Piece | None:
        """Passes over the line at `progress`, whose quotes do not end."""
        data = os.pread(fd, min(ROW_BYTES_MAX, end - progress.at), progress.at)
        length = data.find(b"\n") + 1
        if not length:
            return None
        error = source_error(
            BadCopyFormat("unterminated CSV quoted field"),
            f"{path}:{progress.lines + 1}",
            data[:length].decode(errors="replace").rstrip("\r\n"),
        )
        nothing = self.decode(b"", self._layouts[path][0], path, 1).columns
        at = progress.at + length
        skipped = (*progress.skipped, progress.at)
        return Piece(nothing, Progress(at, progress.lines + 1, _checksum(fd, at), skipped), [error])


def _checksum(fd: int, at: int) -> int:
    """CRC of the bytes before `at`."""
    first = max(at - CHECKSUM_BYTES, 0)
    return zlib.crc32(os.pread(fd, at - first, first))


def _lines(data: bytes, most: int) -> tuple[bytes, bool]:
    """(at most so many lines of `data`, whether something was cut off)."""
    if data.count(b"\n") <= most:
        return data, False
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == 10)
    return data[: int(ends[most - 1]) + 1], True
