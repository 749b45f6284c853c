"""The dependent join of a domain D with a plan that reads it: D sinks to where its columns are read.

`dependent(node, domain)` is a plan whose rows are (row of `node` evaluated for d) ++ d, for d in D; no column
of depth 1 is left in it. One function per kind of node; each says in a line why it may be done.
Source: Neumann & Kemper, "Unnesting Arbitrary Queries" (BTW 2015), section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..operators.aggregate import Aggregate, AggregateCall
from ..operators.distinct import Distinct
from ..operators.expr import Coalesce, ColumnRef, Expr, IsDistinct, Literal, OuterColumn
from ..operators.filter import Filter
from ..operators.join import Join, JoinKind
from ..operators.node import Node, rewrite
from ..operators.project import Project
from ..operators.recurse import Recurse
from ..operators.scan import Scan
from ..operators.set_operation import SetOperation
from ..operators.single_row import SingleRow
from ..operators.table_function import TableFunctionNode
from ..operators.topn import TopN
from ..operators.union import Union
from ..operators.values import Values
from ..operators.window import Window
from ..storage.errors import FeatureNotSupported
from ..storage.schema import Schema
from .conditions import all_of, as_equal, condition_of, conjuncts, equality
from .rewriting import move_outer, reads_level, replace_expr, replace_node


@dataclass(frozen=True)
class Domain:
    """D as a plan, and which left column each of its columns is."""

    node: Node
    positions: tuple[int, ...]

    @staticmethod
    def of(left: Node, positions: tuple[int, ...]) -> Domain:
        schema = left.schema.select(positions)
        exprs = tuple(ColumnRef(i, left.schema[i].type) for i in positions)
        return Domain(Distinct(Project(left, exprs, schema.names)), positions)

    @property
    def schema(self) -> Schema:
        return self.node.schema


def positions_read(node: Node) -> tuple[int, ...]:
    """The columns of the enclosing row (depth 1) that `node` reads, ascending."""
    found: set[int] = set()

    def look(expr: Expr, level: int) -> Expr | None:
        if isinstance(expr, OuterColumn) and expr.depth == level:
            found.add(expr.index)
        return None

    replace_node(node, look, 1)
    return tuple(sorted(found))


def dependent(node: Node, domain: Domain) -> Node:
    """The rows of `node` for every row of the domain, with the domain's columns behind them."""
    if not reads_level(node):
        return Join(move_outer(node, -1), domain.node, JoinKind.INNER)
    for kind, function in _CASES.items():
        if isinstance(node, kind):
            return function(node, domain)
    raise FeatureNotSupported(f"a correlated subquery with {type(node).__name__} is not supported")


def _resolved(expr: Expr, domain: Domain, offset: int) -> Expr:
    """Outer columns as the domain's columns, which begin at `offset`; deeper ones come one level nearer."""

    def resolve(e: Expr, level: int) -> Expr | None:
        if not isinstance(e, OuterColumn) or e.depth <= level:
            return None
        if e.depth == level + 1 and level == 0:
            return ColumnRef(offset + domain.positions.index(e.index), e.type)
        return OuterColumn(e.depth - 1, e.index, e.type)

    return replace_expr(expr, resolve)


def _domain_columns(domain: Domain, offset: int) -> tuple[ColumnRef, ...]:
    return tuple(ColumnRef(offset + i, column.type) for i, column in enumerate(domain.schema))


def _reordered(node: Node, positions: Sequence[int]) -> Node:
    if list(positions) == list(range(len(node.schema))):
        return node
    schema = node.schema.select(positions)
    exprs = tuple(ColumnRef(i, node.schema[i].type) for i in positions)
    return Project(node, exprs, schema.names)


def _project(node: Project, domain: Domain) -> Node:
    """A projection computes row by row: it may as well carry d along."""
    below = dependent(node.input, domain)
    width = len(node.input.schema)
    exprs = tuple(_resolved(e, domain, width) for e in node.exprs) + _domain_columns(domain, width)
    hidden = node.hidden and (*node.hidden, *(False for _ in domain.positions))
    return Project(below, exprs, (*node.names, *domain.schema.names), hidden)


def _filter(node: Filter, domain: Domain) -> Node:
    """A filter keeps or drops (row, d). One that says column = d for every d read needs no join with D."""
    width = len(node.input.schema)
    bound = _bound_by_equalities(node, domain)
    if bound is not None:
        schema = Schema((*node.input.schema, *domain.schema))
        exprs = (*_keep(node.input.schema), *bound)
        below: Node = Project(move_outer(node.input, -1), exprs, schema.names)
    else:
        below = dependent(node.input, domain)
    return Filter(below, _resolved(node.predicate, domain, width))


