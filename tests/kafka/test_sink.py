"""Sinks end to end: exactly once over kill -9 as a read_committed consumer sees it; files; tables."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import defaultdict
from pathlib import Path

import psycopg
import pyarrow.parquet as pq
import pytest

from ..end_to_end.server_process import ServerProcess
from .broker import Broker
from .waiting import committed_records, eventually, with_options

NOTHING_PENDING = "SELECT sum(pending) FROM millpond.sinks"


class Writer(threading.Thread):
    """Updates counters in a table for as long as it runs, over kills of the server."""

    def __init__(self, server: ServerProcess) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.stop = threading.Event()

    def run(self) -> None:
        while not self.stop.is_set():
            try:
                with psycopg.connect(self.server.uri, autocommit=True, connect_timeout=2) as connection:
                    while not self.stop.is_set():
                        connection.execute("UPDATE t SET n = n + 1")
            except psycopg.OperationalError:
                time.sleep(0.05)


@pytest.mark.kafka
@pytest.mark.xdist_group("kafka")
def test_i6_each_change_once_over_kills(
    broker: Broker, server: ServerProcess, topic: str, tmp_path: Path
) -> None:
    broker.create(topic)
    broker.create(f"{topic}-d")
    with server.connect() as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, n int)")
        connection.execute("INSERT INTO t SELECT i, 0 FROM generate_series(1, 5) i")
        connection.execute(f"CREATE SINK u FROM t {with_options(broker, topic)} FORMAT UPSERT ENCODE JSON")
        options = with_options(broker, f"{topic}-d")
        connection.execute(f"CREATE SINK d FROM t {options} FORMAT DEBEZIUM ENCODE JSON")
        path = f"WITH (connector = 'file', path = '{tmp_path}/out', force_append_only = 'true')"
        connection.execute(f"CREATE SINK f FROM t {path} FORMAT PLAIN ENCODE JSON")
    writer = Writer(server)
    writer.start()
    chance = random.Random(7)
    for _ in range(4):
        time.sleep(chance.uniform(0.3, 1.5))
        server.kill()
        server.start()
    writer.stop.set()
    writer.join()
    with server.connect() as connection:
        eventually(connection, NOTHING_PENDING, [(0,)])
        final = connection.execute("SELECT id, n FROM t ORDER BY id").fetchall()
    assert final[0][1] > 20
    counts: defaultdict[int, list[int]] = defaultdict(list)
    for key, value in committed_records(broker, topic):
        row = json.loads(value)
        assert json.loads(key) == {"id": row["id"]}
        counts[row["id"]].append(row["n"])
    whole = {i: list(range(n + 1)) for i, n in final}
    assert counts == whole
    events = [json.loads(value) for _, value in committed_records(broker, f"{topic}-d")]
    assert len(events) == sum(n + 1 for _, n in final)
    for event in events:
        assert event["op"] == ("c" if event["before"] is None else "u")
        assert event["before"] is None or event["before"]["n"] + 1 == event["after"]["n"]
    lines: defaultdict[int, list[int]] = defaultdict(list)
    for file in sorted((tmp_path / "out").glob("*.jsonl")):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            lines[row["id"]].append(row["n"])
    assert lines == whole


@pytest.mark.kafka
@pytest.mark.xdist_group("kafka")
def test_records_of_every_kind_of_change(broker: Broker, server: ServerProcess, topic: str) -> None:
    broker.create(topic)
    with server.connect() as connection:
        connection.execute("CREATE TABLE t (id int, a numeric, at timestamptz, j jsonb)")
        connection.execute("CREATE MATERIALIZED VIEW v AS SELECT id, sum(a) AS a FROM t GROUP BY id")
        with pytest.raises(psycopg.Error, match="FORMAT PLAIN cannot say"):
            connection.execute(f"CREATE SINK p FROM v {with_options(broker, topic)} FORMAT PLAIN ENCODE JSON")
        connection.execute(f"CREATE SINK u FROM v {with_options(broker, topic)} FORMAT UPSERT ENCODE JSON")
        connection.execute("INSERT INTO t VALUES (1, 1.50, NULL, NULL)")
        connection.execute("INSERT INTO t VALUES (1, 12345678901234567890.01, NULL, NULL)")
        connection.execute("DELETE FROM t")
        eventually(connection, NOTHING_PENDING, [(0,)])
        assert committed_records(broker, topic) == [
            (b'{"id":1}', b'{"id":1,"a":1.50}'),
            (b'{"id":1}', b'{"id":1,"a":12345678901234567891.51}'),
            (b'{"id":1}', None),
        ]
        connection.execute("DROP SINK u")
        connection.execute("INSERT INTO t VALUES (2, 1, NULL, NULL)")
        assert len(committed_records(broker, topic)) == 3


@pytest.mark.kafka
@pytest.mark.xdist_group("kafka")
def test_a_sink_waits_for_its_broker(own_broker: Broker, server: ServerProcess) -> None:
    own_broker.create("t")
    with server.connect() as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        options = with_options(own_broker, "t")
        connection.execute(f"CREATE SINK s FROM t {options} FORMAT UPSERT ENCODE JSON")
        connection.execute("INSERT INTO t VALUES (1, 'a')")
        eventually(connection, NOTHING_PENDING, [(0,)])
        own_broker.stop(force=True)
        connection.execute("INSERT INTO t VALUES (2, 'b')")
        eventually(connection, "SELECT state, pending FROM millpond.sinks", [("stalled", 1)], 90)
        own_broker.start()
        eventually(connection, "SELECT state, pending FROM millpond.sinks", [("running", 0)], 90)
    assert [key for key, _ in committed_records(own_broker, "t")] == [b'{"id":1}', b'{"id":2}']


def test_files_and_tables(server: ServerProcess, tmp_path: Path) -> None:
    with server.connect() as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        connection.execute("CREATE TABLE copy (v text PRIMARY KEY, n bigint)")
        connection.execute("CREATE SINK i INTO copy AS SELECT v, count(*) FROM t GROUP BY v")
        connection.execute("CREATE MATERIALIZED VIEW above AS SELECT sum(n) AS n FROM copy")
        path = f"WITH (connector = 'file', path = '{tmp_path}/out', force_append_only = 'true')"
        connection.execute(
            f"CREATE SINK f AS SELECT id * 10 AS x, v FROM t {path} FORMAT PLAIN ENCODE PARQUET"
        )
        connection.execute("INSERT INTO t VALUES (1, 'a'), (2, 'a'), (3, 'b')")
        connection.execute("UPDATE t SET v = 'c' WHERE id = 3")
        assert connection.execute("SELECT * FROM copy ORDER BY 1").fetchall() == [("a", 2), ("c", 1)]
        assert connection.execute("SELECT n FROM above").fetchall() == [(3,)]
        eventually(connection, NOTHING_PENDING, [(0,)])
        with pytest.raises(psycopg.Error, match="feed itself"):
            connection.execute("CREATE SINK loop INTO copy AS SELECT v, n FROM copy")
    files = sorted((tmp_path / "out").glob("*.parquet"))
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    assert [tuple(row.values()) for row in rows] == [(10, "a"), (20, "a"), (30, "b"), (30, "c")]
