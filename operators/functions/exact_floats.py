"""Exact, order-independent sums of float64: a superaccumulator of variable length.

Every finite double is an integer multiple of 2^−1074. The sum of a group is kept as that integer, in
32-bit limbs (Kulisch's long accumulator; R. Neal, "Fast exact summation using small and large
superaccumulators", 2015), and stored as bytes: nothing for 0, else words of 32 bits, little-endian:
the number of the lowest non-zero limb, then the limbs up from it, the last one signed, none superfluous.
Equal sums have equal bytes, and adding and subtracting the same values restores them.

NaN and the infinities are counted in limbs far above those of finite values, so that they too are
only added. A batch is summed in numpy by limb and group; tiny batches in Python integers, or in
`storage/kernels_floats.py` if they are added to what there was.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage import kernels_floats
from ...storage.arrowview import byte_values, from_bytes
from ...storage.columns import GrowingColumn, GrowingText
from .exact_sums import pieces

Int64 = npt.NDArray[np.int64]
Dense = tuple[npt.NDArray[np.int64], int]
"""(limbs int64[groups, width], number of the first limb)."""

UNIT_EXPONENT = 1074
NAN_LIMB, PLUS_LIMB, MINUS_LIMB = 70, 73, 76
TINY = 16
"""Rows or groups up to which Python integers beat numpy's fixed costs."""
DENSE_ELEMENTS_MAX = 1 << 23
FEW = 4096
"""Rows and groups up to which rows are added to kept sums in one compiled pass, with 640 bytes a group."""
_STORED_MAX = 4 * (kernels_floats.LIMBS + 1)
_DIVISOR_MAX = (1 << 31) - 1
_NO_OFFSETS, _NO_BYTES = np.zeros(1, np.int32), np.empty(0, np.uint8)
_MASK = 0xFFFFFFFF
_FINITE = 1 << (32 * NAN_LIMB - 1)


def to_integer(value: float) -> int:
    """The value in units of 2^−1074; NaN and infinities as one in their limb."""
    if value != value:
        return 1 << (32 * NAN_LIMB)
    if value in (math.inf, -math.inf):
        return 1 << (32 * (PLUS_LIMB if value > 0 else MINUS_LIMB))
    whole, divisor = value.as_integer_ratio()
    return whole << (UNIT_EXPONENT + 1 - divisor.bit_length())


def pack_integer(value: int) -> bytes:
    """The stored form of one integer."""
    if not value:
        return b""
    lowest = ((value & -value).bit_length() - 1) >> 5
    value >>= 32 * lowest
    words = ((value if value >= 0 else ~value).bit_length() >> 5) + 1
    return lowest.to_bytes(4, "little") + value.to_bytes(4 * words, "little", signed=True)


def unpack_integer(data: bytes) -> int:
    """The integer of a stored form."""
    if not data:
        return 0
    return int.from_bytes(data[4:], "little", signed=True) << (32 * int.from_bytes(data[:4], "little"))


def split_special(value: int) -> tuple[int, int, int, int]:
    """(finite part in units, NaNs, +infinities, −infinities) of an accumulator."""
    if -_FINITE < value < _FINITE:
        return value, 0, 0, 0
    counts: list[int] = []
    for limb in (MINUS_LIMB, PLUS_LIMB, NAN_LIMB):
        count = (value + (1 << (32 * limb - 1))) >> (32 * limb)
        value -= count << (32 * limb)
        counts.append(count)
    return value, counts[2], counts[1], counts[0]


def to_float(value: int, divisor: int = 1, unit: int = UNIT_EXPONENT) -> float:
    """The accumulator divided by `divisor`, rounded once to the nearest double; ±inf beyond range."""
    finite, nans, plus, minus = split_special(value)
    if nans or (plus and minus):
        return math.nan
    if plus or minus:
        return math.inf if plus else -math.inf
    try:
        return finite / (divisor << unit)
    except OverflowError:
        return math.inf if finite > 0 else -math.inf


def sum_floats(data: npt.NDArray[np.float64], weights: Int64, ids: Int64, groups: int) -> pa.Array:
    """The accumulator (a binary array of `groups` rows) of Σ weight · value of each group."""
    if len(data) <= TINY:
        sums = [0] * groups
        for value, weight, group in zip(data.tolist(), weights.tolist(), ids.tolist(), strict=True):
            sums[group] += weight * to_integer(value)
        return pa.array([pack_integer(s) for s in sums], pa.binary())
    limb, parts = _decompose(data)
    return sum_limbs(limb, parts, weights, ids, groups)


