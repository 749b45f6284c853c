"""COPY in its three formats, both ways, against PostgreSQL: same bytes out, same rows and errors in."""

from __future__ import annotations

import random
import time

import psycopg
import pyarrow as pa
import pytest

from millpond.server.backend import CopyOptions, ResultColumn
from millpond.server.copy_codec import CopyEncoder
from millpond.server.copy_decoder import CopyDecoder
from millpond.storage.errors import SqlError
from millpond.storage.textform import TextSettings
from millpond.storage.types import INT4, TEXT

SETTINGS = TextSettings()
COLUMNS = (ResultColumn("a", INT4), ResultColumn("b", TEXT), ResultColumn("c", TEXT))
TEXT_FORMAT = CopyOptions()
CSV = CopyOptions("csv", ",", "")
BINARY = CopyOptions("binary")

OPTIONS = [
    (TEXT_FORMAT, ""),
    (CopyOptions("text", "|", "", header=True), "(DELIMITER '|', NULL '', HEADER)"),
    (CopyOptions("text", ",", "NULL"), "(DELIMITER ',', NULL 'NULL')"),
    (CSV, "(FORMAT csv)"),
    (
        CopyOptions("csv", ";", "n/a", True, "'", "\\"),
        "(FORMAT csv, DELIMITER ';', NULL 'n/a', HEADER, QUOTE '''', ESCAPE '\\')",
    ),
    (CopyOptions("csv", ",", "", force_quote=("b",)), "(FORMAT csv, FORCE_QUOTE (b))"),
    (CopyOptions("csv", ",", "", force_quote=True), "(FORMAT csv, FORCE_QUOTE *)"),
    (BINARY, "(FORMAT binary)"),
]

TEXTS = [
    "",
    "plain",
    "ta\tb",
    "new\nline",
    "cr\rx",
    "\r\n",
    "\\",
    "\\N",
    "\\.",
    '"',
    '""',
    "'",
    "a,b",
    "a;b",
    "a|b",
    "NULL",
    "n/a",
    "é€😀",
    "\b\f\v",
    " spaced ",
    "x" * 300,
    "e\\'",
    "'\\'",
    None,
]


def rows_of(seed: int, count: int = 200) -> list[tuple]:
    pick = random.Random(seed)
    return [
        (pick.choice([None, pick.randrange(-(1 << 31), 1 << 31)]), pick.choice(TEXTS), pick.choice(TEXTS))
        for _ in range(count)
    ]


def arrays_of(rows: list[tuple], columns=COLUMNS) -> list[pa.Array]:
    return [pa.array([row[i] for row in rows], column.type.arrow) for i, column in enumerate(columns)]


