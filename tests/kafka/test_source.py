"""Kafka sources end to end: exactly once over kill -9, tombstones, bad records, lag, stalls and resets."""

from __future__ import annotations

import json
import random
import threading
import time

import psycopg
import pytest

from ..end_to_end.server_process import ServerProcess
from .broker import Broker
from .waiting import eventually, with_options

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("kafka")]


def test_i6_each_record_counts_once_over_kills(broker: Broker, server: ServerProcess, topic: str) -> None:
    broker.create(topic, 3)
    with server.connect() as connection:
        options = with_options(broker, topic)
        connection.execute(f"CREATE SOURCE s (id bigint, n int) {options} FORMAT PLAIN ENCODE JSON")
        connection.execute(
            f"CREATE TABLE t (id bigint PRIMARY KEY, n int) {options} FORMAT UPSERT ENCODE JSON"
        )
        connection.execute("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(id) AS ids FROM s")
        connection.execute("CREATE MATERIALIZED VIEW w AS SELECT count(*) AS n, sum(id) AS ids FROM t")
    stop, sent = threading.Event(), [0]

    def produce() -> None:
        producer = broker.producer()
        while not stop.is_set():
            for _ in range(500):
                record = json.dumps({"id": sent[0], "n": 1})
                producer.produce(topic, record, str(sent[0]), sent[0] % 3)
                sent[0] += 1
            assert producer.flush(30) == 0
            time.sleep(0.02)

    thread = threading.Thread(target=produce)
    thread.start()
    chance = random.Random(4)
    for _ in range(4):
        time.sleep(chance.uniform(0.2, 1.5))
        server.kill()
        server.start()
    stop.set()
    thread.join()
    total = [(sent[0], sent[0] * (sent[0] - 1) // 2)]
    with server.connect() as connection:
        eventually(connection, "SELECT * FROM v", total)
        eventually(connection, "SELECT * FROM w", total)
        assert connection.execute("SELECT count(*), sum(id) FROM s").fetchall() == total
        lag = "SELECT name, sum(lag), sum(committed_offset) FROM millpond.source_lag GROUP BY name ORDER BY 1"
        eventually(connection, lag, [("s", 0, sent[0]), ("t", 0, sent[0])])


def test_offsets_are_mirrored_to_the_group(broker: Broker, server: ServerProcess, topic: str) -> None:
    from confluent_kafka import ConsumerGroupTopicPartitions

    broker.create(topic)
    broker.produce(topic, *(["{}"] * 7))
    with server.connect() as connection:
        connection.execute(
            f"CREATE SOURCE mirrored (a int) {with_options(broker, topic)} FORMAT PLAIN ENCODE JSON"
        )
        eventually(connection, "SELECT count(*) FROM mirrored", [(7,)])
    admin = broker.admin()
    deadline = time.monotonic() + 15
    while True:
        asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("millpond-mirrored")])
        places = asked["millpond-mirrored"].result(10).topic_partitions
        if [place.offset for place in places] == [7]:
            return
        assert time.monotonic() < deadline, places
        time.sleep(0.2)


def test_tombstones_duplicates_and_keys_never_seen(broker: Broker, server: ServerProcess, topic: str) -> None:
    broker.create(topic)
    broker.produce(
        topic, ("1", '{"id":1,"v":"a"}'), ('{"id":2}', '{"v":"b"}'), ("9", None), ("1", '{"id":1,"v":"a"}'),
        ("1", None), ("1", None), ("3", '{"id":3,"v":"c"}'), ("x", None), ("3", '{"id":3,"v":"d"}'),
    )  # fmt: skip
    with server.connect() as connection:
        for what in ("TABLE t", "SOURCE s"):
            connection.execute(
                f"CREATE {what} (id int PRIMARY KEY, v text) {with_options(broker, topic)} "
                "FORMAT UPSERT ENCODE JSON"
            )
        connection.execute("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, max(v) AS m FROM s")
        for relation in ("t", "s"):
            eventually(connection, f"SELECT * FROM {relation} ORDER BY id", [(2, "b"), (3, "d")])
        eventually(connection, "SELECT * FROM v", [(2, "d")])
        errors = "SELECT relation_name, sqlstate, position FROM millpond.errors ORDER BY 1"
        place = f"topic {topic}, partition 0, offset 7, key x"
        assert connection.execute(errors).fetchall() == [("s", "22P02", place), ("t", "22P02", place)]
        server.kill()
        server.start()
    with server.connect() as connection:
        broker.produce(topic, ("2", None))
        eventually(connection, "SELECT * FROM s ORDER BY id", [(3, "d")])
        with pytest.raises(psycopg.Error, match="primary key"):
            connection.execute(
                f"CREATE TABLE u (v text) {with_options(broker, topic)} FORMAT UPSERT ENCODE JSON"
            )


