"""Options of Kafka sources and sinks, in both spellings, and the client configuration they make.

Any `properties.<name>` goes to the client as `<name>` (librdkafka's configuration: TLS, SASL, …). Values of
secret options are kept out of every message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaException

from ...sql.secret_options import secret_values, without_values
from ...storage.errors import InvalidParameterValue
from .base import check_options

SOURCE_OPTIONS = {
    "topic": "the topic to read",
    "scan.startup.mode": "earliest (the default), latest or timestamp",
    "scan.startup.timestamp.millis": "with timestamp: milliseconds since 1970",
    "before_images": "true, of FORMAT DEBEZIUM: the row before the change goes as it is, no key is needed",
    "group.id.prefix": "what the name of the group begins with, under which offsets are mirrored",
}
SINK_OPTIONS = {
    "topic": "the topic to write",
    "primary_key": "columns that make the record's key",
    "force_append_only": "true: leave out rows that go, and the older form of those that change",
    "type": "append-only, upsert or debezium, where FORMAT does not say",
    "transaction.rows": "rows of one transaction at most",
}
_OTHER_SPELLINGS = {
    "broker": "properties.bootstrap.server", "brokers": "properties.bootstrap.server",
    "kafka.brokers": "properties.bootstrap.server", "kafka.topic": "topic",
    "bootstrap.servers": "properties.bootstrap.server",
    "properties.bootstrap.servers": "properties.bootstrap.server",
    "sasl_mechanisms": "properties.sasl.mechanisms", "sasl_username": "properties.sasl.username",
    "sasl_password": "properties.sasl.password", "security_protocol": "properties.security.protocol",
    "ssl_key": "properties.ssl.key.pem", "ssl_certificate": "properties.ssl.certificate.pem",
    "ssl_certificate_authority": "properties.ssl.ca.pem", "group_id_prefix": "group.id.prefix",
    "start_timestamp": "scan.startup.timestamp.millis",
    "scan.startup.timestamp_millis": "scan.startup.timestamp.millis",
}  # fmt: skip
"""Materialize's names and older ones."""
_IGNORED = (
    "progress_topic", "progress_topic_replication_factor", "topic_metadata_refresh_interval",
    "properties.enable.auto.commit", "properties.auto.offset.reset", "properties.sync.call.timeout",
)  # fmt: skip
_JAAS = re.compile(r'(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')
CONNECTION_ERRORS_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Include:
    """One INCLUDE: `what` goes to column `column`; `header` names a header."""

    what: str
    header: str
    column: str


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """Checked options. `client` is librdkafka's configuration without what the reader adds."""

    topic: str
    client: Mapping[str, Any]
    options: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def text(self, name: str, default: str = "") -> str:
        return self.options.get(name, default)

    @property
    def bootstrap(self) -> str:
        return str(self.client["bootstrap.servers"])

    @property
    def format(self) -> str:
        return self.text("format", "plain").lower() or "plain"

    @property
    def encode(self) -> str:
        return self.text("encode", "json").lower() or "json"

    @property
    def key(self) -> tuple[str, ...]:
        """Columns of the relation's key."""
        import json

        return tuple(json.loads(self.text("relation.key", "[]")))

    @property
    def group(self) -> str:
        """The group under which offsets are mirrored."""
        given = self.options.get("properties.group.id")
        prefix = self.text("group.id.prefix", "millpond")
        return given or f"{prefix}-{self.text('relation.name') or self.topic}"

    @property
    def before_images(self) -> bool:
        """Whether change events are taken by both their images."""
        return self.text("before_images").lower() in ("true", "on", "1", "yes")

    def included(self) -> list[Include]:
        names = sorted(n for n in self.options if n.startswith("include."))
        return [Include(*_split(self.options[name])) for name in names]

    def clean(self, message: object) -> str:
        """A message without secrets, short."""
        return without_values(str(message), self.secrets)[:CONNECTION_ERRORS_SHOWN]


def _split(text: str) -> tuple[str, str, str]:
    what, _, rest = text.partition(":")
    header, _, column = rest.rpartition(":")
    what = what.lower()
    return ("header" if what == "headers" else what), header, column


def source_options(options: Mapping[str, str]) -> KafkaOptions:
    """Raises InvalidParameterValue for an unknown option or a missing one."""
    return _checked(options, SOURCE_OPTIONS)


def sink_options(options: Mapping[str, str]) -> KafkaOptions:
    return _checked(options, SINK_OPTIONS)


def _checked(options: Mapping[str, str], known: Mapping[str, str]) -> KafkaOptions:
    given = {_OTHER_SPELLINGS.get(name, name): value for name, value in options.items()}
    named = {n: v for n, v in given.items() if not n.startswith("properties.") and n not in _IGNORED}
    check_options("kafka", named, [*known, "properties.bootstrap.server"])
    if not given.get("topic"):
        raise InvalidParameterValue("kafka needs a topic", hint="Say topic = '…'.")
    if not given.get("properties.bootstrap.server"):
        raise InvalidParameterValue(
            "kafka needs a broker to begin with", hint="Say properties.bootstrap.server = 'host:9092'."
        )
    return KafkaOptions(given["topic"], _client(given), given, tuple(_secrets(given)))


def _secrets(options: Mapping[str, str]) -> list[str]:
    found = secret_values(options)
    for value in list(found):
        found += [text for name, text in _JAAS.findall(value) if name == "password"]
    return found


def _client(options: Mapping[str, str]) -> dict[str, Any]:
    """librdkafka's names of the `properties.…`."""
    found: dict[str, Any] = {}
    for name, value in options.items():
        if not name.startswith("properties.") or name in _IGNORED:
            continue
        name = name.removeprefix("properties.")
        if name == "sasl.jaas.config":
            # Java's way to say user and password.
            found |= {f"sasl.{key}": text for key, text in _JAAS.findall(value)}
        elif name != "group.id":
            found["bootstrap.servers" if name == "bootstrap.server" else name] = value
    return found


def check_client(options: KafkaOptions) -> None:
    """Raises InvalidParameterValue for a property the client does not have. Needs no broker."""
    try:
        Consumer({**options.client, "group.id": options.group, **QUIET}).close()
    except (KafkaException, ValueError, TypeError) as error:
        reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        raise InvalidParameterValue(f"kafka: {options.clean(reason)}") from None


QUIET = {"log_level": 0}
"""What goes wrong is in `millpond.sources`; librdkafka's own lines on stderr would double it."""
