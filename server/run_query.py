"""SELECT: from a plan and a snapshot to rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future

import numpy as np
import pyarrow as pa

from ..operators.dataflow import run
from ..operators.evaluate import evaluate
from ..operators.expr import Cast, Expr, Parameter
from ..operators.node import Node, walk
from ..operators.scan import Scan
from ..operators.zset import ZSet
from ..planner.key_lookup import KeyLookup
from ..runtime.reader import SnapshotReader
from ..runtime.relations import ReadContext
from ..sql import statements as st
from ..storage.errors import FeatureNotSupported, ObjectNotReady
from .backend import Result, ResultColumn
from .client import Client, PreparedStatement, executes
from .plans import PointRead, QueryPlan

INLINE_ROWS_MAX = 2000
"""A query over fewer rows is answered in the event loop: cheaper than to hand it to a thread."""
BATCH_ROWS = 16_384

Columns = list[pa.Array]


@executes(st.Select)
def run_select(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result | Future[Result]:
    statement = prepared.statement
    assert isinstance(statement, st.Select)
    if statement.as_of is not None or statement.emit_changes:
        raise FeatureNotSupported("AS OF and EMIT CHANGES are not supported")
    plan = current_plan(client, prepared)
    read = client.read_context()
    reader = client.reader(read)
    if plan.point is not None and plan.point.relation not in reader.overlays:
        return point_result(plan, plan.point, values, reader, read)
    node = plan.bound(values)
    refuse_stalled(node, reader)

    def answer() -> Result:
        result = result_of(run(node, reader, read.context), plan.columns)
        result.parameters.update(client.take_changed())
        return result

    return answer() if cost(node, reader) <= INLINE_ROWS_MAX else client.database.readers.submit(answer)


def current_plan(client: Client, prepared: PreparedStatement) -> QueryPlan:
    """The statement's plan, made again if the catalogue has changed since.

    Raises FeatureNotSupported when that changes the result's columns, as PostgreSQL does.
    """
    if prepared.plan_version != client.catalog.version or (client.transaction and client.transaction.dirty):
        fresh = client.prepare_statement(prepared.statement, prepared.declared)
        before = [(c.name, c.type) for c in prepared.columns or ()]
        after = [(c.name, c.type) for c in fresh.columns or ()]
        if before != after or fresh.parameter_types != prepared.parameter_types:
            raise FeatureNotSupported("cached plan must not change result type")
        if client.transaction is not None and client.transaction.dirty:
            assert isinstance(fresh.plan, QueryPlan)
            return fresh.plan
        prepared.plan, prepared.plan_version = fresh.plan, fresh.plan_version
    assert isinstance(prepared.plan, QueryPlan)
    return prepared.plan


def point_result(
    plan: QueryPlan, point: PointRead, values: Sequence[pa.Array], reader: SnapshotReader, read: ReadContext
) -> Result:
    """Rows with one key, straight from the relation's index."""
    keys = [_key_value(key, values, read) for key in point.keys]
    table = reader.published.tables[point.relation]
    positions = table.lookup(keys)
    if any(key.null_count for key in keys):
        positions = positions[:0]
    columns = table.take(positions[positions >= 0], point.columns)
    return Result("SELECT {rows}", plan.columns, iter([columns] if len(columns[0]) else []))


def _key_value(key: Expr, values: Sequence[pa.Array], read: ReadContext) -> pa.Array:
    if isinstance(key, Parameter):
        return values[key.number - 1]
    if isinstance(key, Cast) and isinstance(key.arg, Parameter):
        return values[key.arg.number - 1].cast(key.type.arrow)
    return evaluate(key, [], 1, read.context)


def cost(node: Node, reader: SnapshotReader) -> int:
    """About how many rows a plan reads."""
    total = 0
    for leaf in walk(node):
        if isinstance(leaf, KeyLookup):
            total += len(leaf.keys)
        elif isinstance(leaf, Scan):
            table = reader.published.tables.get(leaf.relation)
            if table is not None:
                total += len(table)
            elif leaf.relation in reader.published.offsets:
                total += INLINE_ROWS_MAX + 1
            if leaf.relation in reader.overlays:
                total += INLINE_ROWS_MAX // 4
    return total


def refuse_stalled(node: Node, reader: SnapshotReader) -> None:
    """A stalled view is behind for good: an error is better than an old answer (I10)."""
    for leaf in walk(node):
        if isinstance(leaf, Scan) and leaf.relation in reader.published.stalled:
            entry = reader.catalog.by_id(leaf.relation)
            reason = reader.published.stalled[leaf.relation]
            raise ObjectNotReady(
                f'"{entry.name if entry else leaf.relation}" is stalled: {reason}',
                hint="DROP it and create it again when the cause is gone.",
            )


def result_of(rows: ZSet, columns: Sequence[ResultColumn]) -> Result:
    """A statement's result of these rows, in pieces."""
    return Result("SELECT {rows}", tuple(columns), batches(expand(rows)))


def expand(rows: ZSet) -> tuple[Columns, int]:
    """(columns, number of rows), a row of weight n n times."""
    if (rows.weights == 1).all():
        return list(rows.columns), len(rows)
    positions = np.repeat(np.arange(len(rows)), rows.weights)
    indices = pa.array(positions)
    return [column.take(indices) for column in rows.columns], len(positions)


def batches(rows: tuple[Columns, int]) -> Iterator[Columns]:
    """Pieces of at most BATCH_ROWS rows. A result without columns still counts its rows."""
    columns, count = rows
    if not columns:
        for _ in range(count):
            yield []
        return
    for start in range(0, count, BATCH_ROWS):
        yield [column.slice(start, BATCH_ROWS) for column in columns]
