"""`millpond check --kafka` and `millpond drill --kafka`, against a real broker."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from millpond.storage.log_kafka_client import KafkaTopics
from millpond.storage.log_kafka_records import COMMIT_KEY, EPOCH_KEY, Claim, Commit
from millpond.storage.log_kafka_scan import read_registry

from ..end_to_end.server_process import ServerProcess
from .broker import Broker

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("kafka")]


def millpond(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "millpond.server", *arguments], capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stdout + done.stderr


def test_check(broker: Broker, topic: str, tmp_path: Path) -> None:
    def check() -> tuple[int, str]:
        return millpond("check", "--kafka", broker.bootstrap, "--application", topic)

    assert check() == (
        1,
        f'millpond: application "{topic}" on Kafka at {broker.bootstrap}: there is no changelog\n',
    )
    node = ServerProcess(tmp_path / "data", "--kafka", broker.bootstrap, "--application", topic)
    node.start()
    with node.connect() as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, k text, v numeric)")
        connection.execute("CREATE MATERIALIZED VIEW v AS SELECT k, sum(v) AS v FROM t GROUP BY k")
        connection.execute("INSERT INTO t SELECT i, (i % 7)::text, i FROM generate_series(1, 500) AS g(i)")
        connection.execute("DELETE FROM t WHERE id % 5 = 0")
        connection.execute("CREATE TABLE gone (a int)")
        connection.execute("DROP TABLE gone")
        connection.execute("TRUNCATE t")
        connection.execute("INSERT INTO t VALUES (1, 'a', 1), (2, NULL, 2)")
    code, text = check()
    assert code == 0 and "is sound: epochs 1 to " in text and "1 materialized view(s) equal" in text, text
    node.kill()
    assert check() == (code, text)

    # A record that no epoch has, an epoch without its writer's claim, one that skips a number.
    store = max(entry.topic for entry in read_registry(KafkaTopics(broker.bootstrap, topic)).values())
    last = int(text.split(" follow")[0].rsplit(" ", 1)[1])
    broker.produce(store, (EPOCH_KEY, bytes(8)), (b"\1x", None))
    forged = Commit(last + 2, Claim(1, "another"), (), b"")
    broker.produce(f"{topic}-epochs-changelog", (COMMIT_KEY, forged.encode()))
    code, text = check()
    assert code == 1
    assert f"epoch {last + 2} follows epoch {last}" in text
    assert f"epoch {last + 2} is of writer 1, which had no claim any more" in text
    assert "the mark of epoch 0 follows that of epoch" in text
    assert "1 record(s) behind the last mark, of no epoch" in text

    broker.delete(store)
    code, text = check()
    assert code == 1 and f"topic {store} is gone: its rows are lost" in text


def test_a_drill_loses_nothing_and_leaves_nothing(broker: Broker) -> None:
    wanted = ("--kills", "1", "--handovers", "2", "--warmups", "1", "--rows", "1000", "--json")
    code, text = millpond("drill", "--kafka", broker.bootstrap, *wanted)
    assert code == 0, text
    figures = json.loads(text)
    assert figures["wrong"] == [] and figures["kills"] == 1 and figures["handovers"] == 2, figures
    assert figures["acknowledged"] > 0 and figures["handover_write_gap_p50_ms"] < 60_000, figures
    left = broker.admin().list_topics(timeout=10).topics
    assert not [name for name in left if name.startswith("drill-")]
