"""SELECT: from a plan and a snapshot to rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from itertools import chain

import numpy as np
import pyarrow as pa

from ..operators.batch import poll
from ..operators.evaluate import evaluate
from ..operators.expr import Cast, Expr, Parameter
from ..operators.flow import flow
from ..operators.node import EpochContext, Node, walk
from ..operators.scan import Scan
from ..operators.zset import ZSet, concat
from ..runtime.published import Published, not_ready
from ..runtime.reader import SnapshotReader
from ..sql import statements as st
from ..sql.catalog import Catalog
from ..storage.arrowview import one_integer
from ..storage.errors import FeatureNotSupported, ObjectNotReady
from .backend import Result, ResultColumn
from .client import Client, PreparedStatement, executes
from .cost import INLINE_ROWS_MAX, cost
from .plans import PointRead, QueryPlan
from .portal import BoundValues
from .streaming import Streamed, begun

BATCH_ROWS = 16_384
FEW_ROWS = 64
"""So many rows are sent without looking whether the client still wants them."""

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
    if plan.point is not None and not client.has_written(plan.point.relation):
        return point_result(client, plan, plan.point, values)
    read = client.read_context()
    reader = client.reader(read)
    node = plan.bound(values)
    refuse_stalled(node, reader)

    def answer() -> Result:
        inputs = reader.of_plan(node)
        pieces = flow(node, inputs, read.context)
        first, whole = begun(pieces)
        if whole:
            rows = first[0] if len(first) == 1 else concat(node.schema, first)
            result = result_of(rows, plan.columns, read.context)
        else:
            inputs.last()
            result = streamed(chain(first, pieces), plan.columns, client, read.context)
        result.parameters.update(client.take_changed())
        return result

    if not plan.lasting and cost(node, reader) <= INLINE_ROWS_MAX:
        return answer()
    return client.database.readers.submit(answer)


def current_plan(client: Client, prepared: PreparedStatement) -> QueryPlan:
    """The statement's plan, made again if the catalogue has changed since.

    Raises FeatureNotSupported when that changes the result's columns, as PostgreSQL does.
    """
    if prepared.plan_version != client.catalog.version or (client.transaction and client.transaction.dirty):
        fresh = client.prepare_statement(prepared.statement, prepared.parameter_types)
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


def point_result(client: Client, plan: QueryPlan, point: PointRead, values: Sequence[pa.Array]) -> Result:
    """Rows with one key, straight from the relation's index: the shortest way there is."""
    published = client.published()
    if point.relation in published.stalled:
        raise stalled(published, published.catalog, point.relation)
    table = published.tables[point.relation]
    plain = _plain_key(point, values)
    known = None if plain is None else table.key_of(plain)
    if known is not None and point.columns:
        row = table.row(known, point.columns)
        if row is not None:
            return Result("SELECT {rows}", plan.columns, iter([row]), few=row)
    keys = [_key_value(key, values, client) for key in point.keys]
    positions = table.lookup(keys)
    if positions[0] < 0 or any(key.null_count for key in keys):
        positions = positions[:0]
    if not point.columns:
        return Result("SELECT {rows}", plan.columns, batches(([], len(positions))))
    columns = table.take(positions, point.columns)
    return Result("SELECT {rows}", plan.columns, iter([columns]), few=columns)


def _plain_key(point: PointRead, values: Sequence[pa.Array]) -> Sequence[object] | None:
    """The key's values without arrays, if all are known so."""
    if not isinstance(values, BoundValues):
        return None
    numbers = point.parameters
    return None if numbers is None else [values.simple[number] for number in numbers]


def _key_value(key: Expr, values: Sequence[pa.Array], client: Client) -> pa.Array:
    """The key as an array of length 1: of a whole number faster than `pa.array` and Arrow's cast."""
    parameter = key.arg if isinstance(key, Cast) else key
    if isinstance(parameter, Parameter):
        index = parameter.number - 1
        known = values.integer(index) if isinstance(values, BoundValues) else None
        if known is not None:
            return one_integer(known, key.type.arrow)
        return values[index] if parameter is key else pa.array(values[index].to_pylist(), key.type.arrow)
    return evaluate(key, [], 1, client.read_context().context)


def refuse_stalled(node: Node, reader: SnapshotReader) -> None:
    """A stalled view is behind for good: an error is better than an old answer (I10)."""
    for leaf in walk(node):
        if isinstance(leaf, Scan) and leaf.relation in reader.published.stalled:
            raise stalled(reader.published, reader.catalog, leaf.relation)


def stalled(published: Published, catalog: Catalog, relation: str) -> ObjectNotReady:
    """The error of reading a stalled relation."""
    entry = catalog.by_id(relation)
    assert entry is not None, relation
    return not_ready(entry, published.stalled[relation])


def result_of(rows: ZSet, columns: Sequence[ResultColumn], context: EpochContext) -> Result:
    """A statement's result of these rows, in pieces; `context` is polled before each."""
    expanded = expand(rows)
    few = expanded[0] if expanded[0] and expanded[1] <= FEW_ROWS else None
    return Result("SELECT {rows}", tuple(columns), polled(batches(expanded), context), few=few)


def streamed(
    pieces: Iterator[ZSet], columns: Sequence[ResultColumn], client: Client, context: EpochContext
) -> Result:
    """The result of rows of which most are still to be made."""
    submit = client.database.readers.submit
    rows = Streamed(pieces, lambda piece: polled(batches(expand(piece)), context), submit)
    return Result("SELECT {rows}", tuple(columns), rows)


def polled(pieces: Iterator[Columns], context: EpochContext) -> Iterator[Columns]:
    for piece in pieces:
        poll(context)
        yield piece


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
