"""A plan as indented lines: one node a line, what it does, and what it remembers.

The same tree answers a SELECT and maintains a view, so the same text explains both. `state` names what an
operator keeps between epochs when the plan is a view's, so that a plan's cost can be seen before it exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..operators.aggregate import Aggregate
from ..operators.aggregate_calls import AggregateCall
from ..operators.distinct import Distinct
from ..operators.filter import Filter
from ..operators.join import Join, JoinKind
from ..operators.materialize import Materialize
from ..operators.node import Node
from ..operators.project import Project
from ..operators.scan import Scan
from ..operators.set_operation import SetOperation
from ..operators.single_row import SingleRow
from ..operators.sorting import SortKey
from ..operators.table_function import TableFunctionNode
from ..operators.topn import TopN
from ..operators.values import Values
from ..operators.window import Window
from ..sql.catalog import Catalog
from ..storage.schema import Schema
from .explain_expr import show, show_all
from .key_lookup import KeyLookup


def explain(node: Node, catalog: Catalog, state: bool = False) -> list[str]:
    """The lines of EXPLAIN. With `state`, each operator says what it keeps."""
    lines: list[str] = []
    _add(node, catalog, 0, lines, state)
    return lines


def _add(node: Node, catalog: Catalog, depth: int, lines: list[str], state: bool) -> None:
    kind = next((k for k in _LABELS if isinstance(node, k)), None)
    label = _LABELS[kind](node, catalog) if kind is not None else type(node).__name__
    prefix = "  " * depth + ("-> " if depth else "")
    kept = _STATE.get(kind) if state and kind is not None else None
    lines.append(prefix + label + (f"  [keeps {kept(node)}]" if kept is not None and kept(node) else ""))
    for child in node.inputs:
        _add(child, catalog, depth + 1, lines, state)


def _name(relation: str, catalog: Catalog) -> str:
    entry = catalog.by_id(relation)
    if entry is None:
        return relation
    return entry.name if entry.schema_name == "public" else f"{entry.schema_name}.{entry.name}"


def _columns(node: Scan) -> str:
    if node.columns is None or len(node.columns) == len(node.schema_):
        return ""
    if not node.columns:
        return " (number of rows)"
    return " (" + ", ".join(node.schema.names) + ")"


def _scan(node: Scan, catalog: Catalog) -> str:
    return f"Scan {_name(node.relation, catalog)}{_columns(node)}"


def _key_lookup(node: KeyLookup, catalog: Catalog) -> str:
    names = ", ".join(node.schema_[i].name for i in node.key_ or ())
    empty = Schema(())
    keys = ", ".join(f"({show_all(key, empty)})" for key in node.keys[:3])
    more = f", … {len(node.keys)} keys" if len(node.keys) > 3 else ""
    return f"Key Lookup {_name(node.relation, catalog)} by ({names}) = {keys}{more}{_columns(node)}"


def _project(node: Project, catalog: Catalog) -> str:
    schema = node.input.schema
    parts = (show(e, schema) for e in node.exprs)
    shown = (t if t == n else f"{t} AS {n}" for t, n in zip(parts, node.names, strict=True))
    return f"Project {', '.join(shown)}"


def _join(node: Join, catalog: Catalog) -> str:
    words = {JoinKind.INNER: "Join", JoinKind.LEFT: "Left Join", JoinKind.RIGHT: "Right Join",
             JoinKind.FULL: "Full Join", JoinKind.SEMI: "Semi Join", JoinKind.ANTI: "Anti Join"}  # fmt: skip
    word = words[node.kind]
    operator = "IS NOT DISTINCT FROM" if node.null_equal else "="
    parts = [
        f"{show(a, node.left.schema)} {operator} {show(b, node.right.schema)}"
        for a, b in zip(node.left_keys, node.right_keys, strict=True)
    ]
    text = f"{word} on {' AND '.join(parts)}" if parts else f"{word} (every pair of rows)"
    if node.condition is not None:
        text += f", where {show(node.condition, node.left.schema.concat(node.right.schema))}"
    return text


def _call(call: AggregateCall, schema: Schema) -> str:
    distinct = "DISTINCT " if call.distinct else ""
    args = show_all(call.args, schema) if call.args else "*"
    order = f" ORDER BY {_order(call.order, schema)}" if call.order else ""
    condition = f" FILTER ({show(call.filter, schema)})" if call.filter is not None else ""
    return f"{call.function.name}({distinct}{args}{order}){condition}"


def _aggregate(node: Aggregate, catalog: Catalog) -> str:
    schema = node.input.schema
    calls = ", ".join(_call(call, schema) for call in node.calls)
    groups = f" by {show_all(node.groups, schema)}" if node.groups else ""
    return f"Aggregate {calls}{groups}" if calls else f"Group{groups}"


def _order(order: Sequence[SortKey], schema: Schema) -> str:
    words: list[str] = []
    for key in order:
        word = schema[key.column].name + (" DESC" if key.descending else "")
        if key.nulls_first != key.descending:
            word += " NULLS FIRST" if key.nulls_first else " NULLS LAST"
        words.append(word)
    return ", ".join(words)


def _partition(partition: Sequence[int], schema: Schema) -> str:
    return f" in each ({', '.join(schema[i].name for i in partition)})" if partition else ""


def _topn(node: TopN, catalog: Catalog) -> str:
    schema = node.schema
    if node.limit is None and not node.offset:
        return f"Sort by {_order(node.order, schema)}{_partition(node.partition, schema)}"
    limit = f"first {node.limit}" if node.limit is not None else "all"
    offset = f" after {node.offset}" if node.offset else ""
    order = f" by {_order(node.order, schema)}" if node.order else ""
    ties = " with ties" if node.ties else ""
    return f"Top {limit}{offset}{order}{ties}{_partition(node.partition, schema)}"


def _window(node: Window, catalog: Catalog) -> str:
    schema = node.input.schema
    calls = ", ".join(f"{c.function.name}({show_all(c.args, schema)})" for c in node.calls)
    order = f" by {_order(node.order, schema)}" if node.order else ""
    return f"Window {calls}{order}{_partition(node.partition, schema)}"


def _set_operation(node: SetOperation, catalog: Catalog) -> str:
    return node.operation.capitalize() + (" All" if node.all else "")


def _table_function(node: TableFunctionNode, catalog: Catalog) -> str:
    return f"Table Function {node.function.name}({show_all(node.args, node.input.schema)})"


def _materialize(node: Materialize, catalog: Catalog) -> str:
    if node.key_ is None:
        return "Materialize as a bag of rows"
    names = ", ".join(node.schema[i].name for i in node.key_)
    return f"Materialize by key ({names})"


_LABELS: dict[type[Node], Callable[..., str]] = {
    KeyLookup: _key_lookup,
    Scan: _scan,
    Values: lambda node, _: f"Values ({len(node.rows)} row{'s' if len(node.rows) != 1 else ''})",
    Filter: lambda node, _: f"Filter {show(node.predicate, node.input.schema)}",
    Project: _project,
    Join: _join,
    Aggregate: _aggregate,
    Distinct: lambda node, _: "Distinct",
    TopN: _topn,
    Window: _window,
    SetOperation: _set_operation,
    TableFunctionNode: _table_function,
    SingleRow: lambda node, _: f"Single Row{_partition(node.partition, node.schema)}",
    Materialize: _materialize,
}

_STATE: dict[type[Node], Callable[..., str]] = {
    Materialize: lambda node: "the view's rows",
    Aggregate: lambda node: "a row for each group",
    Join: lambda node: "the rows of both sides",
    Distinct: lambda node: "each distinct row with its count",
    TopN: lambda node: "the rows of its input" if node.limit is not None or node.offset else "",
    Window: lambda node: "the rows of its input; touched partitions are computed anew",
    SetOperation: lambda node: "each distinct row with its counts",
    SingleRow: lambda node: "the rows of its input",
}
