"""numeric in PostgreSQL's binary form: digits in base 10000.

int16 count of digits, int16 weight of the first, uint16 sign, uint16 display scale, then the digits.
"""

from __future__ import annotations

import struct
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from .errors import InvalidBinaryRepresentation

_NEGATIVE, _NAN, _INFINITY, _MINUS_INFINITY = 0x4000, 0xC000, 0xD000, 0xF000
_SPECIAL = {"NaN": _NAN, "Infinity": _INFINITY, "-Infinity": _MINUS_INFINITY}
_SPECIAL_TEXT = {code: text for text, code in _SPECIAL.items()}
_HEAD = struct.Struct(">hhHH")


def encode_text(text: str) -> bytes:
    """The binary form of a numeric's text."""
    if text in _SPECIAL:
        # numeric_send gives infinities this scale, an artefact of how they are stored.
        return _HEAD.pack(0, 0, _SPECIAL[text], 0 if text == "NaN" else 0x20)
    sign = _NEGATIVE if text[0] == "-" else 0
    whole, _, fraction = text.lstrip("-").partition(".")
    scale = len(fraction)
    digits = whole.zfill(-(-len(whole) // 4) * 4) + fraction.ljust(-(-scale // 4) * 4, "0")
    groups = [int(digits[i : i + 4]) for i in range(0, len(digits), 4)]
    weight = -(-len(whole) // 4) - 1
    start, end = 0, len(groups)
    while end > start and groups[end - 1] == 0:
        end -= 1
    while start < end and groups[start] == 0:
        start += 1
    count = end - start
    if not count:
        return _HEAD.pack(0, 0, 0, scale)
    return struct.pack(f">hhHH{count}H", count, weight - start, sign, scale, *groups[start:end])


def decode(data: bytes) -> Decimal:
    """The value of a binary numeric, its scale kept. Raises 22P03."""
    if len(data) < 8:
        raise InvalidBinaryRepresentation("insufficient data left in message")
    count, weight, sign, scale = _HEAD.unpack_from(data)
    if sign in _SPECIAL_TEXT:
        return Decimal(_SPECIAL_TEXT[sign])
    if sign not in (0, _NEGATIVE):
        raise InvalidBinaryRepresentation('invalid sign in external "numeric" value')
    if scale & ~0x3FFF:
        raise InvalidBinaryRepresentation('invalid scale in external "numeric" value')
    if count < 0 or len(data) < 8 + 2 * count:
        raise InvalidBinaryRepresentation("insufficient data left in message")
    if len(data) > 8 + 2 * count:
        raise InvalidBinaryRepresentation("incorrect binary data format")
    groups = struct.unpack_from(f">{count}H", data, 8)
    if any(group >= 10000 for group in groups):
        raise InvalidBinaryRepresentation('invalid digit in external "numeric" value')
    coefficient = int("".join([f"{group:04d}" for group in groups]) or "0")
    # Digits beyond the display scale are cut, not rounded, as numeric_recv does.
    shift = scale + 4 * (weight + 1 - count)
    coefficient = coefficient * 10**shift if shift >= 0 else coefficient // 10**-shift
    value = Decimal(f"{coefficient}e-{scale}")
    return value.copy_negate() if sign == _NEGATIVE and value else value


def encode_narrow(
    values: npt.NDArray[np.int64], scale: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    """(bytes, offsets) of the binary forms of unscaled int64 values of one scale."""
    padding = -scale % 4
    fraction_groups = (scale + padding) // 4
    size = np.abs(values).view(np.uint64)
    # value × 10^padding may exceed 64 bits: the lowest group is cut off first.
    unit = np.uint64(10 ** (4 - padding))
    groups = [size % unit * np.uint64(10**padding)]
    size = size // unit
    while len(groups) < 6 or size.any():
        groups.append(size % np.uint64(10000))
        size = size // np.uint64(10000)
    table = np.stack(groups[::-1], axis=1).astype(np.uint16)
    return _pack(table, values < 0, len(groups) - 1 - fraction_groups, scale)


def _pack(
    table: npt.NDArray[np.uint16], negative: npt.NDArray[np.bool_], weight: int, scale: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    """Rows of base-10000 digits, most significant first, the first of weight `weight`."""
    rows, width = table.shape
    used = table != 0
    any_used = used.any(axis=1)
    first = np.where(any_used, used.argmax(axis=1), width)
    last = np.where(any_used, width - used[:, ::-1].argmax(axis=1), width)
    count = last - first
    words = np.empty((rows, 4 + width), ">u2")
    words[:, 0], words[:, 1] = count, np.where(any_used, weight - first, 0).astype(np.int16).view(np.uint16)
    words[:, 2], words[:, 3] = np.where(negative, _NEGATIVE, 0), scale
    words[:, 4:] = table
    columns = np.arange(4 + width)
    keep = (columns < 4) | ((columns >= 4 + first[:, None]) & (columns < 4 + last[:, None]))
    offsets = np.zeros(rows + 1, np.int32)
    np.cumsum((4 + count) * 2, out=offsets[1:])
    return words[keep].view(np.uint8), offsets
