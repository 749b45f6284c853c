"""Subqueries in expressions become `Apply` nodes, semi joins and anti joins.

Safe because each form has one value per row of the enclosing query:

* a scalar subquery is the value of its rows, NULL when there is none; if there are several, taking the
  value fails, so that in a view just the outer rows concerned are kept out and recorded;
* EXISTS and ANY as a conjunct of WHERE keep or drop the row: a semi join. NOT EXISTS and NOT IN are anti
  joins; for NOT IN a match is a row whose comparison is *not false*, so that a NULL keeps the row out;
* anywhere else EXISTS is count(*) > 0, and ANY and ALL follow from how many comparisons were true,
  false and NULL (three-valued logic needs the last);
* ARRAY(query) is array_agg in the order of the query, `{}` when empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...operators.aggregate import Aggregate, AggregateCall
from ...operators.expr import (
    Call,
    Case,
    Coalesce,
    ColumnRef,
    Expr,
    IsNull,
    IsTruth,
    Literal,
    Not,
    OuterColumn,
    Subquery,
    SubqueryKind,
    walk_expr,
)
from ...operators.filter import Filter
from ...operators.functions.registry import SCALARS
from ...operators.functions.subqueries import SINGLE_VALUE
from ...operators.join import Join, JoinKind
from ...operators.node import Node, rewrite
from ...operators.project import Project
from ...operators.topn import TopN
from ...operators.union import Union
from ...operators.values import Values
from ...sql.catalog import Catalog
from ...storage.errors import FeatureNotSupported
from ...storage.types import BOOL, INT8
from ..apply import Apply
from ..building import UNIT
from ..conditions import aggregate_function, all_of, comparison, conjuncts
from ..rewriting import replace_expr, replace_node


def unnest_subqueries(node: Node, catalog: Catalog) -> Node:
    """`node` without `Subquery` expressions."""
    return rewrite(node, _unnest)


def _unnest(node: Node) -> Node:
    if isinstance(node, Filter):
        return _unnest_filter(node)
    if isinstance(node, Join) and node.condition is not None and _has_subquery(node.condition):
        return _unnest_join(node)
    if isinstance(node, Values) and any(_has_subquery(e) for row in node.rows for e in row):
        return _unnest_values(node)
    if len(node.inputs) != 1 or isinstance(node, Apply | Join):
        return node
    found = _subqueries(node)
    if not found:
        return node
    width = len(node.inputs[0].schema)
    below, values = _applied(node.inputs[0], found, width)
    changed = _with_values(node, values).with_inputs((below,))
    if not isinstance(node, Project | Aggregate):
        return _without_added(changed, width, len(below.schema) - width)
    return changed


def _has_subquery(expr: Expr) -> bool:
    return any(isinstance(e, Subquery) for e in walk_expr(expr))


def _subqueries(node: Node) -> list[Subquery]:
    """The subqueries in the expressions of `node` itself, outermost ones only, each once."""
    found: list[Subquery] = []

    def look(expr: Expr, level: int) -> Expr | None:
        if isinstance(expr, Subquery):
            if expr not in found:
                found.append(expr)
            return expr
        return None

    replace_node(node.with_inputs(tuple(_Leaf(child.schema) for child in node.inputs)), look)
    return found


class _Leaf(Values):
    """Stands for an input whose expressions are not to be looked at."""

    def __init__(self, schema: object) -> None:
        super().__init__(schema, ())  # pyright: ignore[reportArgumentType]


def _with_values(node: Node, values: dict[Subquery, Expr]) -> Node:
    """`node` with each subquery of its own expressions replaced by its value."""
    bare = node.with_inputs(tuple(_Leaf(child.schema) for child in node.inputs))
    return replace_node(bare, lambda expr, _: values.get(expr) if isinstance(expr, Subquery) else None)


def _without_added(node: Node, width: int, added: int) -> Node:
    """The columns of a node that passes its input's columns on, less those added behind the first `width`."""
    chosen = [i for i in range(len(node.schema)) if i < width or i >= width + added]
    return _columns(node, chosen)


def _columns(node: Node, positions: Sequence[int]) -> Node:
    schema = node.schema.select(positions)
    exprs = tuple(ColumnRef(i, node.schema[i].type) for i in positions)
    hidden = tuple(column.hidden for column in schema)
    return Project(node, exprs, schema.names, hidden if any(hidden) else ())


