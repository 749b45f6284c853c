"""The file source: every format, bad rows set aside, what is appended, the same rows again on replay."""

from __future__ import annotations

import datetime
import decimal
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from millpond.runtime.source import SourceBatch, SourceError, SourceReader
from millpond.server.connectors import CONNECTORS, file, file_text
from millpond.storage.errors import DataException, InvalidParameterValue, IoError, UndefinedColumn
from millpond.storage.schema import Column, Schema
from millpond.storage.types import (
    BOOL,
    DATE,
    FLOAT8,
    INT4,
    INT8,
    JSONB,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    array_of,
    numeric,
)

SCHEMA = Schema.of(id=INT4, name=TEXT, price=numeric(8, 2))
Rows = list[tuple[object, ...]]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "LOOK_INTERVAL_S", 0.0)


def opened(path: Path | str, schema: Schema = SCHEMA, **options: str) -> SourceReader:
    return CONNECTORS.find("file").open(schema, {"connector": "file", "path": str(path), **options})


def rows_of(batches: list[SourceBatch]) -> Rows:
    return [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]


class Follower:
    """Polls a reader, and checks on the way that replay gives all rows again."""

    def __init__(
        self,
        path: Path | str,
        schema: Schema = SCHEMA,
        rows_max: int = 1000,
        options: dict[str, str] | None = None,
    ) -> None:
        self.again = lambda: opened(path, schema, **(options or {}))
        self.reader = self.again()
        self.rows_max = rows_max
        self.offset: bytes | None = None
        self.rows: Rows = []
        self.errors: list[SourceError] = []

    def follow(self) -> Rows:
        """Everything new there is."""
        fresh: Rows = []
        while (batch := self.reader.poll(self.offset, self.rows_max)) is not None:
            assert len(batch) <= self.rows_max
            self.offset = batch.offset
            fresh += rows_of([batch])
            self.errors += batch.errors
        self.rows += fresh
        if self.offset is not None:
            replayed = list(self.again().replay(self.offset))
            assert sorted(map(repr, rows_of(replayed))) == sorted(map(repr, self.rows))
            assert sorted(e.position for b in replayed for e in b.errors) == sorted(
                e.position for e in self.errors
            )
        return fresh


def two(price: str) -> decimal.Decimal:
    return decimal.Decimal(price)


def test_csv_by_header_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('Name,other,price,id\n"x, ""y""",1,2.50,1\n,2,,2\n"",3,3,3\n"two\nlines",4,4,4\n')
    follower = Follower(path)
    assert follower.follow() == [
        (1, 'x, "y"', two("2.50")), (2, None, None), (3, "", two("3.00")), (4, "two\nlines", two("4.00")),
    ]  # fmt: skip
    assert not follower.errors


def test_csv_without_header_and_with_another_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf1;x;1\r\n2;y;2\r\n")
    options = {"header": "false", "delimiter": ";", "format": "csv"}
    assert Follower(path, options=options).follow() == [(1, "x", two("1.00")), (2, "y", two("2.00"))]


def test_csv_bad_rows_are_told_and_their_neighbours_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(
        b'id,name,price\n1,a,1\nx,b,2\n3,c\n4,d,4,4\n\n5,\xff,5\n6,f,1234567\n7,g,"7"\n9999999999,h,8\n\\.\n8,i,8\n'
    )
    follower = Follower(path)
    assert [row[0] for row in follower.follow()] == [1, 7, 8]
    assert [(e.position.rpartition(":")[2], e.code, e.raw) for e in follower.errors] == [
        ("3", "22P02", "x,b,2"), ("4", "22P04", "3,c"), ("5", "22P04", "4,d,4,4"),
        ("7", "22021", "5,\ufffd,5"), ("8", "22003", "6,f,1234567"),
        ("10", "22003", "9999999999,h,8"), ("11", "22P04", "\\."),
    ]  # fmt: skip
    assert follower.errors[0].message == 'invalid input syntax for type integer: "x"'
    assert follower.errors[1].message == 'missing data for column "price"'


