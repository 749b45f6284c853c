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
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

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


def whole_frames(
    window: pa.Buffer, offset: int, seed: int, names: dict[bytes, str]
) -> Iterator[tuple[int, int, int, Frame]]:
    """The frames that lie in `window` from `offset` on: epoch, number within it, end in `window`, frame.

    Ends before the first that is not whole or does not carry its checksum. Payloads are views into `window`.
    `names` are those met, so that each store's is decoded once. There may be many frames of few bytes, so
    nothing is called here that need not be.
    """
    view, size, last = memoryview(window), window.size, window.size - HEAD_BYTES
    unpack, crc32, cut = _HEAD.unpack_from, zlib.crc32, window.slice
    while offset <= last:
        magic, checksum, length, epoch, index, name_length, kind, zero = unpack(view, offset)
        if magic != FRAME_MAGIC or zero:
            return
        name_start = offset + HEAD_BYTES
        start = name_start + ((name_length + 7) & ~7)
        end = start + ((length + 7) & ~7)
        if end > size or crc32(view[offset + 8 : end], seed) != checksum:
            return
        encoded = bytes(view[name_start : name_start + name_length])
        name = names.get(encoded)
        if name is None:
            name = names[encoded] = encoded.decode()
        offset = end
        yield epoch, index, end, Frame(name, kind, cut(start, length))


def frame_size(window: pa.Buffer, offset: int) -> int | None:
    """Bytes of the frame at `offset`: HEAD_BYTES if `window` has not even its head, None if there is none."""
    if window.size - offset < HEAD_BYTES:
        return HEAD_BYTES
    magic, _, length, _, _, name_length, _, zero = _HEAD.unpack_from(window, offset)
    if magic != FRAME_MAGIC or zero:
        return None
    return HEAD_BYTES + padded(name_length) + padded(length)