def _applied(node: Node, found: Sequence[Subquery], outer: int) -> tuple[Node, dict[Subquery, Expr]]:
    """`node` with the columns each subquery's value is made of, and those values."""
    values: dict[Subquery, Expr] = {}
    for subquery in found:
        right = _counted(subquery, outer)
        width = len(node.schema)
        node = Apply(node, right, JoinKind.LEFT)
        columns = [ColumnRef(width + i, c.type) for i, c in enumerate(right.schema)]
        values[subquery] = _value(subquery, columns)
    return node, values


def _counted(subquery: Subquery, outer: int) -> Node:
    """The query whose single row the subquery's value is computed from."""
    query = _unnest_inside(subquery.query)
    match subquery.kind:
        case SubqueryKind.SCALAR:
            return query if query.key == () else _valued(query)
        case SubqueryKind.EXISTS:
            return Aggregate(query, (), (_count(None),))
        case SubqueryKind.ARRAY:
            return _array(query)
        case SubqueryKind.ANY | SubqueryKind.ALL:
            test = _test_inside(subquery, outer)
            wanted = IsTruth(test, subquery.kind is SubqueryKind.ANY)
            calls = (_count(wanted), _count(IsNull(test)))
            return Aggregate(query, (), calls)


def _valued(query: Node) -> Node:
    """The value of the query's rows and how many they are: more than one is an error of the outer row."""
    type_ = query.schema[0].type
    function = aggregate_function("any_value", (type_,))
    value = AggregateCall(function, (ColumnRef(0, type_),), type_, query.schema.names[0])
    return Aggregate(query, (), (value, _count(None)))


def _unnest_inside(query: Node) -> Node:
    return rewrite(query, _unnest)


def _count(condition: Expr | None) -> AggregateCall:
    function = aggregate_function("count", ())
    return AggregateCall(function, (), INT8, "count", filter=condition)


def _array(query: Node) -> Node:
    """array_agg over the query, keeping the order of its ORDER BY."""
    order = query.order if isinstance(query, TopN) and query.limit is None and not query.offset else ()
    source = query.input if isinstance(query, TopN) and order else query
    column = query.schema[0]
    if isinstance(query, Project) and isinstance(query.input, TopN) and isinstance(query.exprs[0], ColumnRef):
        inner = query.input
        if inner.limit is None and not inner.offset:
            order, source = inner.order, inner.input
            argument: Expr = query.exprs[0]
        else:
            argument = ColumnRef(0, column.type)
    else:
        argument = ColumnRef(0, column.type)
    function = aggregate_function("array_agg", (column.type,))
    type_ = function.result_type((column.type,))
    call = AggregateCall(function, (argument,), type_, "array", order=order)
    return Aggregate(source, (), (call,))


def _value(subquery: Subquery, columns: Sequence[Expr]) -> Expr:
    zero = Literal(0, INT8)
    match subquery.kind:
        case SubqueryKind.SCALAR:
            value: Expr = columns[0]
            if len(columns) > 1:
                value = Call(SCALARS[SINGLE_VALUE][0], (columns[0], columns[1]), columns[0].type)
        case SubqueryKind.EXISTS:
            value = comparison(">", Coalesce((columns[0], zero), INT8), zero)
        case SubqueryKind.ARRAY:
            value = Coalesce((columns[0], Literal([], columns[0].type)), columns[0].type)
        case SubqueryKind.ANY | SubqueryKind.ALL:
            any_ = subquery.kind is SubqueryKind.ANY
            matches = comparison(">", Coalesce((columns[0], zero), INT8), zero)
            nulls = comparison(">", Coalesce((columns[1], zero), INT8), zero)
            results = (Literal(any_, BOOL), Literal(None, BOOL))
            value = Case((matches, nulls), results, Literal(not any_, BOOL), BOOL)
    return Not(value) if subquery.negated else value


def _test_inside(subquery: Subquery, outer: int) -> Expr:
    """The test of ANY or ALL over the subquery's row; the outer row's columns become outer ones."""
    assert subquery.test is not None

    def move(expr: Expr, level: int) -> Expr | None:
        if isinstance(expr, ColumnRef) and level == 0:
            if expr.index >= outer:
                return ColumnRef(expr.index - outer, expr.type)
            return OuterColumn(1, expr.index, expr.type)
        if isinstance(expr, OuterColumn) and expr.depth > level:
            return OuterColumn(expr.depth + 1, expr.index, expr.type)
        return None

    return replace_expr(subquery.test, move)