def payloads(raw: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(raw):
        assert raw[at : at + 1] == b"d"
        size = int.from_bytes(raw[at + 1 : at + 5], "big")
        found.append(raw[at + 5 : at + 1 + size])
        at += 1 + size
    return found


@pytest.mark.parametrize(("options", "clause"), OPTIONS)
def test_copy_out_is_byte_for_byte_postgres(postgres, options: CopyOptions, clause: str) -> None:
    rows = rows_of(1)
    postgres.execute("CREATE TABLE t (a int, b text, c text)")
    with postgres.cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (%s, %s, %s)", rows)
        with cursor.copy(f"COPY t TO STDOUT {clause}") as copy:
            theirs = [bytes(piece) for piece in copy]
    encoder = CopyEncoder(options, COLUMNS, SETTINGS)
    first, second = rows[:77], rows[77:]
    raw = encoder.encode(arrays_of(first), len(first)) + encoder.encode(arrays_of(second), len(second))
    assert payloads(raw + encoder.finish()) == theirs


@pytest.mark.parametrize(("options", "clause"), OPTIONS[:2] + OPTIONS[-1:])
def test_copy_out_of_no_rows(postgres, options: CopyOptions, clause: str) -> None:
    postgres.execute("CREATE TABLE t (a int, b text, c text)")
    with postgres.cursor() as cursor, cursor.copy(f"COPY t TO STDOUT {clause}") as copy:
        theirs = b"".join(bytes(piece) for piece in copy)
    assert b"".join(payloads(CopyEncoder(options, COLUMNS, SETTINGS).finish())) == theirs


def test_single_column_csv_quotes_the_end_marker(postgres) -> None:
    postgres.execute("CREATE TABLE t (b text)")
    postgres.execute("INSERT INTO t VALUES ('\\.'), (''), (NULL), ('x')")
    with postgres.cursor() as cursor, cursor.copy("COPY t TO STDOUT (FORMAT csv)") as copy:
        theirs = [bytes(piece) for piece in copy]
    ours = CopyEncoder(CSV, COLUMNS[1:2], SETTINGS).encode([pa.array(["\\.", "", None, "x"])], 4)
    assert payloads(ours) == theirs


def decode(options: CopyOptions, raw: bytes, cut: int = 1 << 30, columns=COLUMNS) -> list[tuple]:
    decoder = CopyDecoder(options, columns, "t", SETTINGS)
    rows: list[tuple] = []
    pieces = [raw[at : at + cut] for at in range(0, len(raw), cut)]
    for number, piece in enumerate(pieces or [b""]):
        for batch in decoder.decode(piece, number >= len(pieces) - 1):
            rows += zip(*(column.to_pylist() for column in batch), strict=True)
    return rows


@pytest.mark.parametrize(("options", "clause"), OPTIONS)
@pytest.mark.parametrize("cut", [1, 7, 100, 1 << 30])
def test_what_goes_out_comes_back(options: CopyOptions, clause: str, cut: int) -> None:
    rows = rows_of(2, 60)
    encoder = CopyEncoder(options, COLUMNS, SETTINGS)
    raw = b"".join(payloads(encoder.encode(arrays_of(rows), len(rows)) + encoder.finish()))
    if options.format == "text":  # A text that looks like NULL comes back as one, in PostgreSQL too.
        rows = [
            tuple(None if value == options.null and value != "\\N" else value for value in row)
            for row in rows
        ]
    assert decode(options, raw, cut) == rows


def theirs_in(postgres, clause: str, raw: bytes) -> list[tuple] | tuple[str, str, str]:
    """What PostgreSQL makes of the data: rows, or (SQLSTATE, message, context)."""
    postgres.execute("TRUNCATE t")
    try:
        with postgres.cursor() as cursor, cursor.copy(f"COPY t FROM STDIN {clause}") as copy:
            copy.write(raw)
    except psycopg.Error as error:
        diag = error.diag
        return diag.sqlstate or "", diag.message_primary or "", diag.context or ""
    return postgres.execute("SELECT * FROM t").fetchall()


def ours_in(options: CopyOptions, raw: bytes, cut: int) -> list[tuple] | tuple[str, str, str]:
    try:
        return decode(options, raw, cut)
    except SqlError as error:
        return error.code, error.message, error.context


TEXT_INPUTS = [
    b"",
    b"1\ta\tb\n",
    b"1\ta\tb",
    b"1\ta\tb\r\n2\tc\td\r\n",
    b"1\ta\tb\r2\tc\td\r",
    b"\\N\t\\N\t\\N\n",
    b"1\ta\\tb\\n\\\\\t\\x41\\101\\N\n",
    b"1\ta\\\nb\tc\n",
    b"1\ta\tb\n\\.\n2\tc\td\n",
    b"1\ta\tb\n\\.\nrubbish",
    b"1\ta\n",
    b"1\ta\tb\tc\n",
    b"1\ta\tb\n2\n3\ta\tb\n",
    b"x\ta\tb\n",
    b"1\ta\tb\n99999999999\ta\tb\n",
    b"1\ta\tb\n\n2\ta\tb\n",
    b"1\ta\tb\n2\ta\rb\tc\n",
    b"1\ta\tb\r\n2\ta\tb\n",
    b"1\ta\tb\r2\ta\nb\tb\r",
    b"1\t\xff\tb\n",
    b"1\ta\tb\n2\t\\xff\tb\n",
    b"1\t\xc3\xa9\tb\n",
    b"1\ta\\8\\q\t\\b\\f\\v\n",
    b"1\ta\\x\t\\xg\n",
    b"1\t" + b"y" * 200 + b"\tb\tc\n",
    b"z" * 150 + b"\ta\tb\n",
    b"x\ta\n",
    b"1\ta\tb\nx\ta\tb\n3\ta\n",
    b"\\N\ta\t\\\\N\n",
    b"1\ta\t\\400\n",
    b"1\ta\tb\\",
]


CSV_INPUTS = [
    b"",
    b"1,a,b\n",
    b'1,"a","b"\n',
    b"1,,\n",
    b'1,"",""\n',
    b'1,"a,b","c""d"\n',
    b'1,"a\nb",c\n2,d,e\n',
    b'1,a"b,c"d,e\n',
    b"1,a,b\r\n2,c,d\r\n",
    b'1,"a\r\nb",c\r\n',
    b"1,a\n",
    b"1,a,b,c\n",
    b'1,"a,b\n',
    b'1,"a\nb",c\nx,d,e\n',
    b'1,"a\nb",c\n2,d\n',
    b"1,a\rb,c\n",
    b"1,a,b\r\n2,c\n,d\r\n",
    b"1,a,b\n\\.\n2,c,d\n",
    b'1,\\.,b\n2,"\\.",d\n',
    b" 1 , a , b \n",
    b"x,a,b\n",
    b"1,\xff,b\n",
    b'1,"a"x,b\n',
    b'1,"a\n\n\nb",c\n2,"\n",c,d\n',
    b",,\n,,\n",
    b"\n",
    b'"1","a",b\n1,"x',
    b"1,a,b\r2,c,d",
]


@pytest.mark.parametrize("form", ["text", "csv", "csv header", "csv force", "csv escape"])
def test_copy_in_is_what_postgres_does(postgres, form: str) -> None:
    options, clause, inputs = {
        "text": (TEXT_FORMAT, "", TEXT_INPUTS),
        "csv": (CSV, "(FORMAT csv)", CSV_INPUTS),
        "csv header": (
            CopyOptions("csv", ",", "", True),
            "(FORMAT csv, HEADER)",
            [b"a,b,c\n" + raw for raw in CSV_INPUTS],
        ),
        "csv force": (
            CopyOptions("csv", ",", "", force_null=("b",), force_not_null=("c",)),
            "(FORMAT csv, FORCE_NULL (b), FORCE_NOT_NULL (c))",
            CSV_INPUTS,
        ),
        "csv escape": (
            CopyOptions("csv", ",", "N", quote="'", escape="\\"),
            "(FORMAT csv, NULL 'N', QUOTE '''', ESCAPE '\\')",
            [
                b"1,'a\\'b','\\\\'\n",
                b"1,'a\\b',N\n",
                b"1,'N','\\\\\\''\n",
                b"1,\\',x\n2,y,z\n",
                b"1,'a''b',c\n",
            ],
        ),
    }[form]
    postgres.execute("CREATE TABLE t (a int, b text, c text)")
    wrong = []
    for raw in inputs:
        theirs = theirs_in(postgres, clause, raw)
        wrong += [
            (raw, cut, theirs, ours) for cut in (1 << 30, 5) if (ours := ours_in(options, raw, cut)) != theirs
        ]
    assert wrong == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[:-2],
        lambda raw: raw[:-3],
        lambda raw: b"x" + raw[1:],
        lambda raw: raw + b"more",
        lambda raw: raw[:19] + b"\0\4" + raw[21:],
        lambda raw: raw[:11] + b"\0\1\0\0" + raw[15:],
        lambda raw: raw[:10],
    ],
)
def test_damaged_binary_data(postgres, damage) -> None:
    rows = rows_of(3, 5)
    encoder = CopyEncoder(BINARY, COLUMNS, SETTINGS)
    raw = damage(b"".join(payloads(encoder.encode(arrays_of(rows), 5) + encoder.finish())))
    postgres.execute("CREATE TABLE t (a int, b text, c text)")
    theirs, ours = theirs_in(postgres, "(FORMAT binary)", raw), ours_in(BINARY, raw, 1 << 30)
    assert (theirs[:2] if isinstance(theirs, tuple) else theirs) == (
        ours[:2] if isinstance(ours, tuple) else ours
    )


@pytest.mark.parametrize("form", ["text", "csv", "binary"])
def test_a_million_rows_take_seconds(form: str) -> None:
    options = {"text": TEXT_FORMAT, "csv": CSV, "binary": BINARY}[form]
    count = 200_000
    arrays = [
        pa.array(range(count), pa.int32()),
        pa.array([f"name {n}" for n in range(count)]),
        pa.array(["abc"] * count),
    ]
    encoder = CopyEncoder(options, COLUMNS, SETTINGS)
    begin = time.perf_counter()
    raw = encoder.encode(arrays, count) + encoder.finish()
    encoded = time.perf_counter()
    data = b"".join(payloads(raw))
    decoder = CopyDecoder(options, COLUMNS, "t", SETTINGS)
    started = time.perf_counter()
    rows = 0
    for at in range(0, len(data), 1 << 19):
        rows += sum(
            len(batch[0]) for batch in decoder.decode(data[at : at + (1 << 19)], at + (1 << 19) >= len(data))
        )
    assert rows == count
    assert encoded - begin < 1 and time.perf_counter() - started < 1