def test_what_is_appended_is_followed_and_a_partial_line_waits(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    follower = Follower(path)
    assert follower.follow() == []
    path.write_text("id,name")
    assert follower.follow() == []
    with path.open("a") as out:
        for text, ids in (
            (",price\n1,a,", []),
            ("1\n2,b,2", [1]),
            ("5\n", [2]),
            ('3,"a\n', []),
            ('b",3\n4,d,4\n', [3, 4]),
        ):
            out.write(text)
            out.flush()
            assert [row[0] for row in follower.follow()] == ids
    assert follower.rows[1][2] == two("25.00") and follower.rows[2][1] == "a\nb"


def test_a_quote_that_never_ends_costs_its_line_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_text, "QUIET_S", 0.0)
    path = tmp_path / "a.csv"
    path.write_text('id,name,price\n1,a,1\n2,"b,2\n3,c,3\n')
    follower = Follower(path)
    assert [row[0] for row in follower.follow()] == [1, 3]
    with path.open("a") as out:
        out.write('4,"d",4\n5,"e,5\n6,f,6\n')
    assert [row[0] for row in follower.follow()] == [4, 6]
    assert [e.position.rpartition(":")[2] for e in follower.errors] == ["3", "6"]


def test_new_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    follower = Follower(tmp_path / "*.csv", rows_max=2)
    for name in ("b", "c", "a"):
        (tmp_path / f"{name}.csv").write_text(f"id,name,price\n1,{name},1\n2,{name},2\n3,{name},3\n")
    (tmp_path / "d.txt").write_text("nothing of ours")
    assert [row[1] for row in follower.follow()] == list("aaabbbccc")
    with (tmp_path / "a.csv").open("a") as out:
        out.write("4,more,4\n")
    (tmp_path / "d.csv").write_text("id,name,price\n")
    assert follower.follow() == [(4, "more", two("4.00"))]


def test_a_source_goes_on_from_any_offset(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,name,price\n" + "".join(f'{i},"a\n{i}",{i}\n' for i in range(100)))
    rows: Rows = []
    offset = None
    while (batch := opened(path).poll(offset, 7)) is not None:
        offset = batch.offset
        rows += rows_of([batch])
    assert [row[0] for row in rows] == list(range(100))


def test_truncated_vanished_and_replaced_files_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,name,price\n1,a,1\n2,b,2\n")
    follower = Follower(path)
    follower.follow()
    path.write_text("id,name,price\n1,a,1\n")
    with pytest.raises(DataException, match=r"was truncated: it has 20 bytes, 26 were read"):
        follower.reader.poll(follower.offset, 10)
    path.write_text("id,name,price\n1,a,1\n3,b,2\n4,d,4\n")
    with pytest.raises(DataException, match="is not the file that was read before"):
        follower.reader.poll(follower.offset, 10)
    path.unlink()
    with pytest.raises(IoError, match=r"has vanished, of which 26 bytes were read"):
        follower.reader.poll(follower.offset, 10)


def test_a_header_without_a_column_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,price\n1,1\n")
    with pytest.raises(UndefinedColumn, match='has no column "name"'):
        opened(tmp_path / "a.csv").poll(None, 10)


def test_not_null_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,name\n,x\n2,\n")
    schema = Schema((Column("id", INT4, nullable=False), Column("name", TEXT)))
    follower = Follower(tmp_path / "a.csv", schema)
    assert follower.follow() == [(2, None)]
    assert [(e.code, e.raw) for e in follower.errors] == [("23502", ",x")]


JSON_SCHEMA = Schema.of(
    id=INT8, name=TEXT, price=NUMERIC, ratio=FLOAT8, ok=BOOL, day=DATE, doc=JSONB, list=array_of(TEXT)
)


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"id": 1, "name": "x", "price": 1.10, "ratio": 2, "ok": true, "day": "2020-02-29",'
        ' "doc": {"b": [1.50, null], "a": "\\u00e4"}, "list": ["a\\"b", null, 3]}\n\n'
        '{"ID": "2", "price": "1e3", "name": {"a": 1}, "more": []}\r\n'
        '{"id": 12345678901234567, "name": 5, "price": 12345678901234567890.123456789}\n'
    )
    follower = Follower(path, JSON_SCHEMA)
    assert follower.follow() == [
        (1, "x", "1.10", 2.0, True, datetime.date(2020, 2, 29), '{"a": "ä", "b": [1.50, null]}',
         ['a"b', None, "3"]),
        (2, '{"a": 1}', "1000", None, None, None, None, None),
        (12345678901234567, "5", "12345678901234567890.123456789", None, None, None, None, None),
    ]  # fmt: skip


