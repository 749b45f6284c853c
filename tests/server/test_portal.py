"""Values bound to a portal."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from millpond.server.portal import BoundValues, bind_values
from millpond.storage.arrowview import one_integer, one_value
from millpond.storage.errors import SqlError
from millpond.storage.textform import TextSettings, parse_text
from millpond.storage.types import FLOAT8, INT2, INT4, INT8, TEXT, Type

from .conftest import FakePrepared


def bound(types: tuple[Type, ...], formats: tuple[int, ...], *raw: bytes | None) -> BoundValues:
    values = bind_values(FakePrepared("", types), "s", formats, raw, TextSettings())
    assert isinstance(values, BoundValues)
    return values


@pytest.mark.parametrize(("type_", "form"), [(INT2, "!h"), (INT4, "!i"), (INT8, "!q")])
def test_integers_are_known_before_they_are_arrays(type_: Type, form: str) -> None:
    for value, code, raw in [(-7, 1, struct.pack(form, -7)), (1234, 0, b"1234"), (0, 0, b"0")]:
        values = bound((type_,), (code,), raw)
        assert values.integer(0) == value
        assert values[0].equals(pa.array([value], type_.arrow))
        assert values.integer(0) == value
    assert bound((type_,), (0,), b" -12 ")[0].to_pylist() == [-12]
    assert bound((type_,), (0,), None)[0].equals(pa.nulls(1, type_.arrow))


def test_values_are_arrays_of_one_in_order() -> None:
    values = bound((INT4, TEXT, FLOAT8), (), b"5", b"five", b"0.5")
    assert len(values) == 3 and values.integer(1) is None
    assert [value.to_pylist() for value in values] == [[5], ["five"], [0.5]]
    assert [value.type for value in values[1:]] == [pa.string(), pa.float64()]


def test_doubles_are_read_as_postgres_reads_them() -> None:
    for raw in (b"5", b"0.1", b".5", b"5.", b"-1.5", b"1e3", b"NaN", b"-Infinity", b"123456789012345678.5"):
        [value] = bound((FLOAT8,), (0,), raw)
        assert repr(value.to_pylist()) == repr(parse_text(FLOAT8, pa.array([raw.decode()])).to_pylist())
    for raw in (b".", b"1_0", b"\xc2\xb2", b""):
        with pytest.raises(SqlError):
            bound((FLOAT8,), (0,), raw)
    assert bound((FLOAT8,), (1,), struct.pack("!d", -0.25)).simple == [-0.25]


def test_simple_values_and_their_size() -> None:
    values = bound((INT4, TEXT, FLOAT8, INT8), (), b"5", b"five", b"0.5", None)
    assert values.simple == [5, "five", 0.5, None] and values.nbytes == 8


def test_a_binary_value_of_the_wrong_size_is_refused() -> None:
    for type_, size in ((INT4, 3), (FLOAT8, 7)):
        with pytest.raises(SqlError) as caught:
            bound((TEXT, type_), (0, 1), b"x", b"\0" * size)
        assert caught.value.code in ("08P01", "22P03") and caught.value.message


@pytest.mark.parametrize("arrow", [pa.int16(), pa.int32(), pa.int64()])
def test_one_integer_is_an_array_of_it(arrow: pa.DataType) -> None:
    for value in (0, 1, -1, 2 ** (arrow.bit_width - 1) - 1, -(2 ** (arrow.bit_width - 1))):
        assert one_integer(value, arrow).equals(pa.array([value], arrow))


ONES = [
    *[(value, arrow) for arrow in (pa.int16(), pa.int32(), pa.int64()) for value in (0, -1, 32767, -32768)],
    *[(value, pa.int64()) for value in (2**63 - 1, -(2**63), None)],
    *[(value, pa.string()) for value in ("", "plain", "é日本\x00", None)],
    *[(value, pa.float64()) for value in (0.5, float("inf"), 7, None)],
    (b"raw", pa.binary()),
    (True, pa.bool_()),
    ([1, 2], pa.list_(pa.int64())),
    (5, pa.timestamp("us")),
]


@pytest.mark.parametrize(("value", "arrow"), ONES)
def test_one_value_is_an_array_of_it(value: object, arrow: pa.DataType) -> None:
    made = one_value(value, arrow)
    made.validate(full=True)
    assert made.equals(pa.array([value], arrow))


def test_one_value_that_does_not_fit_is_refused_as_by_arrow() -> None:
    for value, arrow in ((1 << 15, pa.int16()), (1 << 63, pa.int64())):
        with pytest.raises((pa.ArrowInvalid, OverflowError)):
            one_value(value, arrow)
