"""String functions and patterns against PostgreSQL."""

from __future__ import annotations

import itertools
import random

import pytest

TEXTS = [
    "",
    "a",
    "Hello World",
    "aäö€𝄞z",
    "  pad  ",
    "foo.bar.baz",
    'O\'Reilly \\ "x"',
    "xxAxx",
    "a,b,,c",
    None,
]
SMALL = ["-3", "-1", "0", "1", "2", "5", "40", None]
WORDS = ["", "a", "o", "xx", ".", "ab", " ", None]


@pytest.mark.parametrize(
    "name",
    ["length", "char_length", "octet_length", "bit_length", "reverse", "ascii", "btrim", "ltrim", "rtrim",
     "quote_ident", "quote_literal", "quote_nullable", "md5"],
)  # fmt: skip
def test_unary(oracle, name) -> None:
    oracle.check(name, ("text",), [(v,) for v in TEXTS])


@pytest.mark.parametrize("name", ["lower", "upper", "initcap"])
def test_case(oracle, name) -> None:  # the oracle's C locale changes ASCII letters only
    oracle.check(name, ("text",), [(v,) for v in TEXTS if v is None or v.isascii()])


@pytest.mark.parametrize("name", ["substring", "substr", "left", "right", "repeat", "lpad", "rpad"])
def test_text_and_number(oracle, name) -> None:
    oracle.check(name, ("text", "int4"), list(itertools.product(TEXTS, SMALL)))


@pytest.mark.parametrize("name", ["substring", "substr"])
def test_substring(oracle, name) -> None:
    oracle.check(
        name, ("text", "int4", "int4"), list(itertools.product(TEXTS, SMALL, ["-1", "0", "2", "2147483647"]))
    )


@pytest.mark.parametrize("name", ["lpad", "rpad"])
def test_padding(oracle, name) -> None:
    oracle.check(name, ("text", "int4", "text"), list(itertools.product(TEXTS, SMALL, ["", "xy", "é"])))


@pytest.mark.parametrize(
    "name", ["strpos", "position", "starts_with", "^@", "btrim", "ltrim", "rtrim", "||", "concat"]
)
def test_two_texts(oracle, name) -> None:
    oracle.check(name, ("text", "text"), list(itertools.product(TEXTS, WORDS)))


@pytest.mark.parametrize("name", ["replace", "translate"])
def test_three_texts(oracle, name) -> None:
    oracle.check(
        name, ("text", "text", "text"), list(itertools.product(TEXTS, WORDS, ["", "b", "xyz", None]))
    )


def test_split_part(oracle) -> None:
    oracle.check(
        "split_part", ("text", "text", "int4"), list(itertools.product(TEXTS, [".", ",", "", "xx"], SMALL))
    )


def test_overlay(oracle) -> None:
    rows = list(itertools.product(TEXTS, ["", "XY"], ["-1", "0", "1", "3", "50"], ["-1", "0", "2"]))
    oracle.check("overlay", ("text", "text", "int4", "int4"), rows)
    oracle.check("overlay", ("text", "text", "int4"), [row[:3] for row in rows])


def test_codes(oracle) -> None:
    oracle.check(
        "chr", ("int4",), [(v,) for v in ["65", "233", "8364", "119070", "0", "-1", "1114112", "55296", None]]
    )
    oracle.check("to_hex", ("int4",), [(v,) for v in ["0", "255", "-1", None]])
    oracle.check("to_hex", ("int8",), [(v,) for v in ["0", "255", "-1", None]])


def test_joining(oracle) -> None:
    values = ["1", None]
    oracle.check(
        "concat", ("text", "int4", "bool"), list(itertools.product(["a", None], values, ["t", None]))
    )
    oracle.check(
        "concat_ws", ("text", "text", "int4"), list(itertools.product([",", "", None], ["a", None], values))
    )
    oracle.check("||", ("text", "int4"), list(itertools.product(["a", None], values)))
    oracle.check("||", ("int4", "text"), list(itertools.product(values, ["a", None])))


PATTERNS = [
    "",
    "%",
    "_",
    "a%",
    "%o%",
    "H_llo%",
    "%\\%",
    "%\\\\%",
    "x\\",
    "FOO%",
    "foo.bar.baz",
    "%ä_€%",
    None,
]


@pytest.mark.parametrize("symbol", ["~~", "!~~", "~~*", "!~~*"])
def test_like(oracle, symbol) -> None:
    oracle.check(symbol, ("text", "text"), list(itertools.product(TEXTS, PATTERNS)))


