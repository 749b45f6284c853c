"""Tokens and the splitting of strings of statements, against PostgreSQL where it can be asked."""

from __future__ import annotations

import psycopg
import pytest

from millpond.sql.lexer import END, NUMBER, PARAMETER, QUOTED, STRING, SYMBOL, WORD, lex
from millpond.sql.parse import parse, parse_statement, split
from millpond.sql.statements import Empty
from millpond.storage.errors import SqlError


def words(text: str) -> list[object]:
    tokens = lex(text)
    return [value for value, kind in zip(tokens.values, tokens.kinds, strict=True) if kind != END]


STRINGS = [
    r"'plain'", r"'it''s'", r"''", r"'a\nb'", r"E'a\nb\t\\\''''", r"e'\101\x41A\U0001F600'",
    r"E'\x4'", r"E'\q\''", "'one'\n  'two'", "'one' -- comment\n'two'", r"$$it's$$", "$a$ $$ $b$ $a$",
    r"U&'d\0061t\+000061'", r"U&'d!0061t!!' UESCAPE '!'", r"N'national'", r"E'\u00e9\xc3\xa9'",
    r"U&'\D83D\DE00'", r"E'\uD83D\uDE00'", "'ünïcode 漢字'",
]  # fmt: skip


@pytest.mark.parametrize("literal", STRINGS)
def test_a_string_means_what_it_means_to_postgresql(postgres: psycopg.Connection, literal: str):
    row = postgres.execute(f"SELECT {literal}::text".encode()).fetchone()
    assert row is not None
    tokens = lex(literal)
    assert tokens.kinds[0] == STRING
    assert tokens.kinds[1] == END
    assert tokens.values[0] == row[0]


NAMES = [
    "Abc",
    "ÄBC",
    '"Abc"',
    '"a""b"',
    r'U&"d\0061t"',
    "x" * 70,
    "é" * 40,
    '"' + "é" * 40 + '"',
    "a$1",
    "_x9",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_folded_and_cut_as_by_postgresql(postgres: psycopg.Connection, name: str):
    cursor = postgres.execute(f"SELECT 1 AS {name}".encode())
    assert cursor.description is not None
    tokens = lex(name)
    assert tokens.kinds[0] in (WORD, QUOTED)
    assert tokens.values[0] == cursor.description[0].name


BAD = [
    "'abc", '"abc', "$$abc", "$a$ x $b$", "/* a /* b */", '""', r"E'\u12'", r"E'\U0000'", r"U&'\12'",
    r"E'\uD83D'",
    r"U&'\D83D'", r"U&'x' UESCAPE 'a'", "1a", "1.5x", "0x", "0b2", "$1a", "\\", "1__2", "E'\\",
]  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_token_fails_as_in_postgresql(postgres: psycopg.Connection, text: str):
    with pytest.raises(psycopg.Error) as theirs:
        postgres.execute(f"SELECT {text}".encode())
    with pytest.raises(SqlError) as ours:
        parse(f"SELECT {text}")
    diag = theirs.value.diag
    assert (ours.value.code, ours.value.message, ours.value.position) == (
        diag.sqlstate, diag.message_primary, int(diag.statement_position or 0)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<-b", ["a", "<", "-", "b"]),
        ("a->>b", ["a", "->>", "b"]),
        ("a@-b", ["a", "@-", "b"]),
        ("a*-b", ["a", "*", "-", "b"]),
        ("a+--b\nc", ["a", "+", "c"]),
        ("a=/*x*/b", ["a", "=", "b"]),
        ("a/*/**/*/b", ["a", "b"]),
        ("1..2", ["1", "..", "2"]),
        ("1.e3 .5 1_000 0xFF", ["1.e3", ".5", "1000", "0xFF"]),
        ("x::int[]", ["x", "::", "int", "[", "]"]),
        ("a[1:2]", ["a", "[", "1", ":", "2", "]"]),
        ("$1,$2", [1, ",", 2]),
        ("a!=b", ["a", "!=", "b"]),
        ("f(a=>1,b:=2)", ["f", "(", "a", "=>", "1", ",", "b", ":=", "2", ")"]),
    ],
)
def test_operators_and_punctuation(text: str, expected: list[object]):
    assert words(text) == expected


def test_kinds_positions_and_words():
    tokens = lex("select \"select\" 'select' $1 1 <>")
    assert tokens.kinds[:6] == [WORD, QUOTED, STRING, PARAMETER, NUMBER, SYMBOL]
    assert tokens.words[:6] == ["select", "", "", "", "", "<>"]
    assert tokens.starts[:6] == [0, 7, 16, 25, 28, 30]
    assert tokens.ends[:6] == [6, 15, 24, 27, 29, 32]


def test_statements_are_split_at_their_semicolons():
    text = (
        "  select 1; /* ; */ -- ;\n select ';', e'\\';', $$;$$, $a$;$a$, \"a;b\";;\n;select a$b; select 2  \n"
    )
    assert split(text) == [
        (2, "select 1;"),
        (12, "/* ; */ -- ;\n select ';', e'\\';', $$;$$, $a$;$a$, \"a;b\";"),
        (text.index("select a$b"), "select a$b;"),
        (text.index("select 2"), "select 2  \n"),
    ]
    assert [(s.offset, s.text) for s in parse(text)][-2:] == [
        (text.index("select a$b"), "select a$b"),
        (text.index("select 2"), "select 2"),
    ]


@pytest.mark.parametrize(
    "text", ["", " ", ";", " ; ;\n", "-- nothing", "/* nothing /* at */ all */", "--x\n;"]
)
def test_nothing_is_no_statement(text: str):
    assert split(text) == []
    assert parse(text) == []
    assert isinstance(parse_statement(""), Empty)


def test_an_error_of_a_later_statement_stands_in_the_whole_string():
    with pytest.raises(SqlError, match='at or near "selec"') as error:
        parse("select 1;\n selec x")
    assert error.value.position == 12


def test_splitting_many_statements_takes_no_time_to_speak_of(benchmark_seconds=0.5):
    import time

    text = "insert into t values (1, 'a;b'); " * 5000
    begin = time.perf_counter()
    assert len(split(text)) == 5000
    assert time.perf_counter() - begin < benchmark_seconds
