"""`FileLog`: the embedded log, written by one process to a folder of segment files.

    LOCK   flock of the writer             END   its durable end, for readers in other processes
    FENCE  who may write (`fence.py`)      000…7.seg  segments
    000…4.base   what compaction left of segments 1 to 4

A commit is one write and one fdatasync. Segments are not preallocated: on ext4 that saves 40 of 135 µs a
commit, and would make a file's length say nothing about where its content ends.

When a write or an fsync fails, nobody knows what of the epoch is on the disk, and a second fsync
would report success for pages the kernel gave up (Rebello et al., "Can applications recover from fsync
failures?", ATC 2020). So the file is never written again: the log goes on in a new segment whose header
says where the old one ends. Until that header is durable, commits are refused. In the same way a writer
that opened the log begins a new segment at its first commit. No segment's name is ever given twice:
that keeps apart two processes which both think that they are the writer. How the end of the log is found
again is in `log_end.py`.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path

from .disk import REAL, Disk, DiskFile, DiskLock
from .errors import DiskFull, IoError, SqlError, StartupError
from .fence import Claim, ClaimWatch, Fenced, OutcomeUnknown, claim, read_claim
from .log import Frame, FrameKind, LogDamaged, LogEpoch, LogTruncated, Payload, Position
from .log_end import last_writer, remove_covered, settled_end
from .log_format import HEADER_BYTES, NewerFormat, SegmentHeader, encode_frame
from .log_reader import END_NAME, LogReader, base_path, encode_end, segment_path

TAKEN_OVER = "another process has taken over the log: this one is no longer the primary"

SEGMENT_BYTES = 64 << 20
"""A segment that reached this size gets no further epoch."""


def disk_error(error: OSError, doing: str) -> SqlError:
    """The error to answer when the disk refused: DiskFull or IoError."""
    kind = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else IoError
    return kind(f"could not {doing}: {error.strerror or error}")


class FileLog:
    """The writer of a log folder; implements `Log`."""

    def __init__(
        self,
        folder: Path,
        disk: Disk,
        lock: DiskLock,
        end: Position,
        header: SegmentHeader,
        segment_bytes: int,
        mine: Claim,
    ) -> None:
        """`header` is that of the last file of the log, `end` the end of its content."""
        self._folder = folder
        self._disk = disk
        self._lock = lock
        self._end = end
        self._header = header
        self._segment_bytes = segment_bytes
        self._frames: list[Frame] = []
        self._file: DiskFile | None = None
        self._offset = 0
        self._placed = 0
        self._whole = False
        """Whether all of the epoch that failed was written, so that another process may have read it."""
        self._mine = mine
        self._claim = ClaimWatch(folder, disk, mine)
        self._closed = False
        self._fenced: Fenced | None = None
        self._mark: DiskFile | None = None
        self.reader = LogReader(folder, disk)

    @staticmethod
    def open(
        folder: Path,
        disk: Disk = REAL,
        segment_bytes: int = SEGMENT_BYTES,
        locked: Callable[[], None] = lambda: None,
    ) -> FileLog:
        """Locks and recovers the folder, or begins a new log in it. `locked` is called in between.

        Raises StartupError: in use, newer format, or committed epochs cannot be read.
        """
        disk.make_folder(folder)
        lock = disk.lock(folder / "LOCK")
        if lock is None:
            raise StartupError(f"the log directory {folder} is in use by another process")
        with _releasing(lock):
            locked()
            log = _recover(folder, disk, lock, segment_bytes, None)
            log._note_end()
            return log

    @staticmethod
    def take_over(
        folder: Path, disk: Disk, lock: DiskLock, known: Position | None, segment_bytes: int = SEGMENT_BYTES
    ) -> FileLog:
        """Becomes the writer, whoever else may still think to be it, and begins a segment at once.

        `lock` is that of LOCK. `known`: a committed position, before which nothing is read again. The
        lock is released on failure. Raises as `open`, and IoError, DiskFull or Fenced.
        """
        with _releasing(lock):
            while True:
                log = _recover(folder, disk, lock, segment_bytes, known)
                try:
                    log.ready()
                    log._note_end()
                    return log
                except BaseException as error:
                    quicker = isinstance(error, Fenced) and log._claim.in_force()
                    log._give_up_writing()
                    if not quicker:
                        raise
                    # The old writer was quicker to begin a segment: what is in it belongs to the log.

    def fenced(self) -> bool:
        """Whether another process has claimed the log."""
        if self._fenced is None and not self._claim.in_force():
            self._fenced = Fenced(TAKEN_OVER)
        return self._fenced is not None

    @property
    def writer(self) -> int:
        """The number of this writer's claim; a later writer's is higher."""
        return self._mine.number

    @property
    def end(self) -> Position:
        """Behind the last durable epoch."""
        return self._end

    @property
    def identity(self) -> bytes:
        """16 bytes that tell this log from any other."""
        return self._header.identity

    def append(self, frames: Sequence[Frame]) -> None:
        self._frames.extend(frames)

    def rollback(self) -> None:
        self._frames.clear()

    def ready(self) -> int:
        if self._fenced is not None:
            raise self._fenced
        try:
            if self._file is None or self._offset >= self._segment_bytes:
                self._begin_segment()
        except OSError as error:
            self._give_up_segment()
            raise disk_error(error, f"begin a log segment in {self._folder}") from error
        return self._header.number

    def commit(self, epoch: int, meta: bytes) -> Position:
        assert epoch == self._end.epoch + 1, (epoch, self._end)
        frames = [*self._frames, Frame("", FrameKind.COMMIT, meta)]
        self._frames.clear()
        self.ready()
        try:
            self._write(epoch, frames)
        except OSError as error:
            self._give_up_segment()
            raise disk_error(error, f"write epoch {epoch} to the log in {self._folder}") from error
        if self.fenced():
            raise OutcomeUnknown(f"{TAKEN_OVER}: whether epoch {epoch} was committed is unknown")
        self._end = Position(epoch, self._header.number, self._offset)
        self._note_end()
        return self._end

    def read(self, after: Position | None) -> Iterator[LogEpoch]:
        """The epochs behind `after` up to the end. Raises as `LogReader.read`."""
        return self.reader.read(after, self._end)

    def begin_segment(self) -> Position:
        """Ends the segment, so that a base can replace all there is. Returns the end of the log.

        Raises DiskFull or IoError; the log is as usable as after a failed commit.
        """
        if self._file is None or self._end.segment == self._header.number:
            try:
                self._begin_segment()
            except OSError as error:
                self._give_up_segment()
                raise disk_error(error, f"begin a log segment in {self._folder}") from error
        return self._end

    def write_base(self, position: Position, meta: bytes, frames: Iterable[Frame]) -> None:
        """Replaces all segments up to `position`, the end of a segment, by `frames`.

        `frames` are the whole content of all stores at that epoch. May run beside commits, in another
        thread. Raises OSError, what `frames` raises, or Fenced when another process writes by now, which may
        be writing a base for the same place; then the log is as before.
        """
        assert position.segment < self._header.number
        path = base_path(self._folder, position.segment)
        temporary = path.with_name(f"{path.name}.{self._disk.token().hex()}.new")
        header = SegmentHeader(
            position.segment,
            position.epoch,
            position.offset,
            self._header.writer,
            self.identity,
            base=True,
        )
        try:
            self._write_base(temporary, header, meta, frames)
            if read_claim(self._folder, self._disk) != self._mine:
                raise Fenced(TAKEN_OVER)
            self._disk.rename(temporary, path)
            self._disk.sync_folder(self._folder)
        except BaseException:
            # Also of what reading the content raises: the file may be as large as all stores.
            with contextlib.suppress(OSError):
                self._disk.remove(temporary)
            raise
        remove_covered(self._disk, self._folder)

    def sizes(self) -> tuple[int, int, int]:
        """Bytes of the base, bytes and number of the segments behind it. Raises OSError."""
        inventory = self.reader.inventory()
        base = self._size(base_path(self._folder, inventory.base)) if inventory.base else 0
        sizes = [self._size(segment_path(self._folder, n)) for n in inventory.segments]
        return base, sum(sizes), len(sizes)

    def close(self) -> None:
        """Ends writing and releases the lock. May be called twice; reading goes on."""
        if not self._closed:
            self._give_up_writing()
            self._lock.release()

    def _give_up_writing(self) -> None:
        """Closes all files; the lock is somebody else's business."""
        self._closed = True
        self._fenced = self._fenced or Fenced("the log is closed")
        for file in (self._file, self._mark, self._claim):
            if file is not None:
                file.close()
        self._file = self._mark = None

    def _size(self, path: Path) -> int:
        file = self._disk.open(path)
        try:
            return file.size()
        finally:
            file.close()

    def _write(self, epoch: int, frames: Sequence[Frame]) -> None:
        assert self._file is not None
        seed = self._header.seed
        buffers: list[Payload] = []
        for index, frame in enumerate(frames):
            buffers += encode_frame(frame, epoch, index, seed)
        self._whole = False
        self._file.write_at(self._offset, buffers)
        self._whole = True
        self._file.sync()
        self._offset += sum(len(buffer) for buffer in buffers)

    def _write_base(self, path: Path, header: SegmentHeader, meta: bytes, frames: Iterable[Frame]) -> None:
        file = self._disk.create(path)
        try:
            file.write_at(0, [header.encode()])
            offset, index, seed = HEADER_BYTES, 0, header.seed
            for index, frame in enumerate(frames, 1):
                buffers = encode_frame(frame, header.after_epoch, index - 1, seed)
                file.write_at(offset, buffers)
                offset += sum(len(buffer) for buffer in buffers)
            commit = Frame("", FrameKind.COMMIT, meta)
            file.write_at(offset, encode_frame(commit, header.after_epoch, index, seed))
            file.sync()
        finally:
            file.close()

    def _begin_segment(self) -> None:
        """Goes on in the next segment, whose header says where the log ends in the one before.

        Raises Fenced when another process has begun that segment.
        """
        self._close_segment()
        end, last = self._end, self._header
        previous_end = end.offset if end.segment == last.number else HEADER_BYTES
        writer = max(last.writer + 1, self._mine.number)
        header = SegmentHeader(last.number + 1, end.epoch, previous_end, writer, self.identity)
        path = segment_path(self._folder, header.number)
        temporary = path.with_name(f"{path.name}.{self._disk.token().hex()}.new")
        with _made(self._disk, temporary) as file:
            file.write_at(0, [header.encode()])
            file.sync()
            self._name_segment(temporary, path, header.number)
            self._disk.sync_folder(self._folder)
        self._file, self._header, self._offset = file, header, HEADER_BYTES

    def _name_segment(self, temporary: Path, path: Path, number: int) -> None:
        if self._placed == number:
            # Ours, of an attempt that failed before the name was durable; nothing was written to it.
            self._disk.rename(temporary, path)
            return
        try:
            self._disk.place(temporary, path)
        except FileExistsError:
            self._fenced = Fenced(TAKEN_OVER)
            raise self._fenced from None
        self._placed = number

    def _close_segment(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _give_up_segment(self) -> None:
        """After a failure: begins the next segment, and cuts what was written to give its space back.

        Cutting comes first when the disk may be full. An epoch written whole must not be cut before the
        next segment excludes it: a successor may have read it by now (`fence.py`).
        """
        file, end = self._file, self._end
        length = end.offset if end.segment == self._header.number else HEADER_BYTES
        self._file = None
        if file is not None and not self._whole:
            with contextlib.suppress(OSError):
                file.truncate(length)
        with contextlib.suppress(OSError, Fenced):
            self._begin_segment()
        if file is not None:
            if self._whole and self._file is not None:
                with contextlib.suppress(OSError):
                    file.truncate(length)
            file.close()

    def _note_end(self) -> None:
        """Tells other processes; a failure here costs them freshness and nothing else."""
        with contextlib.suppress(OSError):
            content = [encode_end(self._end, self.identity)]
            if self._mark is not None:
                self._mark.write_at(0, content)
                return
            # A file of our own under the old name: what an earlier writer still notes reaches nobody.
            temporary = self._folder / f"{END_NAME}.{self._disk.token().hex()}.new"
            with _made(self._disk, temporary) as mark:
                mark.write_at(0, content)
                self._disk.rename(temporary, self._folder / END_NAME)
            self._mark = mark


@contextlib.contextmanager
def _made(disk: Disk, path: Path) -> Generator[DiskFile]:
    """A new file, to be given its name at the end; closed and removed if that fails."""
    file = disk.create(path)
    try:
        yield file
    except BaseException:
        file.close()
        with contextlib.suppress(OSError):
            disk.remove(path)
        raise


@contextlib.contextmanager
def _releasing(lock: DiskLock) -> Generator[None]:
    """Releases the lock on failure, and says what is wrong with the log as a StartupError."""
    try:
        yield
    except (LogDamaged, NewerFormat) as problem:
        lock.release()
        raise StartupError(str(problem)) from problem
    except BaseException:
        lock.release()
        raise


def _recover(folder: Path, disk: Disk, lock: DiskLock, segment_bytes: int, known: Position | None) -> FileLog:
    """Claims the log, finds its end and makes everything up to it durable.

    The claim comes first: see `fence.py`. `known` is a committed position to look for the end from.
    """
    reader = LogReader(folder, disk)
    mine = claim(folder, disk, last_writer(reader))
    while True:
        before = reader.inventory()
        try:
            end, header = settled_end(folder, disk, reader, known)
            break
        except (LogDamaged, LogTruncated, FileNotFoundError):
            if read_claim(folder, disk) != mine:
                # Another process goes on writing: what was read is not of one moment.
                raise Fenced(TAKEN_OVER) from None
            if reader.inventory() == before:
                raise
            # The old writer was in the middle of removing segments; it begins no other base.
    return FileLog(folder, disk, lock, end, header, segment_bytes, mine)