def _unnest_filter(node: Filter) -> Node:
    """Conjuncts that are EXISTS, IN or ALL become semi and anti joins, other subqueries become columns."""
    width = len(node.input.schema)
    below, rest = node.input, list[Expr]()
    joins: list[tuple[Subquery, bool]] = []
    for part in conjuncts(node.predicate):
        kept = _membership(part)
        if kept is not None:
            joins.append(kept)
        else:
            rest.append(part)
    plain = [part for part in rest if not _has_subquery(part)]
    if plain:
        below = Filter(below, all_of(plain))
    for subquery, negated in joins:
        below = _semi_join(below, subquery, negated, width)
    valued = [part for part in rest if _has_subquery(part)]
    if not valued:
        return below
    predicate = all_of(valued)
    leaf = Filter(_Leaf(node.input.schema), predicate)
    applied, values = _applied(below, _subqueries(leaf), width)
    changed = replace_expr(predicate, lambda e, _: values.get(e) if isinstance(e, Subquery) else None)
    return _without_added(Filter(applied, changed), width, len(applied.schema) - width)


def _membership(part: Expr) -> tuple[Subquery, bool] | None:
    """(subquery, whether it must have no match), if `part` is one whose truth a join can decide."""
    negated = False
    while isinstance(part, Not):
        part, negated = part.arg, not negated
    if not isinstance(part, Subquery) or part.kind in (SubqueryKind.SCALAR, SubqueryKind.ARRAY):
        return None
    negated ^= part.negated
    if part.kind is SubqueryKind.ALL and negated:
        return None
    return part, negated


def _semi_join(below: Node, subquery: Subquery, negated: bool, outer: int) -> Node:
    query = _unnest_inside(subquery.query)
    kind = JoinKind.ANTI if negated else JoinKind.SEMI
    condition: Expr | None = None
    if subquery.test is not None:
        condition = _placed_test(subquery, outer, len(below.schema))
        if subquery.kind is SubqueryKind.ALL:
            # All hold, unless one is not true.
            kind, condition = JoinKind.ANTI, IsTruth(condition, True, True)
        elif negated:
            condition = _not_false(condition, below, query)
    return Apply(below, query, kind, condition)


def _placed_test(subquery: Subquery, outer: int, width: int) -> Expr:
    """The test with the subquery's columns moved from position `outer` to `width`."""
    assert subquery.test is not None

    def move(expr: Expr, level: int) -> Expr | None:
        if isinstance(expr, ColumnRef) and level == 0 and expr.index >= outer:
            return ColumnRef(expr.index - outer + width, expr.type)
        return None

    return replace_expr(subquery.test, move)


def _not_false(condition: Expr, below: Node, query: Node) -> Expr:
    """`condition IS NOT FALSE`, which is the condition itself where neither side can be NULL."""
    row = below.schema.concat(query.schema)
    columns = [e.index for e in walk_expr(condition) if isinstance(e, ColumnRef)]
    if all(not row[i].nullable for i in columns) and not any(
        isinstance(e, OuterColumn) for e in walk_expr(condition)
    ):
        return condition
    return IsTruth(condition, False, True)


def _unnest_join(node: Join) -> Node:
    """A subquery in ON: of an inner join it may stand in a filter above."""
    assert node.condition is not None
    if node.kind is not JoinKind.INNER:
        raise FeatureNotSupported("a subquery in the condition of an outer join is not supported")
    parts = conjuncts(node.condition)
    inside = [part for part in parts if not _has_subquery(part)]
    above = [part for part in parts if _has_subquery(part)]
    joined = replace(node, condition=all_of(inside) if inside else None)
    return _unnest_filter(Filter(joined, all_of(above)))


def _unnest_values(node: Values) -> Node:
    """VALUES with subqueries: one projection of a single empty row per row."""
    names = node.schema.names
    branches = tuple(_unnest(Project(UNIT, row, names)) for row in node.rows)
    return branches[0] if len(branches) == 1 else Union(branches)
