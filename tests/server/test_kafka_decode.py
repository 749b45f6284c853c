"""Change events by both their images: the row before goes as it came, the row after comes."""

from __future__ import annotations

import json

import pytest

from millpond.server.connectors.kafka_decode import KafkaDecoder
from millpond.server.connectors.kafka_options import source_options
from millpond.server.connectors.kafka_records import Decoded, Records
from millpond.storage.errors import FeatureNotSupported, InvalidTableDefinition
from millpond.storage.schema import Column, Schema
from millpond.storage.types import INT8, TEXT

SCHEMA = Schema((Column("id", INT8, False), Column("v", TEXT)))
OPTIONS = {
    "connector": "kafka",
    "topic": "t",
    "properties.bootstrap.server": "nowhere",
    "format": "debezium",
    "encode": "json",
    "relation.name": "s",
    "relation.key": "[]",
}
IMAGES = {**OPTIONS, "before_images": "true"}
OLD, NEW = {"id": 1, "v": "old"}, {"id": 1, "v": "new"}


def event(op: str, before: object, after: object) -> bytes:
    return json.dumps({"before": before, "after": after, "op": op}).encode()


def decoded(*values: bytes | None) -> Decoded:
    records = Records("t", list(values), [None] * len(values), [0] * len(values), list(range(len(values))))
    return KafkaDecoder(SCHEMA, source_options(IMAGES)).decode(records)


def rows(found: Decoded) -> list[tuple[int, str | None, int]]:
    count = len(found.columns[0])
    goes = [False] * count if found.deletes is None else found.deletes.tolist()
    values = zip(found.columns[0].to_pylist(), found.columns[1].to_pylist(), goes, strict=True)
    return [(id_, v, -1 if gone else 1) for id_, v, gone in values]


def test_the_row_before_goes_and_the_row_after_comes() -> None:
    wrapped = b'{"schema": {}, "payload": ' + event("d", NEW, None) + b"}"
    found = decoded(event("c", None, OLD), event("u", OLD, NEW), wrapped, None, event("r", None, OLD))
    assert rows(found) == [(1, "old", 1), (1, "old", -1), (1, "new", 1), (1, "new", -1), (1, "old", 1)]
    assert not found.errors


def test_an_event_without_an_image_it_must_have_is_left_out_whole() -> None:
    found = decoded(
        event("u", None, NEW), event("d", None, None), event("c", None, None), event("x", OLD, NEW)
    )
    assert rows(found) == []
    assert [error.message for error in found.errors] == [
        'the change event has no "before"',
        'the change event has no "before"',
        'the change event has no "after"',
        'change event with unknown "op": "x"',
    ]


def test_a_row_that_could_not_come_does_not_go() -> None:
    bad = {"id": None, "v": "no id"}
    found = decoded(event("c", None, bad), event("u", bad, NEW))
    assert rows(found) == [(1, "new", 1)]
    assert len(found.errors) == 2


def test_included_columns_would_tell_images_of_one_row_apart() -> None:
    with pytest.raises(FeatureNotSupported):
        KafkaDecoder(SCHEMA, source_options({**IMAGES, "include.0": "offset::v"}))


def test_without_images_a_key_is_needed() -> None:
    with pytest.raises(InvalidTableDefinition):
        KafkaDecoder(SCHEMA, source_options(OPTIONS))


def test_by_key_the_row_after_replaces_and_a_deletion_needs_the_key_only() -> None:
    values = [event("u", OLD, NEW), event("d", {"id": 2}, None), None]
    records = Records("t", values, [None] * 3, [0] * 3, [0, 1, 2])
    keyed = source_options({**OPTIONS, "relation.key": '["id"]'})
    found = KafkaDecoder(SCHEMA, keyed).decode(records)
    assert rows(found) == [(1, "new", 1), (2, None, -1)]
    assert not found.errors
