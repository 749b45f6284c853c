"""Changes of a sink as records: key, value pairs of FORMAT PLAIN, UPSERT and DEBEZIUM with ENCODE JSON.

Values are written as PostgreSQL's to_json writes them, numbers with all their digits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ...operators.functions.json_build import json_texts
from ...operators.node import EpochContext
from ...planner.define_sink import sink_format
from ...runtime.sink import EPOCH_BITS, SinkBatch
from ...sql.entries import Sink
from ...storage.schema import Column

Record = tuple[str | None, str | None]
"""Key and value; a value of None is a tombstone."""


@dataclass(frozen=True, slots=True)
class Change:
    """One key's change in one epoch: rows before and after, None where there is none."""

    key: str
    before: str | None
    after: str | None


def records_of(sink: Sink, batch: SinkBatch) -> list[Record]:
    """The records that say what changed, those of a key in the order of its changes."""
    format_ = sink_format(dict(sink.options))
    columns = list(batch.rows.columns)
    values = json_objects(list(sink.schema), columns)
    keys: Sequence[str | None] = [None] * len(values)
    if sink.key:
        keys = json_objects([sink.schema[i] for i in sink.key], [columns[i] for i in sink.key])
    if format_ == "plain":
        return [
            (key, value)
            for key, value, weight in zip(keys, values, batch.rows.weights.tolist(), strict=True)
            for _ in range(weight)
        ]
    changes = _changes(keys, values, batch)
    if format_ == "upsert":
        return [(change.key, change.after) for change in changes]
    return [(change.key, _envelope(change)) for change in changes]


def _changes(keys: Sequence[str | None], values: Sequence[str], batch: SinkBatch) -> list[Change]:
    """What each epoch did to each key."""
    found: list[Change] = []
    current: dict[str, Change] = {}
    epochs = (batch.numbers >> EPOCH_BITS).tolist()
    last = epochs[0]
    for key, value, weight, epoch in zip(keys, values, batch.rows.weights.tolist(), epochs, strict=True):
        if epoch != last:
            found.extend(current.values())
            current, last = {}, epoch
        assert key is not None
        known = current.get(key, Change(key, None, None))
        if weight < 0:
            current[key] = Change(key, value, known.after)
        else:
            current[key] = Change(key, known.before, value)
    found.extend(current.values())
    return found


def _envelope(change: Change) -> str:
    operation = "u" if change.before and change.after else "c" if change.after else "d"
    return f'{{"before":{change.before or "null"},"after":{change.after or "null"},"op":"{operation}"}}'


def json_objects(columns: Sequence[Column], arrays: Sequence[pa.Array]) -> list[str]:
    """Each row as a JSON object."""
    context = EpochContext(0, 0)
    names = [json.dumps(column.name, ensure_ascii=False).replace("%", "%%") for column in columns]
    template = "{" + ",".join(f"{name}:%s" for name in names) + "}"
    texts = [
        ["null" if text is None else text for text in json_texts(array, column.type, context, binary=False)]
        for column, array in zip(columns, arrays, strict=True)
    ]
    return [template % row for row in zip(*texts, strict=True)]


def only_insertions(sink: Sink, batch: SinkBatch) -> SinkBatch:
    """FORMAT PLAIN: without rows that go (force_append_only)."""
    kept = np.flatnonzero(batch.rows.weights > 0)
    return SinkBatch(batch.rows.take(kept), batch.numbers[kept])
