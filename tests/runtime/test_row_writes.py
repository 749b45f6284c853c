"""Single rows of many clients in one epoch: each has the answer, or the error, it has alone in its turn."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import pyarrow as pa
import pytest

from millpond.planner.row_template import row_template
from millpond.runtime.engine import Engine
from millpond.runtime.row_writes import RowWork, column_of
from millpond.runtime.works import CallWork, Work, WriteOutcome
from millpond.server.backend import Result
from millpond.server.portal import bind_values
from millpond.storage.errors import DiskFull, QueryCanceled, SqlError

from .local import Local, Session, rows_of

TABLE = (
    "CREATE TABLE t (id bigint PRIMARY KEY, code text UNIQUE, short varchar(5), money numeric(6, 2),"
    " small smallint NOT NULL DEFAULT 7, twice bigint GENERATED ALWAYS AS (id * 2) STORED,"
    " made timestamptz DEFAULT now(), CHECK (small <> 13), CHECK (100 / small < 101))"
)
VIEW = "CREATE MATERIALIZED VIEW v AS SELECT small, count(*) AS n, sum(money) AS m FROM t GROUP BY small"
SEEN = "SELECT id, code, short, money::text, small, twice FROM t ORDER BY id"
INSERT = "INSERT INTO t (id, code, short, money, small) VALUES ($1, $2, $3, $4, $5)"
RETURNING = " RETURNING id + 1, small, money::text"
UPSERT = INSERT + " ON CONFLICT (id) DO UPDATE SET small = t.small + excluded.small, short = excluded.short"
STATEMENTS = (
    INSERT,
    INSERT + RETURNING,
    INSERT + " ON CONFLICT (id) DO NOTHING",
    INSERT + " ON CONFLICT (id) DO NOTHING" + RETURNING,
    UPSERT,
    UPSERT + " WHERE t.small < 60" + RETURNING,
    "UPDATE t SET small = small + $2::smallint, short = $3, money = $4 WHERE id = $1",
    "UPDATE t SET small = $2 WHERE id = $1" + RETURNING,
    "DELETE FROM t WHERE id = $1",
    "DELETE FROM t WHERE id = $1" + RETURNING,
)


class Client(Session):
    """Executes prepared statements with text parameters, as the wire does."""

    def begin(self, text: str, values: Sequence[str | None]) -> Result | Future[Result]:
        client = self.client
        prepared = client.prepare(text)
        raw = [None if value is None else value.encode() for value in values]
        return client.execute(prepared, bind_values(prepared, "", (), raw, client.text_settings), alone=True)

    def outcome(self, answer: Result | Future[Result] | SqlError) -> object:
        """Rows and tag, or the error, to compare."""
        try:
            if isinstance(answer, SqlError):
                raise answer
            result = answer.result(30) if isinstance(answer, Future) else answer
            assert self.client.sync() is None
            return result.tag, rows_of(result)
        except SqlError as error:
            self.client.fail()
            detail = re.sub(r", 20\d\d-[^)]*\)", ", <time>)", error.detail)
            return error.code, error.message, detail, error.table, error.column, error.constraint

    def execute(self, text: str, values: Sequence[str | None]) -> object:
        try:
            return self.outcome(self.begin(text, values))
        except SqlError as error:
            return self.outcome(error)


class Held:
    """While it is entered the engine is busy: what is submitted meanwhile runs in one epoch afterwards."""

    def __init__(self, local: Local) -> None:
        engine = local.database.engine
        assert isinstance(engine, Engine)
        self._engine = engine
        self._go = threading.Event()
        self.works: list[Work] = []

    def __enter__(self) -> Held:
        began = threading.Event()

        def wait(epoch: object) -> None:
            began.set()
            assert self._go.wait(30)

        self._engine.submit(CallWork(function=wait))
        assert began.wait(30)
        self._epoch = self._engine.published.epoch
        return self

    def __exit__(self, *error: object) -> None:
        self.works = list(self._engine._queue._works)
        self._go.set()


def together(local: Local, text: str, rows: Sequence[Sequence[str | None]]) -> list[object]:
    """The outcomes of a statement with these values, each of a client of its own, all in one epoch."""
    clients = [Client(local.connect().client) for _ in rows]
    answers: list[Result | Future[Result] | SqlError] = []
    before = local.database.engine.published.epoch
    with Held(local) as held:
        for client, values in zip(clients, rows, strict=True):
            try:
                answers.append(client.begin(text, values))
            except SqlError as error:
                answers.append(error)
    assert all(isinstance(work, RowWork) for work in held.works)
    outcomes = [client.outcome(answer) for client, answer in zip(clients, answers, strict=True)]
    assert local.database.engine.published.epoch <= before + 1
    return outcomes


@pytest.fixture
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Local, Local]]:
    """Two equal databases; by a parameter, without the UNIQUE constraint."""
    both = Local(), Local()
    for local in both:
        local.sql(TABLE.replace(" UNIQUE", getattr(request, "param", " UNIQUE")))
        local.sql(VIEW)
        local.sql("INSERT INTO t (id, code, small) SELECT i, 'old ' || i, i FROM generate_series(1, 9) g(i)")
    yield both
    for local in both:
        local.close()


def some_row(chance: random.Random, text: str) -> list[str | None]:
    """Values for a statement; now and then they break a rule."""
    key = chance.choice([None, "x", *map(str, range(1, 16)), *map(str, range(1, 16))])
    small = chance.choice(["1", "2", "50", "13", "0", "40000", None, "7", "8", "30000"])
    short = chance.choice(["a", "abcde", "abcdef", None])
    money = chance.choice(["1.005", "10", "12345", None])
    if text.startswith("INSERT"):
        code = chance.choice([None, None, "old 3", f"new {chance.randrange(12)}"])
        return [key, code, short, money, small]
    return [key, small, short, money]


@pytest.mark.parametrize(
    ("pair", "text"),
    [*((" UNIQUE", text) for text in STATEMENTS), *(("", text) for text in STATEMENTS[:2])],
    indirect=["pair"],
)
def test_an_epoch_of_many_is_one_after_the_other(pair: tuple[Local, Local], text: str) -> None:
    merged, single = pair
    client = Client(single.connect().client)
    width = max(int(part[0]) for part in text.split("$")[1:])
    chance = random.Random(text)
    failed = 0
    for _ in range(12):
        rows = [some_row(chance, text)[:width] for _ in range(chance.randrange(1, 25))]
        expected = [client.execute(text, values) for values in rows]
        assert together(merged, text, rows) == expected
        failed += sum(len(outcome) > 2 for outcome in expected if isinstance(outcome, tuple))
        assert merged.sql(SEEN) == single.sql(SEEN)
        merged.equal("v", "SELECT small, count(*), sum(money) FROM t GROUP BY small")
    assert failed > 1


def test_of_duplicates_exactly_one_wins(pair: tuple[Local, Local]) -> None:
    merged, _ = pair
    outcomes = together(merged, INSERT, [["100", None, None, None, "1"]] * 40)
    assert outcomes[0] == ("INSERT 0 1", [])
    assert {outcome[0] for outcome in outcomes[1:]} == {"23505"}  # type: ignore[index]
    assert outcomes[1][2] == "Key (id)=(100) already exists."  # type: ignore[index]


def test_a_good_epoch_is_one_batch(pair: tuple[Local, Local], monkeypatch: pytest.MonkeyPatch) -> None:
    from millpond.runtime import row_writes

    sizes: list[int] = []
    real = row_writes._outcomes

    def counted(count: int, *more: Any) -> Any:
        sizes.append(count)
        return real(count, *more)

    monkeypatch.setattr(row_writes, "_outcomes", counted)
    merged, _ = pair
    merged.sql("CREATE TABLE plain (id int PRIMARY KEY)")
    together(merged, "INSERT INTO plain VALUES ($1)", [[str(i)] for i in range(30)])
    together(merged, INSERT, [[str(100 + i), f"c{i}", "s", "1.5", "1"] for i in range(30)])
    together(merged, "UPDATE t SET small = $2 WHERE id = $1", [[str(100 + i), "2"] for i in range(30)])
    together(merged, "DELETE FROM t WHERE id = $1", [[str(100 + i)] for i in range(30)])
    assert sizes == [30, 30, 30, 30]


def test_one_row_changed_by_all(pair: tuple[Local, Local]) -> None:
    merged, _ = pair
    text = "UPDATE t SET small = small + $2::smallint WHERE id = $1 RETURNING small"
    outcomes = together(merged, text, [["2", "2"]] * 20)
    assert outcomes == [("UPDATE 1", [(2 + 2 * i,)]) for i in range(1, 21)]


def test_numbers_of_a_sequence_are_drawn_once_and_by_their_session(local: Local) -> None:
    local.sql("CREATE TABLE s (id serial PRIMARY KEY, k int UNIQUE)")
    clients = [Client(local.connect().client) for _ in range(6)]
    with Held(local):
        answers = [
            client.begin("INSERT INTO s (k) VALUES ($1) RETURNING id", [str(i % 4)])
            for i, client in enumerate(clients)
        ]
    outcomes = [client.outcome(answer) for client, answer in zip(clients, answers, strict=True)]
    assert [outcome[0] for outcome in outcomes] == ["INSERT 0 1"] * 4 + ["23505"] * 2  # type: ignore[index]
    assert local.sql("SELECT id, k FROM s ORDER BY id") == [(1, 0), (2, 1), (3, 2), (4, 3)]
    assert [client.sql("SELECT currval('s_id_seq')") for client in clients] == [[(i,)] for i in range(1, 7)]


def test_now_is_that_of_each_statement(local: Local) -> None:
    local.sql("CREATE TABLE n (id int PRIMARY KEY, at timestamptz DEFAULT now())")
    clients = [Client(local.connect().client) for _ in range(3)]
    with Held(local):
        answers = []
        for i, client in enumerate(clients):
            answers.append(client.begin("INSERT INTO n (id) VALUES ($1) RETURNING at = now()", [str(i)]))
            client.client.transaction_time_us = 0
    assert len({repr(a) for a in answers}) == 3
    for client, answer in zip(clients, answers, strict=True):
        client.outcome(answer)
    assert local.sql("SELECT count(DISTINCT at) FROM n") == [(3,)]


def test_rows_without_a_key_and_with_other_types(local: Local) -> None:
    local.sql("CREATE TABLE w (a int, b float8, c text, d timestamp, e boolean, f int[], g jsonb, h numeric)")
    rows = [
        [str(i), f"{i}.5", "é" * i, "2024-01-02 03:04:05", "t", "{1,2}", '{"a": 1}', "1.50"] for i in range(5)
    ]
    rows[3] = [None] * 8  # type: ignore[list-item]
    rows[4][1] = "-1e-3"
    text = "INSERT INTO w VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
    assert together(local, text, rows) == [("INSERT 0 1", [])] * 5
    seen = local.sql("SELECT a, b, c, d::text, e, f::text, g::text, h::text FROM w ORDER BY a NULLS LAST")
    assert seen[2] == (2, 2.5, "éé", "2024-01-02 03:04:05", True, "{1,2}", '{"a": 1}', "1.50")
    assert seen[3][1] == -0.001 and seen[4] == (None,) * 8


def test_who_cancelled_is_told_and_the_others_go_on(pair: tuple[Local, Local]) -> None:
    merged, _ = pair
    clients = [Client(merged.connect().client) for _ in range(5)]
    with Held(merged):
        answers = [
            client.begin(INSERT, [str(50 + i), None, None, None, "1"]) for i, client in enumerate(clients)
        ]
        clients[2].client.cancel()
        clients[3].client.close()
    outcomes = [client.outcome(answer) for client, answer in zip(clients, answers, strict=True)]
    assert [outcome[0] for outcome in outcomes] == [  # type: ignore[index]
        "INSERT 0 1", "INSERT 0 1", QueryCanceled.code, "INSERT 0 1", "INSERT 0 1",
    ]  # fmt: skip
    assert merged.sql("SELECT id FROM t WHERE id >= 50 ORDER BY id") == [(50,), (51,), (53,), (54,)]


def test_an_epoch_that_cannot_be_stored_is_nobodys(pair: tuple[Local, Local]) -> None:
    merged, _ = pair
    before = merged.sql(SEEN)
    merged.disk.space = 0
    outcomes = together(merged, INSERT, [[str(100 + i), None, None, None, "1"] for i in range(5)])
    assert {outcome[0] for outcome in outcomes} == {DiskFull.code}  # type: ignore[index]
    merged.disk.space = None
    assert merged.sql(SEEN) == before
    assert together(merged, INSERT, [["100", None, None, None, "1"]]) == [("INSERT 0 1", [])]


def test_a_table_that_goes_meanwhile(pair: tuple[Local, Local]) -> None:
    merged, _ = pair
    client, other = Client(merged.connect().client), merged.connect()
    with Held(merged):
        dropped = other.submit("DROP TABLE t CASCADE")
        answer = client.begin(INSERT, ["100", None, None, None, "1"])
    other.wait(dropped)
    assert client.outcome(answer)[0] == "42P01"  # type: ignore[index]


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t (id) VALUES ($1), (2)",
        "INSERT INTO t (id, small) VALUES ($1, (SELECT max(small) FROM t))",
        "INSERT INTO t (id) VALUES ($1) ON CONFLICT DO NOTHING",
        "INSERT INTO t (id, small) VALUES ($1, 2) ON CONFLICT (id) DO UPDATE SET small = $1",
        "INSERT INTO t (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET code = excluded.short",
        "INSERT INTO t (id) VALUES ($1) RETURNING made::text",
        "UPDATE t SET id = $1 WHERE id = 1",
        "UPDATE t SET code = $2 WHERE id = $1",
        "UPDATE t SET made = made + '1 day'::interval WHERE id = $1",
        "UPDATE t SET small = small + 1 WHERE id IN ($1, 2)",
        "UPDATE t SET small = small + 1 WHERE id > $1",
        "DELETE FROM t USING v WHERE v.small = t.small AND id = $1",
        "DELETE FROM t WHERE small = $1",
    ],
)
def test_what_is_done_one_by_one(pair: tuple[Local, Local], text: str) -> None:
    plan = pair[0].session.client.prepare(text).plan
    assert plan.template is None and row_template(plan.write) is None


def test_a_column_of_values_and_arrays_mixed() -> None:
    three = pa.array([3], pa.int64())
    assert column_of([1, None, three], pa.int64()).to_pylist() == [1, None, 3]
    assert column_of([None], pa.string()).equals(pa.nulls(1, pa.string()))
    assert column_of(["a", "b"], pa.string()).to_pylist() == ["a", "b"]


def test_a_row_alone_is_a_work_like_others(local: Local) -> None:
    local.sql("CREATE TABLE a (id int PRIMARY KEY)")
    plan = local.session.client.prepare("INSERT INTO a VALUES ($1)").plan

    def work() -> RowWork:
        return RowWork(
            template=plan.template,
            values=[1],
            now_us=0,
            answer=lambda outcome: outcome,
            cancelled=lambda: None,
        )

    engine = local.database.engine
    assert engine.submit(CallWork(function=work().run)).result(30) == WriteOutcome(1, None)
    with pytest.raises(SqlError) as caught:
        engine.submit(CallWork(function=work().run)).result(30)
    assert caught.value.code == "23505"