def _bound_by_equalities(node: Filter, domain: Domain) -> list[Expr] | None:
    """For every domain column an expression over the input that the predicate says it equals.

    None unless the input itself reads no outer column. The equality is kept in the filter, so a row with
    a NULL there is dropped, as it must: it equals no d.
    """
    if reads_level(node.input):
        return None
    found: dict[int, Expr] = {}
    for part in conjuncts(node.predicate):
        sides = equality(part)
        if sides is None:
            continue
        for one, other in (sides, sides[::-1]):
            if not isinstance(one, OuterColumn) or one.depth != 1 or _reads_outer(other):
                continue
            alike = as_equal(other, one.type)
            if alike is not None:
                found.setdefault(one.index, alike)
    if any(i not in found for i in domain.positions):
        return None
    return [found[i] for i in domain.positions]


def _reads_outer(expr: Expr) -> bool:
    outer = False

    def look(e: Expr, level: int) -> Expr | None:
        nonlocal outer
        outer = outer or isinstance(e, OuterColumn)
        return None

    replace_expr(expr, look)
    return outer


def _keep(schema: Schema) -> tuple[Expr, ...]:
    return tuple(ColumnRef(i, column.type) for i, column in enumerate(schema))


def _aggregate(node: Aggregate, domain: Domain) -> Node:
    """Rows of one d form groups of their own. Without GROUP BY every d has its row, even of no input."""
    below = dependent(node.input, domain)
    width, size = len(node.input.schema), len(domain.positions)
    groups = tuple(_resolved(e, domain, width) for e in node.groups)
    calls = tuple(_resolved_call(call, domain, width) for call in node.calls)
    count = len(node.groups)
    names = (*node.names, *domain.schema.names)
    grouped = Aggregate(below, groups + _domain_columns(domain, width), calls, names)
    if node.groups:
        order = [*range(count), *range(count + size, count + size + len(calls)), *range(count, count + size)]
        return _reordered(grouped, order)
    return _row_for_every_d(node, grouped, domain)


def _resolved_call(call: AggregateCall, domain: Domain, width: int) -> AggregateCall:
    args = tuple(_resolved(e, domain, width) for e in call.args)
    condition = None if call.filter is None else _resolved(call.filter, domain, width)
    return replace(call, args=args, filter=condition)


def _row_for_every_d(node: Aggregate, grouped: Aggregate, domain: Domain) -> Node:
    size = len(domain.positions)
    keys = _domain_columns(domain, 0)
    joined = Join(domain.node, grouped, JoinKind.LEFT, keys, keys, null_equal=True)
    values: list[Expr] = []
    for i, call in enumerate(node.calls):
        value: Expr = ColumnRef(2 * size + i, call.type)
        if call.function.name == "count":
            value = Coalesce((value, Literal(0, call.type)), call.type)
        values.append(value)
    return Project(joined, (*values, *keys), (*node.schema.names, *domain.schema.names))


def _join(node: Join, domain: Domain) -> Node:
    """D goes to the side that reads it; where both must have it, their d must be the same."""
    left_reads, right_reads = reads_level(node.left), reads_level(node.right)
    preserved = {JoinKind.LEFT: (True, False), JoinKind.RIGHT: (False, True), JoinKind.FULL: (True, True),
                 JoinKind.SEMI: (True, False), JoinKind.ANTI: (True, False)}  # fmt: skip
    must_left, must_right = preserved.get(node.kind, (False, False))
    to_left = left_reads or must_left or not (right_reads or must_right)
    to_right = right_reads or must_right
    left = dependent(node.left, domain) if to_left else move_outer(node.left, -1)
    right = dependent(node.right, domain) if to_right else move_outer(node.right, -1)
    return _joined(node, left, right, to_left, to_right, domain)


def _joined(node: Join, left: Node, right: Node, to_left: bool, to_right: bool, domain: Domain) -> Node:
    lw, rw, size = len(node.left.schema), len(node.right.schema), len(domain.positions)
    shift = size if to_left else 0
    at = lw if to_left else lw + rw

    def place(e: Expr, level: int) -> Expr | None:
        if isinstance(e, ColumnRef) and level == 0 and e.index >= lw:
            return ColumnRef(e.index + shift, e.type)
        return None

    parts = conjuncts(node.condition) if node.condition is not None else []
    placed = [_resolved(replace_expr(part, place), domain, at) for part in parts]
    left_keys = tuple(_resolved(e, domain, lw) for e in node.left_keys)
    right_keys = tuple(_resolved(e, domain, rw) for e in node.right_keys)
    null_equal = node.null_equal
    if to_left and to_right:
        mine = _domain_columns(domain, lw)
        theirs = _domain_columns(domain, lw + size + rw)
        if not left_keys or null_equal:
            left_keys += mine
            right_keys += _domain_columns(domain, rw)
            null_equal = True
        else:
            placed += [IsDistinct(a, b, True) for a, b in zip(mine, theirs, strict=True)]
    joined = Join(left, right, node.kind, left_keys, right_keys, condition_of(placed), null_equal)
    if node.kind in (JoinKind.SEMI, JoinKind.ANTI):
        return joined
    return _with_domain_last(node, joined, to_left, to_right, domain)