def test_like_escape(oracle) -> None:
    oracle.check(
        "like_escape",
        ("text", "text"),
        list(itertools.product(["a#%b", "a\\b##", "%_", ""], ["#", "", "\\", "xy"])),
    )


REGEXES = ["", "a", "^H", "d$", "o+", "(o)(.)", "[[:alpha:]]+", "[^a-z]", r"\mW", r"\w+", r"o\M", "x{2}",
           "(foo|foobar)",
           "a|ab", r"\.", "[.]", "(?i)hello", "***=.", "(", "[a", "*a", "a**", r"\d", "b*", "a{,2}",
           "(?:l)\\1", "(l)\\1",
           "[]a]", "[a-]", r"\y", "(?=W)", "x(?!A)", "é|ö", r"[\w]+", r"\s", "^$", "a.b", r"\Ax", r"z\Z",
           None]  # fmt: skip


@pytest.mark.parametrize("symbol", ["~", "!~", "~*", "!~*"])
def test_regex_operators(oracle, symbol) -> None:
    oracle.check(symbol, ("text", "text"), list(itertools.product(TEXTS, REGEXES)))


@pytest.mark.parametrize("name", ["regexp_match", "substring", "regexp_count", "regexp_split_to_array",
                         "regexp_substr",
                                  "regexp_instr", "regexp_like"])  # fmt: skip
def test_regex_functions(oracle, name) -> None:
    skip = {"a**"}
    texts = [
        v for v in [*TEXTS, "foobar ab"] if v is None or v.isascii()
    ]  # C locale: no letters beyond ASCII
    rows = [row for row in itertools.product(texts, REGEXES) if row[1] not in skip]
    oracle.check(name, ("text", "text"), rows)


@pytest.mark.parametrize("flags", ["", "g", "i", "gi", "n", "x", "z", "q", None])
def test_regexp_replace(oracle, flags) -> None:
    news = ["", "<\\1>", "[\\&]", "\\\\x", "\\9"]
    rows = [
        (*row, flags)
        for row in itertools.product(["foobar foo", "a\nb\nA", "", "ooo"], ["(o)", "^.", "b*", "O."], news)
    ]
    oracle.check("regexp_replace", ("text", "text", "text", "text"), rows)


def test_regexp_replace_at(oracle) -> None:
    rows = list(
        itertools.product(
            ["foobar foo"], ["o", "(.)o"], ["<\\1>"], ["1", "3", "20", "0"], ["0", "1", "2", "-1"]
        )
    )
    oracle.check("regexp_replace", ("text", "text", "text", "int4", "int4"), rows)


def test_similar(oracle) -> None:
    patterns = ["a%", "%(b|d)%", "_b_", "[a-c]+", "a#_b", "x.y", 'a#"b#"c']
    oracle.check("similar_to_escape", ("text", "text"), list(itertools.product(patterns, ["#", "\\"])))


def test_random_texts_in_bulk(oracle) -> None:
    """Long columns with constants take other ways than single rows."""
    rng = random.Random(5)
    texts = ["".join(rng.choice("abxyzäß .,%_") for _ in range(rng.randint(0, 12))) for _ in range(80)]
    for name, *constants in (
        ("substring", "2", "3"), ("left", "3"), ("left", "-2"), ("replace", "a", "XX"), ("btrim", "ab "),
        ("~~", "%a_b%"),
        ("~~*", "A%"), ("~", "^[a-b]+"), ("~*", "(X|Y)z"), ("starts_with", "a"), ("strpos", "a"),
        ("split_part", ",", "2"),
    ):  # fmt: skip
        types = ["text" if not c.lstrip("-").isdigit() else "int4" for c in constants]
        oracle.check_constants(name, texts, types, constants)


@pytest.mark.parametrize("name", ["greatest", "least", "nullif"])
def test_choice(oracle, name) -> None:
    for type_, values in (
        ("int4", ["1", "2", None]), ("text", ["a", "b", None]), ("float8", ["1", "NaN", "-Infinity", None]),
        ("numeric", ["1.0", "1.00", "2", None]), ("interval", ["1 day", "24:00", "2 days", None]),
        ("bpchar", ["a", "a ", "b", None]),
    ):  # fmt: skip
        oracle.check(name, (type_, type_), list(itertools.product(values, repeat=2)))
