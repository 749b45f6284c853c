"""numeric arithmetic against PostgreSQL, in both physical forms, one by one and in bulk."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from millpond.storage import decimals, decimals_limbs
from millpond.storage import decimals_convert as convert
from millpond.storage import decimals_rounding as rounding
from millpond.storage.errors import SqlError
from millpond.storage.textform import format_text, parse_text
from millpond.storage.types import FLOAT4, FLOAT8, INT2, INT4, INT8, NUMERIC, Type, fixed_numeric, numeric

SEED = 20260728
Binary = Callable[[pa.Array, pa.Array, Type, Type], pa.Array]
OPERATIONS: dict[str, tuple[Binary, Callable[[Type, Type], Type]]] = {
    "+": (decimals.add, decimals.add_type),
    "-": (decimals.subtract, decimals.subtract_type),
    "*": (decimals.multiply, decimals.multiply_type),
    "/": (decimals.divide, decimals.divide_type),
    "%": (decimals.modulo, decimals.modulo_type),
}


def _column(type_: Type, texts: Sequence[str | None]) -> pa.Array:
    return parse_text(type_, pa.array(texts, pa.string()))


def _expected(oracle: Any, expressions: Sequence[str]) -> list[Any]:
    found = oracle.evaluate(expressions)
    return [(row.code, row.message) if hasattr(row, "code") else row for row in found]


def _attempt(compute: Callable[..., pa.Array], result: Type, *columns: pa.Array) -> list[Any]:
    """Each row by itself, as text or (SQLSTATE, message)."""
    texts: list[Any] = []
    for row in range(len(columns[0])):
        try:
            found = compute(*(column.slice(row, 1) for column in columns))
            assert found.type == result.arrow
            texts.extend(format_text(result, found).to_pylist())
        except SqlError as error:
            assert error.rows is not None
            assert error.rows.tolist() == [0]
            texts.append((error.code, error.message))
    return texts


def _mismatches(*columns: Sequence[Any]) -> list[Any]:
    return [row for row in zip(*columns, strict=True) if row[-1] != row[-2]][:20]


def _random_text(generator: random.Random, digits: int, scale: int) -> str:
    whole = generator.randrange(10 ** generator.randrange(1, digits + 1))
    return f"{generator.choice(['', '-'])}{whole}" + (
        f".{generator.randrange(10**scale):0{scale}d}" if scale else ""
    )


@pytest.mark.parametrize("symbol", OPERATIONS)
@pytest.mark.parametrize(
    ("scale_a", "scale_b", "digits"), [(2, 2, 9), (0, 4, 12), (6, 2, 14), (9, 9, 10), (3, 0, 18)]
)
def test_fixed_scales(oracle: Any, symbol: str, scale_a: int, scale_b: int, digits: int) -> None:
    generator = random.Random(SEED)
    a = [_random_text(generator, digits, scale_a) for _ in range(150)]
    b = [_random_text(generator, digits, scale_b) for _ in range(150)]
    compute, rule = OPERATIONS[symbol]
    type_a, type_b = fixed_numeric(scale_a), fixed_numeric(scale_b)
    result = rule(type_a, type_b)
    sql = [
        f"{x}::numeric(50,{scale_a}) {symbol} ({y}::numeric(50,{scale_b}))" for x, y in zip(a, b, strict=True)
    ]
    expected = _expected(oracle, sql)
    columns = _column(type_a, a), _column(type_b, b)
    single = _attempt(lambda x, y: compute(x, y, type_a, type_b), result, *columns)
    assert not _mismatches(sql, expected, single)
    good = [i for i, row in enumerate(expected) if isinstance(row, str)]
    x, y = (column.take(pa.array(good)) for column in columns)
    bulk = compute(x, y, type_a, type_b)
    assert bulk.type == result.arrow
    assert format_text(result, bulk).to_pylist() == [expected[i] for i in good]
    if len(good) < len(a):  # Division by zero names its rows.
        with pytest.raises(SqlError) as caught:
            compute(_column(type_a, a), _column(type_b, b), type_a, type_b)
        assert caught.value.rows is not None
        assert caught.value.rows.tolist() == [i for i in range(len(a)) if i not in good]


SPECIALS = [
    "0", "0.00", "1", "-1", "1.10", "-2.5", "NaN", "Infinity", "-Infinity",
    "123456789012345678901234567890.12345", "0.000000000000000000001", "1e50", "7", "0.3", "10000",
    "9999", "99999999", "0.0001", "2", "3",
]  # fmt: skip


@pytest.mark.parametrize("symbol", OPERATIONS)
def test_text_form(oracle: Any, symbol: str) -> None:
    compute, _ = OPERATIONS[symbol]
    pairs = [(a, b) for a in SPECIALS for b in SPECIALS]
    sql = [f"'{a}'::numeric {symbol} '{b}'::numeric" for a, b in pairs]
    columns = _column(NUMERIC, [a for a, _ in pairs]), _column(NUMERIC, [b for _, b in pairs])
    found = _attempt(lambda x, y: compute(x, y, NUMERIC, NUMERIC), NUMERIC, *columns)
    assert not _mismatches(sql, _expected(oracle, sql), found)


def test_random_divisions(oracle: Any) -> None:
    """The scale of a quotient depends on digits in base 10000: many magnitudes."""
    generator = random.Random(SEED)
    pairs = [
        (_random_text(generator, generator.randrange(1, 25), generator.randrange(12)),
         _random_text(generator, generator.randrange(1, 25), generator.randrange(12)))
        for _ in range(1500)
    ]  # fmt: skip
    sql = [f"'{a}'::numeric / '{b}'::numeric" for a, b in pairs]
    columns = _column(NUMERIC, [a for a, _ in pairs]), _column(NUMERIC, [b for _, b in pairs])
    found = _attempt(lambda x, y: decimals.divide(x, y, NUMERIC, NUMERIC), NUMERIC, *columns)
    assert not _mismatches(sql, _expected(oracle, sql), found)


def test_integer_quotient_and_power(oracle: Any) -> None:
    pairs = [(a, b) for a in SPECIALS for b in SPECIALS if "e50" not in a + b]
    columns = _column(NUMERIC, [a for a, _ in pairs]), _column(NUMERIC, [b for _, b in pairs])
    sql = [f"div('{a}'::numeric, '{b}'::numeric)" for a, b in pairs]
    found = _attempt(lambda x, y: decimals.integer_quotient(x, y, NUMERIC, NUMERIC), NUMERIC, *columns)
    assert not _mismatches(sql, _expected(oracle, sql), found)
    small = [(a, b) for a, b in pairs if len(b) < 9]
    columns = _column(NUMERIC, [a for a, _ in small]), _column(NUMERIC, [b for _, b in small])
    sql = [f"'{a}'::numeric ^ '{b}'::numeric" for a, b in small]
    found = _attempt(lambda x, y: decimals.power(x, y, NUMERIC, NUMERIC), NUMERIC, *columns)
    assert not _mismatches(sql, _expected(oracle, sql), found)


UNARY = {
    "sqrt": decimals.square_root,
    "exp": decimals.exponential,
    "ln": decimals.natural_logarithm,
    "abs": decimals.absolute,
    "sign": decimals.sign,
    "-": decimals.negate,
    "ceil": rounding.ceiling,
    "floor": rounding.floor,
    "round": rounding.round_to,
    "trunc": rounding.truncate,
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_text_form(oracle: Any, name: str) -> None:
    generator = random.Random(SEED)
    texts = [
        *SPECIALS,
        "0.5",
        "1.5",
        "2.5",
        "-0.5",
        "-1.5",
        "0.999",
        "1.001",
        "0.95",
        "1.05",
        "100",
        "1000.0",
        "-0.0",
    ]
    texts += [_random_text(generator, generator.randrange(1, 12), generator.randrange(8)) for _ in range(150)]
    if name == "exp":
        texts = [text for text in texts if text.startswith(("N", "I", "-I")) or abs(float(text)) < 300]
        texts += ["5000", "-5000", "7000"]
    sql = [f"{name}('{text}'::numeric)" for text in texts]
    found = _attempt(lambda x: UNARY[name](x, NUMERIC), NUMERIC, _column(NUMERIC, texts))
    assert not _mismatches(sql, _expected(oracle, sql), found)


@pytest.mark.parametrize("name", ["abs", "-", "ceil", "floor", "round", "trunc", "sqrt"])
@pytest.mark.parametrize(("scale", "digits"), [(2, 10), (5, 4), (0, 12), (9, 20)])
def test_functions_of_fixed_form(oracle: Any, name: str, scale: int, digits: int) -> None:
    generator = random.Random(SEED)
    texts = [_random_text(generator, digits, scale) for _ in range(60)] + [
        "0",
        "1",
        "-1",
        "0.5",
        "-0.5",
        "1.5",
    ]
    if name == "sqrt":
        texts = [text.lstrip("-") for text in texts]
    type_ = fixed_numeric(scale)
    result = {"sqrt": NUMERIC, "abs": type_, "-": type_}.get(name, decimals.integral_type(type_))
    sql = [f"{name}('{text}'::numeric(50,{scale}))" for text in texts]
    expected, column = _expected(oracle, sql), _column(type_, texts)
    assert format_text(result, UNARY[name](column, type_)).to_pylist() == expected
    assert not _mismatches(sql, expected, _attempt(lambda x: UNARY[name](x, type_), result, column))


def test_logarithms(oracle: Any) -> None:
    bases = ["2", "10", "0.5", "1.0001", "1", "NaN", "100", "0", "-1", "Infinity"]
    values = ["8", "1000", "3", "0.001", "1", "1.05", "0", "-5", "12345678901234567890", "Infinity"]
    pairs = [(a, b) for a in bases for b in values]
    columns = _column(NUMERIC, [a for a, _ in pairs]), _column(NUMERIC, [b for _, b in pairs])
    sql = [f"log('{a}'::numeric, '{b}'::numeric)" for a, b in pairs]
    found = _attempt(lambda x, y: decimals.logarithm(x, y, NUMERIC, NUMERIC), NUMERIC, *columns)
    assert not _mismatches(sql, _expected(oracle, sql), found)


@pytest.mark.parametrize("digits", [-30, -3, -1, 0, 1, 2, 4, 30])
@pytest.mark.parametrize("name", ["round", "trunc"])
def test_rounding(oracle: Any, name: str, digits: int) -> None:
    generator = random.Random(SEED)
    texts = ["0", "0.005", "-0.005", "2.675", "1.995", "-1.995", "500", "499.999", "-5.5", "95"]
    texts += [_random_text(generator, 8, 3) for _ in range(40)]
    compute = rounding.round_to if name == "round" else rounding.truncate
    for type_ in (fixed_numeric(3), NUMERIC):
        sql = [f"{name}('{text}'::numeric{'(20,3)' if type_.scale else ''}, {digits})" for text in texts]
        expected, column = _expected(oracle, sql), _column(type_, texts)
        result = rounding.round_type(type_, digits)
        assert format_text(result, compute(column, type_, digits)).to_pylist() == expected
        assert format_text(result, compute(column[:5], type_, digits)).to_pylist() == expected[:5]
        each = rounding.round_each(column, pa.array([digits] * len(texts)), type_, name == "trunc")
        assert each.to_pylist() == expected


@pytest.mark.parametrize("size", [1, 40])
def test_more_than_38_digits(size: int) -> None:
    type_ = fixed_numeric(2)
    large, one = "9" * 36 + ".99", "0.01"
    a = _column(type_, [one, large, None, large] * size)
    b = _column(type_, [one, one, one, "-0.01"] * size)
    for compute, wrong in ((decimals.add, [1]), (decimals.subtract, [3])):
        with pytest.raises(SqlError, match="value overflows numeric format") as caught:
            compute(a, b, type_, type_)
        assert caught.value.code == "22003"
        assert caught.value.rows is not None
        assert caught.value.rows.tolist() == [4 * i + w for i in range(size) for w in wrong]
    with pytest.raises(SqlError) as caught:
        decimals.multiply(a, _column(type_, ["10"] * 4 * size), type_, type_)
    assert caught.value.rows is not None
    assert caught.value.rows.tolist() == [i for i in range(4 * size) if i % 4 in (1, 3)]


def test_wide_products_are_exact() -> None:
    generator = random.Random(SEED)
    a = [generator.randrange(-(10**k), 10**k) for k in range(1, 38) for _ in range(8)]
    b = [generator.randrange(-(10 ** (38 - k)), 10 ** (38 - k)) for k in range(1, 38) for _ in range(8)]
    product, wrong = decimals_limbs.multiply(decimals_limbs.of_list(a), decimals_limbs.of_list(b))
    exact = [x * y for x, y in zip(a, b, strict=True)]
    assert product.to_list() == exact
    assert not wrong.any()
    small = [x * 10**20 for x in a if abs(x) < 10**17] * 2
    _, wrong = decimals_limbs.multiply(
        decimals_limbs.of_list(small), decimals_limbs.of_list([10**20] * len(small))
    )
    assert wrong.tolist() == [abs(x) * 10**40 >= 10**38 for x in a if abs(x) < 10**17] * 2


@pytest.mark.parametrize("rounding", ["half", "down", "floor", "ceiling"])
def test_scaling_down_agrees_with_plain_integers(rounding: str) -> None:
    generator = random.Random(SEED)
    for width in (1 << 62, 1 << 100):
        values = [generator.randrange(-width, width) for _ in range(100)] + [
            0,
            5,
            -5,
            50,
            -50,
            49,
            -49,
            15,
            -15,
            25,
        ]
        for digits in (1, 2, 5, 18, 20):
            found = decimals_limbs.scale_down(decimals_limbs.of_list(values), digits, rounding).to_list()
            assert found == [decimals_limbs.divide_integer(value, 10**digits, rounding) for value in values]


def test_casts(oracle: Any) -> None:
    texts = [
        "0", "1.5", "2.5", "-2.5", "0.49", "32767.4", "32767.5", "-32768.5", "2147483647.5",
        "9223372036854775807.4", "9223372036854775807.5", "NaN", "Infinity", "1e30",
    ]  # fmt: skip
    for target in (INT2, INT4, INT8):
        sql = [f"'{text}'::numeric::{target.name}" for text in texts]
        found = _attempt(lambda x: convert.to_integers(x, NUMERIC, target), target, _column(NUMERIC, texts))  # noqa: B023
        assert not _mismatches(sql, _expected(oracle, sql), found)
    finite = [text for text in texts if text[0] not in "NI"]
    fixed = fixed_numeric(2)
    small = ["1.50", "-2.50", "0.49", "2.51"] * 10
    assert convert.to_integers(_column(fixed, small), fixed, INT4).to_pylist() == [2, -3, 0, 3] * 10
    for target in (FLOAT4, FLOAT8):
        sql = [f"'{text}'::numeric::{target.name}" for text in [*texts, "1e39", "1e400", "1e-400"]]
        column = _column(NUMERIC, [*texts, "1e39", "1e400", "1e-400"])
        found = _attempt(lambda x: convert.to_floats(x, NUMERIC, target), target, column)  # noqa: B023
        assert not _mismatches(sql, _expected(oracle, sql), found)
        bulk = convert.to_floats(_column(NUMERIC, finite * 4), NUMERIC, target)
        assert format_text(target, bulk).to_pylist() == _expected(
            oracle, [f"{t}::numeric::{target.name}" for t in finite * 4]
        )
    values = [
        "0.1",
        "1e15",
        "123456789.123456789",
        "1e-7",
        "-2.5",
        "NaN",
        "Infinity",
        "1e100",
        "0.30000000000000004",
    ]
    for source in (FLOAT4, FLOAT8):
        usable = [value for value in values if source == FLOAT8 or value != "1e100"]
        found = convert.from_floats(parse_text(source, pa.array(usable))).to_pylist()
        assert found == _expected(oracle, [f"'{value}'::{source.name}::numeric" for value in usable])
    for integers in (pa.array([1, None, -5]), pa.array([7, None] * 20, pa.int16())):
        assert format_text(fixed_numeric(0), convert.from_integers(integers)).to_pylist() == [
            None if v is None else str(v) for v in integers.to_pylist()
        ]


def test_rescaling(oracle: Any) -> None:
    generator = random.Random(SEED)
    texts = [_random_text(generator, 6, 4) for _ in range(60)]
    source = fixed_numeric(4)
    for target in (numeric(12, 2), numeric(20, 6), numeric(8, 0), NUMERIC, numeric(5, 2)):
        sql = [f"'{text}'::numeric(20,4)::{target}" for text in texts]
        expected = _expected(oracle, sql)
        for form in (source, NUMERIC):
            column = _column(source, texts)
            if form == NUMERIC:
                column = convert.rescale(column, source, NUMERIC)
            found = _attempt(lambda x: convert.rescale(x, form, target), target, column)  # noqa: B023
            assert not _mismatches(sql, expected, found)
            good = [i for i, row in enumerate(expected) if isinstance(row, str)]
            bulk = convert.rescale(column.take(pa.array(good)), form, target)
            assert format_text(target, bulk).to_pylist() == [expected[i] for i in good]
            if len(good) < len(texts):
                with pytest.raises(SqlError, match="numeric field overflow") as caught:
                    convert.rescale(column, form, target)
                assert caught.value.rows is not None
                assert caught.value.rows.tolist() == [i for i in range(len(texts)) if i not in good]


def test_comparison(oracle: Any) -> None:
    pairs = [(a, b) for a in SPECIALS for b in SPECIALS]
    columns = _column(NUMERIC, [a for a, _ in pairs]), _column(NUMERIC, [b for _, b in pairs])
    found = decimals.compare(*columns, NUMERIC, NUMERIC).tolist()
    sql = [f"('{a}'::numeric > '{b}')::int - ('{a}'::numeric < '{b}')::int" for a, b in pairs]
    assert [str(value) for value in found] == _expected(oracle, sql)
    a, b = (
        _column(fixed_numeric(2), ["1.10", "2", None, "-3"] * 10),
        _column(fixed_numeric(0), ["1", "2", "3", "-2"] * 10),
    )
    assert decimals.compare(a, b, fixed_numeric(2), fixed_numeric(0)).tolist() == [1, 0, 0, -1] * 10
    wide = _column(fixed_numeric(0), ["9" * 38] * 20)
    assert decimals.compare(wide, a[:20], fixed_numeric(0), fixed_numeric(2)).tolist() == [1, 1, 0, 1] * 5


def test_result_types() -> None:
    two, six, free = fixed_numeric(2), fixed_numeric(6), NUMERIC
    assert decimals.add_type(numeric(10, 2), six) == six
    assert decimals.add_type(two, free) == free
    assert decimals.multiply_type(two, six) == fixed_numeric(8)
    assert decimals.multiply_type(fixed_numeric(20), fixed_numeric(19)) == free
    assert decimals.divide_type(two, two) == free
    assert rounding.round_type(six, 2) == two
    assert rounding.round_type(six, -2) == fixed_numeric(0)
    assert rounding.round_type(six, None) == free
    assert decimals.negate_type(numeric(10, 2)) == two
