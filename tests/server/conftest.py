"""A thin stand-in for the database behind the wire, a listener over it, and protocol bytes by hand.

`FakeBackend` knows a handful of statements, each there to drive one path of the wire:

    select <int> · select $1::<type>, … · series <n> [<batch>] · endless · subscribe · sleep · slow <n>
    types · empty batches · begin · commit · rollback · insert <text> · set <name> <value> · notice
    fail <sqlstate> [<position>] · copy in <format> · copy out <format> · crash
"""

from __future__ import annotations

import asyncio
import re
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pyarrow as pa
import pytest
import uvloop

from millpond.server.auth import Access
from millpond.server.backend import (
    CopyDirection,
    CopyOptions,
    Prepared,
    Result,
    ResultColumn,
    TransactionStatus,
)
from millpond.server.listener import Listener
from millpond.server.session import Session
from millpond.server.wire import Wire
from millpond.storage.errors import (
    InFailedTransaction,
    NoActiveTransaction,
    QueryCanceled,
    SqlError,
    SyntaxFault,
    UniqueViolation,
    error_class,
)
from millpond.storage.textform import TextSettings
from millpond.storage.types import INT4, INT8, TEXT, Type, type_by_name

PARAMETERS = {
    "application_name": "", "client_encoding": "UTF8", "DateStyle": "ISO, MDY",
    "default_transaction_read_only": "off", "in_hot_standby": "off", "integer_datetimes": "on",
    "IntervalStyle": "postgres", "is_superuser": "on", "server_encoding": "UTF8", "server_version": "15.0",
    "session_authorization": "fake", "standard_conforming_strings": "on", "TimeZone": "UTC",
}  # fmt: skip

NUMBER_AND_NAME = (ResultColumn("n", INT8), ResultColumn("name", TEXT))


@dataclass
class FakePrepared:
    text: str
    parameter_types: tuple[Type, ...] = ()
    columns: tuple[ResultColumn, ...] | None = None
    empty: bool = False


@dataclass
class FakeCopyIn:
    columns: tuple[ResultColumn, ...] = NUMBER_AND_NAME
    relation: str = "t"
    rows: list[list[pa.Array]] = field(default_factory=list)
    failed: str = ""

    def write(self, rows: list[pa.Array]) -> None:
        self.rows.append(rows)

    def finish(self) -> Result:
        return Result(f"COPY {sum(len(rows[0]) for rows in self.rows)}")

    def fail(self, message: str) -> None:
        self.failed = message