def test_json_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [
        b'{"id": 1}', b'{"id": 2', b'[3]', b'{"id": "x"}', b'{"id": 5} 6', b'{"id": 1.5}',
        b'{"id": 7, "name": "\\u0000"}',
        b'{"id": 8, "name": "\\ud800"}', b'{"id": 9, "name": "\xff"}', b'{"id": NaN}',
        b"[" * 100_000, b'{"id": 12}',
        b'{"id": 99999999999999999999}', b'{"id": true}',
    ]  # fmt: skip
    path.write_bytes(b"\n".join(lines) + b"\n")
    follower = Follower(path, Schema.of(id=INT8, name=TEXT))
    assert [row[0] for row in follower.follow()] == [1, 12]
    assert [(int(e.position.rpartition(":")[2]), e.code) for e in follower.errors] == [
        (2, "22P02"), (3, "22000"), (4, "22P02"), (5, "22P02"), (6, "22P02"), (7, "22P05"),
        (8, "22P05"), (9, "22021"),
        (10, "22P02"), (11, "22P02"), (13, "22003"), (14, "22P02"),
    ]  # fmt: skip
    assert follower.errors[0].raw == '{"id": 2'


def parquet_table(first: int, count: int) -> pa.Table:
    ids = list(range(first, first + count))
    return pa.table(
        {
            "price": pa.array([decimal.Decimal(i) / 4 for i in ids], pa.decimal128(20, 2)),
            "ID": pa.array(ids, pa.int64()),
            "name": pa.array([f"n{i}" for i in ids]).dictionary_encode(),
            "at": pa.array([i % 1000 * 86_400 * 10**9 for i in ids]).cast(pa.timestamp("ns")),
            "doc": [{"a": i, "b": [1.5, None]} for i in ids],
        }
    )


def test_parquet_by_row_groups(tmp_path: Path) -> None:
    schema = Schema.of(id=INT4, name=TEXT, price=NUMERIC, at=TIMESTAMP, doc=JSONB)
    parquet.write_table(parquet_table(0, 25), tmp_path / "a.parquet", row_group_size=10)
    follower = Follower(tmp_path / "*.parquet", schema, rows_max=7)
    assert [row[0] for row in follower.follow()] == list(range(25))
    assert follower.rows[3] == (3, "n3", "0.75", datetime.datetime(1970, 1, 4), '{"a": 3, "b": [1.5, null]}')
    parquet.write_table(parquet_table(2**31 - 1, 2), tmp_path / "b.parquet")
    assert [row[0] for row in follower.follow()] == [2**31 - 1]
    assert [(e.position.rpartition("/")[2], e.code) for e in follower.errors] == [("b.parquet:2", "22003")]
    (tmp_path / "c.parquet").write_bytes(b"PAR1 not yet whole")
    with pytest.raises(DataException, match="no whole Parquet file"):
        follower.follow()


def test_risingwave_spelling(tmp_path: Path) -> None:
    (tmp_path / "x.dat").write_text("1|a|1\n")
    options = {"posix_fs.root": str(tmp_path), "match_pattern": "*.dat", "format": "plain", "encode": "csv",
               "encode.without_header": "true", "encode.delimiter": "|"}  # fmt: skip
    reader = CONNECTORS.find("posix_fs").open(SCHEMA, options)
    batch = reader.poll(None, 10)
    assert batch is not None and rows_of([batch]) == [(1, "a", two("1.00"))]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs a path"),
        ({"path": "/x/*"}, "format of the files"),
        ({"path": "/x/*.csv", "format": "xml"}, "format of the files"),
        ({"path": "/x/*.csv", "delimiter": ",,"}, "single one-byte"),
        ({"path": "/x/*.csv", "headr": "true"}, 'no option "headr"'),
    ],
)
def test_bad_options(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidParameterValue, match=message):
        CONNECTORS.find("file").open(SCHEMA, {"connector": "file", **options})


@pytest.mark.parametrize("seed", range(5))
def test_random_pieces_of_random_files(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    names = ["x", "", "a,b", 'q"q', "two\nlines", "ä"]
    expected: Rows = []
    csv_text, json_text = b"id,name,price\n", b""
    for i in range(300):
        name, bad = chance.choice(names), chance.random() < 0.1
        quoted = '"' + name.replace('"', '""') + '"'
        csv_text += f"{'bad' if bad else i},{quoted},{i}\n".encode()
        json_text += json.dumps({"id": "bad" if bad else i, "name": name, "price": i}).encode() + b"\n"
        if not bad:
            expected.append((i, name, decimal.Decimal(i).quantize(decimal.Decimal("0.01"))))
    for suffix, data in (("csv", csv_text), ("jsonl", json_text)):
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(b"")
        follower = Follower(path, rows_max=chance.choice([3, 50, 1000]))
        at = 0
        while at < len(data):
            size = chance.choice([1, 40, 3000])
            with path.open("ab") as out:
                out.write(data[at : at + size])
            at += size
            if chance.random() < 0.2:
                follower.follow()
        follower.follow()
        assert follower.rows == expected
