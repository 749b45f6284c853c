"""The syntax trees between the parser and the binder: sqlglot's expressions, and which of them.

Our own parser (`parse.py` and its neighbours) builds them, because sqlglot's parsers, compiled, cannot be
subclassed, rewrite what they read (subscripts become 0-based, intervals and format strings are re-spelt)
and accept much that PostgreSQL refuses. The shapes are sqlglot's except where noted here:

Names. Every `Identifier.this` is folded to lower case already unless `quoted`. Column(this, table, db,
catalog); `t.*` is Column(this=Star(), table=…); `*` is Star(). `(x).f` is Dot(this, expression=Identifier
or Star). Parentheses leave no node (`Paren` occurs only in FROM, see there).

Literals. Literal (strings decoded, whatever their quotes), Boolean, Null, Parameter(this=Literal number),
BitString, HexString. In VALUES and SET, DEFAULT is Var(this="DEFAULT").

Types. Cast(this, to=DataType) for CAST, `::` and `type 'text'`: call `type_name(cast.args["to"])` for the
`TypeName`. `interval '5' minute` is a Cast of '5 minute'.

Functions. *Every* call, special syntax included, is Anonymous (in a Dot when qualified by a schema),
wrapped in sqlglot's WithinGroup, Filter, Window in this order; `function_call(ast)` unwraps all of it.
Special syntax gets PostgreSQL's function names: EXTRACT(f FROM x) extract('f', x); TRIM btrim/ltrim/rtrim;
SUBSTRING(x FROM a FOR b) substring(x, a, b); POSITION(a IN b) position(b, a); OVERLAY overlay; x AT TIME
ZONE z timezone(z, x); coalesce, nullif, greatest, least, grouping; without parentheses current_date,
current_time, current_timestamp, localtime, localtimestamp, current_user, current_role, user, session_user,
system_user, current_catalog, current_schema. Named arguments are Kwarg(this=Var, expression).

Operators. Add Sub Mul Div Mod Pow (`^`) DPipe EQ NEQ LT LTE GT GTE And Or Not Neg as usual; every other
operator, binary or prefix (`this` None), is Operator(this, operator="->>", expression); `operator_of(ast)`
gives (symbol, left or None, right) of any of them except And, Or and Not. A schema in
OPERATOR(pg_catalog.~) is dropped. Like, ILike, SimilarTo have args this, expression, escape, negate (bool);
In(this, expressions | query=Subquery, negate), Between(this, low, high, symmetric, negate); Is(this,
expression=Null() | Boolean | Var("UNKNOWN"), negate); NullSafeEQ/NullSafeNEQ for IS NOT DISTINCT FROM / IS
DISTINCT FROM. `x op ANY (…)`: the right side is Any(this) or All(this), whose `this` is a Subquery or an
array expression. Collate(this, expression=Identifier, or Dot of a schema and a name). And/Or nest to the
left.

Others. Case(this, ifs=[If(this, true)], default); Subquery(this=query) as a value; Exists(this=query);
Array(expressions) for ARRAY[…] and Array(expressions=[query]) for ARRAY(query); Tuple for ROW(…) and (a,
b); Bracket(this, expressions=[index | Slice(this, expression)]), one Bracket a pair of brackets.

Queries. Select(expressions, distinct=Distinct(on=Tuple), from_=From(this), joins=[Join], where, group,
having, windows, order, limit, offset, locks, with_); Values(expressions=[Tuple]); Union, Intersect, Except
(this, expression, distinct=bool); all may carry with_, order, limit, offset. TABLE t is SELECT * FROM t.
Limit( expression); FETCH FIRST n ROWS ONLY is a Limit too, WITH TIES Fetch(count,
limit_options=LimitOptions( with_ties=True)). Ordered(this, desc=bool, nulls_first=bool: PostgreSQL's
default filled in). Group(expressions =[… | Rollup | Cube | GroupingSets], distinct=bool); an empty grouping
set is Tuple().

FROM. Table(this=Identifier, db, catalog, alias=TableAlias(this, columns), only,
version=Version(this="TIMESTAMP", kind="AS OF", expression)); a function is Table(this=Anonymous, db, alias,
ordinality=True), its column definition list ColumnDef(this, kind=DataType) in alias.columns;
Table(rows_from=[Table…]); Subquery(this=query, alias) also for VALUES; Lateral(this=Subquery | Anonymous,
alias, ordinality). Join(this=item, side LEFT|RIGHT|FULL, kind INNER|CROSS|ASOF, method NATURAL, on,
using=[Identifier], alias: of USING … AS); a comma is Join(this=item) and nothing else. `Select.joins` are
those of the first item and the commas, in order; any item may have `joins` of its own, applied to it first:
so `a, b RIGHT JOIN c` keeps its meaning. `(a JOIN b) AS x` is Paren(this=item, alias).

WITH. With(expressions=[CTE(this=query, alias=TableAlias(this, columns), materialized=bool|None)],
recursive, mutual=bool, limit=Literal). With `mutual` the columns are ColumnDef(this, kind).

Windows. Window(this, partition_by, order, spec=WindowSpec(kind ROWS|RANGE|GROUPS|SESSION, start,
start_side, end, end_side, exclude), alias=Identifier of a named window); bounds are "UNBOUNDED", "CURRENT
ROW" or an expression, sides PRECEDING or FOLLOWING, exclude "CURRENT ROW", "GROUP", "TIES". SESSION has its
gap as start. Named windows are Select.windows = [Window(this=Identifier, …)].

Every node that can be blamed for an error has a position: `position_of(ast)`. As in PostgreSQL that of an
operator is its symbol's, of a call its name's, of `x::t` that of `::`.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from .typename import TypeName

Ast = exp.Expr

OPERATORS: dict[type[Ast], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.Pow: "^", exp.DPipe: "||",
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
"""The operators that have a class of their own."""

BINARY: dict[str, type[Ast]] = {symbol: node for node, symbol in OPERATORS.items()} | {"!=": exp.NEQ}


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call unwrapped: what stands in and behind the parentheses. `star`: `f(*)`, no args."""

    name: str
    schema: str
    args: tuple[Ast, ...]
    star: bool = False
    distinct: bool = False
    variadic: bool = False
    order: Ast | None = None
    within_group: Ast | None = None
    filter: Ast | None = None
    window: Ast | None = None
    parentheses: bool = True
    position: int = 0


