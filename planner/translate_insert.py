"""INSERT."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ..operators.expr import ColumnRef, Expr
from ..operators.node import Node
from ..sql import statements as st
from ..sql.bind import ExpressionBinder
from ..sql.catalog import Table
from ..sql.dialect import position_of
from ..sql.environment import UPDATE, VALUES, WHERE, Ast, Environment
from ..sql.positions import start_of
from ..sql.scope import Scope
from ..storage.errors import (
    DuplicateColumn,
    InvalidColumnReference,
    SyntaxFault,
    UndefinedColumn,
    UndefinedObject,
)
from .building import UNIT, projected
from .column_defaults import default_of, generated_over
from .dml import ConflictAction, TableWrite, WriteKind
from .insert_literals import literal_rows
from .rewriting import finish
from .translate import translate_bound, with_tables
from .translate_setops import coerced_output, target_position, values_node
from .translate_target import (
    assign,
    bind_returning,
    check_assignable,
    column_position,
    is_default,
    refuse_subquery,
    table_item,
    target_table,
)
from .translate_update import assignments

_WORDS = 'cannot insert a non-DEFAULT value into column "%s"'


def translate_insert(statement: st.Insert, environment: Environment) -> TableWrite:
    environment = with_tables(statement.with_, environment, None)
    table = target_table(statement.table, environment, "insert")
    positions = _target_positions(statement, table)
    given, positions = _given(statement, table, positions, environment)
    node = _whole_rows(table, given, positions, environment)
    conflict = None
    if statement.on_conflict is not None:
        conflict = _conflict(statement.on_conflict, statement, table, environment)
    write = TableWrite(table, WriteKind.INSERT, node, conflict)
    if not statement.returning:
        return write
    item = table_item(table, statement.alias)
    targets = bind_returning(statement.returning, (item,), len(table.schema), environment)
    return TableWrite(
        table, WriteKind.INSERT, node, conflict,
        tuple(t.expr for t in targets), tuple(t.name for t in targets),
        tuple(t.expr.type for t in targets), tuple(t.origin for t in targets),
    )  # fmt: skip


def _target_positions(statement: st.Insert, table: Table) -> list[int]:
    """The columns the values are for: those listed, or all that can be seen."""
    if statement.columns is None:
        return [i for i, column in enumerate(table.schema) if not column.hidden]
    positions: list[int] = []
    for column in statement.columns:
        position = column_position(table, column)
        if position in positions:
            raise DuplicateColumn(
                f'column "{column.name}" specified more than once', position=column.position
            )
        positions.append(position)
    return positions


def _given(
    statement: st.Insert, table: Table, positions: list[int], environment: Environment
) -> tuple[Node, list[int]]:
    """The node of the values given, assigned to the columns at the positions."""
    overriding = statement.overriding == "system"
    if statement.literals is not None:
        types_only = (
            len(statement.literals) <= len(positions) and not table.generated and not table.identities
        )
        rows = (
            literal_rows(statement.literals, table, positions, environment.settings) if types_only else None
        )
        if rows is not None:
            _check_count(statement, len(statement.literals), positions, 0)
            return rows, positions[: len(statement.literals)]
    source = statement.query()
    if source is None:
        return UNIT, []
    if isinstance(source, exp.Values) and not _decorated(source):
        return _values(statement, source, table, positions, environment, overriding)
    query = translate_bound(source, environment, None, True)
    _check_count(statement, len(query.types), positions, target_position(source, len(positions)))
    positions = positions[: len(query.types)]
    for position in positions:
        check_assignable(table, position, _WORDS, overriding)
    binder = ExpressionBinder(Scope(), environment, VALUES)
    places = _select_places(source, len(positions))
    types = [table.schema[p].type for p in positions]
    for type_, position, place in zip(query.types, positions, places, strict=True):
        if type_.name != "unknown":
            assign(binder, ColumnRef(0, type_), table, position, place)
    return coerced_output(query.node, types, binder, "assignment", places), positions


def _decorated(values: Ast) -> bool:
    return any(values.args.get(name) is not None for name in ("order", "limit", "offset", "with_"))


def _select_places(source: Ast, count: int) -> list[int]:
    items = source.expressions if isinstance(source, exp.Select) else []
    if len(items) != count:
        return [position_of(source)] * count
    return [start_of(item.this if isinstance(item, exp.Alias) else item) for item in items]


def _check_count(statement: st.Insert, count: int, positions: Sequence[int], extra_place: int) -> None:
    """Without a column list fewer values than columns are fine: the rest gets its default."""
    if count > len(positions):
        raise SyntaxFault("INSERT has more expressions than target columns", position=extra_place)
    if statement.columns is not None and count < len(positions):
        place = statement.columns[count].position
        raise SyntaxFault("INSERT has more target columns than expressions", position=place)


def _values(
    statement: st.Insert,
    source: Ast,
    table: Table,
    positions: list[int],
    environment: Environment,
    overriding: bool,
) -> tuple[Node, list[int]]:
    """VALUES: each value is assigned to its column by itself, and may be DEFAULT."""
    binder = ExpressionBinder(Scope(), environment, VALUES)
    written = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in source.expressions]
    count = len(written[0])
    for row in written:
        if len(row) != count:
            raise SyntaxFault("VALUES lists must all be the same length", position=position_of(row[0]))
        extra = position_of(row[len(positions)]) if count > len(positions) else 0
        _check_count(statement, count, positions, extra)
    positions = positions[:count]
    rows: list[tuple[Expr, ...]] = []
    for row in written:
        exprs: list[Expr] = []
        for ast, position in zip(row, positions, strict=True):
            if is_default(ast):
                exprs.append(default_of(table, position, environment))
                continue
            check_assignable(table, position, _WORDS, overriding)
            exprs.append(assign(binder, binder.bind(ast), table, position, start_of(ast)))
        rows.append(tuple(exprs))
    names = tuple(table.schema[p].name for p in positions)
    return values_node(names, tuple(table.schema[p].type for p in positions), rows), positions


def _whole_rows(table: Table, given: Node, positions: Sequence[int], environment: Environment) -> Node:
    """All columns of the table in its order, those not given by their defaults."""
    places = {position: i for i, position in enumerate(positions)}
    exprs = [
        ColumnRef(places[i], column.type) if i in places else default_of(table, i, environment)
        for i, column in enumerate(table.schema)
    ]
    hidden = [column.hidden for column in table.schema]
    names = table.schema.names
    if not table.generated:
        return projected(given, exprs, names, hidden if any(hidden) else ())
    node = projected(given, exprs, names)
    refs = [ColumnRef(i, column.type) for i, column in enumerate(table.schema)]
    return projected(node, generated_over(table, refs, environment), names, hidden if any(hidden) else ())


def _conflict(
    conflict: st.OnConflict, statement: st.Insert, table: Table, environment: Environment
) -> ConflictAction:
    """Raises 42P10 for a target that is no unique constraint."""
    arbiter = _arbiter(conflict, table)
    if conflict.assignments is None:
        return ConflictAction(arbiter=arbiter)
    width = len(table.schema)
    excluded = table_item(table, "excluded", width)
    scope = Scope((table_item(table, statement.alias), excluded))
    binder = ExpressionBinder(scope, environment, UPDATE)
    old = [ColumnRef(i, column.type) for i, column in enumerate(table.schema)]
    row = generated_over(
        table, assignments(binder, table, conflict.assignments, old, environment), environment
    )
    where = None
    if conflict.where is not None:
        condition = ExpressionBinder(scope, environment, WHERE).boolean(conflict.where, "WHERE")
        where = finish(condition, 2 * width)
        refuse_subquery(where, "ON CONFLICT", position_of(conflict.where))
    for expr in row:
        refuse_subquery(expr, "ON CONFLICT", conflict.position)
    return ConflictAction(tuple(finish(expr, 2 * width) for expr in row), where, arbiter)


def _arbiter(conflict: st.OnConflict, table: Table) -> int | None:
    """The constraint that decides (see `ConflictAction`)."""
    if conflict.constraint:
        names = [table.primary_key_name, *(unique.name for unique in table.uniques)]
        if conflict.constraint not in names:
            words = f'constraint "{conflict.constraint}" for table "{table.name}" does not exist'
            raise UndefinedObject(words)
        return names.index(conflict.constraint)
    if not conflict.columns:
        if conflict.assignments is None:
            return None
        raise SyntaxFault(
            "ON CONFLICT DO UPDATE requires inference specification or constraint name",
            position=conflict.position,
            hint="For example, ON CONFLICT (column_name).",
        )
    for column in conflict.columns:
        if all(column.name != declared.name for declared in table.schema):
            raise UndefinedColumn(f'column "{column.name}" does not exist', position=conflict.position)
    wanted = {column_position(table, column) for column in conflict.columns}
    keys = [set(table.primary_key or ()), *(set(unique.columns) for unique in table.uniques)]
    if wanted in keys:
        return keys.index(wanted)
    raise InvalidColumnReference(
        "there is no unique or exclusion constraint matching the ON CONFLICT specification"
    )
