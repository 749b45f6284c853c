"""Key bytes of values that only Python can take apart: jsonb and arrays.

Called for distinct values where the column repeats them. The layout of the bytes is `keycode.py`'s;
numbers agree with `kernels_keys.encode_decimals`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

_ZERO = b"\x03"
_COMPLEMENT = bytes(255 - i for i in range(256))


def decimal_bytes(number: Decimal) -> bytes:
    """Canonical bytes of a finite number.

    A class byte (−∞ < negative < 0 < positive < ∞ < NaN); then, for v = 0.d₁d₂… × 100^e with d₁ ≠ 0,
    e + 2²³ in three bytes, each base-100 digit plus one, and 00; complemented for a negative v.
    """
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).lstrip("0")
    if not text:
        return _ZERO
    point = len(text) + exponent
    hundred = (point + 1) >> 1
    text = "0" * (2 * hundred - point) + text.rstrip("0")
    text += "0" * (len(text) & 1)
    pairs = bytes(int(text[i : i + 2]) + 1 for i in range(0, len(text), 2))
    body = (hundred + (1 << 23)).to_bytes(3, "big") + pairs + b"\x00"
    return b"\x02" + body.translate(_COMPLEMENT) if sign else b"\x04" + body


def jsonb_bytes(text: str | None) -> bytes:
    """Canonical bytes of a jsonb document, in PostgreSQL's order.

    null < string < number < boolean < array < object; more elements or pairs are greater, then
    element by element, key before value. An empty array at the top is less than anything
    (PostgreSQL documentation, 8.14.4).
    """
    assert text is not None
    document = json.loads(text, parse_float=Decimal, parse_int=Decimal, object_pairs_hook=_Pairs)
    return b"\x00" if document == [] and not isinstance(document, _Pairs) else _json_bytes(document)


class _Pairs(list[tuple[str, Any]]):
    """An object's members in the order of its normalised text."""


def _json_bytes(value: Any) -> bytes:
    if value is None:
        return b"\x01"
    if isinstance(value, str):
        return b"\x02" + _escape(value)
    if isinstance(value, bool):
        return b"\x04\x01" if value else b"\x04\x00"
    if isinstance(value, Decimal):
        return b"\x03" + decimal_bytes(value)
    count = len(value).to_bytes(4, "big")
    if isinstance(value, _Pairs):
        return b"\x06" + count + b"".join(_escape(key) + _json_bytes(item) for key, item in value)
    return b"\x05" + count + b"".join(map(_json_bytes, value))


def _escape(text: str) -> bytes:
    return text.encode().replace(b"\x00", b"\x00\xff") + b"\x00\x00"


def list_bytes(column: pa.Array, elements: Sequence[bytes], mark: bytes, null_mark: bytes) -> list[bytes]:
    """Key bytes of each row of a list column, `elements` being those of all its elements in turn."""
    encoded: list[bytes] = []
    at = 0
    for length in column.value_lengths().to_pylist():
        if length is None:
            encoded.append(null_mark)
        else:
            encoded.append(mark + b"".join(elements[at : at + length]) + b"\x00")
            at += length
    return encoded