def test_debezium(broker: Broker, server: ServerProcess, topic: str) -> None:
    def event(before: object, after: object, op: str, wrapped: bool) -> str:
        payload = {"before": before, "after": after, "op": op}
        return json.dumps({"schema": {}, "payload": payload} if wrapped else payload)

    broker.create(topic)
    broker.produce(
        topic,
        ('{"id":1}', event(None, {"id": 1, "v": "a"}, "c", True)),
        ('{"id":2}', event(None, {"id": 2, "v": "b"}, "r", False)),
        ('{"id":1}', event({"id": 1, "v": "a"}, {"id": 1, "v": "c"}, "u", False)),
        ('{"id":2}', event({"id": 2, "v": "b"}, None, "d", True)),
        ('{"id":2}', None),
        ('{"id":2}', "{}"),
    )
    with server.connect() as connection:
        options = with_options(broker, topic)
        connection.execute(
            f"CREATE TABLE t (id int PRIMARY KEY, v text) {options} FORMAT DEBEZIUM ENCODE JSON"
        )
        eventually(connection, "SELECT message FROM millpond.errors", lambda rows: len(rows) == 1)
        assert connection.execute("SELECT * FROM t").fetchall() == [(1, "c")]


def test_included_columns_csv_and_bytes(broker: Broker, server: ServerProcess, topic: str) -> None:
    broker.create(topic)
    producer = broker.producer()
    producer.produce(topic, b'1,"a,b",', b"k1", headers={"h": b"x"})
    producer.produce(topic, b"2,c", None)
    producer.produce(topic, b"3,c,2024-01-01", None)
    assert producer.flush(10) == 0
    with server.connect() as connection:
        options = with_options(broker, topic)
        connection.execute(
            "CREATE SOURCE c (id int, v text, d date) INCLUDE key INCLUDE partition AS p INCLUDE offset AS o "
            "INCLUDE header 'h' AS h INCLUDE headers INCLUDE timestamp AS at "
            f"{options} FORMAT PLAIN ENCODE CSV"
        )
        connection.execute(f"CREATE SOURCE b (raw bytea) INCLUDE offset {options} FORMAT PLAIN ENCODE BYTES")
        columns = "id, v, d::text, key, p, o, h, headers::text, at > now() - '1 hour'::interval"
        rows = f"SELECT {columns} FROM c ORDER BY o"
        headers = '[{"key": "h", "value": "x"}]'
        wanted = [
            (1, "a,b", None, b"k1", 0, 0, b"x", headers, True),
            (3, "c", "2024-01-01", None, 0, 2, None, "[]", True),
        ]
        eventually(connection, rows, wanted)
        eventually(connection, 'SELECT raw FROM b WHERE "offset" = 1', [(b"2,c",)])


def test_connections_secrets_and_what_is_shown(broker: Broker, server: ServerProcess, topic: str) -> None:
    broker.create(topic)
    broker.produce(topic, '{"a": 1}')
    with server.connect() as connection:
        connection.execute("CREATE SECRET pw AS 'hunter2'")
        connection.execute(
            f"CREATE CONNECTION c TO KAFKA (BROKER '{broker.bootstrap}', SASL PASSWORD = SECRET pw)"
        )
        connection.execute(f"CREATE SOURCE s FROM KAFKA CONNECTION c (TOPIC '{topic}') FORMAT JSON")
        eventually(connection, "SELECT data FROM s", [({"a": 1},)])
        clear = "properties.sasl.password = 'hunter2', properties.ssl.key.password = 'hunter2'"
        options = with_options(broker, topic)[:-1]
        connection.execute(f"CREATE TABLE t (a int) {options}, {clear}) FORMAT PLAIN ENCODE JSON")
        for query in (
            "SELECT definition FROM millpond.objects", "SELECT ftoptions::text FROM pg_foreign_table",
            "SELECT * FROM millpond.sources", "SELECT pg_get_viewdef(oid) FROM pg_class",
        ):  # fmt: skip
            assert "hunter2" not in str(connection.execute(query).fetchall()), query
        with pytest.raises(psycopg.Error, match="No such configuration property") as failed:
            connection.execute(
                f"CREATE TABLE u (a int) {options}, {clear}, properties.nope = '1') FORMAT PLAIN ENCODE JSON"
            )
        assert "hunter2" not in str(failed.value)
        with pytest.raises(psycopg.Error, match="topik"):
            connection.execute(f"CREATE TABLE u (a int) {options}, topik = '1') FORMAT PLAIN ENCODE JSON")