def _decompose(data: npt.NDArray[np.float64]) -> tuple[Int64, list[Int64]]:
    """(lowest limb of each value, its three signed limbs from there up)."""
    bits = data.view(np.int64)
    exponent = (bits >> 52) & 0x7FF
    mantissa = (bits & ((1 << 52) - 1)) | ((exponent > 0).astype(np.int64) << 52)
    position = np.maximum(exponent, 1) - 1
    limb, offset = position >> 5, position & 31
    low = (mantissa & _MASK) << offset
    high = (mantissa >> 32) << offset
    parts = [low & _MASK, (low >> 32) + (high & _MASK), high >> 32]
    sign = 1 - ((bits >> 62) & 2)
    parts = [part * sign for part in parts]
    special = exponent == 0x7FF
    if special.any():
        nan = np.isnan(data)
        limb = np.where(special, np.where(nan, NAN_LIMB, np.where(bits > 0, PLUS_LIMB, MINUS_LIMB)), limb)
        parts = [np.where(special, int(k == 0), part) for k, part in enumerate(parts)]
    return limb, parts


def sum_limbs(limb: Int64, parts: list[Int64], weights: Int64, ids: Int64, groups: int) -> pa.Array:
    """Accumulators of Σ weight · Σ part_k · 2^(32 (limb + k)) of each group; |part| < 2^33."""
    if not len(limb):
        return pa.array([b""] * groups, pa.binary())
    first = int(limb.min())
    width = int(limb.max()) - first + len(parts) + 3
    if groups * width > DENSE_ELEMENTS_MAX and groups > 1:
        return _by_halves(limb, parts, weights, ids, groups)
    where = ids * width + (limb - first)
    dense = np.zeros(groups * width, np.int64)
    for piece in pieces(weights):
        w = weights[piece]
        if piece.stop - piece.start == 1 and abs(int(w[0])) > 1 << 20:
            _add_heavy(dense, where[piece.start], [int(part[piece.start]) for part in parts], int(w[0]))
            continue
        unit = bool((w == 1).all())
        for k, part in enumerate(parts):
            weighted = part[piece] if unit else part[piece] * w
            sums = np.bincount(where[piece] + k, weights=weighted, minlength=groups * width)
            dense += sums.astype(np.int64)
        _carry(dense.reshape(groups, width))
    _carry(dense.reshape(groups, width))
    return pack(dense.reshape(groups, width), first)


def _add_heavy(dense: Int64, where: Any, parts: list[int], weight: int) -> None:
    """One row whose weight is too big for 64-bit products of limbs, limb by limb."""
    total = weight * sum(part << (32 * k) for k, part in enumerate(parts))
    place = int(where)
    while total not in (0, -1):
        dense[place] += total & _MASK
        total >>= 32
        place += 1
    dense[place] += total


def _by_halves(limb: Int64, parts: list[Int64], weights: Int64, ids: Int64, groups: int) -> pa.Array:
    half = groups // 2
    done: list[pa.Array] = []
    for start, stop in ((0, half), (half, groups)):
        rows = np.flatnonzero((ids >= start) & (ids < stop))
        done.append(
            sum_limbs(limb[rows], [p[rows] for p in parts], weights[rows], ids[rows] - start, stop - start)
        )
    return pa.concat_arrays(done)


def _carry(dense: npt.NDArray[np.int64]) -> None:
    """Brings every limb but the last into 0 … 2^32−1, in place; the last one keeps the sign."""
    for k in range(dense.shape[1] - 1):
        dense[:, k + 1] += dense[:, k] >> 32
        dense[:, k] &= _MASK


def pack(dense: npt.NDArray[np.int64], first: int) -> pa.Array:
    """The stored form of carried limbs of each group; the last limb must be 0 or −1."""
    groups, width = dense.shape
    negative = dense[:, -1] < 0
    words = np.empty((groups, width + 1), np.uint32)
    words[:, 1:] = dense & _MASK
    limbs = words[:, 1:]
    nonzero = limbs != 0
    lowest = nonzero.argmax(axis=1)
    differs = limbs != np.where(negative, _MASK, 0).astype(np.uint32)[:, None]
    highest = width - 1 - differs[:, ::-1].argmax(axis=1)
    highest = np.where(differs.any(axis=1), highest, 0)
    highest = np.maximum(highest, lowest)
    top_bit = limbs[np.arange(groups), highest] >> 31
    highest = highest + (top_bit.astype(np.bool_) != negative)
    present = nonzero.any(axis=1)
    words[:, 0] = lowest + first
    at = np.arange(-1, width)
    keep = (at >= lowest[:, None]) & (at <= highest[:, None])
    keep[:, 0] = True
    keep &= present[:, None]
    offsets = np.zeros(groups + 1, np.int32)
    np.cumsum(4 * keep.sum(axis=1), out=offsets[1:])
    data = words[keep]
    return pa.Array.from_buffers(pa.binary(), groups, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def unpack(arrays: list[pa.Array]) -> tuple[npt.NDArray[np.int64], int]:
    """The sum of several columns of accumulators, row by row: carried limbs and the first one's number."""
    parsed = [_words(array) for array in arrays]
    groups = len(arrays[0])
    lows = [int(low.min()) for _, _, low, _ in parsed if len(low)]
    if not lows:
        return np.zeros((groups, 2), np.int64), 0
    first = min(lows)
    last = max(int((low + count).max()) for _, _, low, count in parsed if len(low))
    dense = np.zeros((groups, last - first + 3), np.int64)
    for words, rows, low, count in parsed:
        if not len(rows):
            continue
        row_of = np.repeat(rows, count)
        starts = np.cumsum(count) - count
        within = np.arange(len(words)) - np.repeat(starts, count)
        column = np.repeat(low, count) + within - first
        dense[row_of, column] += words
        tops = starts + count - 1
        dense[rows, low + count - first] -= words[tops] >> 31
    _carry(dense)
    return dense, first


def _words(array: pa.Array) -> tuple[Int64, Int64, Int64, Int64]:
    """(limbs of all rows, rows that are not zero, their lowest limb, their number of limbs)."""
    _, offset_buffer, data = array.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, len(array) + 1, 4 * array.offset).astype(np.int64)
    lengths = np.diff(offsets) >> 2
    rows = np.flatnonzero(lengths)
    if not len(rows):
        empty = np.empty(0, np.int64)
        return empty, empty, empty, empty
    raw = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]
    words = np.ascontiguousarray(raw).view(np.uint32).astype(np.int64)
    starts = (offsets[:-1][rows] - offsets[0]) >> 2
    limbs = np.delete(words, starts)
    return limbs, rows, words[starts], lengths[rows] - 1


