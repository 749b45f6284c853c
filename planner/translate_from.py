"""FROM: tables, views, subqueries, functions and joins into one node and the names it gives.

Each item is translated inside one more boundary than the items to its left. If it turns out to read
their columns it stays there, as the right side of an `Apply`; if not, the boundary goes and it is joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ..operators.expr import ColumnRef, Expr, Literal
from ..operators.functions.registry import TABLE_FUNCTIONS
from ..operators.join import Join, JoinKind
from ..operators.node import Node
from ..operators.scan import Scan
from ..operators.table_function import TableFunctionNode
from ..sql.bind import ExpressionBinder
from ..sql.catalog import Relation, Table, View
from ..sql.dialect import position_of
from ..sql.entries import Sequence as SequenceEntry
from ..sql.environment import JOIN, Ast, BoundQuery, CommonTable, Environment
from ..sql.parse import parse_select
from ..sql.scope import Scope, ScopeColumn, ScopeItem, columns_from
from ..storage.errors import (
    DuplicateAlias,
    FeatureNotSupported,
    InvalidColumnReference,
    InvalidRecursion,
    SqlError,
    WrongObjectType,
)
from ..storage.textform import TextSettings
from ..storage.types import OID, REGCLASS
from .apply import Apply
from .building import UNIT
from .rewriting import finish, move_outer, pull_out, reads_level
from .translate_using import join_using


@dataclass(frozen=True, slots=True)
class FromPart:
    """Some FROM items joined: the node and the names, whose columns are over the node's row."""

    node: Node
    items: tuple[ScopeItem, ...]
    width: int


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an item may see: `lateral` if it is LATERAL or a function, else `plain`. Equally long chains."""

    lateral: Scope | None
    plain: Scope | None

    def beside(self, items: tuple[ScopeItem, ...]) -> Surroundings:
        """For an item to the right of `items`."""
        return Surroundings(Scope(items, self.lateral), Scope(items, self.plain, False, True))

    def across(self, items: tuple[ScopeItem, ...]) -> Surroundings:
        """For the right side of a RIGHT or FULL JOIN, which cannot depend on the left side."""
        blocked = Scope(items, self.lateral, False, outer_join=True)
        return Surroundings(blocked, Scope(items, self.plain, False))

    @property
    def condition(self) -> Scope | None:
        """What a join condition may see besides the joined items."""
        return replace(self.plain, lateral_hint=False) if self.plain is not None else None

    @property
    def levels(self) -> int:
        return self.plain.levels if self.plain is not None else 0


def translate_from(select: Ast, environment: Environment, parent: Scope | None) -> FromPart:
    """The FROM clause of `select`; one row without columns when there is none."""
    from_ = select.args.get("from_")
    if from_ is None:
        return FromPart(UNIT, (), 0)
    around = Surroundings(parent, parent)
    part = translate_item(from_.this, environment, around)
    for join in select.args.get("joins") or ():
        if _is_comma(join):
            right = translate_item(join.this, environment, around.beside(part.items))
            part = _combined(part, right, JoinKind.INNER, None)
        else:
            part = translate_join(part, join, environment, around)
        _check_aliases(part.items)
    return part


def _is_comma(join: Ast) -> bool:
    return not any(join.args.get(name) for name in ("on", "using", "kind", "side", "method"))


def _check_aliases(items: Sequence[ScopeItem]) -> None:
    seen: set[str] = set()
    for item in items:
        if item.visible and item.alias:
            if item.alias in seen:
                raise DuplicateAlias(f'table name "{item.alias}" specified more than once')
            seen.add(item.alias)


def translate_item(item: Ast, environment: Environment, around: Surroundings) -> FromPart:
    """One FROM item and the joins that bind to it."""
    part = _bare_item(item, environment, around)
    for join in item.args.get("joins") or ():
        part = translate_join(part, join, environment, around)
        _check_aliases(part.items)
    return part


def _bare_item(item: Ast, environment: Environment, around: Surroundings) -> FromPart:
    from .translate_functions import translate_function_item

    if isinstance(item, exp.Table):
        if isinstance(item.this, exp.Anonymous) or item.args.get("rows_from"):
            return translate_function_item(item, environment, around)
        return _relation(item, environment, around)
    if isinstance(item, exp.Subquery):
        return _subquery(item, item.args.get("alias"), environment, around.plain)
    if isinstance(item, exp.Lateral):
        if isinstance(item.this, exp.Subquery):
            return _subquery(item.this, item.args.get("alias"), environment, around.lateral)
        return translate_function_item(item, environment, around)
    if isinstance(item, exp.Paren):
        return _parenthesised(item, environment, around)
    raise FeatureNotSupported("this FROM item is not supported", position=position_of(item))


def _subquery(item: Ast, alias: Ast | None, environment: Environment, parent: Scope | None) -> FromPart:
    query = environment.translate(item.this, environment, parent)
    return named_part(query.node, query_columns(query), alias, "")


def query_columns(query: BoundQuery) -> tuple[ScopeColumn, ...]:
    """The output columns of a translated query as columns of its node's row."""
    return query.columns or columns_from(query.names, query.types, query.origins)


