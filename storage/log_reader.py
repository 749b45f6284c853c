"""Reads the embedded log: recovery, checkpoints, standbys in other processes, `millpond check`.

A reader needs the folder only, never the writer object. A reader beside a living writer must not see
an epoch before its fsync returned (a commit frame is visible in the page cache earlier, and is taken
back when the fsync fails). So the writer notes its durable end in the small file END after each
commit, and `tail` stops there. END itself is never synced: it is a hint for other processes and,
because it is never ahead of the log, evidence of loss when the log ends before it.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from .disk import REAL, Disk, DiskFile, read_whole
from .errors import StartupError
from .log import Frame, FrameKind, LogDamaged, LogEpoch, LogTruncated, Position
from .log_format import (
    FRAME_MAGIC,
    HEAD_BYTES,
    HEADER_BYTES,
    SegmentHeader,
    decode_header,
    frame_size,
    whole_frames,
)

COMMIT = int(FrameKind.COMMIT)
"""Compared with for each frame, which takes longer with a member of an IntEnum."""

POLL_S = 0.005
"""Between two looks at the noted end."""

READ_BYTES = 4 << 20
"""Bytes read from a segment at once; a longer frame is read whole."""

END_NAME = "END"
START = Position(0, 0, 0)


def segment_path(folder: Path, number: int) -> Path:
    return folder / f"{number:020d}.seg"


def base_path(folder: Path, number: int) -> Path:
    return folder / f"{number:020d}.base"


def encode_end(position: Position, identity: bytes) -> bytes:
    """The content of END."""
    body = position.encode() + identity
    return body + zlib.crc32(body).to_bytes(4, "little")


@dataclass(frozen=True, slots=True)
class Inventory:
    """The files of a log: numbers of its bases and segments, ascending."""

    bases: tuple[int, ...]
    segments: tuple[int, ...]

    @staticmethod
    def of(names: list[str]) -> Inventory:
        def numbers(suffix: str) -> tuple[int, ...]:
            return tuple(sorted(int(n[:20]) for n in names if n.endswith(suffix) and n[:20].isdigit()))

        return Inventory(numbers(".base"), numbers(".seg"))

    @property
    def base(self) -> int:
        """The newest base, 0 when there is none."""
        return self.bases[-1] if self.bases else 0


@dataclass(slots=True)
class FrameScan:
    """The valid frames of a file from `offset` on, before `limit`; `offset` moves along.

    Iteration ends at the limit, at the end of the file or at the first invalid byte.
    """

    file: DiskFile
    seed: int
    offset: int
    limit: int
    _window: pa.Buffer = field(default_factory=lambda: pa.py_buffer(b""))
    _window_start: int = 0

    def __iter__(self) -> Iterator[tuple[int, int, Frame]]:
        """Epoch, number within it, frame."""
        wanted: int | None = HEAD_BYTES
        names: dict[bytes, str] = {}
        while wanted is not None and self._holds(wanted):
            window, start = self._window, self._window_start
            for epoch, index, end, frame in whole_frames(window, self.offset - start, self.seed, names):
                self.offset = start + end
                yield epoch, index, frame
            wanted = frame_size(window, self.offset - start)
            if wanted is not None and self.offset - start + wanted <= window.size:
                return

    def _holds(self, count: int) -> bool:
        """Whether `count` bytes from `offset` on are in the window, after reading if need be."""
        end = self.offset + count
        if end > self.limit:
            return False
        if end > self._window_start + self._window.size:
            self._window_start = self.offset
            self._window = self.file.read_at(
                self.offset, min(max(count, READ_BYTES), self.limit - self.offset)
            )
        return end <= self._window_start + self._window.size


class LogReader:
    """The committed epochs in a log folder. Holds no file open between calls."""

    def __init__(self, folder: Path, disk: Disk = REAL) -> None:
        self.folder = folder
        self._disk = disk

    def inventory(self) -> Inventory:
        return Inventory.of(self._disk.names(self.folder))

    def end_mark(self, settled: bool = False) -> Position | None:
        """The durable end the writer noted last, before it acknowledged; None if nothing readable."""
        mark = self.marked()
        return mark and mark[0]

    def await_news(self) -> None:
        """Files say nothing by themselves."""
        time.sleep(POLL_S)

    def marked(self) -> tuple[Position, bytes] | None:
        """The noted end and the identity of the log it belongs to."""
        try:
            content = read_whole(self._disk, self.folder / END_NAME)
        except FileNotFoundError:
            return None
        if len(content) != 44 or zlib.crc32(content[:40]).to_bytes(4, "little") != content[40:]:
            return None
        return Position.decode(content[:24]), content[24:40]

    @property
    def identity(self) -> bytes:
        """16 bytes that tell this log from any other. Raises StartupError when there is no log."""
        inventory = self.inventory()
        try:
            if inventory.segments:
                return self.header(segment_path(self.folder, inventory.segments[-1])).identity
            if inventory.base:
                return self.header(base_path(self.folder, inventory.base)).identity
        except LogTruncated:
            pass
        marked = self.marked()
        if marked is None:
            raise StartupError(
                f"{self.folder} holds no log to follow: start its primary first (millpond serve)"
            )
        return marked[1]

    def apart(self) -> LogReader:
        """Itself: nothing is kept between two calls."""
        return self

    @property
    def shared_folder(self) -> Path | None:
        return self.folder if self._disk is REAL else None

    def close(self) -> None:
        """Nothing is open."""

    def tail(self, after: Position | None) -> Iterator[LogEpoch]:
        """The epochs behind `after` that a living writer has made durable. Raises as `read`."""
        mark = self.end_mark()
        return iter(()) if mark is None else self.read(after, mark)

    def read(self, after: Position | None, until: Position | None = None) -> Iterator[LogEpoch]:
        """The committed epochs behind `after` (None: from the base), up to `until`.

        Without `until` the log must be at rest: what is valid counts as committed.
        Raises LogTruncated and LogDamaged.
        """
        inventory = self.inventory()
        if after is None and inventory.base:
            base = self.read_base(inventory.base)
            yield base
            after = base.position
        position = after or START
        self._check_reach(inventory, position)
        for number in range(max(position.segment, 1), max(inventory.segments, default=0) + 1):
            if until is not None and number > until.segment:
                return
            if number not in inventory.segments and number <= max(position.segment, inventory.base):
                continue
            start = position.offset if number == position.segment else HEADER_BYTES
            for epoch in self.segment_epochs(inventory, number, start, position.epoch, until):
                position = epoch.position
                yield epoch

    def header(self, path: Path) -> SegmentHeader:
        """The header of a file. Raises LogDamaged, LogTruncated when the file is gone."""
        file = self._opened(path)
        try:
            header = decode_header(file.read_at(0, HEADER_BYTES).to_pybytes())
        finally:
            file.close()
        if header is None:
            raise LogDamaged(f"{path} does not begin with a valid header")
        return header

    def _opened(self, path: Path) -> DiskFile:
        """Raises LogTruncated when the file is gone: a checkpoint of the writer may take it at any moment."""
        try:
            return self._disk.open(path)
        except FileNotFoundError:
            raise LogTruncated(str(path)) from None

    def read_base(self, number: int) -> LogEpoch:
        """The content of all stores as base `number` holds it. Raises LogDamaged, LogTruncated."""
        path = base_path(self.folder, number)
        header = self.header(path)
        file = self._opened(path)
        try:
            scan = FrameScan(file, header.seed, HEADER_BYTES, file.size())
            frames: list[Frame] = []
            for epoch, index, frame in scan:
                if index != len(frames) or epoch != header.after_epoch:
                    break
                if frame.kind == FrameKind.COMMIT:
                    position = Position(header.after_epoch, number, header.previous_end)
                    return LogEpoch(epoch, bytes(frame.payload), frames, position, base=True)
                frames.append(frame)
        finally:
            file.close()
        raise LogDamaged(
            f"{path} is damaged at byte {scan.offset}: the log cannot give the state up to epoch "
            f"{header.after_epoch}"
        )

    def segment_epochs(
        self, inventory: Inventory, number: int, start: int, after_epoch: int, until: Position | None
    ) -> Iterator[LogEpoch]:
        """The committed epochs of one segment from byte `start` on, the first being `after_epoch` + 1."""
        path = segment_path(self.folder, number)
        header = self.header(path)
        limit, last = self._limit(inventory, number, until)
        file = self._opened(path)
        try:
            size = file.size()
            scan = FrameScan(file, header.seed, start, size if limit is None else min(limit, size))
            committed, epoch = start, after_epoch
            frames: list[Frame] = []
            for found, index, frame in scan:
                if found != epoch + 1 or index != len(frames):
                    break
                if frame.kind != COMMIT:
                    frames.append(frame)
                    continue
                committed, epoch = scan.offset, found
                yield LogEpoch(epoch, bytes(frame.payload), frames, Position(epoch, number, committed))
                frames = []
            if limit is None:
                last = _last_epoch_behind(file, header.seed, scan.offset, size)
                damaged = last > epoch + 1
            else:
                damaged = committed != limit
            if damaged:
                raise LogDamaged(f"{path} is damaged at byte {scan.offset}: {lost(epoch + 1, last)}")
        finally:
            file.close()

    def _limit(self, inventory: Inventory, number: int, until: Position | None) -> tuple[int | None, int]:
        """Where the segment ends and its last epoch; (None, 0) when only its content can tell."""
        if until is not None and until.segment == number:
            return until.offset, until.epoch
        if number + 1 in inventory.segments:
            following = self.header(segment_path(self.folder, number + 1))
            return following.previous_end, following.after_epoch
        return None, 0

    def _check_reach(self, inventory: Inventory, position: Position) -> None:
        """That all segments behind `position` are there."""
        self.check_holes(inventory)
        if not inventory.segments:
            if position.segment > inventory.base:
                raise LogDamaged(f"{self.folder} has no segment {position.segment}")
            return
        first = inventory.segments[0]
        if first <= position.segment:
            if position.segment > inventory.segments[-1]:
                raise LogDamaged(f"{self.folder} has no segment {position.segment}")
            return
        header = self.header(segment_path(self.folder, first))
        if header.number == position.segment + 1 and header.previous_end == position.offset:
            return
        if position.segment <= inventory.base:
            if position.epoch == header.after_epoch:
                return  # What is gone between were segments without epochs.
            if position.epoch < header.after_epoch:
                raise LogTruncated(f"epochs up to {header.after_epoch} are in the base only")
        raise LogDamaged(f"{self.folder}: {lost(position.epoch + 1, header.after_epoch)} (segments missing)")

    def check_holes(self, inventory: Inventory) -> None:
        """Raises LogDamaged when a segment is missing between others or behind the base."""
        previous = inventory.base or (inventory.segments[0] - 1 if inventory.segments else 0)
        for number in inventory.segments:
            if number > previous + 1:
                self._raise_hole(previous, number, inventory)
            previous = max(previous, number)
        if inventory.segments and not inventory.base and inventory.segments[0] > 1:
            self._raise_hole(0, inventory.segments[0], inventory)

    def _raise_hole(self, before: int, number: int, inventory: Inventory) -> None:
        after = self.header(segment_path(self.folder, number)).after_epoch
        first = 1
        if before in inventory.segments:
            header = self.header(segment_path(self.folder, before))
            first = header.after_epoch + 1
            for epoch in self._rest(before, header):
                first = epoch + 1
        elif before:
            first = self.header(base_path(self.folder, before)).after_epoch + 1
        missing = f"segments {before + 1} to {number - 1}" if number > before + 2 else f"segment {before + 1}"
        raise LogDamaged(f"{self.folder}: {missing} missing, {lost(first, after)}")

    def _rest(self, number: int, header: SegmentHeader) -> Iterator[int]:
        """Numbers of the epochs in a segment whose successor is missing."""
        alone = Inventory((), (number,))
        try:
            for epoch in self.segment_epochs(alone, number, HEADER_BYTES, header.after_epoch, None):
                yield epoch.epoch
        except LogDamaged:
            return


def lost(first: int, last: int) -> str:
    """Says which epochs cannot be read."""
    return f"epoch {first} is lost" if first >= last else f"epochs {first} to {last} are lost"


def _last_epoch_behind(file: DiskFile, seed: int, offset: int, size: int) -> int:
    """The highest epoch of any valid frame behind a place that is invalid, 0 when there is none.

    Each commit is synced before the next epoch is written, so a crash can damage the newest epoch
    only. Valid frames of a later one prove that something else happened to committed bytes.
    """
    last, start = 0, offset
    while start + HEAD_BYTES <= size:
        window = file.read_at(start, READ_BYTES)
        words = np.frombuffer(window, np.uint32, len(window) // 8 * 2)[::2]
        for hit in np.flatnonzero(words == FRAME_MAGIC).tolist():
            scan = FrameScan(file, seed, start + hit * 8, size)
            last = max(last, next((epoch for epoch, _, _ in scan), 0))
        start += len(window) // 8 * 8 or size
    return last
