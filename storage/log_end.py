"""The end of a log folder, as whoever begins to write it finds it, and makes it durable.

The end is behind the last whole epoch that the last segment's header and frames lead to. What crashed writers
left unfinished is removed: files without their name, and what a base had begun to replace. `FileLog` claims
the log before it looks (`fence.py`).
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from .disk import Disk
from .log import LogDamaged, LogTruncated, Position
from .log_format import HEADER_BYTES, NewerFormat, SegmentHeader
from .log_reader import START, Inventory, LogReader, base_path, lost, segment_path


def settled_end(
    folder: Path, disk: Disk, reader: LogReader, known: Position | None
) -> tuple[Position, SegmentHeader]:
    """The end of the log, durable from now on, and the header of its last file."""
    for name in disk.names(folder):
        if name.endswith(".new"):
            with contextlib.suppress(FileNotFoundError):
                disk.remove(folder / name)
    inventory = reader.inventory()
    reader.check_holes(inventory)
    end, header = START, SegmentHeader(0, 0, 0, 0, disk.token())
    if inventory.base:
        header = reader.header(base_path(folder, inventory.base))
        end = Position(header.after_epoch, inventory.base, header.previous_end)
    if inventory.segments and inventory.segments[-1] > inventory.base:
        header = reader.header(segment_path(folder, inventory.segments[-1]))
        end = _end_of(reader, inventory, header, known)
    _check_mark(reader, header.identity, end, folder)
    _settle(folder, disk, reader, end)
    remove_covered(disk, folder)
    return end, header


def last_writer(reader: LogReader) -> int:
    """The writer number in the last segment, 0 when none can be read."""
    segments = reader.inventory().segments
    if not segments:
        return 0
    try:
        return reader.header(segment_path(reader.folder, segments[-1])).writer
    except (LogDamaged, LogTruncated, NewerFormat):
        return 0


def remove_covered(disk: Disk, folder: Path) -> None:
    """Removes what the newest base replaces. A writer that was replaced may be about the same."""
    inventory = Inventory.of(disk.names(folder))
    covered = [segment_path(folder, number) for number in inventory.segments if number <= inventory.base]
    covered += [base_path(folder, number) for number in inventory.bases[:-1]]
    for path in covered:
        with contextlib.suppress(FileNotFoundError):
            disk.remove(path)


def _end_of(
    reader: LogReader, inventory: Inventory, header: SegmentHeader, known: Position | None
) -> Position:
    """The end of the log, whose last segment has this header, read from `known` on if it is in there."""
    end, start = Position(header.after_epoch, header.number - 1, header.previous_end), HEADER_BYTES
    if known is not None and known.segment == header.number:
        end, start = known, known.offset
    for epoch in reader.segment_epochs(inventory, header.number, start, end.epoch, None):
        end = epoch.position
    return end


def _check_mark(reader: LogReader, identity: bytes, end: Position, folder: Path) -> None:
    mark = reader.marked()
    if mark is not None and mark[1] == identity and mark[0].epoch > end.epoch:
        raise LogDamaged(f"{folder}: {lost(end.epoch + 1, mark[0].epoch)} (the end of the log is damaged)")


def _settle(folder: Path, disk: Disk, reader: LogReader, end: Position) -> None:
    """Makes the end of the log durable before anything is built on it.

    The crashed writer may have died between write and fsync; then its last epoch is only in the page
    cache. It is written again, because after a failed fsync the kernel takes its pages for clean. Or it
    died between cutting a failed epoch off and the next segment's header; then the cut is only in the
    page cache, and a power cut would bring the epoch back. The same holds of names: that of a segment
    begun in place of one with a failed epoch.
    """
    disk.sync_folder(folder)
    segments = reader.inventory().segments
    if not segments or segments[-1] < end.segment:
        return
    number, mark = segments[-1], reader.end_mark()
    stop = end.offset if number == end.segment else HEADER_BYTES
    start = mark.offset if mark is not None and mark.segment == number and mark <= end else 0
    file = disk.open(segment_path(folder, number), write=True)
    try:
        if start < stop:
            file.write_at(start, [file.read_at(start, stop - start)])
        file.sync()
    finally:
        file.close()