def test_a_vanished_broker_stalls_and_resumes(own_broker: Broker, server: ServerProcess) -> None:
    own_broker.create("t")
    own_broker.produce("t", '{"a":1}')
    with server.connect() as connection:
        connection.execute(
            f"CREATE SOURCE s (a int) {with_options(own_broker, 't')} FORMAT PLAIN ENCODE JSON"
        )
        connection.execute("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s")
        eventually(connection, "SELECT n FROM v", [(1,)])
        own_broker.stop(force=True)
        state = "SELECT state, reason IS NOT NULL FROM millpond.sources"
        eventually(connection, state, [("stalled", True)])
        connection.execute("CREATE TABLE other (a int)")
        connection.execute("INSERT INTO other VALUES (1)")
        own_broker.start()
        own_broker.produce("t", '{"a":2}')
        eventually(connection, "SELECT n FROM v", [(2,)])
        eventually(connection, state, [("running", False)])


def test_records_removed_and_a_topic_made_again_wait_for_reset(
    broker: Broker, server: ServerProcess, topic: str
) -> None:
    from confluent_kafka import TopicPartition

    broker.create(topic)
    broker.produce(topic, *('{"a":1}' for _ in range(5)))
    reason = "SELECT reason FROM millpond.sources"
    with server.connect() as connection:
        connection.execute(f"CREATE SOURCE s (a int) {with_options(broker, topic)} FORMAT PLAIN ENCODE JSON")
        connection.execute("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s")
        eventually(connection, "SELECT n FROM v", [(5,)])
    server.kill()
    broker.produce(topic, *('{"a":1}' for _ in range(5)))
    admin = broker.admin()
    place = TopicPartition(topic, 0, 8)
    admin.delete_records([place])[place].result(10)
    server.start()
    with server.connect() as connection:
        eventually(connection, reason, lambda rows: "offsets 5 to 7 of partition 0 were removed" in str(rows))
        connection.execute("ALTER SOURCE s RESET")
        eventually(connection, "SELECT n FROM v", [(7,)])
        eventually(connection, reason, [(None,)])
        broker.delete(topic)
        eventually(connection, reason, lambda rows: "does not exist" in str(rows))
        broker.create(topic, 2)
        broker.produce(topic, '{"a":1}', partition=1)
        eventually(connection, reason, lambda rows: "deleted and made again" in str(rows))
        assert connection.execute("SELECT n FROM v").fetchall() == [(7,)]
        connection.execute("ALTER SOURCE s RESET")
        eventually(connection, "SELECT n FROM v", [(8,)])


def test_new_partitions_and_where_to_begin(broker: Broker, server: ServerProcess, topic: str) -> None:
    from confluent_kafka.admin import NewPartitions

    broker.create(topic)
    broker.produce(topic, '{"a":1}')
    with server.connect() as connection:
        latest = with_options(broker, topic, scan_startup_mode="latest")
        connection.execute(f"CREATE SOURCE late (a int) {latest} FORMAT PLAIN ENCODE JSON")
        eventually(connection, "SELECT count(*) FROM millpond.source_lag", [(1,)])
        admin = broker.admin()
        admin.create_partitions([NewPartitions(topic, 3)])[topic].result(10)
        eventually(connection, "SELECT count(*) FROM millpond.source_lag", [(3,)])
        broker.produce(topic, '{"a":2}', partition=2)
        broker.produce(topic, '{"a":3}')
        eventually(connection, "SELECT a FROM late ORDER BY a", [(2,), (3,)])