def merge(old: pa.Array, part: pa.Array) -> pa.Array:
    """The sum of two columns of accumulators, row by row."""
    if len(old) <= TINY:
        pairs = zip(old.to_pylist(), part.to_pylist(), strict=True)
        return pa.array([pack_integer(unpack_integer(a) + unpack_integer(b)) for a, b in pairs], pa.binary())
    dense, first = unpack([old, part])
    return pack(dense, first)


def add_floats(
    old: pa.Array | None, data: npt.NDArray[np.float64], weights: Int64, ids: Int64, groups: int
) -> pa.Array:
    """`sum_floats`, added to the accumulators that the first groups have."""
    if len(data) <= FEW and groups <= FEW:
        added = _add_few(old, np.ascontiguousarray(data), weights, ids, groups)
        if added is not None:
            return added
    part = sum_floats(data, weights, ids, groups)
    if old is None:
        return part
    known = len(old)
    merged = merge(old, part.slice(0, known))
    return merged if known == groups else pa.concat_arrays([merged, part.slice(known)])


def _add_few(
    old: pa.Array | None, data: npt.NDArray[np.float64], weights: Int64, ids: Int64, groups: int
) -> pa.Array | None:
    """`add_floats` of few rows in one pass; None if their weights are too large for it."""
    known = 0 if old is None else len(old)
    offsets, stored = (_NO_OFFSETS, _NO_BYTES) if old is None else byte_values(old)
    limbs = np.zeros((groups, kernels_floats.LIMBS), np.int64)
    places, sums = np.empty(groups + 1, np.int32), np.empty(_STORED_MAX * groups, np.uint8)
    size = kernels_floats.add_to_sums(
        offsets, stored, known, data, data.view(np.int64), weights, ids, limbs, places, sums
    )
    return None if size < 0 else from_bytes(pa.binary(), places, sums[:size])


def write_floats(
    sums: GrowingColumn,
    counts: Int64,
    data: npt.NDArray[np.float64],
    weights: Int64,
    ids: Int64,
    positions: Int64,
    start: int,
) -> int | None:
    """`AggregateFunction.write` of accumulators, and of `counts`, which have room; None if it is too much."""
    groups = len(positions)
    assert isinstance(sums, GrowingText)
    if len(data) > FEW or groups > FEW or not sums.open(start, start + groups, _STORED_MAX * groups):
        return None
    limbs = np.zeros((groups, kernels_floats.LIMBS), np.int64)
    data = np.ascontiguousarray(data)
    least = kernels_floats.write_float_sums(
        data, data.view(np.int64), weights, ids, positions, start, limbs, counts, sums.offsets, sums.data
    )
    return None if least < 0 else int(least)


def divided(array: pa.Array, divisors: Int64) -> npt.NDArray[np.float64] | None:
    """The accumulators divided by positive numbers; None if one is special, or a result too large."""
    found = np.empty(len(array), np.float64)
    return found if divide_into(*byte_values(array), divisors, found) else None


def divide_into(
    offsets: npt.NDArray[np.int32],
    stored: npt.NDArray[np.uint8],
    divisors: Int64,
    found: npt.NDArray[np.float64],
) -> bool:
    """`divided`, into an array of its own: whether it could."""
    if divisors.max(initial=1) > _DIVISOR_MAX:
        return False
    return bool(kernels_floats.divide_sums(offsets, stored, divisors, found))


def integers(array: pa.Array) -> list[int]:
    """The accumulators as Python integers."""
    return [unpack_integer(data) for data in array.to_pylist()]
