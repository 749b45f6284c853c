"""The embedded log on a real disk: what is read back, what is refused, and what a failing disk leaves."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from millpond.storage import log_files, log_reader
from millpond.storage.disk import REAL, Bytes, RealDisk, _RealFile
from millpond.storage.errors import DiskFull, IoError, StartupError
from millpond.storage.fence import Fenced, OutcomeUnknown
from millpond.storage.log import Frame, FrameKind, LogDamaged, LogTruncated, Position
from millpond.storage.log_files import FileLog
from millpond.storage.log_format import SegmentHeader
from millpond.storage.log_reader import LogReader, base_path, segment_path


def commit(log: FileLog, *payloads: bytes) -> Position:
    epoch = log.end.epoch + 1
    log.ready()
    log.append([Frame("store", FrameKind.ROWS, payload) for payload in payloads])
    return log.commit(epoch, b"meta %d" % epoch)


def content(reader: LogReader, after: Position | None = None) -> list[tuple[int, bytes, list[bytes]]]:
    return [(e.epoch, e.meta, [bytes(f.payload) for f in e.frames]) for e in reader.read(after)]


def test_epochs_come_back_in_order(tmp_path: Path) -> None:
    log = FileLog.open(tmp_path)
    commit(log, b"a", b"bb" * 1000)
    middle = commit(log)
    commit(log, b"", b"c" * 9_000_000)
    log.append([Frame("store", FrameKind.ROWS, b"never committed")])
    assert content(LogReader(tmp_path)) == [
        (1, b"meta 1", [b"a", b"bb" * 1000]),
        (2, b"meta 2", []),
        (3, b"meta 3", [b"", b"c" * 9_000_000]),
    ]
    assert [epoch for epoch, _, _ in content(LogReader(tmp_path), middle)] == [3]
    log.close()
    assert FileLog.open(tmp_path).end.epoch == 3


def test_rolled_back_frames_do_not_reach_the_next_epoch(tmp_path: Path) -> None:
    log = FileLog.open(tmp_path)
    log.append([Frame("store", FrameKind.ROWS, b"no")])
    log.rollback()
    commit(log, b"yes")
    assert content(log.reader) == [(1, b"meta 1", [b"yes"])]


def test_segments_end_at_their_size_and_reading_crosses_them(tmp_path: Path) -> None:
    log = FileLog.open(tmp_path, segment_bytes=500)
    positions = [commit(log, b"x" * 200) for _ in range(10)]
    assert len(log.reader.inventory().segments) > 3
    for position in positions:
        assert [e for e, _, _ in content(log.reader, position)] == list(range(position.epoch + 1, 11))


def test_a_second_writer_is_refused_and_named(tmp_path: Path) -> None:
    log = FileLog.open(tmp_path)
    with pytest.raises(StartupError, match=f"{tmp_path} is in use"):
        FileLog.open(tmp_path)
    log.close()
    FileLog.open(tmp_path).close()


def test_a_torn_tail_is_cut(tmp_path: Path) -> None:
    log = FileLog.open(tmp_path)
    commit(log, b"a" * 100)
    end = log.end.offset
    commit(log, b"b" * 100)
    log.close()
    path = segment_path(tmp_path, 1)
    whole = path.read_bytes()
    (tmp_path / "END").unlink()
    for length in range(end, len(whole)):
        path.write_bytes(whole[:length])
        assert [e for e, _, _ in content(LogReader(tmp_path))] == [1]
    log = FileLog.open(tmp_path)
    commit(log, b"c")
    assert [(e, p) for e, _, p in content(log.reader)] == [(1, [b"a" * 100]), (2, [b"c"])]


def test_any_flipped_bit_in_committed_epochs_is_noticed(tmp_path: Path) -> None:
    log = FileLog.open(tmp_path)
    for _ in range(3):
        commit(log, b"payload")
    log.close()
    path = segment_path(tmp_path, 1)
    whole = path.read_bytes()
    for offset in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[offset] ^= 1 << offset % 8
        path.write_bytes(damaged)
        if offset in range(76, 80):
            continue  # The header's padding holds nothing.
        with pytest.raises(StartupError, match=r"damaged|valid header|reads up to"):
            FileLog.open(tmp_path)
    path.write_bytes(whole)
    assert FileLog.open(tmp_path).end.epoch == 3


def test_damage_before_later_epochs_is_noticed_without_the_end_mark(tmp_path: Path) -> None:
    log = FileLog.open(tmp_path)
    ends = [commit(log, b"payload").offset for _ in range(4)]
    log.close()
    (tmp_path / "END").unlink()
    path = segment_path(tmp_path, 1)
    damaged = bytearray(path.read_bytes())
    damaged[ends[0] + 40] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(StartupError, match="epochs 2 to 4 are lost"):
        FileLog.open(tmp_path)


def test_a_missing_segment_is_refused_naming_the_epochs(tmp_path: Path) -> None:
    log = FileLog.open(tmp_path, segment_bytes=300)
    for _ in range(9):
        commit(log, b"x" * 100)
    log.close()
    numbers = LogReader(tmp_path).inventory().segments
    segment_path(tmp_path, numbers[1]).unlink()
    with pytest.raises(StartupError, match=r"segment 2 missing, epochs 3 to 4 are lost"):
        FileLog.open(tmp_path)
    segment_path(tmp_path, numbers[0]).unlink()
    with pytest.raises(StartupError, match=r"segments 1 to 2 missing, epochs 1 to 4 are lost"):
        FileLog.open(tmp_path)


def test_a_missing_last_segment_is_noticed(tmp_path: Path) -> None:
    log = FileLog.open(tmp_path, segment_bytes=300)
    for _ in range(5):
        commit(log, b"x" * 100)
    log.close()
    segment_path(tmp_path, LogReader(tmp_path).inventory().segments[-1]).unlink()
    with pytest.raises(StartupError, match="epoch 5 is lost"):
        FileLog.open(tmp_path)


def test_a_newer_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millpond.storage.log_format.FORMAT", 7)
    log = FileLog.open(tmp_path)
    commit(log)
    log.close()
    monkeypatch.undo()
    with pytest.raises(StartupError, match="log format 7, this version reads up to 1"):
        FileLog.open(tmp_path)


class FailingDisk(RealDisk):
    """Refuses the next `failures` syncs or writes (`what`), with error `number`."""

    failures = 0
    number = errno.EIO
    what = "sync"

    def create(self, path: Path) -> FailingFile:
        return FailingFile(self, os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC))

    def may_refuse(self, what: str) -> None:
        if what == self.what and self.failures:
            self.failures -= 1
            raise OSError(self.number, "made up")


class FailingFile(_RealFile):
    def __init__(self, disk: FailingDisk, descriptor: int) -> None:
        super().__init__(descriptor)
        self._disk = disk

    def write_at(self, offset: int, buffers: Sequence[Bytes]) -> None:
        self._disk.may_refuse("write_at")
        super().write_at(offset, buffers)

    def sync(self) -> None:
        self._disk.may_refuse("sync")
        super().sync()


def test_a_failed_fsync_ends_the_segment_for_good(tmp_path: Path) -> None:
    disk = FailingDisk()
    log = FileLog.open(tmp_path, disk)
    commit(log, b"one")
    disk.failures = 1
    with pytest.raises(IoError):
        commit(log, b"failed")
    assert log.end.epoch == 1
    commit(log, b"two")
    assert log.end.segment == 2
    assert [p for _, _, p in content(LogReader(tmp_path))] == [[b"one"], [b"two"]]
    log.close()
    assert FileLog.open(tmp_path).end.epoch == 2


def test_commits_are_refused_until_the_end_is_established_again(tmp_path: Path) -> None:
    disk = FailingDisk()
    log = FileLog.open(tmp_path, disk)
    commit(log, b"one")
    disk.failures = 4
    for _ in range(2):
        with pytest.raises(IoError):
            commit(log, b"failed")
        assert [e.epoch for e in log.read(None)] == [1]
    assert disk.failures == 0
    commit(log, b"two")
    assert [p for _, _, p in content(LogReader(tmp_path))] == [[b"one"], [b"two"]]


def test_a_full_disk_is_its_own_error_and_passes(tmp_path: Path) -> None:
    disk = FailingDisk()
    log = FileLog.open(tmp_path, disk)
    commit(log, b"one")
    disk.what, disk.number, disk.failures = "write_at", errno.ENOSPC, 2
    with pytest.raises(DiskFull) as caught:
        commit(log, b"failed")
    assert caught.value.code == "53100"
    commit(log, b"two")
    assert [p for _, _, p in content(LogReader(tmp_path))] == [[b"one"], [b"two"]]


def test_the_end_is_noted_as_soon_as_the_disk_takes_it(tmp_path: Path) -> None:
    """Standbys would wait for ever for an end that is noted in a file without a name."""
    FileLog.open(tmp_path).close()
    disk = FailingDisk()
    disk.what, disk.number, disk.failures = "write_at", errno.ENOSPC, 1
    log = FileLog.open(tmp_path, disk)
    assert disk.failures == 0
    commit(log, b"one")
    assert log.reader.end_mark() == log.end


def test_attempts_that_fail_leave_nothing_behind(tmp_path: Path) -> None:
    disk = FailingDisk()
    log = FileLog.open(tmp_path, disk)
    commit(log, b"one")
    position = log.begin_segment()

    def unreadable() -> Iterator[Frame]:
        yield Frame("store", FrameKind.ROWS, b"o" * 1000)
        raise IoError("could not read the store")

    with pytest.raises(IoError, match="could not read the store"):
        log.write_base(position, b"meta 1", unreadable())
    disk.what, disk.number, disk.failures = "write_at", errno.ENOSPC, 20
    descriptors = len(os.listdir("/proc/self/fd"))
    while disk.failures:
        with pytest.raises(DiskFull):
            commit(log, b"failed")
    assert not [path.name for path in tmp_path.iterdir() if path.name.endswith(".new")]
    assert len(os.listdir("/proc/self/fd")) <= descriptors
    commit(log, b"two")


def test_a_takeover_that_fails_lets_go_of_all_files(tmp_path: Path) -> None:
    FileLog.open(tmp_path).close()
    disk = FailingDisk()
    descriptors = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        lock = disk.seize(tmp_path / "LOCK")
        disk.failures = 2  # Of the new segment, twice.
        with pytest.raises(IoError):
            FileLog.take_over(tmp_path, disk, lock, None)
        assert len(os.listdir("/proc/self/fd")) == descriptors


def test_what_a_fenced_writer_still_writes_does_not_count(tmp_path: Path) -> None:
    old = FileLog.open(tmp_path)
    commit(old, b"one")
    old._lock.release()
    new = FileLog.open(tmp_path)
    commit(new, b"two")
    with pytest.raises(OutcomeUnknown):
        commit(old, b"of a zombie")
    with pytest.raises(Fenced):
        commit(old, b"once more")
    assert [p for _, _, p in content(LogReader(tmp_path))] == [[b"one"], [b"two"]]


def test_a_base_replaces_the_segments_before_it(tmp_path: Path) -> None:
    log = FileLog.open(tmp_path)
    before = commit(log, b"one")
    commit(log, b"two")
    position = log.begin_segment()
    commit(log, b"three")
    log.write_base(position, b"meta 2", [Frame("store", FrameKind.ROWS, b"one and two")])
    assert log.reader.inventory().segments == (2,)
    epochs = list(log.read(None))
    assert [(e.epoch, e.base, bytes(e.frames[0].payload)) for e in epochs] == [
        (2, True, b"one and two"),
        (3, False, b"three"),
    ]
    assert [e for e, _, _ in content(log.reader, epochs[0].position)] == [3]
    with pytest.raises(LogTruncated):
        list(log.read(before))
    log.close()
    log = FileLog.open(tmp_path)
    assert log.end.epoch == 3
    commit(log, b"four")
    assert [e for e, _, _ in content(log.reader)] == [2, 3, 4]


def test_a_writer_that_was_replaced_leaves_the_base_to_its_successor(tmp_path: Path) -> None:
    old = FileLog.open(tmp_path)
    commit(old, b"one")
    position = old.begin_segment()
    new = FileLog.take_over(tmp_path, REAL, REAL.seize(tmp_path / "LOCK"), None)
    assert new.begin_segment() == position

    def frames(first: bytes, last: bytes, meanwhile: Callable[[], None]) -> Iterator[Frame]:
        yield Frame("store", FrameKind.ROWS, first)
        meanwhile()
        yield Frame("store", FrameKind.ROWS, last)

    def wake_up() -> None:
        with pytest.raises(Fenced):
            old.write_base(position, b"meta 1", frames(b"o", b"ne" * 50_000, lambda: None))

    new.write_base(position, b"meta 1", frames(b"on" * 10_000, b"e", wake_up))
    commit(new, b"two")
    assert content(LogReader(tmp_path)) == [(1, b"meta 1", [b"on" * 10_000, b"e"]), (2, b"meta 2", [b"two"])]
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".new")]


def test_a_base_is_finished_after_writing_has_ended(tmp_path: Path) -> None:
    log = FileLog.open(tmp_path)
    commit(log, b"one")
    position = log.begin_segment()
    log.close()
    log.write_base(position, b"meta 1", [Frame("store", FrameKind.ROWS, b"one")])
    assert log.reader.inventory().bases == (1,)
    assert content(LogReader(tmp_path)) == [(1, b"meta 1", [b"one"])]


@pytest.mark.parametrize("call", range(1, 7))
def test_a_takeover_while_the_old_writer_removes_segments_reads_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    old = FileLog.open(tmp_path, segment_bytes=200)
    for _ in range(4):
        commit(old, b"x" * 200)
    position = old.begin_segment()
    whole = [Frame("store", FrameKind.ROWS, b"x" * 800)]

    class Torn(RealDisk):
        """The names are read in two parts; between these the old writer removes segments."""

        def names(self, folder: Path) -> list[str]:
            names = super().names(folder)
            calls.append(folder)
            if len(calls) != call:
                return names
            with monkeypatch.context() as patch:
                patch.setattr(log_files, "read_claim", lambda folder, disk: old._mine)
                old.write_base(position, b"meta 4", whole)
            return [name for name in names if name[:20] not in (f"{2:020d}", f"{3:020d}")]

    calls: list[Path] = []
    new = FileLog.take_over(tmp_path, Torn(), REAL.seize(tmp_path / "LOCK"), position)
    commit(new, b"y")
    assert content(LogReader(tmp_path))[-1] == (5, b"meta 5", [b"y"])


def test_segments_without_epochs_may_go_before_a_reader_has_passed_them(tmp_path: Path) -> None:
    log = FileLog.open(tmp_path)
    position = commit(log, b"one")
    for _ in range(3):
        # A process that begins a segment and ends before it commits.
        log.close()
        log = FileLog.open(tmp_path)
        log.ready()
    log.close()
    log = FileLog.open(tmp_path)
    base = log.begin_segment()
    assert base.epoch == 1 and base.segment > position.segment
    log.write_base(base, b"meta 1", [Frame("store", FrameKind.ROWS, b"one")])
    commit(log, b"two")
    assert log.reader.inventory().segments[0] > position.segment + 1
    assert [e for e, _, _ in content(log.reader, position)] == [2]
    assert [e for e, _, _ in content(log.reader)] == [1, 2]


def test_a_damaged_base_is_noticed(tmp_path: Path) -> None:
    log = FileLog.open(tmp_path)
    commit(log, b"one")
    log.write_base(log.begin_segment(), b"meta", [Frame("store", FrameKind.ROWS, b"one")])
    path = base_path(tmp_path, 1)
    damaged = bytearray(path.read_bytes())
    damaged[-20] ^= 4
    path.write_bytes(damaged)
    with pytest.raises(LogDamaged, match="up to epoch 1"):
        list(log.read(None))


def test_a_follower_sees_an_epoch_only_when_it_is_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, follower = FileLog.open(tmp_path), LogReader(tmp_path)
    commit(log, b"one")
    seen: list[int] = []
    sync = _RealFile.sync

    def look_and_sync(file: _RealFile) -> None:
        seen.extend(epoch.epoch for epoch in follower.tail(None))
        sync(file)

    monkeypatch.setattr(_RealFile, "sync", look_and_sync)
    commit(log, b"two")
    assert seen == [1]
    assert [epoch.epoch for epoch in follower.tail(None)] == [1, 2]
    assert [epoch.epoch for epoch in follower.tail(log.end)] == []


def test_a_stopped_writer_that_was_replaced_can_not_begin_a_segment(tmp_path: Path) -> None:
    old = FileLog.open(tmp_path, segment_bytes=200)
    commit(old, b"x" * 200)
    new = FileLog.take_over(tmp_path, REAL, REAL.seize(tmp_path / "LOCK"), None)
    assert new.end == old.end and new.writer > old.writer
    with pytest.raises(Fenced):
        commit(old, b"in a segment of its own")
    commit(new, b"two")
    assert [p for _, _, p in content(LogReader(tmp_path))] == [[b"x" * 200], [b"two"]]
    assert REAL.lock(tmp_path / "LOCK") is None
    new.close()
    assert FileLog.open(tmp_path).end.epoch == 2


def test_a_segment_the_old_writer_began_first_belongs_to_the_log(tmp_path: Path) -> None:
    old = FileLog.open(tmp_path, segment_bytes=200)
    commit(old, b"x" * 200)

    class Late(RealDisk):
        """The old writer begins the next segment, and writes to it, just before the new one does."""

        def place(self, source: Path, target: Path) -> None:
            assert old.fenced()
            if not written:
                written.append(True)
                old._fenced = None
                with pytest.raises(OutcomeUnknown):
                    commit(old, b"late")
            super().place(source, target)

    written: list[bool] = []
    disk = Late()
    new = FileLog.take_over(tmp_path, disk, disk.seize(tmp_path / "LOCK"), None)
    assert new.end.epoch == 2
    commit(new, b"three")
    assert [p for _, _, p in content(LogReader(tmp_path))] == [[b"x" * 200], [b"late"], [b"three"]]


@pytest.mark.parametrize("window", [8, 100, 1000, 5000])
def test_frames_lie_anywhere_in_what_is_read_at_once(
    tmp_path: Path, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_reader, "READ_BYTES", window)
    log = FileLog.open(tmp_path)
    for count in range(40):
        commit(log, *(b"p" * (37 * count * n % 700) for n in range(count % 5)))
    expected = [(e + 1, [37 * e * n % 700 for n in range(e % 5)]) for e in range(40)]
    assert [(e, [len(p) for p in found]) for e, _, found in content(log.reader)] == expected


def test_a_claim_counts_also_if_the_fence_was_removed(tmp_path: Path) -> None:
    """Nobody should; who claims then makes another file."""
    old = FileLog.open(tmp_path)
    commit(old, b"one")
    (tmp_path / "FENCE").unlink()
    assert old.fenced()
    old = FileLog.take_over(tmp_path, REAL, REAL.seize(tmp_path / "LOCK"), None)
    commit(old, b"two")
    fence = (tmp_path / "FENCE").read_bytes()
    (tmp_path / "FENCE").unlink()
    (tmp_path / "FENCE").write_bytes(fence)
    assert not old.fenced()
    new = FileLog.take_over(tmp_path, REAL, REAL.seize(tmp_path / "LOCK"), None)
    with pytest.raises(Fenced):
        commit(old, b"three")
    commit(new, b"four")


def test_files_that_go_while_they_are_opened_are_truncation(tmp_path: Path) -> None:
    """A checkpoint of the writer takes segments and bases at any moment."""

    class Slow(LogReader):
        def header(self, path: Path) -> SegmentHeader:
            found = super().header(path)
            path.unlink()
            return found

    log = FileLog.open(tmp_path)
    commit(log, b"one")
    log.close()
    with pytest.raises(LogTruncated):
        content(Slow(tmp_path))
    log = FileLog.open(tmp_path / "other")
    commit(log, b"one")
    log.write_base(log.begin_segment(), b"meta 1", [Frame("store", FrameKind.ROWS, b"one")])
    with pytest.raises(LogTruncated):
        content(Slow(tmp_path / "other"))
