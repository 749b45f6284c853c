"""bytea functions against PostgreSQL."""

from __future__ import annotations

import itertools

import pytest

BYTES = ["", "\\x00ff10", "abc", "\\xc3a4", "\\x" + "ab" * 60, None]


@pytest.mark.parametrize("name", ["length", "octet_length", "bit_length", "bit_count", "md5", "sha224",
                         "sha256", "sha384",
                                  "sha512"])  # fmt: skip
def test_unary(oracle, name) -> None:
    oracle.check(name, ("bytea",), [(v,) for v in BYTES])


def test_encode(oracle) -> None:
    oracle.check(
        "encode", ("bytea", "text"), list(itertools.product(BYTES, ["hex", "base64", "escape", "HEX", "no"]))
    )


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("hex", ["00ff", "0", "xy", " 0 0 "]),
        ("base64", ["YWJj", "YWJ", "YW Jj\n", "*", "YQ=="]),
        ("escape", ["a\\001", "a\\"]),
    ],
)
def test_decode(oracle, form, texts) -> None:
    oracle.check("decode", ("text", "text"), [(v, form) for v in [*texts, "", None]])


def test_single_bytes(oracle) -> None:
    numbers = ["0", "2", "7", "-1", "100"]
    oracle.check("get_byte", ("bytea", "int4"), list(itertools.product(BYTES, numbers)))
    oracle.check("get_bit", ("bytea", "int8"), list(itertools.product(BYTES, numbers)))
    oracle.check(
        "set_byte", ("bytea", "int4", "int4"), list(itertools.product(BYTES, numbers, ["0", "255", "256"]))
    )
    oracle.check(
        "set_bit", ("bytea", "int8", "int4"), list(itertools.product(BYTES, numbers, ["0", "1", "2"]))
    )
    oracle.check(
        "substring", ("bytea", "int4", "int4"), list(itertools.product(BYTES, numbers, ["0", "2", "-1"]))
    )
    oracle.check("||", ("bytea", "bytea"), list(itertools.product(BYTES, BYTES)))
    oracle.check("position", ("bytea", "bytea"), list(itertools.product(BYTES, BYTES)))


def test_character_sets(oracle) -> None:
    oracle.check(
        "convert_from",
        ("bytea", "name"),
        list(itertools.product(["\\x61", "\\xc3a4", "\\xff"], ["UTF8", "LATIN1", "no"])),
    )
    oracle.check(
        "convert_to", ("text", "name"), list(itertools.product(["a", "ä"], ["UTF8", "LATIN1", "no"]))
    )
