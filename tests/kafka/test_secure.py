"""TLS and passwords towards the brokers: for changelog, sources and sinks; what is secret is never shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ..end_to_end.server_process import ServerProcess
from .broker import Broker
from .conftest import require_broker
from .secure import PASSWORD, SaslOverTls
from .waiting import committed_records, eventually

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("kafka")]


RELATIONS = ("sources", "source_lag", "sinks", "errors", "settings", "objects")


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, SaslOverTls]]:
    require_broker()
    security = SaslOverTls(tmp_path_factory.mktemp("tls"))
    with Broker(security) as broker:
        yield broker, security


def node(folder: Path, security: SaslOverTls, application: str, properties: dict[str, str]) -> ServerProcess:
    """A server with its changelog behind the listener; the properties are in a file of settings."""
    config = folder / "millpond.toml"
    text = ";".join(f"{name}={value}" for name, value in properties.items())
    config.write_text(f"kafka_properties = {json.dumps(text)}\n")
    options = ("--kafka", security.bootstrap, "--application", application, "--config", str(config))
    return ServerProcess(folder / "data", *options)


def everything(connection: psycopg.Connection) -> list[str]:
    """What a session can see of them."""
    return [str(connection.execute(f"SELECT * FROM millpond.{name}").fetchall()) for name in RELATIONS]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_changelog_source_and_sink_over_tls_with_a_password(
    secure: tuple[Broker, SaslOverTls], topic: str, tmp_path: Path, mechanism: str
) -> None:
    broker, security = secure
    broker.create(f"{topic}-in")
    broker.create(f"{topic}-out")
    broker.produce(f"{topic}-in", *(json.dumps({"id": i}) for i in range(10)))
    properties = security.properties(mechanism)
    server = node(tmp_path, security, topic, properties)
    server.start()
    shown: list[str] = []
    try:
        with server.connect() as connection:
            given = ", ".join(f"properties.{name} = '{value}'" for name, value in properties.items())
            connection.execute(
                f"CREATE CONNECTION c WITH (type = 'kafka', properties.bootstrap.server = "
                f"'{security.bootstrap}', {given})"
            )
            with_topic = "WITH (connector = 'kafka', connection = c, topic = '{}')"
            source, sink = with_topic.format(f"{topic}-in"), with_topic.format(f"{topic}-out")
            connection.execute(f"CREATE SOURCE s (id int) {source} FORMAT PLAIN ENCODE JSON")
            connection.execute("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s")
            connection.execute(f"CREATE SINK k FROM s {sink} FORMAT PLAIN ENCODE JSON")
            eventually(connection, "SELECT n FROM v", [(10,)])
            eventually(connection, "SELECT sum(pending) FROM millpond.sinks", [(0,)])
            shown += everything(connection)
        server.kill()
        server.start()
        with server.connect() as connection:
            eventually(connection, "SELECT n FROM v", [(10,)])
            wrong = with_topic.format(f"{topic}-in").replace(
                "connection = c", "connection = c, properties.sasl.password = 'shallow-1'"
            )
            connection.execute(f"CREATE SOURCE w (id int) {wrong} FORMAT PLAIN ENCODE JSON")
            eventually(connection, "SELECT state FROM millpond.sources WHERE name = 'w'", [("stalled",)])
            shown += everything(connection)
    finally:
        server.stop()
    assert len(committed_records(broker, f"{topic}-out")) == 10
    shown.append(server.errors())
    assert not [text for text in shown if PASSWORD in text or "shallow" in text]


def test_a_wrong_password_is_told_and_not_shown(
    secure: tuple[Broker, SaslOverTls], topic: str, tmp_path: Path
) -> None:
    _, security = secure
    server = node(tmp_path, security, topic, security.properties("PLAIN", "shallow-water"))
    with pytest.raises(AssertionError, match="did not start") as failed:
        server.start()
    assert "shallow" not in str(failed.value) and "millpond:" in str(failed.value), failed.value
