"""EXPLAIN of a query, a write, or a view."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from concurrent.futures import Future

import pyarrow as pa

from ..operators.dataflow import run
from ..operators.node import Node
from ..planner.build import materialized, view_plan
from ..planner.explain import explain
from ..planner.optimize import traced
from ..planner.translate import translate_query
from ..sql import statements as st
from ..sql.entries import MaterializedView
from ..storage.errors import FeatureNotSupported, WrongObjectType
from ..storage.types import TEXT, Type
from .backend import Result, ResultColumn
from .client import Client, PreparedStatement, describes, executes
from .plans import QueryPlan, WritePlan


@describes(st.Explain)
def describe_explain(client: Client, statement: st.Explain) -> tuple[ResultColumn, ...]:
    return (ResultColumn("QUERY PLAN", TEXT),)


@executes(st.Explain)
def run_explain(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result | Future[Result]:
    statement = prepared.statement
    assert isinstance(statement, st.Explain)
    node, title, translated = _plan(client, statement, prepared.parameter_types, values)
    if _on(statement, "trace"):
        lines = [line for step in traced(translated, client.catalog) for line in step]
    else:
        lines = ([title] if title else []) + explain(node, client.catalog)
    if not _on(statement, "analyze"):
        return _lines(statement, lines)
    return client.database.readers.submit(lambda: _analyzed(client, statement, node, lines))


def _on(statement: st.Explain, option: str) -> bool:
    return statement.options.get(option, "false").lower() in ("true", "on", "1", "")


def _plan(
    client: Client, statement: st.Explain, parameters: tuple[Type, ...], values: Sequence[pa.Array]
) -> tuple[Node, str, Node]:
    """(optimized plan, heading, plan as it was translated)."""
    catalog, path = client.reading_catalog(), client.search_path
    inner = statement.statement
    if statement.name is not None:
        entry = catalog.resolve(statement.name.parts, path)
        if not isinstance(entry, MaterializedView):
            raise WrongObjectType(f'"{entry.name}" is not a materialized view')
        plan = view_plan(entry, catalog)
        return plan, f"Materialized View {entry.name}", plan
    if isinstance(inner, st.CreateMaterializedView):
        query = translate_query(inner.query.ast, catalog, path, text=statement.text, for_view=True)
        return materialized(query, catalog), f"Materialized View {inner.name.name}", query.node
    prepared = client.prepare_statement(inner, parameters) if inner is not None else None
    if prepared is not None and isinstance(prepared.plan, QueryPlan):
        return prepared.plan.bound(values), "", prepared.plan.query.node
    if prepared is not None and isinstance(prepared.plan, WritePlan):
        write = prepared.plan.bound(values)
        return write.node, f"{write.kind.name.capitalize()} on {write.table.name}", write.node
    raise FeatureNotSupported("EXPLAIN of this statement is not supported")


def _analyzed(client: Client, statement: st.Explain, node: Node, lines: list[str]) -> Result:
    if not isinstance(statement.statement, st.Select):
        raise FeatureNotSupported("EXPLAIN ANALYZE of a statement other than SELECT is not supported")
    read = client.read_context()
    started = time.perf_counter()
    rows = run(node, client.reader(read), read.context)
    elapsed = (time.perf_counter() - started) * 1000
    return _lines(
        statement, [*lines, f"Rows: {int(rows.weights.sum())}", f"Execution Time: {elapsed:.3f} ms"]
    )


def _lines(statement: st.Explain, lines: list[str]) -> Result:
    if statement.options.get("format", "text").lower() == "json":
        lines = [json.dumps([{"Plan": lines}], indent=2)]
    columns = (ResultColumn("QUERY PLAN", TEXT),)
    return Result("EXPLAIN", columns, iter([[pa.array(lines, pa.string())]]))
