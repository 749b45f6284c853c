"""Waiting for what a server shows in the end, and reading what it has sent."""

from __future__ import annotations

import time
from typing import Any

import psycopg
from confluent_kafka import Consumer, TopicPartition

from .broker import Broker

SECONDS_MAX = 60


def eventually(connection: psycopg.Connection, query: str, wanted: Any, seconds: float = SECONDS_MAX) -> None:
    """Asserts that the query's rows become `wanted`, or satisfy it if it is a function."""
    deadline = time.monotonic() + seconds
    while True:
        rows = connection.execute(query).fetchall()
        if wanted(rows) if callable(wanted) else rows == wanted:
            return
        if time.monotonic() > deadline:
            sources = connection.execute("SELECT name, position, reason FROM millpond.sources").fetchall()
            raise AssertionError(f"{query}: {rows}, not {wanted}; sources: {sources}")
        time.sleep(0.05)


def with_options(broker: Broker, topic: str, **more: str) -> str:
    """The WITH clause of a source or sink on a topic."""
    options = {"connector": "kafka", "topic": topic, "properties.bootstrap.server": broker.bootstrap}
    options |= {name.replace("_", "."): value for name, value in more.items()}
    return "WITH (" + ", ".join(f"{name} = '{value}'" for name, value in options.items()) + ")"


def committed_records(broker: Broker, topic: str, partition: int = 0) -> list[tuple[bytes, bytes]]:
    """All records a read_committed consumer gets, up to the end of the partition."""
    consumer = Consumer({
        "bootstrap.servers": broker.bootstrap, "group.id": "tests", "isolation.level": "read_committed",
        "enable.partition.eof": True, "enable.auto.commit": False, "auto.offset.reset": "earliest",
    })  # fmt: skip
    consumer.assign([TopicPartition(topic, partition, 0)])
    found: list[tuple[bytes, bytes]] = []
    try:
        while True:
            # `consume` waits for the last of the number asked for.
            for message in consumer.consume(1, 10) + consumer.consume(1000, 0):
                if message.error() is not None:
                    return found
                found.append((message.key(), message.value()))
    finally:
        consumer.close()
