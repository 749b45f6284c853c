"""One or more plans for every node, over the relations r (a bag), k (keyed), s (a bag), l (append-only)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from millpond.operators import functions as functions
from millpond.operators.aggregate import Aggregate, AggregateCall
from millpond.operators.distinct import Distinct
from millpond.operators.expr import And, Call, Cast, ColumnRef, Expr, IsNull, Literal
from millpond.operators.filter import Filter
from millpond.operators.functions.aggregates import AGGREGATES, AggregateFunction
from millpond.operators.functions.registry import SCALARS, TableFunction
from millpond.operators.join import Join, JoinKind
from millpond.operators.materialize import Materialize
from millpond.operators.node import EpochContext, Node
from millpond.operators.project import Project
from millpond.operators.scan import Scan
from millpond.operators.set_operation import SetOperation
from millpond.operators.single_row import SingleRow
from millpond.operators.sorting import SortKey
from millpond.operators.table_function import TableFunctionNode
from millpond.operators.topn import TopN
from millpond.operators.union import Union
from millpond.operators.values import Values
from millpond.operators.window import Bound, BoundKind, Frame, FrameUnit, Window, WindowCall
from millpond.operators.window_functions import WINDOW_FUNCTIONS
from millpond.storage import types as t
from millpond.storage.errors import InvalidParameterValue
from millpond.storage.schema import Schema
from millpond.storage.types import Type

from .relations import POOLS, Relation, relation


def relations(seed: int, extra: Type = t.TEXT) -> list[Relation]:
    """The relations of a trial; `extra` is the type of a column in each."""
    source = random.Random(seed)
    return [
        relation("r", source, [t.INT4, t.INT8, t.TEXT, extra], None),
        relation("k", source, [t.INT8, t.INT4, t.TEXT, extra], (0,)),
        relation("s", source, [t.INT4, t.TEXT, extra], None),
        relation("l", source, [t.INT4, t.INT8, extra], None, append_only=True),
    ]


Builder = Callable[[dict[str, Scan]], Node]


def scans(of: list[Relation]) -> dict[str, Scan]:
    return {r.name: Scan(r.name, r.schema, r.key, r.append_only) for r in of}


def column(node: Node, position: int) -> ColumnRef:
    return ColumnRef(position, node.schema.types[position])


def operator(symbol: str, *args: Expr) -> Call:
    names = tuple(arg.type.name for arg in args)
    (function,) = [f for f in SCALARS[symbol] if tuple(a.name for a in f.args) == names]
    return Call(function, args, function.result_type(tuple(arg.type for arg in args)))


def number(value: int, type_: Type = t.INT4) -> Literal:
    return Literal(value, type_)


def aggregate_function(name: str, *types: Type) -> AggregateFunction:
    for function in AGGREGATES[name]:
        wanted = [arg.name for arg in function.args]
        fits = zip(wanted, types, strict=False)
        if len(wanted) == len(types) and all(
            w == x.name or w in ("any", "anyelement", "anynonarray") or (w == "anyarray" and x.element)
            for w, x in fits
        ):
            return function
    raise KeyError((name, types))


def as_text(arg: Expr) -> Expr:
    """varchar is a text to every function, as the binder has it."""
    return Cast(arg, t.TEXT) if arg.type.name == "varchar" else arg


def call(name: str, *args: Expr, **options: object) -> AggregateCall:
    args = tuple(map(as_text, args))
    types = tuple(arg.type for arg in args)
    function = aggregate_function(name, *types)
    return AggregateCall(function, args, function.result_type(types), name, **options)  # pyright: ignore[reportArgumentType]


def group(node: Node, by: tuple[int, ...], *calls: AggregateCall) -> Aggregate:
    return Aggregate(node, tuple(column(node, i) for i in by), calls, tuple(f"g{i}" for i in by))


def over(name: str, *args: Expr, **options: object) -> WindowCall:
    types = tuple(arg.type for arg in args)
    if name in WINDOW_FUNCTIONS:
        (found,) = [f for f in WINDOW_FUNCTIONS[name] if len(f.args) == len(args)]
        return WindowCall(found, args, found.result_type(types), name, **options)  # pyright: ignore[reportArgumentType]
    function = aggregate_function(name, *types)
    return WindowCall(function, args, function.result_type(types), name, **options)  # pyright: ignore[reportArgumentType]


def frame(unit: str, start: int | None, end: int | None) -> Frame:
    """Bounds as offsets, negative preceding, 0 the current row, None unbounded."""

    def bound(offset: int | None, unbounded: BoundKind) -> Bound:
        if offset is None:
            return Bound(unbounded)
        if offset == 0:
            return Bound(BoundKind.CURRENT_ROW)
        kind = BoundKind.PRECEDING if offset < 0 else BoundKind.FOLLOWING
        return Bound(kind, Literal(abs(offset), t.INT8))

    first, last = BoundKind.UNBOUNDED_PRECEDING, BoundKind.UNBOUNDED_FOLLOWING
    return Frame(FrameUnit(unit), bound(start, first), bound(end, last))


def positive(node: Node, position: int) -> Expr:
    return operator(">", column(node, position), Literal(0, node.schema.types[position]))


def scan_columns(r: dict[str, Scan]) -> Node:
    return Scan("k", r["k"].schema_, r["k"].key_, columns=(2, 0))


def filtered(r: dict[str, Scan]) -> Node:
    return Filter(r["r"], positive(r["r"], 0))


def failing_filter(r: dict[str, Scan]) -> Node:
    quotient = operator("/", number(10), column(r["r"], 0))
    return Filter(r["r"], operator(">", quotient, number(1)))


def projected(r: dict[str, Scan]) -> Node:
    quotient = operator("/", number(10), column(r["r"], 0))
    return Project(r["r"], (column(r["r"], 2), quotient, number(3)), ("a", "b", "c"))


def constant(r: dict[str, Scan]) -> Node:
    schema = Schema.of(a=t.INT4, b=t.TEXT)
    return Values(schema, ((number(1), Literal("x", t.TEXT)), (number(1), Literal(None, t.TEXT))))


def values_joined(r: dict[str, Scan]) -> Node:
    return equi(constant(r), r["r"], JoinKind.LEFT, 0, 0)


def united(r: dict[str, Scan]) -> Node:
    left = Project(r["r"], (column(r["r"], 0), column(r["r"], 2)), ("a", "b"))
    right = Project(r["s"], (column(r["s"], 0), column(r["s"], 1)), ("c", "d"))
    return Union((left, right, left))


def sides(r: dict[str, Scan]) -> tuple[Node, Node]:
    a, b = r["r"], r["s"]
    left = Project(a, (column(a, 0), column(a, 3)), ("a", "b"))
    right = Project(b, (column(b, 0), column(b, 2)), ("c", "d"))
    return left, right


def linear(r: dict[str, Scan]) -> Node:
    a = r["r"]
    calls = (call("count"), call("count", column(a, 2)), call("sum", column(a, 0)), call("avg", column(a, 1)))
    return group(a, (3,), *calls)


def distinct_calls(r: dict[str, Scan]) -> Node:
    a = r["r"]
    value = column(a, 0)
    return group(
        a,
        (2,),
        call("count", value, distinct=True),
        call("sum", value, distinct=True),
        call("sum", value, distinct=True, filter=positive(a, 1)),
        call("count", filter=positive(a, 0)),
    )


def grand(r: dict[str, Scan]) -> Node:
    a = r["r"]
    calls = (call("count"), call("sum", column(a, 0)), call("min", column(a, 2)), call("max", column(a, 3)))
    return group(a, (), *calls)


def extremes(r: dict[str, Scan]) -> Node:
    a = r["r"]
    minimum = call("min", column(a, 3), filter=positive(a, 0))
    return group(a, (0,), minimum, call("max", column(a, 3)), call("min", column(a, 1)))


def growing_extremes(r: dict[str, Scan]) -> Node:
    return group(r["l"], (0,), call("min", column(r["l"], 1)), call("max", column(r["l"], 1)), call("count"))


def guarded_argument(r: dict[str, Scan]) -> Node:
    a = r["r"]
    quotient = operator("/", number(100), column(a, 0))
    positive_only = And((IsNull(column(a, 0), True), positive(a, 0)))
    return group(a, (2,), call("sum", quotient, filter=positive_only))


def failing_group(r: dict[str, Scan]) -> Node:
    a = r["r"]
    return Aggregate(a, (operator("/", number(10), column(a, 0)),), (call("count"),), ("q",))


def bits(r: dict[str, Scan]) -> Node:
    a = r["r"]
    return group(a, (0,), call("sum", column(a, 1)), call("bit_or", column(a, 1)))


def lists(r: dict[str, Scan]) -> Aggregate:
    """Aggregates over the ordered values of a group."""
    a = r["r"]
    comma = Literal(",", t.TEXT)
    half, double = Literal(0.5, t.FLOAT8), Cast(column(a, 0), t.FLOAT8)
    latest_first = (SortKey(1, True, True), SortKey(0))
    return group(
        a,
        (0,),
        call("string_agg", column(a, 2), comma, order=latest_first),
        call("string_agg", column(a, 2), comma, distinct=True),
        call("array_agg", column(a, 1)),
        call("array_agg", column(a, 2), order=(SortKey(1, False, True),), filter=positive(a, 1)),
        call("percentile_cont", half, double),
        call("percentile_disc", half, column(a, 1)),
        call("mode", column(a, 2)),
    )


def statistics(r: dict[str, Scan]) -> Aggregate:
    a = r["r"]
    double = Cast(column(a, 0), t.FLOAT8)
    calls = [call(name, column(a, 0)) for name in ("stddev", "var_pop")]
    return group(a, (2,), *calls, call("variance", double, distinct=True), call("corr", double, double))


def windowed_lists(r: dict[str, Scan]) -> Node:
    a = r["k"]
    comma = Literal(",", t.TEXT)
    running = over("string_agg", column(a, 2), comma)
    sliding = over("array_agg", column(a, 1), frame=frame("rows", -1, 1), filter=positive(a, 1))
    return Window(a, (2,), (SortKey(0),), (running, sliding, over("stddev", column(a, 1))))


def chained(r: dict[str, Scan]) -> Node:
    """The classic trap: a minimum joined back (rw#14592)."""
    a = r["r"]
    least = group(a, (0,), call("min", column(a, 1)))
    pairs = ((column(a, 0), column(a, 1)), (column(least, 0), column(least, 1)))
    return Join(a, least, JoinKind.INNER, *pairs)


def self_join(r: dict[str, Scan]) -> Node:
    return equi(r["r"], r["r"], JoinKind.FULL, 0, 0)


def equi(left: Node, right: Node, kind: JoinKind, a: int, b: int, **options: object) -> Join:
    return Join(left, right, kind, (column(left, a),), (column(right, b),), **options)  # pyright: ignore[reportArgumentType]


def joined(kind: JoinKind) -> Builder:
    return lambda r: equi(r["r"], r["s"], kind, 0, 0)


def joined_equal_nulls(kind: JoinKind) -> Builder:
    return lambda r: equi(r["r"], r["s"], kind, 3, 2, null_equal=True)


def joined_keyed(kind: JoinKind) -> Builder:
    return lambda r: equi(r["r"], r["k"], kind, 1, 0)


def joined_mixed_types(kind: JoinKind) -> Builder:
    return lambda r: equi(r["s"], r["k"], kind, 0, 0)


def joined_computed(kind: JoinKind) -> Builder:
    def build(r: dict[str, Scan]) -> Node:
        key = operator("/", number(12), column(r["r"], 0))
        return Join(r["r"], r["s"], kind, (key,), (column(r["s"], 0),))

    return build


def joined_condition(kind: JoinKind) -> Builder:
    def build(r: dict[str, Scan]) -> Node:
        a, b = r["r"], r["s"]
        condition = operator("<", column(a, 2), ColumnRef(len(a.schema) + 1, t.TEXT))
        return equi(a, b, kind, 0, 0, condition=condition)

    return build


def joined_failing(kind: JoinKind) -> Builder:
    def build(r: dict[str, Scan]) -> Node:
        a, b = r["k"], r["s"]
        quotient = operator("/", column(a, 1), ColumnRef(len(a.schema), t.INT4))
        return Join(a, b, kind, (), (), operator(">", quotient, number(0)))

    return build


def joined_keys(right: int) -> Callable[[JoinKind], Builder]:
    """Two keyed inputs; the right key is the join key (`right` 0) or not."""
    return lambda kind: lambda r: equi(r["k"], r["k"], kind, 1, right)


def joined_groups(kind: JoinKind) -> Builder:
    """Two inputs whose keys may be NULL: unmatched rows of both sides can look alike in them."""
    return lambda r: equi(group(r["r"], (0,), call("count")), group(r["s"], (0,), call("count")), kind, 0, 0)


def joined_anyhow(kind: JoinKind) -> Builder:
    return lambda r: Join(r["r"], r["s"], kind)


def joined_unequal(kind: JoinKind) -> Builder:
    def build(r: dict[str, Scan]) -> Node:
        a, b = r["k"], r["s"]
        return Join(a, b, kind, (), (), operator("<", column(a, 1), ColumnRef(len(a.schema), t.INT4)))

    return build


def top(
    node: Node, partition: tuple[int, ...], limit: int | None, offset: int = 0, ties: bool = False
) -> Node:
    order = (SortKey(1, True, True), SortKey(2, False, True))
    return TopN(node, partition, order, limit, offset, ties)


def ranks(r: dict[str, Scan]) -> Node:
    a = r["r"]
    order = (SortKey(1),)
    calls = (
        over("row_number"), over("rank"), over("dense_rank"), over("percent_rank"), over("cume_dist"),
        over("ntile", number(3)), over("lag", column(a, 2)), over("lead", column(a, 1), number(2)),
        over("lag", column(a, 0), number(1), number(-5)), over("first_value", column(a, 3)),
        over("last_value", column(a, 3)), over("nth_value", column(a, 2), number(2)),
    )  # fmt: skip
    return Window(a, (0,), order, calls)


def framed(r: dict[str, Scan]) -> Node:
    a = r["k"]
    value = column(a, 1)
    calls = (
        over("sum", value), over("count"), over("min", column(a, 2)),
        over("sum", value, frame=frame("rows", -2, 1)), over("max", value, frame=frame("rows", -1, 3)),
        over("count", value, frame=frame("groups", -1, 1)), over("sum", value, frame=frame("range", -3, 3)),
        over("count", frame=frame("rows", 2, 4)), over("min", value, frame=frame("range", 1, None)),
        over("sum", value, frame=frame("rows", -3, -1), filter=positive(a, 1)),
        over("avg", value, frame=frame("groups", 0, None)),
        over("bit_or", value, frame=frame("rows", -2, 0)),
    )  # fmt: skip
    return Window(a, (2,), (SortKey(0),), calls)


def framed_descending(r: dict[str, Scan]) -> Node:
    a = r["r"]
    value = Cast(column(a, 0), t.INT8)
    calls = (over("sum", value, frame=frame("range", -3, 3)), over("count", frame=frame("groups", -1, 0)))
    return Window(a, (), (SortKey(0, True, True),), calls)


def _countdown(
    args: Sequence[pa.Array], length: int, context: EpochContext
) -> tuple[pa.Array, list[pa.Array]]:
    """n, n − 1, … 1 for each n; NULL makes no row, a negative number fails."""
    numbers = [min(n, 4) if n else 0 for n in args[0].to_pylist()]
    bad = [i for i, n in enumerate(numbers) if n < 0]
    if bad:
        raise InvalidParameterValue("negative", rows=np.array(bad))
    origin = [i for i, n in enumerate(numbers) for _ in range(n)]
    return pa.array(origin, pa.int64()), [pa.array([x for n in numbers for x in range(n, 0, -1)], pa.int32())]


COUNTDOWN = TableFunction("countdown", (t.INT4,), (("n", t.INT4),), _countdown)


def expanded(ordinality: bool, outer: bool) -> Builder:
    names = ("n", "ordinality") if ordinality else ("n",)
    return lambda r: TableFunctionNode(r["k"], COUNTDOWN, (column(r["k"], 1),), names, ordinality, outer)


def view_of(r: dict[str, Scan]) -> Node:
    return Materialize(linear(r))


def shown_groups(r: dict[str, Scan]) -> Node:
    """A view whose rows are an aggregate's."""
    a = r["r"]
    wide = Cast(column(a, 0), t.INT8)
    calls = (call("sum", wide), call("min", wide), call("max", column(a, 3)), call("avg", wide))
    node = group(a, (3, 2), *calls, call("count", wide, distinct=True), call("count"))
    return Materialize(node, node.key)


def shown_doubles(r: dict[str, Scan]) -> Node:
    """Averages and extremes of doubles, written where they lie."""
    a = r["r"]
    value = Cast(column(a, 0), t.FLOAT8)
    calls = (call("avg", value), call("max", value), call("min", value, filter=positive(a, 0)), call("count"))
    node = group(a, (2,), *calls)
    return Materialize(node, node.key)


def shown_in_another_order(r: dict[str, Scan]) -> Node:
    a = r["r"]
    node = group(a, (2, 3), call("max", column(a, 0)), call("count", column(a, 1)))
    exprs = tuple(ColumnRef(i, node.schema[i].type) for i in (3, 1, 2, 0, 1))
    projected = Project(node, exprs, ("n", "b", "m", "a", "again"))
    return Materialize(projected, projected.key)


def shown_total(r: dict[str, Scan]) -> Node:
    a = r["r"]
    return Materialize(group(a, (), call("max", column(a, 0)), call("count", filter=positive(a, 0))), ())


KINDS = tuple(JoinKind)

EXAMPLES: dict[str, Builder] = {
    "scan": lambda r: r["r"],
    "scan columns": scan_columns,
    "filter": filtered,
    "filter failing": failing_filter,
    "project failing": projected,
    "values": constant,
    "values joined": values_joined,
    "union": united,
    "distinct": lambda r: Distinct(r["r"]),
    "distinct few": lambda r: Distinct(sides(r)[0]),
    "distinct keyed": lambda r: Distinct(r["k"]),
    "union distinct": lambda r: Distinct(united(r)),
    "aggregate linear": linear,
    "aggregate distinct": distinct_calls,
    "aggregate grand": grand,
    "aggregate extremes": extremes,
    "aggregate growing": growing_extremes,
    "aggregate guarded": guarded_argument,
    "aggregate failing": failing_group,
    "aggregate two keys": lambda r: group(r["r"], (0, 2), call("count")),
    "aggregate no calls": lambda r: group(r["r"], (0, 2)),
    "aggregate bits": bits,
    "aggregate lists": lists,
    "aggregate lists grand": lambda r: replace(lists(r), groups=(), names=()),
    "aggregate statistics": statistics,
    "window lists": windowed_lists,
    "aggregate of aggregate": lambda r: group(linear(r), (1,), call("sum", ColumnRef(2, t.INT8))),
    "minimum joined back": chained,
    "self join": self_join,
    "top": lambda r: top(r["r"], (), 3),
    "top keyed": lambda r: top(r["k"], (), 4, 2),
    "top of partition": lambda r: top(r["r"], (0,), 2, 1),
    "top of key partition": lambda r: top(r["k"], (1,), 1),
    "top with ties": lambda r: top(r["r"], (0,), 2, 0, True),
    "top offset only": lambda r: top(r["r"], (), None, 5),
    "top nothing": lambda r: top(r["r"], (), 0),
    "order": lambda r: top(r["r"], (), None),
    "single row": lambda r: SingleRow(r["r"], (0, 2)),
    "single row global": lambda r: SingleRow(top(r["k"], (), 1, 6)),
    "single row rarely": lambda r: SingleRow(
        Filter(r["k"], operator(">", column(r["k"], 0), number(17, t.INT8)))
    ),
    "window ranks": ranks,
    "window frames": framed,
    "window descending": framed_descending,
    "table function": expanded(False, False),
    "table function outer": expanded(False, True),
    "table function ordinality": expanded(True, True),
    "materialize": view_of,
    "materialize keyed": lambda r: Materialize(r["k"], (0,)),
    "materialize bag": lambda r: Materialize(united(r)),
    "materialize groups": shown_groups,
    "materialize groups of doubles": shown_doubles,
    "materialize groups in another order": shown_in_another_order,
    "materialize a total": shown_total,
}
for _operation in ("intersect", "except"):
    for _all in (False, True):
        EXAMPLES[f"{_operation} {'all' if _all else 'distinct'}"] = (
            lambda r, operation=_operation, every=_all: SetOperation(*sides(r), operation, every)
        )
for _kind in KINDS:
    for _name, _make in (
        ("join", joined), ("join equal nulls", joined_equal_nulls), ("join keyed", joined_keyed),
        ("join mixed types", joined_mixed_types), ("join computed", joined_computed),
        ("join condition", joined_condition), ("join failing", joined_failing),
        ("join anyhow", joined_anyhow), ("join unequal", joined_unequal),
        ("join keys once", joined_keys(0)), ("join keys often", joined_keys(1)),
        ("join groups", joined_groups),
    ):  # fmt: skip
        EXAMPLES[f"{_name} {_kind.value}"] = _make(_kind)

EXTRA_TYPES = tuple(POOLS)