class FakeBackend:
    """Everything is kept in plain attributes so that tests can look."""

    def __init__(self, parameters: dict[str, str] | None = None) -> None:
        self.startup = parameters or {}
        self.status = TransactionStatus.IDLE
        self.text_settings = TextSettings()
        self.statements: dict[str, Prepared] = {}
        self.written: list[str] = []
        self.committed: list[str] = []
        self.copies: list[FakeCopyIn] = []
        self.running: Future | None = None
        self.closed = False
        self.cancelled = 0
        self.produced = 0
        self.rows_closed = False

    def cursor_columns(self, name: str) -> tuple[ResultColumn, ...] | None:
        return NUMBER_AND_NAME if name == "declared" else None

    def parameters(self) -> dict[str, str]:
        return PARAMETERS | {"application_name": self.startup.get("application_name", "")}

    def split(self, text: str) -> Sequence[str]:
        if "unlexable" in text:
            raise SyntaxFault("unterminated quoted string", position=text.index("unlexable") + 1)
        return [part.strip() for part in text.split(";") if part.strip()]

    def prepare(self, text: str, parameter_types: Sequence[Type | None] = ()) -> FakePrepared:
        text = text.strip().rstrip(";").lower()
        if text.startswith("syntax"):
            raise SyntaxFault('syntax error at or near "syntax"', position=1)
        if not text:
            return FakePrepared("", empty=True)
        if text.startswith("select"):
            casts = re.findall(r"\$\d+::(\w+)", text) or (["int4"] if "$1" in text else [])
            names = [ResultColumn(f"p{i}", type_by_name(name) or TEXT) for i, name in enumerate(casts, 1)]
            given = (*parameter_types, *[None] * len(names))
            types = tuple(known or name.type for known, name in zip(given, names, strict=False))
            return FakePrepared(text, types, tuple(names) or (ResultColumn("?column?", INT4, 0, 0),))
        if text.split()[0] in ("series", "few", "endless", "subscribe", "broken"):
            return FakePrepared(text, (), NUMBER_AND_NAME)
        return FakePrepared(text)

    def execute(
        self, prepared: Prepared, values: Sequence[pa.Array] = (), alone: bool = False
    ) -> Result | Future[Result]:
        assert isinstance(prepared, FakePrepared)
        word, *rest = prepared.text.split()
        if self.status is TransactionStatus.FAILED and word not in ("rollback", "commit"):
            raise InFailedTransaction(
                "current transaction is aborted, commands ignored until end of transaction block"
            )
        return getattr(self, "_" + word)(prepared, values, *rest)

    def _select(self, prepared: FakePrepared, values: Sequence[pa.Array], *rest: str) -> Result:
        outputs = prepared.columns or ()
        columns = [value.cast(column.type.arrow) for value, column in zip(values, outputs, strict=False)]
        columns = columns or [pa.array([int(rest[0])], pa.int32())]
        return Result("SELECT {rows}", prepared.columns, iter([columns]))

    def _rows(self, batches: Iterator, prepared: FakePrepared) -> Result:
        return Result("SELECT {rows}", prepared.columns, batches)

    def _series(self, prepared: FakePrepared, values: object, count: str, batch: str = "1000") -> Result:
        return self._rows(self._numbers(int(count), int(batch)), prepared)

    def _few(self, prepared: FakePrepared, values: object, count: str) -> Result:
        numbers = pa.array(range(int(count)), pa.int64())
        columns = [numbers, numbers.cast(pa.string())]
        return Result("SELECT {rows}", prepared.columns, iter([columns]), few=columns)

    def _endless(self, prepared: FakePrepared, values: object) -> Result:
        return self._rows(self._numbers(1 << 60, 1000), prepared)

    def _numbers(self, count: int, batch: int) -> Iterator[list[pa.Array]]:
        try:
            for begin in range(0, count, batch):
                numbers = pa.array(range(begin, min(begin + batch, count)), pa.int64())
                self.produced += len(numbers)
                yield [numbers, numbers.cast(pa.string())]
        finally:
            self.rows_closed = True

    def _broken(self, prepared: FakePrepared, values: object) -> Result:
        def batches() -> Iterator[list[pa.Array]]:
            yield from self._numbers(10, 10)
            raise error_class("22012")("division by zero")

        return self._rows(batches(), prepared)

    def _subscribe(self, prepared: FakePrepared, values: object) -> Result:
        """A row every 10 ms, as something that happens elsewhere."""

        def batches() -> Iterator:
            try:
                for number in range(1 << 60):
                    due: Future[None] = Future()
                    threading.Timer(0.01, due.set_result, [None]).start()
                    yield due
                    yield [pa.array([number], pa.int64()), pa.array([f"row {number}"])]
            finally:
                self.rows_closed = True

        return self._rows(batches(), prepared)

    def _sleep(self, prepared: FakePrepared, values: object) -> Future[Result]:
        self.running = Future()
        return self.running

    def _slow(self, prepared: FakePrepared, values: object, number: str) -> Future[Result]:
        done: Future[Result] = Future()
        threading.Timer(0.02, done.set_result, [Result(f"SLOW {number}")]).start()
        return done

    def _begin(self, prepared: FakePrepared, values: object) -> Result:
        self.status = TransactionStatus.IN_BLOCK
        return Result("BEGIN")

    def _commit(self, prepared: FakePrepared, values: object) -> Result:
        failed = self.status is TransactionStatus.FAILED
        self._end(not failed)
        return Result("ROLLBACK" if failed else "COMMIT")

    def _rollback(self, prepared: FakePrepared, values: object) -> Result:
        notices: list[SqlError] = [NoActiveTransaction("there is no transaction in progress")]
        result = Result("ROLLBACK", notices=notices if self.status is TransactionStatus.IDLE else [])
        self._end(False)
        return result

    def _end(self, keep: bool) -> None:
        self.status = TransactionStatus.IDLE
        self.committed += self.written if keep else []
        self.written = []

    def _insert(self, prepared: FakePrepared, values: object, text: str) -> Result:
        self.written.append(text)
        return Result("INSERT 0 1")

    def _set(self, prepared: FakePrepared, values: object, name: str, value: str) -> Result:
        return Result("SET", parameters={name: value})

    def _notice(self, prepared: FakePrepared, values: object) -> Result:
        return Result("NOTICE", notices=[error_class("42P07")("already there")])

    def _deallocate(self, prepared: FakePrepared, values: object, name: str) -> Result:
        self.statements.clear() if name == "all" else self.statements.pop(name)
        return Result("DEALLOCATE")

    def _fail(self, prepared: FakePrepared, values: object, code: str, position: str = "0") -> Result:
        raise error_class(code.upper())(
            f"failed with {code}", position=int(position), detail="the detail", hint="the hint", schema="s",
            table="t", column="c", constraint="n",
        )  # fmt: skip

    def _crash(self, prepared: FakePrepared, values: object) -> Result:
        raise ZeroDivisionError("our own mistake")

    def _copy(
        self, prepared: FakePrepared, values: object, way: str, form: str = "text", *extra: str
    ) -> Result:
        options = CopyOptions(
            form, "," if form == "csv" else "\t", "" if form == "csv" else "\\N", "header" in extra
        )
        if way == "out":
            return Result(
                "COPY {rows}",
                NUMBER_AND_NAME,
                self._numbers(2500, 1000),
                copy=CopyDirection.OUT,
                copy_options=options,
            )
        self.copies.append(FakeCopyIn())
        return Result("", copy=CopyDirection.IN, copy_options=options, copy_in=self.copies[-1])

    def fail(self) -> None:
        self.written = []
        if self.status is TransactionStatus.IN_BLOCK:
            self.status = TransactionStatus.FAILED

    def sync(self) -> Future[None] | None:
        if self.status is not TransactionStatus.IDLE or not self.written:
            return None
        done: Future[None] = Future()
        if "conflict" in self.written:
            self.written = []
            error = UniqueViolation("duplicate key value violates unique constraint")
            threading.Timer(0.005, done.set_exception, [error]).start()
        else:
            self._end(True)
            threading.Timer(0.005, done.set_result, [None]).start()
        return done

    def resume(self) -> None: ...

    def rest(self) -> None: ...

    def cancel(self) -> None:
        self.cancelled += 1
        if self.running is not None and not self.running.done():
            self.running.set_exception(QueryCanceled("canceling statement due to user request"))

    def close(self) -> None:
        self.closed = True


