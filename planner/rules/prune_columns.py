"""Columns nobody reads are left out as early as possible.

`_pruned(node, needed)` gives a plan with the needed columns (perhaps more) and where each old column now
is. Dropping a column never changes how often a row counts: bags keep their weights. Distinct, INTERSECT
and EXCEPT compare whole rows, so they need all of theirs, and so do a group's keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ...operators.aggregate import Aggregate
from ...operators.aggregate_calls import AggregateCall
from ...operators.expr import ColumnRef, Expr, columns_of, rewrite_expr
from ...operators.filter import Filter
from ...operators.join import Join, JoinKind
from ...operators.node import Node
from ...operators.project import Project
from ...operators.scan import Scan
from ...operators.single_row import SingleRow
from ...operators.sorting import SortKey
from ...operators.table_function import TableFunctionNode
from ...operators.topn import TopN
from ...operators.union import Union
from ...operators.window import Window
from ...sql.catalog import Catalog

Positions = dict[int, int]
"""Old column → new column."""


def prune_columns(node: Node, catalog: Catalog) -> Node:
    pruned, positions = _pruned(node, set(range(len(node.schema))))
    exact = _exactly(pruned, positions, list(range(len(node.schema))), node)
    return node if exact == node else exact


def _pruned(node: Node, needed: set[int]) -> tuple[Node, Positions]:
    for kind, function in _CASES.items():
        if isinstance(node, kind):
            return function(node, needed)
    children: list[Node] = []
    for child in node.inputs:
        everything = list(range(len(child.schema)))
        pruned, positions = _pruned(child, set(everything))
        children.append(_exactly(pruned, positions, everything, child))
    return node.with_inputs(children), _same(len(node.schema))


def _same(count: int) -> Positions:
    return {i: i for i in range(count)}


def _exactly(node: Node, positions: Positions, wanted: Sequence[int], like: Node) -> Node:
    """`node` with the old columns `wanted`, in that order and under their old names."""
    if [positions[i] for i in wanted] == list(range(len(node.schema))):
        return node
    schema = like.schema.select(wanted)
    exprs = tuple(ColumnRef(positions[i], like.schema[i].type) for i in wanted)
    hidden = tuple(column.hidden for column in schema)
    return Project(node, exprs, schema.names, hidden if any(hidden) else ())


def _moved(expr: Expr, positions: Positions) -> Expr:
    return rewrite_expr(
        expr, lambda e: ColumnRef(positions[e.index], e.type) if isinstance(e, ColumnRef) else e
    )


def _moved_keys(order: Iterable[SortKey], positions: Positions) -> tuple[SortKey, ...]:
    return tuple(replace(key, column=positions[key.column]) for key in order)


def _read_by(exprs: Iterable[Expr]) -> set[int]:
    return {column for expr in exprs for column in columns_of(expr)}


def _scan(node: Scan, needed: set[int]) -> tuple[Node, Positions]:
    visible = node.columns if node.columns is not None else tuple(range(len(node.schema_)))
    kept = sorted(needed) or [0] if visible else []
    if len(kept) == len(visible):
        return node, _same(len(visible))
    pruned = replace(node, columns=tuple(visible[i] for i in kept))
    return pruned, {old: new for new, old in enumerate(kept)}


def _project(node: Project, needed: set[int]) -> tuple[Node, Positions]:
    kept = sorted(needed) or [0] if node.exprs else []
    exprs = [node.exprs[i] for i in kept]
    below, positions = _pruned(node.input, _read_by(exprs))
    hidden = tuple(node.hidden[i] for i in kept) if node.hidden else ()
    names = tuple(node.names[i] for i in kept)
    pruned = Project(below, tuple(_moved(e, positions) for e in exprs), names, hidden)
    return pruned, {old: new for new, old in enumerate(kept)}


def _filter(node: Filter, needed: set[int]) -> tuple[Node, Positions]:
    below, positions = _pruned(node.input, needed | columns_of(node.predicate))
    return Filter(below, _moved(node.predicate, positions)), positions


def _aggregate(node: Aggregate, needed: set[int]) -> tuple[Node, Positions]:
    count = len(node.groups)
    kept = [i for i in range(len(node.calls)) if count + i in needed]
    if not kept and not count:
        kept = [0] if node.calls else []
    calls = [node.calls[i] for i in kept]
    read = _read_by(node.groups)
    for call in calls:
        read |= _read_by(call.args) | {key.column for key in call.order}
        read |= columns_of(call.filter) if call.filter is not None else set()
    below, positions = _counted(node.input) if _only_counts(node, calls) else _pruned(node.input, read)
    moved = tuple(
        replace(
            call,
            args=tuple(_moved(e, positions) for e in call.args),
            filter=None if call.filter is None else _moved(call.filter, positions),
            order=_moved_keys(call.order, positions),
        )
        for call in calls
    )
    groups = tuple(_moved(e, positions) for e in node.groups)
    after = {i: i for i in range(count)} | {count + old: count + new for new, old in enumerate(kept)}
    return replace(node, input=below, groups=groups, calls=moved), after


def _only_counts(node: Aggregate, calls: Sequence[AggregateCall]) -> bool:
    """Whether the rows of a relation are counted and nothing else is asked of them."""
    return type(node.input) is Scan and not node.groups and all(call.counts_rows for call in calls)


def _counted(scan: Node) -> tuple[Node, Positions]:
    """A scan of no column: rows without columns are alike, so one can stand for all."""
    assert isinstance(scan, Scan)
    return replace(scan, columns=()), {}


def _join(node: Join, needed: set[int]) -> tuple[Node, Positions]:
    width = len(node.left.schema)
    condition = columns_of(node.condition) if node.condition is not None else set[int]()
    read = needed | condition
    left, left_positions = _pruned(node.left, {i for i in read if i < width} | _read_by(node.left_keys))
    right, right_positions = _pruned(
        node.right, {i - width for i in read if i >= width} | _read_by(node.right_keys)
    )
    new_width = len(left.schema)
    positions = left_positions | {width + old: new_width + new for old, new in right_positions.items()}
    joined = replace(
        node,
        left=left,
        right=right,
        left_keys=tuple(_moved(e, left_positions) for e in node.left_keys),
        right_keys=tuple(_moved(e, right_positions) for e in node.right_keys),
        condition=None if node.condition is None else _moved(node.condition, positions),
    )
    return joined, left_positions if node.kind in (JoinKind.SEMI, JoinKind.ANTI) else positions


def _union(node: Union, needed: set[int]) -> tuple[Node, Positions]:
    kept = sorted(needed) or [0] if len(node.schema) else []
    branches: list[Node] = []
    for branch in node.branches:
        pruned, positions = _pruned(branch, set(kept))
        branches.append(_exactly(pruned, positions, kept, branch))
    return Union(tuple(branches)), {old: new for new, old in enumerate(kept)}


def _topn(node: TopN, needed: set[int]) -> tuple[Node, Positions]:
    read = needed | set(node.partition) | {key.column for key in node.order}
    below, positions = _pruned(node.input, read)
    partition = tuple(positions[i] for i in node.partition)
    return replace(
        node, input=below, partition=partition, order=_moved_keys(node.order, positions)
    ), positions


def _single_row(node: SingleRow, needed: set[int]) -> tuple[Node, Positions]:
    below, positions = _pruned(node.input, needed | set(node.partition))
    return SingleRow(below, tuple(positions[i] for i in node.partition)), positions


def _table_function(node: TableFunctionNode, needed: set[int]) -> tuple[Node, Positions]:
    width = len(node.input.schema)
    below, positions = _pruned(node.input, {i for i in needed if i < width} | _read_by(node.args))
    args = tuple(_moved(e, positions) for e in node.args)
    new_width = len(below.schema)
    results = {width + i: new_width + i for i in range(len(node.schema) - width)}
    return replace(node, input=below, args=args), positions | results


def _window(node: Window, needed: set[int]) -> tuple[Node, Positions]:
    """All calls stay; the input keeps what they and those above read."""
    width = len(node.input.schema)
    read = {i for i in needed if i < width} | set(node.partition) | {key.column for key in node.order}
    for call in node.calls:
        read |= _read_by(call.args)
        read |= columns_of(call.filter) if call.filter is not None else set()
    below, positions = _pruned(node.input, read)
    calls = tuple(
        replace(
            call,
            args=tuple(_moved(e, positions) for e in call.args),
            filter=None if call.filter is None else _moved(call.filter, positions),
        )
        for call in node.calls
    )
    pruned = replace(
        node,
        input=below,
        partition=tuple(positions[i] for i in node.partition),
        order=_moved_keys(node.order, positions),
        calls=calls,
    )
    new_width = len(below.schema)
    return pruned, positions | {width + i: new_width + i for i in range(len(calls))}


_CASES: dict[type[Node], Callable[..., tuple[Node, Positions]]] = {
    Scan: _scan,
    Project: _project,
    Filter: _filter,
    Aggregate: _aggregate,
    Join: _join,
    Union: _union,
    TopN: _topn,
    SingleRow: _single_row,
    TableFunctionNode: _table_function,
    Window: _window,
}
