"""Integer and float arithmetic against PostgreSQL."""

from __future__ import annotations

import itertools
import random

import pytest

EDGES = {
    "int2": ["0", "1", "-1", "7", "-7", "32767", "-32768", None],
    "int4": ["0", "1", "-1", "7", "-7", "2147483647", "-2147483648", None],
    "int8": ["0", "1", "-1", "7", "-7", "9223372036854775807", "-9223372036854775808", None],
    "float4": ["0", "-0", "1.5", "-2.25", "3e38", "1e-38", "NaN", "Infinity", "-Infinity", None],
    "float8": ["0", "-0", "1.5", "-2.25", "1e308", "1e-300", "5e-324", "NaN", "Infinity", "-Infinity", None],
}  # fmt: skip
INTEGERS = ("int2", "int4", "int8")
FLOATS = ("float4", "float8")


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "=", "<>", "<", "<=", ">", ">="])
@pytest.mark.parametrize("family", [INTEGERS, FLOATS])
def test_arithmetic_and_comparison(oracle, symbol, family) -> None:
    for a, b in itertools.product(family, family):
        oracle.check(symbol, (a, b), list(itertools.product(EDGES[a], EDGES[b])))


@pytest.mark.parametrize("type_", INTEGERS)
def test_modulo(oracle, type_) -> None:
    for name in ("%", "mod"):
        oracle.check(name, (type_, type_), list(itertools.product(EDGES[type_], EDGES[type_])))


@pytest.mark.parametrize("type_", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("name", ["-", "+", "abs", "@"])
def test_unary(oracle, name, type_) -> None:
    oracle.check(name, (type_,), [(v,) for v in EDGES[type_]])


def numbers(seed: str, count: int = 12) -> list[str]:
    rng = random.Random(seed)
    return [
        f"{rng.choice(['', '-'])}{rng.randint(0, 10 ** rng.randint(1, 9))}.{rng.randint(0, 10**6)}"
        for _ in range(count)
    ]


NUMERICS = [
    "0",
    "0.00",
    "1",
    "-1",
    "2.5",
    "-2.5",
    "0.5",
    "1.10",
    "100",
    "12345.678",
    "1e20",
    "1e-10",
    "NaN",
    None,
]


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "%", "=", "<", ">=", "<>", "div", "gcd", "lcm"])
def test_numeric_pairs(oracle, symbol) -> None:
    values = [*NUMERICS, "Infinity", "-Infinity", *numbers(symbol, 4)]
    oracle.check(symbol, ("numeric", "numeric"), list(itertools.product(values, values)))


@pytest.mark.parametrize("name", ["power", "log", "^"])
def test_numeric_powers(oracle, name) -> None:
    values = ["0", "1", "-1", "2.5", "0.5", "3", "-3", "10", "1.10", "NaN", None]
    oracle.check(name, ("numeric", "numeric"), list(itertools.product(values, values)))


@pytest.mark.parametrize(
    "name",
    ["-", "+", "abs", "@", "sign", "ceil", "ceiling", "floor", "round", "trunc", "sqrt", "exp", "ln", "log",
     "log10", "scale", "min_scale", "trim_scale"],
)  # fmt: skip
def test_numeric_unary(oracle, name) -> None:
    values = [v for v in [*NUMERICS, *numbers(name)] if name != "exp" or v is None or len(v) < 6]
    oracle.check(name, ("numeric",), [(v,) for v in values])


@pytest.mark.parametrize("name", ["round", "trunc"])
def test_numeric_digits(oracle, name) -> None:
    digits = ["-3", "-1", "0", "1", "3", "12", None]
    oracle.check(name, ("numeric", "int4"), list(itertools.product([*NUMERICS, *numbers(name)], digits)))


@pytest.mark.parametrize("name", ["round", "trunc"])
@pytest.mark.parametrize("digits", ["-2", "0", "2", "3", "9"])
def test_fixed_scale_in_bulk(oracle, name, digits) -> None:
    values = [f"{v}.{v % 1000:03d}" for v in range(-50_000, 50_000, 2501)]
    oracle.check_constants(name, values, ["int4"], [digits], "numeric(12,3)")


FUNCTIONS = [
    "ceil", "ceiling", "floor", "round", "trunc", "sign", "sqrt", "|/", "cbrt", "||/", "exp", "ln", "log",
    "log10",
    "sin", "cos", "tan", "cot", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "degrees", "radians", "sind", "cosd", "tand", "cotd", "asind", "acosd", "atand",
]  # fmt: skip
ARGUMENTS = ["0", "-0", "0.5", "-0.5", "1", "-1", "1.5", "2.5", "-2.5", "30", "45", "60", "90", "180",
             "-270", "1e10",
             "1000", "-1000", "NaN", "Infinity", "-Infinity", None]  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float_functions(oracle, name) -> None:
    oracle.check(name, ("float8",), [(v,) for v in ARGUMENTS], digits=13)


@pytest.mark.parametrize("name", ["power", "pow", "^", "atan2", "atan2d"])
def test_float_pairs(oracle, name) -> None:
    oracle.check(name, ("float8", "float8"), list(itertools.product(ARGUMENTS, ARGUMENTS)), digits=13)


def test_pi_and_factorial(oracle) -> None:
    oracle.check("pi", (), [()])
    oracle.check("factorial", ("int8",), [("0",), ("5",), ("30",), ("-1",), (None,)])


@pytest.mark.parametrize("type_", INTEGERS)
def test_bits(oracle, type_) -> None:
    for symbol in ("&", "|", "#"):
        oracle.check(symbol, (type_, type_), list(itertools.product(EDGES[type_], EDGES[type_])))
    for symbol in ("<<", ">>"):
        oracle.check(
            symbol, (type_, "int4"), list(itertools.product(EDGES[type_], ["0", "1", "7", "33", None]))
        )
    oracle.check("~", (type_,), [(v,) for v in EDGES[type_]])


@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_common_divisors(oracle, name) -> None:
    for type_ in ("int4", "int8"):
        oracle.check(name, (type_, type_), list(itertools.product([*EDGES[type_], "12", "18"], repeat=2)))


def test_width_bucket(oracle) -> None:
    values = ["-1", "0", "3.5", "10", "11", "NaN"]
    rows = list(itertools.product(values, ["0", "10", "NaN"], ["10", "0", "Infinity"], ["5", "0"]))
    oracle.check("width_bucket", ("float8", "float8", "float8", "int4"), rows)