@dataclass
class Server:
    """A listener at work in a thread of its own, and the backends it has made."""

    listener: Listener
    loop: asyncio.AbstractEventLoop
    backends: list[FakeBackend]

    @property
    def port(self) -> int:
        return self.listener.port

    def uri(self, **options: str) -> str:
        extra = "".join(f" {name}={value}" for name, value in options.items())
        return f"host=127.0.0.1 port={self.port} user=fake dbname=millpond" + extra

    def connect(self, **options: str) -> psycopg.Connection:
        return psycopg.connect(self.uri(**options), autocommit=True)

    @property
    def backend(self) -> FakeBackend:
        return self.backends[-1]


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Starts listeners over fake backends; they are stopped with the test."""
    started: list[tuple[Server, threading.Thread]] = []

    def start(access: Access | None = None, **options: Any) -> Server:
        loop = uvloop.new_event_loop()
        backends: list[FakeBackend] = []

        def connect(parameters: dict[str, str]) -> FakeBackend:
            backends.append(FakeBackend(parameters))
            return backends[-1]

        listener = Listener(connect, access, port=0, **options)
        loop.run_until_complete(listener.start())
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        started.append((Server(listener, loop, backends), thread))
        return started[-1][0]

    yield start
    for server, thread in started:
        asyncio.run_coroutine_threadsafe(server.listener.stop(), server.loop).result(10)
        server.loop.call_soon_threadsafe(server.loop.stop)
        thread.join(5)
        server.loop.close()


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    return serve()


class Conversation:
    """A session driven by bytes, without sockets: `send` messages, get replies as (type, body)."""

    def __init__(self) -> None:
        self.backend = FakeBackend()
        self.out: list[bytes] = []
        self.session = Session(self.backend, self.out)
        self.wire = Wire(self.session, self.out)

    def send(self, *raw: bytes, patient: bool = True) -> list[tuple[str, bytes]]:
        """All replies, after waiting for what the wire waits for (unless not `patient`)."""
        self.wire.receive(b"".join(raw))
        self.wire.advance()
        while patient and self.wire.waiting is not None:
            if isinstance(self.wire.waiting, Future):
                self.wire.waiting.exception(5)
            self.wire.advance()
        return self.replies()

    def replies(self) -> list[tuple[str, bytes]]:
        raw = b"".join(self.out)
        self.out.clear()
        return cut(raw)

    def kinds(self, *raw: bytes) -> str:
        return "".join(kind for kind, _ in self.send(*raw))


def cut(raw: bytes) -> list[tuple[str, bytes]]:
    """Backend messages in a piece of output."""
    found: list[tuple[str, bytes]] = []
    while raw:
        (length,) = struct.unpack_from("!I", raw, 1)
        found.append((chr(raw[0]), raw[5 : 1 + length]))
        raw = raw[1 + length :]
    return found


class Bytes:
    """Frontend messages."""

    @staticmethod
    def message(kind: str, body: bytes = b"") -> bytes:
        return kind.encode() + struct.pack("!I", len(body) + 4) + body

    def query(self, text: str) -> bytes:
        return self.message("Q", text.encode() + b"\0")

    def parse(self, text: str, name: str = "", oids: Sequence[int] = ()) -> bytes:
        body = f"{name}\0{text}\0".encode() + struct.pack(f"!H{len(oids)}I", len(oids), *oids)
        return self.message("P", body)

    def bind(
        self, values: Sequence[bytes | None] = (), name: str = "", portal: str = "",
        formats: Sequence[int] = (), results: Sequence[int] = (),
    ) -> bytes:  # fmt: skip
        body = f"{portal}\0{name}\0".encode() + struct.pack(f"!H{len(formats)}H", len(formats), *formats)
        body += struct.pack("!H", len(values))
        for value in values:
            body += struct.pack("!i", -1) if value is None else struct.pack("!I", len(value)) + value
        return self.message("B", body + struct.pack(f"!H{len(results)}H", len(results), *results))

    def describe(self, kind: str, name: str = "") -> bytes:
        return self.message("D", f"{kind}{name}\0".encode())

    def close(self, kind: str, name: str = "") -> bytes:
        return self.message("C", f"{kind}{name}\0".encode())

    def execute(self, portal: str = "", rows_max: int = 0) -> bytes:
        return self.message("E", f"{portal}\0".encode() + struct.pack("!I", rows_max))

    sync = b"S\0\0\0\4"
    flush = b"H\0\0\0\4"
    terminate = b"X\0\0\0\4"
    copy_done = b"c\0\0\0\4"

    def copy_data(self, data: bytes) -> bytes:
        return self.message("d", data)

    def copy_fail(self, reason: str) -> bytes:
        return self.message("f", reason.encode() + b"\0")

    def startup(self, version: int = 3 << 16, **parameters: str) -> bytes:
        pairs = "".join(f"{name}\0{value}\0" for name, value in parameters.items()).encode()
        return self.untagged(struct.pack("!I", version) + pairs + b"\0")

    @staticmethod
    def untagged(body: bytes) -> bytes:
        return struct.pack("!I", len(body) + 4) + body


@pytest.fixture
def conversation() -> Conversation:
    return Conversation()


@pytest.fixture
def send() -> Bytes:
    return Bytes()
