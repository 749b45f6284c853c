"""Kafka topics as sources: `connector = 'kafka'`.

    CREATE TABLE t (id bigint PRIMARY KEY, name text)
    WITH (connector = 'kafka', topic = 't', properties.bootstrap.server = 'localhost:9092')
    FORMAT UPSERT ENCODE JSON

Partitions are assigned by hand and their offsets are part of the epoch: the group serves only to show
other tools how far the source is.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...sql.entries import Sink
from ...storage.errors import InvalidParameterValue
from ...storage.schema import Column, Schema
from ...storage.types import BYTEA, JSONB, TEXT, Type
from .base import connector, integer_option
from .kafka_decode import KafkaDecoder
from .kafka_options import KafkaOptions, check_client, source_options
from .kafka_reader import KafkaReader
from .kafka_sink import KafkaSinkWriter, check_kafka_sink

START_MODES = ("earliest", "latest", "timestamp")
_WHOLE: Mapping[str, tuple[str, Type]] = {
    "json": ("data", JSONB),
    "bytes": ("data", BYTEA),
    "text": ("text", TEXT),
}
"""The column of a relation that declares none: the whole value."""


@connector
class Kafka:
    """`connector = 'kafka'` (`runtime.source.Connector`)."""

    name = "kafka"

    def columns(self, options: Mapping[str, str]) -> Schema | None:
        """Where none are declared the value is one column, before it that of the key if rows have one."""
        checked = _source(options)
        whole = _WHOLE.get(checked.encode)
        if whole is None or checked.format == "debezium":
            return None
        columns = [Column(*whole)]
        if checked.format == "upsert" and not any(i.what == "key" for i in checked.included()):
            columns.insert(0, Column("key", _WHOLE.get(options.get("encode.key", "text"), _WHOLE["text"])[1]))
        return Schema(tuple(columns))

    def check(self, schema: Schema, options: Mapping[str, str]) -> None:
        """Raises SqlError when options and columns do not go together, without asking a broker."""
        checked = _source(options)
        _ = KafkaDecoder(schema, checked)
        check_client(checked)

    def open(self, schema: Schema, options: Mapping[str, str]) -> KafkaReader:
        checked = _source(options)
        return KafkaReader(checked, KafkaDecoder(schema, checked))

    def check_sink(self, sink: Sink) -> None:
        check_kafka_sink(sink)

    def open_sink(self, sink: Sink) -> KafkaSinkWriter:
        return KafkaSinkWriter(sink)


def _source(options: Mapping[str, str]) -> KafkaOptions:
    checked = source_options(options)
    mode = checked.text("scan.startup.mode", "earliest").lower()
    if mode not in START_MODES:
        raise InvalidParameterValue(
            f'option "scan.startup.mode" must be earliest, latest or timestamp, not "{mode}"'
        )
    _ = integer_option(checked.options, "scan.startup.timestamp.millis", 0)
    return checked
