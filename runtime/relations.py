"""Relations that are not stored, and what reading any relation needs.

A source's content is its records up to the committed offset, read again from its connector; a system
relation is computed from the catalogue and live facts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from ..operators.batch import Int64Array
from ..operators.consolidate import consolidate
from ..operators.evaluate import evaluate
from ..operators.node import EpochContext
from ..operators.scan import Scan
from ..operators.zset import ZSet, concat
from ..planner.key_lookup import KeyLookup
from ..sql.catalog import Catalog
from ..sql.entries import Entry, Relation, Sink, Source, SystemRelation, Table
from ..sql.system import SystemContext, system_rows
from ..sql.system.registry import Rows
from ..storage.errors import FeatureNotSupported
from ..storage.schema import Schema
from .sink import WritingConnector
from .source import Connectors, Resettable, SourceReader


@dataclass(slots=True)
class ReadContext:
    """What reading needs besides the data: the expression context, and what the system relations show."""

    context: EpochContext
    search_path: tuple[str, ...] = ("public",)
    live: Mapping[str, Callable[[], Rows]] = field(default_factory=dict)
    """Providers of live facts (sessions, sources, progress) by name, for system relations."""

    def entry(self, catalog: Catalog, relation: str) -> Relation:
        """The catalogue entry with this id."""
        found = catalog.by_oid(int(relation[1:]))
        assert isinstance(found, Relation), relation
        return found

    def system(self, catalog: Catalog) -> SystemContext:
        """What system relations see: the session's surroundings, with the catalogue of the plan."""
        around = self.context.surroundings
        if not isinstance(around, SystemContext):
            return SystemContext(catalog, self.search_path, self.context.session, self.live)
        return around if around.catalog is catalog else replace(around, catalog=catalog)


def key_values(scan: KeyLookup, read: ReadContext) -> list[pa.Array]:
    """The key columns to look up, one row a key. A key with NULL is dropped: it equals nothing."""
    rows = [[evaluate(expr, [], 1, read.context) for expr in key] for key in scan.keys]
    columns = [pa.concat_arrays([row[i] for row in rows]) for i in range(len(scan.key_ or ()))]
    nulls = np.zeros(len(rows), np.bool_)
    for column in columns:
        if column.null_count:
            nulls |= column.is_null().to_numpy(zero_copy_only=False)
    if nulls.any():
        columns = [column.take(pa.array(np.flatnonzero(~nulls))) for column in columns]
    return columns


def rows_found(positions: Int64Array) -> Int64Array:
    """Where a lookup has found rows: each row once, for a list of keys may name one more than once."""
    if len(positions) < 2:
        return positions[positions >= 0]
    places, first = np.unique(positions, return_index=True)
    return positions[np.sort(first[places >= 0])]


def relation_rows(
    scan: Scan, catalog: Catalog, offsets: Mapping[str, bytes], connectors: Connectors, read: ReadContext
) -> ZSet:
    """Rows of a relation that is not stored: a source up to its offset, or a system relation."""
    entry = read.entry(catalog, scan.relation)
    if isinstance(entry, Source):
        return replay(entry, offsets, connectors)
    assert isinstance(entry, SystemRelation), scan.relation
    return ZSet.inserts(scan.schema_, system_rows(entry, read.system(catalog)))


def replay(entry: Source, offsets: Mapping[str, bytes], connectors: Connectors) -> ZSet:
    """The whole content of a source: its records up to the committed offset, read again."""
    until = offsets.get(entry.id)
    if until is None:
        return ZSet.empty(entry.schema)
    reader = open_reader(entry, connectors)
    try:
        parts = [batch.delta(entry.schema) for batch in reader.replay(until) if len(batch)]
    finally:
        reader.close()
    whole = concat(entry.schema, parts)
    return whole if entry.append_only else consolidate(whole)


def open_reader(entry: Source | Table, connectors: Connectors) -> SourceReader:
    """The connector of a source, or of a table with one, at work."""
    options = relation_options(entry)
    return connectors.find(options.get("connector", "")).open(entry.schema, options)


def relation_options(entry: Source | Table) -> dict[str, str]:
    """The options as a connector gets them: with the relation's name and key (JSON list of columns)."""
    key = entry.key if isinstance(entry, Source) else entry.primary_key
    names = [entry.schema[i].name for i in key or ()]
    return {**entry.options, "relation.name": entry.name, "relation.key": json.dumps(names)}


def check_connector(entry: Entry, connectors: Connectors) -> None:
    """Raises SqlError when the connector cannot make the columns of a new relation."""
    if isinstance(entry, Sink):
        writing = connectors.find(entry.options["connector"])
        if not isinstance(writing, WritingConnector):
            raise FeatureNotSupported(f'connector "{writing.name}" has no sinks')
        writing.check_sink(entry)
    if has_connector(entry):
        assert isinstance(entry, Source | Table)
        options = relation_options(entry)
        check = getattr(connectors.find(options["connector"]), "check", None)
        if check is not None:
            check(entry.schema, options)


def reset_offset(entry: Source | Table, offset: bytes, connectors: Connectors) -> bytes:
    """The offset of ALTER SOURCE … RESET. Raises FeatureNotSupported when the connector cannot."""
    reader = open_reader(entry, connectors)
    try:
        if not isinstance(reader, Resettable):
            raise FeatureNotSupported(f"a {entry.options['connector']} source cannot be reset")
        return reader.reset(offset)
    finally:
        reader.close()


def has_connector(entry: object) -> bool:
    return isinstance(entry, Source | Table) and "connector" in entry.options


def connector_columns(options: dict[str, str], connectors: Connectors) -> Schema | None:
    """Checks a source's options; the columns its connector has of its own, if any."""
    return connectors.find(options["connector"]).columns(options)
