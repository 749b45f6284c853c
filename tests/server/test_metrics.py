"""`--metrics` of a real server over HTTP: what counts, what is labelled, what is answered when."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from millpond.runtime.source import log_stall
from millpond.server.config import Config
from millpond.server.logs import JsonFormatter
from millpond.server.metrics import Metrics
from millpond.server.traffic import KINDS, OTHER, Traffic

from ..end_to_end.cluster_processes import ClusterProcesses, eventually
from ..end_to_end.server_process import ServerProcess

LABELS = {
    "kind", "le", "operator", "outcome", "part", "partition", "place", "relation", "replica", "role",
    "sqlstate", "sqlstate_class", "state", "version",
}  # fmt: skip
Key = tuple[str, tuple[tuple[str, str], ...]]


def fetch(port: int, path: str) -> tuple[int, str]:
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


class Scrape:
    """The samples of one scrape, by name and labels."""

    def __init__(self, port: int) -> None:
        status, text = fetch(port, "/metrics")
        assert status == 200, text
        self.families = list(text_string_to_metric_families(text))
        self.samples: dict[Key, float] = {}
        for family in self.families:
            for sample in family.samples:
                key = sample.name, tuple(sorted(sample.labels.items()))
                assert key not in self.samples, key
                self.samples[key] = sample.value

    def value(self, name: str, **labels: str) -> float:
        return self.samples.get((f"millpond_{name}", tuple(sorted(labels.items()))), 0.0)


def until(holds: Callable[[], bool]) -> None:
    def attempt() -> None:
        assert holds()

    eventually(attempt, AssertionError)


def metrics_port(process: ServerProcess) -> int:
    lines = [json.loads(line) for line in process.errors().splitlines()]
    return next(int(line["message"].split()[-1]) for line in lines if line.get("event") == "metrics")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    data = tmp_path_factory.mktemp("metrics") / "data"
    process = ServerProcess(data, "--metrics", "127.0.0.1:0", "--log-format", "json")
    process.start()
    yield process
    process.stop()


def test_counters_move_by_what_was_done(server: ServerProcess) -> None:
    port = metrics_port(server)
    with server.connect() as connection:
        connection.execute("CREATE TABLE fact (id int PRIMARY KEY, part int)")
        connection.execute(
            "CREATE MATERIALIZED VIEW per_part AS SELECT part, count(*) FROM fact GROUP BY part"
        )
        connection.execute("CREATE MATERIALIZED VIEW inverse AS SELECT id, 10 / part AS x FROM fact")
        before = Scrape(port)
        connection.execute("INSERT INTO fact SELECT i, i % 5 FROM generate_series(1, 100) i")
        connection.execute("DELETE FROM fact WHERE id <= 10")
        for _ in range(7):
            connection.execute("SELECT * FROM per_part")
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("SELECT 1 / 0")
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT * FROM nothing")
        after = Scrape(port)

    def moved(name: str, **labels: str) -> float:
        return after.value(name, **labels) - before.value(name, **labels)

    assert moved("epochs_committed_total") == moved("epoch") == 2
    assert moved("epoch_duration_seconds_count") == moved("commit_duration_seconds_count") == 2
    assert moved("log_written_bytes_total") > 100
    assert moved("statements_total", kind="SELECT") == 7
    assert moved("statement_duration_seconds_count", kind="SELECT") == 7
    assert moved("statements_total", kind="INSERT") == moved("statements_total", kind="DELETE") == 1
    assert moved("errors_total", sqlstate_class="22") == moved("errors_total", sqlstate_class="42") == 1
    assert moved("rows_in_total", relation="public.fact", kind="table") == 110
    assert moved("rows_out_total", relation="public.per_part", kind="view") == 10
    assert moved("state_rows", relation="public.fact", operator="rows", place="memory") == 90
    assert after.value("row_errors", relation="public.inverse") == 18
    assert after.value("state_bytes", relation="public.fact", operator="rows") > 0
    assert after.value("connections", state="idle") == 1
    assert moved("received_bytes_total") > 0 and moved("sent_bytes_total") > 0
    assert after.value("up") == after.value("role", role="primary") == 1
    assert after.value("stalled", relation="public.per_part", kind="view") == 0
    assert 0 < after.value("memory_tables_bytes") < after.value("memory_resident_bytes")


def test_buckets_add_up(server: ServerProcess) -> None:
    with server.connect() as connection:
        connection.execute("SELECT 1")
    scrape = Scrape(metrics_port(server))
    assert scrape.value("statement_duration_seconds_bucket", kind="SELECT", le="+Inf") == scrape.value(
        "statement_duration_seconds_count", kind="SELECT"
    )


def test_no_label_comes_out_of_a_statement(server: ServerProcess) -> None:
    port = metrics_port(server)
    with server.connect() as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bounded (id int)")
        Scrape(port)
        connection.execute("SELECT 0")
        known = set(Scrape(port).samples)
        for i in range(30):
            connection.execute(f"SELECT {i} AS c{i} -- {i}")
            connection.execute(f"SET application_name = 'a{i}'")
            connection.execute("INSERT INTO bounded VALUES (%s)", (i,))
        scrape = Scrape(port)
    new = {(name, labels) for name, labels in set(scrape.samples) - known if "bounded" not in str(labels)}
    assert {labels["kind"] for _, pairs in new for labels in [dict(pairs)]} <= {"INSERT", "SET"}
    assert {name for _, pairs in scrape.samples for name, _ in pairs} <= LABELS
    assert all(family.documentation for family in scrape.families)


def test_a_dropped_relation_is_gone(server: ServerProcess) -> None:
    with server.connect() as connection:
        connection.execute("CREATE TABLE passing (id int)")
        connection.execute("INSERT INTO passing VALUES (1)")
        assert (
            Scrape(metrics_port(server)).value("rows_in_total", relation="public.passing", kind="table") == 1
        )
        connection.execute("DROP TABLE passing")
    assert "passing" not in fetch(metrics_port(server), "/metrics")[1]


def test_scrapes_during_load_do_not_fail(server: ServerProcess) -> None:
    """Tables, views and rows come and go meanwhile."""
    port, stop, failures = metrics_port(server), threading.Event(), list[BaseException]()

    def load(number: int) -> None:
        try:
            with server.connect() as connection:
                while not stop.is_set():
                    connection.execute(f"CREATE TABLE load{number} (id int, k int)")
                    connection.execute(
                        f"CREATE MATERIALIZED VIEW sums{number} AS SELECT a.k, sum(b.id)"
                        f" FROM load{number} a JOIN load{number} b USING (id) GROUP BY a.k"
                    )
                    connection.execute(
                        f"INSERT INTO load{number} SELECT i, i % 9 FROM generate_series(1, 500) i"
                    )
                    connection.execute(f"DELETE FROM load{number} WHERE id % 2 = 0")
                    connection.execute(f"DROP TABLE load{number} CASCADE")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=load, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        epochs = [Scrape(port).value("epochs_committed_total") for _ in range(40)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures
    assert epochs == sorted(epochs) and epochs[-1] > epochs[0]
    assert '"level": "error"' not in server.errors()


def test_health_says_what_runs(server: ServerProcess) -> None:
    for path in ("/health", "/ready"):
        status, text = fetch(metrics_port(server), path)
        content = json.loads(text)
        assert (status, content["status"], content["role"]) == (200, "running", "primary")
    assert fetch(metrics_port(server), "/elsewhere")[0] == 404


def test_before_and_after_the_server_runs_it_is_not_healthy() -> None:
    metrics = Metrics("127.0.0.1", 0)
    metrics.start()
    try:
        for phase in ("recovering", "stopping"):
            assert fetch(metrics.http.port, "/health") == (503, json.dumps({"status": phase}) + "\n")
            assert fetch(metrics.http.port, "/ready")[0] == 503
            assert Scrape(metrics.http.port).value("up") == 0
            metrics.stopping()
    finally:
        metrics.stop()


def test_a_standby_tells_its_lag_and_the_primary_tells_it_too(tmp_path: Path) -> None:
    options = "--metrics", "127.0.0.1:0", "--log-format", "json"
    with ClusterProcesses(tmp_path, "ab", *options) as cluster:
        a, b = (metrics_port(cluster.nodes[name]) for name in "ab")
        until(lambda: fetch(b, "/ready")[0] == 200)
        standby = Scrape(b)
        assert standby.value("role", role="standby") == 1 and standby.value("lag_epochs") == 0
        assert standby.value("lag_seconds") < 30
        until(lambda: Scrape(a).value("replica_running", replica="b") == 1)
        cluster.nodes["a"].kill()
        until(lambda: Scrape(b).value("role", role="primary") == 1)
        assert json.loads(fetch(b, "/health")[1])["role"] == "primary"
        took_over = [json.loads(line) for line in cluster.nodes["b"].errors().splitlines()]
        assert [line["epoch"] for line in took_over if line.get("event") == "took_over"]


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:x", "127.0.0.1:70000", "127.0.0.1:{taken}"])
def test_a_bad_address_is_told_at_once(server: ServerProcess, tmp_path: Path, address: str) -> None:
    address = address.format(taken=metrics_port(server))
    command = [sys.executable, "-m", "millpond.server", "serve", "--data", str(tmp_path / "data")]
    ended = subprocess.run(
        [*command, "--listen", "127.0.0.1:0", "--metrics", address],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 1 and ended.stdout == ""
    expected = "cannot serve metrics on" if address[-1].isdigit() and "70000" not in address else "HOST:PORT"
    assert ended.stderr.startswith("millpond: ") and expected in ended.stderr and address in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "data").exists()


def test_unknown_kinds_share_a_count() -> None:
    traffic = Traffic()
    for tag in ("SELECT {rows}", "INSERT 0 5", "MAKE UP 1", "MAKE OUT 2"):
        traffic.completed(tag, 0.001)
    assert {kind: sum(timing.counts) for kind, timing in traffic.statements.items()} == {
        "SELECT": 1, "INSERT": 1, OTHER: 2,
    }  # fmt: skip
    assert set(traffic.statements) <= KINDS | {OTHER}


def test_a_json_line_has_the_fields_of_its_event() -> None:
    try:
        raise ValueError("odd")
    except ValueError:
        record = logging.getLogger("x").makeRecord(
            "x",
            logging.WARNING,
            "f",
            1,
            "source %s",
            ("s",),
            sys.exc_info(),
            extra={"event": "source_stalled"},
        )
    line = json.loads(JsonFormatter().format(record))
    assert line.pop("time").endswith("Z") and "ValueError: odd" in line.pop("exception")
    assert line == {"level": "warning", "logger": "x", "message": "source s", "event": "source_stalled"}


def test_no_metrics_unless_asked_for() -> None:
    assert Config().metrics_host_port is None
    assert Config(metrics="[::1]:9").metrics_host_port == ("::1", 9)


def test_a_stall_is_one_line_and_its_end_another(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    log = logging.getLogger("millpond.source")
    for before, failure in (("", "gone"), ("gone", "gone"), ("gone", ""), ("", "")):
        log_stall(log, "source", "orders", before, failure)
    events = [(vars(record)["event"], vars(record)["relation"]) for record in caplog.records]
    assert events == [("source_stalled", "orders"), ("source_resumed", "orders")]
    assert caplog.messages == ["source orders is stalled: gone", "source orders goes on"]