def _with_domain_last(node: Join, joined: Join, to_left: bool, to_right: bool, domain: Domain) -> Node:
    lw, rw, size = len(node.left.schema), len(node.right.schema), len(domain.positions)
    shift = size if to_left else 0
    columns: list[Expr] = [ColumnRef(i, c.type) for i, c in enumerate(node.left.schema)]
    columns += [ColumnRef(lw + shift + i, c.type) for i, c in enumerate(node.right.schema)]
    mine = _domain_columns(domain, lw)
    theirs = _domain_columns(domain, lw + shift + rw)
    if to_left and to_right and node.kind in (JoinKind.RIGHT, JoinKind.FULL):
        last: tuple[Expr, ...] = tuple(Coalesce((a, b), a.type) for a, b in zip(mine, theirs, strict=True))
    else:
        last = mine if to_left else theirs
    return Project(joined, (*columns, *last), (*node.schema.names, *domain.schema.names))


def _distinct(node: Distinct, domain: Domain) -> Node:
    """Distinct rows of each d are the distinct (row, d)."""
    return Distinct(dependent(node.input, domain))


def _union(node: Union, domain: Domain) -> Node:
    return Union(tuple(dependent(branch, domain) for branch in node.branches))


def _set_operation(node: SetOperation, domain: Domain) -> Node:
    return replace(node, left=dependent(node.left, domain), right=dependent(node.right, domain))


def _partitioned(node: TopN | SingleRow, domain: Domain) -> Node:
    """What is done per partition is done per partition and d."""
    width = len(node.input.schema)
    added = tuple(range(width, width + len(domain.positions)))
    return replace(node, input=dependent(node.input, domain), partition=node.partition + added)


def _window(node: Window, domain: Domain) -> Node:
    width, size = len(node.input.schema), len(domain.positions)
    changed = replace_node(
        replace(node, input=_placeholder(node.input.schema)),
        lambda e, level: _resolve_one(e, level, domain, width),
    )
    assert isinstance(changed, Window)
    added = tuple(range(width, width + size))
    whole = replace(changed, input=dependent(node.input, domain), partition=changed.partition + added)
    calls = len(node.calls)
    return _reordered(whole, [*range(width), *range(width + size, width + size + calls), *added])


def _resolve_one(e: Expr, level: int, domain: Domain, width: int) -> Expr | None:
    if isinstance(e, OuterColumn) and e.depth > level:
        return _resolved(e, domain, width)
    return None


def _placeholder(schema: Schema) -> Values:
    return Values(schema, ())


def _table_function(node: TableFunctionNode, domain: Domain) -> Node:
    width, size = len(node.input.schema), len(domain.positions)
    args = tuple(_resolved(e, domain, width) for e in node.args)
    whole = replace(node, input=dependent(node.input, domain), args=args)
    results = len(whole.schema) - width - size
    order = [*range(width), *range(width + size, width + size + results), *range(width, width + size)]
    return _reordered(whole, order)


def _values(node: Values, domain: Domain) -> Node:
    """A row of expressions over d is a projection of D."""
    names = (*node.schema.names, *domain.schema.names)
    branches = tuple(
        Project(domain.node, (*(_resolved(e, domain, 0) for e in row), *_domain_columns(domain, 0)), names)
        for row in node.rows
    )
    return branches[0] if len(branches) == 1 else Union(branches)


def _recurse(node: Recurse, domain: Domain) -> Node:
    """Each d recurs by itself: rows carry their d, and a step for d reads the rows that carry d."""
    width = len(node.schema)
    carried = Schema((*node.schema, *domain.schema.as_nullable()))
    own = tuple(
        IsDistinct(ColumnRef(width + i, column.type), OuterColumn(1, domain.positions[i], column.type), True)
        for i, column in enumerate(domain.schema)
    )

    def read_own(part: Node) -> Node:
        if not isinstance(part, Scan) or part.relation != node.relation:
            return part
        rows = Filter(Scan(node.relation, carried), all_of(own))
        columns = part.columns or tuple(range(width))
        exprs = tuple(ColumnRef(i, node.schema[i].type) for i in columns)
        return Project(rows, exprs, part.schema.names)

    step = dependent(rewrite(node.step, read_own), domain)
    return Recurse(dependent(node.seed, domain), step, node.relation, node.distinct)


_CASES: dict[type[Node], Callable[..., Node]] = {
    Project: _project,
    Filter: _filter,
    Aggregate: _aggregate,
    Join: _join,
    Distinct: _distinct,
    Union: _union,
    SetOperation: _set_operation,
    TopN: _partitioned,
    SingleRow: _partitioned,
    Window: _window,
    TableFunctionNode: _table_function,
    Values: _values,
    Recurse: _recurse,
}
