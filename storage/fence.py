"""The fence: who may write to a log folder, decided by the log and not by any clock or lock.

FENCE holds a number and a token of the last process that claimed the folder. Its lock (`flock`) tells of a
process that ended, at once; a process that is only stopped, or thought dead, keeps its lock and may
wake up at any instruction. So the lock decides nothing. Each process orders its steps like this:

    writer, each epoch    W write the frames   S fsync    C read FENCE: still mine?   A acknowledge
    successor, once       F write FENCE        R read where the log ends               B begin a segment

B names the next segment, whose header says that the one before ends at R.

*No acknowledged epoch is lost.* If C finds the writer's own claim, no F has happened yet, so
W < S < C < F < R: the successor reads the whole epoch, and its header puts the end behind it. If C finds
another claim, the epoch is not acknowledged: R may have seen it or not, and the client is told
that the outcome is unknown (08007), which is what it is.

*Nothing a zombie does later gets into the log.* It can write behind R in the old segment, where the
header of B says the log is not. It can try to begin the next segment; a segment's name can be given once only
(`Disk.place`). If the zombie was first, which it can be only before B, the successor finds the name taken
and reads the end again, the zombie's segment included: what it wrote there before that is part of the
log, what it writes later is behind the new R, and of neither anything was acknowledged, because all of it is
after F. If the successor was first, the zombie finds the name taken and knows that it is fenced.

*A zombie takes nothing away.* It cuts a segment only where it wrote no whole epoch, or after its own
next segment has its name: then it was first, and R follows its header. A base that it was writing has a name
of its own, and is not put in place after F; if it was about to be, it replaces acknowledged epochs only, and
who reads R while segments go reads again.

*Two successors.* Each claims with a token of its own, and the last claim counts: of two that began a
segment, one after the other, the one with the earlier claim acknowledges nothing.
"""

from __future__ import annotations

import contextlib
import zlib
from dataclasses import dataclass
from pathlib import Path

from .disk import Disk, read_whole
from .errors import SqlError

FENCE_NAME = "FENCE"


class Fenced(SqlError, code="57P01"):
    """Another process has taken over the log. Nothing of this process gets into it any more."""


class OutcomeUnknown(Fenced, code="08007"):
    """The epoch was written when another process took over: it may be part of the log or not."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What FENCE holds: the claims are numbered, and no two have the same token."""

    number: int
    token: bytes

    def encode(self) -> bytes:
        body = self.number.to_bytes(8, "big") + self.token
        return body + zlib.crc32(body).to_bytes(4, "little")

    @staticmethod
    def decode(content: bytes) -> Claim | None:
        if len(content) != 28 or zlib.crc32(content[:24]).to_bytes(4, "little") != content[24:]:
            return None
        return Claim(int.from_bytes(content[:8], "big"), content[8:24])


def read_claim(folder: Path, disk: Disk) -> Claim | None:
    """The claim in force; None when there is none, or one is being written."""
    with contextlib.suppress(FileNotFoundError):
        return Claim.decode(read_whole(disk, folder / FENCE_NAME))
    return None


class ClaimWatch:
    """Says whether a claim is in force, at each commit: so it keeps FENCE open. From any thread."""

    def __init__(self, folder: Path, disk: Disk, mine: Claim) -> None:
        """`mine` is in force. Raises OSError."""
        self._folder, self._disk = folder, disk
        self._mine, self._encoded = mine, mine.encode()
        self._file = disk.open(folder / FENCE_NAME)

    def in_force(self) -> bool:
        content = self._file.peek(len(self._encoded))
        if content is None:
            # Removed, which nobody should: another claim would be in a new file.
            return read_claim(self._folder, self._disk) == self._mine
        return content == self._encoded

    def close(self) -> None:
        self._file.close()


def claim(folder: Path, disk: Disk, after: int) -> Claim:
    """Claims the folder, durably; all earlier claims end. `after`: a number to be above.

    Written in place: a full disk must not keep a server from starting. Raises OSError.
    """
    before = read_claim(folder, disk)
    mine = Claim(max(before.number if before else 0, after) + 1, disk.token())
    path = folder / FENCE_NAME
    try:
        file = disk.open(path, write=True)
    except FileNotFoundError:
        file = disk.create(path)
    try:
        file.write_at(0, [mine.encode()])
        file.sync()
    finally:
        file.close()
    disk.sync_folder(folder)
    return mine