def _parenthesised(item: Ast, environment: Environment, around: Surroundings) -> FromPart:
    """`(a JOIN b) [AS x]`: with an alias the names inside are no longer seen."""
    part = translate_item(item.this, environment, around)
    alias = item.args.get("alias")
    if alias is None:
        return part
    shown = tuple(c for i in part.items if not i.merged for c in i.columns)
    hidden = tuple(replace(i, visible=False, merged=True) for i in part.items)
    named = renamed(ScopeItem(alias.name, shown, is_join=True), alias)
    return replace(part, items=(*hidden, named))


def named_part(
    node: Node, columns: tuple[ScopeColumn, ...], alias: Ast | None, name: str, **details: object
) -> FromPart:
    item = ScopeItem(name, columns, **details)  # pyright: ignore[reportArgumentType]
    return FromPart(node, (renamed(item, alias),), len(node.schema))


def renamed(item: ScopeItem, alias: Ast | None) -> ScopeItem:
    """`item` under its alias and column aliases. Raises 42P10 for too many of these."""
    if alias is None:
        return item
    names = [column.name for column in alias.args.get("columns") or ()]
    name = alias.name or item.alias
    shown = [column for column in item.columns if not column.hidden]
    if len(names) > len(shown):
        raise InvalidColumnReference(
            f'table "{name}" has {len(shown)} columns available but {len(names)} columns specified'
        )
    queue = iter(names)
    columns = tuple(
        column if column.hidden else replace(column, name=next(queue, column.name)) for column in item.columns
    )
    table = item.table or (item.alias if name != item.alias else "")
    return replace(item, alias=name, columns=columns, table=table)


def _relation(item: Ast, environment: Environment, around: Surroundings) -> FromPart:
    name, position, alias = item.this.name, position_of(item), item.args.get("alias")
    if item.args.get("db") is None and name in environment.tables:
        return _common_table(environment.tables[name], name, alias, around.levels, position)
    parts = [p.name for p in (item.args.get("catalog"), item.args.get("db"), item.this) if p is not None]
    try:
        entry = environment.catalog.resolve(parts, environment.search_path)
    except SqlError as error:
        if len(parts) == 1 and name in environment.later:
            error.detail = (
                f'There is a WITH item named "{name}", '
                "but it cannot be referenced from this part of the query."
            )
            error.hint = "Use WITH RECURSIVE, or re-order the WITH items to remove forward references."
        raise error.at(position) from None
    _check_version(item)
    if isinstance(entry, View):
        origins = [(entry.oid, i + 1) for i in range(len(entry.schema))]
        columns = columns_from(entry.schema.names, entry.schema.types, origins)
        node = _view(entry, environment)
        return named_part(node, columns, alias, entry.name, schema_name=entry.schema_name)
    if isinstance(entry, SequenceEntry):
        return _sequence(entry, alias)
    if not isinstance(entry, Relation):
        raise WrongObjectType(f'cannot open relation "{name}"', position=position)
    return scan_part(entry, alias)


def _sequence(entry: SequenceEntry, alias: Ast | None) -> FromPart:
    """A sequence read like a table: one row, its state."""
    (function,) = TABLE_FUNCTIONS["pg_get_sequence_data"]
    assert isinstance(function.columns, tuple)
    names = tuple(name for name, _ in function.columns)
    node = TableFunctionNode(UNIT, function, (Literal(entry.oid, REGCLASS),), names)
    columns = columns_from(names, [type_ for _, type_ in function.columns])
    return named_part(node, columns, alias, entry.name, schema_name=entry.schema_name)


