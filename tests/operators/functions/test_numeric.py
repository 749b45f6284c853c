"""Integer and float arithmetic against PostgreSQL."""

from __future__ import annotations

import itertools

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
