"""Binary form of values, as PostgreSQL's send and receive functions exchange them.

Numbers are big-endian; dates and timestamps count from 2000-01-01. Fixed-width types are converted as
whole columns, strings share their bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import binary_numeric, decimals_limbs, decimals_value, jsons
from . import datetimes as dt
from .arrow_compute import pc
from .errors import (
    CharacterNotInRepertoire,
    DatatypeMismatch,
    DatetimeOverflow,
    FeatureNotSupported,
    InvalidBinaryRepresentation,
    ProtocolViolation,
    SqlError,
)
from .textform_rows import (
    SMALL,
    convert_each,
    fixed_values,
    from_values,
    raise_at,
    text_bytes,
    valid_mask,
    validity_of,
)
from .textform_strings import fit_length
from .textform_temporal import round_fraction
from .types import NAMED_OIDS, STRINGS, Type, type_by_oid

_WIRE = {
    "bool": "u1", "int2": ">i2", "int4": ">i4", "int8": ">i8", "float4": ">f4", "float8": ">f8",
    "date": ">i4", "time": ">i8", "timestamp": ">i8", "timestamptz": ">i8", "oid": ">u4", "xid": ">u4",
    **dict.fromkeys(NAMED_OIDS, ">u4"), "uuid": "V16",
}  # fmt: skip
_MEMORY = {"date": "<i4", "time": "<i8", "timestamp": "<i8", "timestamptz": "<i8", "uuid": "V16"}
_INTERVAL_WIRE = np.dtype([("micros", ">i8"), ("days", ">i4"), ("months", ">i4")])
_INTERVAL_MEMORY = np.dtype([("micros", "<i8"), ("days", "<i4"), ("months", "<i4")])
_ARRAY_HEAD, _DIMENSION = struct.Struct(">iiI"), struct.Struct(">ii")


def encode_binary(type_: Type, array: pa.Array) -> pa.Array:
    """The binary form of each value: a binary array, NULL where the value is."""
    if type_.element is not None:
        return _encode_arrays(type_, array)
    name = type_.name
    if name in _WIRE:
        return _fixed(_wire_values(name, array), array)
    if name == "interval":
        return _fixed(fixed_values(array, _INTERVAL_MEMORY).astype(_INTERVAL_WIRE), array)
    if name == "numeric":
        return _encode_numerics(type_, array)
    if name == "jsonb":
        if len(array) <= SMALL:
            texts = array.to_pylist()
            return pa.array(
                [None if text is None else b"\x01" + text.encode() for text in texts], pa.binary()
            )
        return pc.binary_join_element_wise(b"\x01", pc.cast(array, pa.binary()), b"")
    if name == "char":
        array = pc.if_else(pc.equal(array, ""), "\0", array)
    return array if name == "bytea" else pc.cast(array, pa.binary())


def _wire_values(name: str, array: pa.Array) -> npt.NDArray[Any]:
    if name == "bool":
        if len(array) <= SMALL:
            return np.array([bool(value) for value in array.to_pylist()], np.uint8)
        return np.asarray(array.fill_null(False).to_numpy(zero_copy_only=False), np.uint8)
    values = fixed_values(array, _MEMORY.get(name) or array.type.to_pandas_dtype())
    if name == "date":
        finite = (values != dt.DATE_INFINITY) & (values != dt.DATE_MINUS_INFINITY)
        values = np.where(finite, values - dt.POSTGRES_EPOCH_DAYS, values)
    elif name in ("timestamp", "timestamptz"):
        finite = (values != dt.INFINITY) & (values != dt.MINUS_INFINITY)
        values = np.where(finite, values - dt.POSTGRES_EPOCH, values)
    return values.astype(_WIRE[name])


def _fixed(values: npt.NDArray[Any], like: pa.Array) -> pa.Array:
    count, width = len(values), values.dtype.itemsize
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(width)
    buffers = [validity_of(like), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def _encode_numerics(type_: Type, array: pa.Array) -> pa.Array:
    if type_.scale is not None and len(array) > SMALL:
        narrow = decimals_limbs.of_array(array).narrow()
        if narrow is not None:
            data, offsets = binary_numeric.encode_narrow(narrow, type_.scale)
            buffers = [validity_of(array), pa.py_buffer(offsets), pa.py_buffer(data)]
            return pa.Array.from_buffers(pa.binary(), len(array), buffers)
    values = array.to_pylist()
    if type_.scale is not None:
        values = [None if value is None else f"{value:f}" for value in values]
    encoded = [None if value is None else binary_numeric.encode_text(value) for value in values]
    return pa.array(encoded, pa.binary())


def _encode_arrays(type_: Type, array: pa.Array) -> pa.Array:
    assert type_.element is not None
    offsets = array.offsets.to_pylist()
    first = offsets[0] if offsets else 0
    values = array.values.slice(first, (offsets[-1] if offsets else 0) - first)
    items = encode_binary(type_.element, values).to_pylist()
    pieces = [b"\xff\xff\xff\xff" if item is None else len(item).to_bytes(4, "big") + item for item in items]
    oid, rows = type_.element.oid, []
    for start, end, known in zip(offsets, offsets[1:], valid_mask(array).tolist(), strict=False):
        if not known:
            rows.append(None)
        elif start == end:
            rows.append(_ARRAY_HEAD.pack(0, 0, oid))
        else:
            nulls = None in items[start - first : end - first]
            head = _ARRAY_HEAD.pack(1, nulls, oid) + _DIMENSION.pack(end - start, 1)
            rows.append(head + b"".join(pieces[start - first : end - first]))
    return pa.array(rows, pa.binary())


def decode_binary(type_: Type, values: pa.Array) -> pa.Array:
    """Values of `type_` from their binary form, its modifier applied.

    Raises 08P01 for too few bytes, 22P03 for too many or malformed ones, 22021 for invalid UTF-8, and
    what the type's own limits raise; `rows` names the failing rows.
    """
    if type_.element is not None:
        return _decode_arrays(type_, values)
    name = type_.name
    if name in _WIRE:
        return _decode_fixed(type_, values)
    if name == "interval":
        packed = _packed(values, _INTERVAL_WIRE)
        return from_values(packed.astype(_INTERVAL_MEMORY), type_.arrow, values)
    if name == "numeric":
        return pa.array(
            convert_each(values.to_pylist(), lambda raw: _decode_numeric(type_, raw)), type_.arrow
        )
    if name == "bytea":
        return values
    return _decode_strings(type_, values)


def _packed(values: pa.Array, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """One element of `dtype` a row, zero where NULL. Raises unless every row has exactly its bytes."""
    width = np.dtype(dtype).itemsize
    if len(values) <= SMALL:
        raws = [bytes(width) if raw is None else raw for raw in values.to_pylist()]
        if all(len(raw) == width for raw in raws):
            return np.frombuffer(b"".join(raws), dtype)
    lengths = pc.binary_length(values).fill_null(width).to_numpy(zero_copy_only=False)
    if (wrong := lengths != width).any():
        rows = np.flatnonzero(wrong)
        short = lengths[rows[0]] < width
        raise_at(
            ProtocolViolation("insufficient data left in message")
            if short
            else InvalidBinaryRepresentation("incorrect binary data format"),
            rows,
        )
    if not values.null_count:
        return np.frombuffer(text_bytes(values).tobytes(), dtype)
    packed = np.zeros(len(values), dtype)
    packed[valid_mask(values)] = np.frombuffer(text_bytes(values.drop_null()).tobytes(), dtype)
    return packed


def _decode_fixed(type_: Type, values: pa.Array) -> pa.Array:
    name = type_.name
    found = _packed(values, _WIRE[name])
    if name == "bool":
        return pa.array(found != 0, mask=~valid_mask(values))
    if name == "uuid":
        return from_values(found, type_.arrow, values)
    native = found.astype(_MEMORY.get(name) or type_.arrow.to_pandas_dtype())
    if name == "date":
        finite = (native != dt.DATE_INFINITY) & (native != dt.DATE_MINUS_INFINITY)
        days = native.astype(np.int64) + dt.POSTGRES_EPOCH_DAYS
        wrong = finite & ((days < dt.MIN_DATE) | (days > dt.MAX_DATE))
        _refuse(wrong, values, DatetimeOverflow("date out of range"))
        native = np.where(finite, days, native).astype(np.int32)
    elif name in ("timestamp", "timestamptz"):
        finite = (native != dt.INFINITY) & (native != dt.MINUS_INFINITY)
        wrong = (native < dt.MIN_TIMESTAMP - dt.POSTGRES_EPOCH) | (
            native > dt.MAX_TIMESTAMP - dt.POSTGRES_EPOCH
        )
        _refuse(wrong & finite, values, DatetimeOverflow("timestamp out of range"))
        native = np.where(finite, native + dt.POSTGRES_EPOCH, native)
    elif name == "time":
        _refuse((native < 0) | (native > dt.DAY), values, DatetimeOverflow("time out of range"))
    return round_fraction(type_, from_values(native, type_.arrow, values))


def _refuse(wrong: npt.NDArray[np.bool_], values: pa.Array, error: SqlError) -> None:
    if wrong.any() and (wrong := wrong & valid_mask(values)).any():
        raise_at(error, np.flatnonzero(wrong))


def _decode_numeric(type_: Type, raw: bytes) -> object:
    value = decimals_value.fit(type_, binary_numeric.decode(raw))
    return decimals_value.to_text(value) if type_.scale is None else value


def _decode_strings(type_: Type, values: pa.Array) -> pa.Array:
    if type_.name in STRINGS - {"char"}:
        try:
            return fit_length(type_, pc.cast(values, pa.string()))
        except pa.ArrowInvalid:
            pass
    convert: dict[str, Callable[[str], str]] = {"json": jsons.check_json, "jsonb": jsons.normalise}
    strip = type_.name == "jsonb"
    then = convert.get(type_.name, str)
    texts = convert_each(values.to_pylist(), lambda raw: then(_text(raw, strip)))
    return fit_length(type_, pa.array(texts, pa.string()))


def _text(raw: bytes, versioned: bool) -> str:
    if versioned:
        if raw[:1] != b"\x01":
            number = raw[0] if raw else 0
            raise InvalidBinaryRepresentation(f"unsupported jsonb version number {number}")
        raw = raw[1:]
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        wrong = " ".join(f"0x{byte:02x}" for byte in raw[error.start : error.end])
        raise CharacterNotInRepertoire(f'invalid byte sequence for encoding "UTF8": {wrong}') from None


def _decode_arrays(type_: Type, values: pa.Array) -> pa.Array:
    element = type_.element
    assert element is not None
    lists = convert_each(values.to_pylist(), lambda raw: _split(element, raw))
    lengths = np.array([0 if found is None else len(found) for found in lists], np.int32)
    flat = pa.array([item for found in lists if found for item in found], pa.binary())
    modified = element if type_.typmod < 0 else Type(element.name, type_.typmod, type_.scale)
    try:
        items = decode_binary(modified, flat)
    except SqlError as error:
        assert error.rows is not None
        raise_at(error, np.unique(np.repeat(np.arange(len(lists)), lengths)[error.rows]))
        raise
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    buffers = [validity_of(values), pa.py_buffer(offsets)]
    return pa.Array.from_buffers(type_.arrow, len(values), buffers, children=[items])


def _split(element: Type, raw: bytes) -> list[bytes | None]:
    """The elements' bytes of one binary array."""
    if len(raw) < _ARRAY_HEAD.size:
        raise ProtocolViolation("insufficient data left in message")
    dimensions, flags, oid = _ARRAY_HEAD.unpack_from(raw)
    if flags not in (0, 1):
        raise InvalidBinaryRepresentation("invalid array flags")
    if oid != element.oid:
        raise DatatypeMismatch(
            f"binary data has array element type {oid} ({_type_name(oid)}) "
            f"instead of expected {element.oid} ({element.bare()})"
        )
    if dimensions == 0:
        return []
    if dimensions != 1:
        raise FeatureNotSupported("multidimensional arrays are not supported")
    return _elements(raw)


def _elements(raw: bytes) -> list[bytes | None]:
    position = _ARRAY_HEAD.size + _DIMENSION.size
    if len(raw) < position:
        raise ProtocolViolation("insufficient data left in message")
    count, _ = _DIMENSION.unpack_from(raw, _ARRAY_HEAD.size)
    items: list[bytes | None] = []
    for _ in range(count):
        size = int.from_bytes(raw[position : position + 4], "big", signed=True)
        position += 4
        if (size >= 0 and position + size > len(raw)) or position > len(raw):
            raise InvalidBinaryRepresentation("insufficient data left in message")
        items.append(None if size == -1 else raw[position : position + size])
        position += max(size, 0)
    if position != len(raw):
        raise InvalidBinaryRepresentation("incorrect binary data format")
    return items


def _type_name(oid: int) -> str:
    found = type_by_oid(oid)
    return str(found) if found else "???"