def position_of(ast: Ast | None) -> int:
    """The 1-based character position of `ast` in its statement's text, 0 when unknown.

    A node without one of its own has that of its leftmost descendant.
    """
    if ast is None:
        return 0
    meta = ast._meta
    if meta and "start" in meta:
        return int(meta["start"]) + 1
    found = (position_of(child) for child in ast.iter_expressions())
    return min((position for position in found if position), default=0)


def place(ast: Ast, start: int) -> Ast:
    """`ast`, said to stand at the 0-based character `start`."""
    ast.meta["start"] = start
    return ast


def type_name(data_type: Ast) -> TypeName:
    """What was written where `data_type` (exp.DataType) stands."""
    written = data_type.meta["type_name"]
    assert isinstance(written, TypeName)
    return written


def operator_of(ast: Ast) -> tuple[str, Ast | None, Ast] | None:
    """(symbol, left or None for a prefix operator, right), or None when `ast` is no operator."""
    symbol = OPERATORS.get(type(ast))
    if symbol is not None:
        return symbol, ast.this, ast.expression
    if isinstance(ast, exp.Neg):
        return "-", None, ast.this
    if isinstance(ast, exp.Operator):
        return str(ast.args["operator"]), ast.args.get("this"), ast.expression
    return None


def function_call(ast: Ast) -> FunctionCall | None:
    """The call that `ast` is, its wrappers taken off, or None when it is none."""
    window = filter_ = within = None
    inner = ast
    if isinstance(inner, exp.Window):
        window, inner = inner, inner.this
    if isinstance(inner, exp.Filter):
        filter_, inner = inner.expression.this, inner.this
    if isinstance(inner, exp.WithinGroup):
        within, inner = inner.expression, inner.this
    schema = ""
    if isinstance(inner, exp.Dot) and isinstance(inner.expression, exp.Anonymous):
        schema, inner = inner.this.name, inner.expression
    if not isinstance(inner, exp.Anonymous):
        return None
    args = tuple(inner.expressions)
    star = len(args) == 1 and isinstance(args[0], exp.Star)
    return FunctionCall(
        name=str(inner.this),
        schema=schema,
        args=() if star else args,
        star=star,
        distinct=bool(inner.args.get("distinct")),
        variadic=bool(inner.args.get("variadic")),
        order=inner.args.get("order"),
        within_group=within,
        filter=filter_,
        window=window,
        parentheses=not inner.args.get("bare"),
        position=position_of(inner),
    )