def _check_version(item: Ast) -> None:
    """A temporal join (AS OF PROCTIME()) is an ordinary one here: its result also follows later changes."""
    version = item.args.get("version")
    if version is None:
        return
    moment = version.args.get("expression")
    if not isinstance(moment, exp.Anonymous) or str(moment.this) != "proctime":
        raise FeatureNotSupported("reading a past version is not supported", position=position_of(item))


def scan_part(entry: Relation, alias: Ast | None = None) -> FromPart:
    """All columns of a stored relation."""
    node = Scan(entry.id, entry.schema, entry.key, entry.append_only)
    columns = tuple(
        ScopeColumn(column.name, ColumnRef(i, column.type), column.hidden, (entry.oid, i + 1))
        for i, column in enumerate(entry.schema)
    )
    columns += (ScopeColumn("tableoid", Literal(entry.oid, OID), True),)
    key = entry.primary_key if isinstance(entry, Table) else None
    return named_part(node, columns, alias, entry.name, schema_name=entry.schema_name, key=key)


def _common_table(table: CommonTable, name: str, alias: Ast | None, levels: int, position: int) -> FromPart:
    if table.query is None:
        raise InvalidRecursion(
            f'recursive reference to query "{name}" must not appear within its non-recursive term',
            position=position,
        )
    node = move_outer(table.query.node, levels - table.levels)
    return named_part(node, query_columns(table.query), alias, name)


def _view(view: View, environment: Environment) -> Node:
    """A view's query, read in the search path it was created in."""
    inner = replace(
        environment,
        search_path=view.search_path,
        settings=TextSettings(*view.literals),
        tables={},
        places={},
    )
    return environment.translate(parse_select(view.query), inner, None).node


def translate_join(part: FromPart, join: Ast, environment: Environment, around: Surroundings) -> FromPart:
    """`part JOIN join.this`."""
    if str(join.args.get("kind") or "").upper() not in ("", "INNER", "OUTER", "CROSS"):
        raise FeatureNotSupported("ASOF joins are not supported", position=position_of(join.this))
    side = str(join.args.get("side") or "").upper()
    kind = JoinKind[side] if side else JoinKind.INNER
    one_way = kind in (JoinKind.INNER, JoinKind.LEFT)
    beside = around.beside(part.items) if one_way else around.across(part.items)
    right = translate_item(join.this, environment, beside)
    moved = tuple(item.shifted(part.width) for item in right.items)
    natural = str(join.args.get("method") or "").upper() == "NATURAL"
    if natural or join.args.get("using"):
        binder = ExpressionBinder(Scope((*part.items, *moved), around.condition), environment, JOIN)
        condition, items = join_using(binder, join, part.items, moved, kind, natural)
        return replace(_combined(part, right, kind, condition), items=items)
    on = join.args.get("on")
    if on is None:
        return _combined(part, right, kind, None)
    binder = ExpressionBinder(Scope((*part.items, *moved), around.condition), environment, JOIN)
    return _combined(part, right, kind, binder.boolean(on, "JOIN/ON"))


def _combined(left: FromPart, right: FromPart, kind: JoinKind, condition: Expr | None) -> FromPart:
    """`left` joined with `right`, which was translated beside it."""
    width = left.width + right.width
    items = (*left.items, *(item.shifted(left.width) for item in right.items))
    if condition is not None:
        condition = finish(condition, width)
        if isinstance(condition, Literal) and condition.value is True:
            condition = None
    if not reads_level(right.node):
        node = move_outer(right.node, -1)
        if left.node is UNIT and kind is JoinKind.INNER and condition is None:
            return FromPart(node, items, width)
        return FromPart(Join(left.node, node, kind, condition=condition), items, width)
    assert kind in (JoinKind.INNER, JoinKind.LEFT), "the scope lets nothing else read the left side"
    called = _called_directly(left.node, right.node, kind, condition)
    return FromPart(called or Apply(left.node, right.node, kind, condition), items, width)


def _called_directly(left: Node, right: Node, kind: JoinKind, condition: Expr | None) -> Node | None:
    """A set-returning function over the rows of `left`: the node does that itself, no Apply needed."""
    if not isinstance(right, TableFunctionNode) or right.input is not UNIT or condition is not None:
        return None
    args = pull_out(right.args)
    return replace(right, input=left, args=args, outer=kind is JoinKind.LEFT)
