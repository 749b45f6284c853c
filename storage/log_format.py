"""How the embedded log lies in its files. Pure: bytes in, bytes out.

    segment   header, frames …                    000…7.seg, numbers without gap
    base      header, frames …, one COMMIT        000…4.base: stands for all segments up to 4

A frame is a head of 32 bytes, the store's name, the payload; name and payload are padded to 8 bytes, so
that Arrow can use a payload where it lies. Its checksum starts from the checksum of the segment's header:
bytes left over from another file never pass for a frame of this one. Numbers are little-endian.

A segment's header says exactly where its predecessor ends (`previous_end`). What lies behind that place in
the predecessor (a torn tail, an epoch whose fsync failed, the writes of a writer that was thought
dead) is not part of the log, whatever its checksums say: beginning a new segment is the fence.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from .log import Frame, Payload

FORMAT = 1
"""Version of this layout; written to each header, newer ones are refused."""

_MAGIC = b"MILLPOND"
_HEADER = struct.Struct("<8sIIQQQQQ16s")
_CHECKSUM = struct.Struct("<II")
HEADER_BYTES = _HEADER.size + _CHECKSUM.size

FRAME_MAGIC = 0x6D50F21C
_HEAD = struct.Struct("<IIQQIHBB")
HEAD_BYTES = _HEAD.size
_HEAD_REST = struct.Struct("<QQIHBB")

_PADDING = tuple(b"\0" * n for n in range(8))


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """The first bytes of a segment or base.

    number: of the segment; of the last segment it replaces for a base.
    after_epoch: the last epoch before this segment; of a base the epoch whose content it holds.
    previous_end: where segment number − 1 ends; of a base, where segment `number` ended.
    writer: counts the writers of this log; each opening is a new one.
    identity: 16 bytes, the same in all files of one log.
    """

    number: int
    after_epoch: int
    previous_end: int
    writer: int
    identity: bytes
    base: bool = False

    def encode(self) -> bytes:
        body = _HEADER.pack(
            _MAGIC, FORMAT, int(self.base), self.number, self.after_epoch, self.previous_end,
            self.writer, 0, self.identity,
        )  # fmt: skip
        return body + _CHECKSUM.pack(zlib.crc32(body), 0)

    @property
    def seed(self) -> int:
        """Where the checksums of this file's frames start."""
        return zlib.crc32(self.encode())


class NewerFormat(Exception):
    """The file was written by a later version."""


def decode_header(data: bytes) -> SegmentHeader | None:
    """The header at the start of `data`; None when it is no valid header. Raises NewerFormat."""
    if len(data) < HEADER_BYTES or not data.startswith(_MAGIC):
        return None
    body = data[: _HEADER.size]
    if _CHECKSUM.unpack_from(data, _HEADER.size)[0] != zlib.crc32(body):
        return None
    _, version, base, number, after_epoch, previous_end, writer, _, identity = _HEADER.unpack(body)
    if version > FORMAT:
        raise NewerFormat(f"log format {version}, this version reads up to {FORMAT}")
    return SegmentHeader(number, after_epoch, previous_end, writer, identity, bool(base))


def padded(length: int) -> int:
    return (length + 7) & ~7


def encode_frame(frame: Frame, epoch: int, index: int, seed: int) -> list[Payload]:
    """The buffers of a frame, in order. `index` counts the frames of the epoch from 0."""
    name = frame.store.encode()
    payload, length = frame.payload, len(frame.payload)
    rest = _HEAD_REST.pack(length, epoch, index, len(name), frame.kind, 0)
    front = rest + name + _PADDING[-len(name) % 8]
    padding = _PADDING[-length % 8]
    checksum = zlib.crc32(padding, zlib.crc32(payload, zlib.crc32(front, seed)))
    head = struct.pack("<II", FRAME_MAGIC, checksum)
    return [head + front, payload, padding] if padding else [head + front, payload]


@dataclass(frozen=True, slots=True)
class FrameHead:
    """A frame's head, not yet verified. Lengths in bytes; `total` is the whole frame."""

    checksum: int
    length: int
    epoch: int
    index: int
    name_length: int
    kind: int

    @property
    def total(self) -> int:
        return HEAD_BYTES + padded(self.name_length) + padded(self.length)


def decode_head(data: memoryview, offset: int) -> FrameHead | None:
    """The head at `offset`, of which HEAD_BYTES must be there; None when it is none."""
    magic, checksum, length, epoch, index, name_length, kind, zero = _HEAD.unpack_from(data, offset)
    if magic != FRAME_MAGIC or zero != 0:
        return None
    return FrameHead(checksum, length, epoch, index, name_length, kind)


def verify(data: memoryview, offset: int, head: FrameHead, seed: int) -> bool:
    """Whether the whole frame at `offset` carries its checksum."""
    return zlib.crc32(data[offset + 8 : offset + head.total], seed) == head.checksum


def frame_name(data: memoryview, offset: int, head: FrameHead) -> str:
    start = offset + HEAD_BYTES
    return bytes(data[start : start + head.name_length]).decode()


def payload_start(offset: int, head: FrameHead) -> int:
    return offset + HEAD_BYTES + padded(head.name_length)
