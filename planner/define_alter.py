"""ALTER of a table, view or source, and the rows of a table whose columns changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from ..operators.evaluate import evaluate
from ..operators.node import EpochContext
from ..sql import statements as st
from ..sql.catalog import Catalog, kind_of
from ..sql.entries import Entry, Index, MaterializedView, Relation, Source, Table
from ..storage.errors import (
    DependentObjects,
    DuplicateColumn,
    FeatureNotSupported,
    InvalidTableDefinition,
    NotNullViolation,
    SqlError,
    SyntaxFault,
    UndefinedColumn,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)
from ..storage.schema import Column, Schema
from .build import view_plan
from .defaults import bound_default, check_default
from .define import DefineContext, Definition, Notice, defines


@defines(st.Alter)
def alter(statement: st.Alter, context: DefineContext) -> Definition:
    tag = f"ALTER {statement.kind.upper()}"
    kind = "table" if statement.kind == "column" else statement.kind
    try:
        entry = context.catalog.resolve_object(kind, statement.name.parts, context.search_path)
    except (UndefinedTable, UndefinedObject) as error:
        if statement.if_exists:
            return Definition(context.catalog, tag, notices=(Notice(error.message + ", skipping"),))
        if isinstance(error, UndefinedTable):
            raise UndefinedTable(f'relation "{statement.name.parts[-1]}" does not exist') from None
        raise error.at(statement.name.position) from None
    if kind != kind_of(entry) and kind != "table":
        raise WrongObjectType(f'"{entry.name}" is not a {kind}')
    if any(isinstance(action, st.ResetSource) for action in statement.actions):
        return _reset(entry, context.catalog, tag)
    catalog, notices = context.catalog, list[SqlError]()
    reshaped: list[tuple[Table, Table]] = []
    made_by = entry.definition
    for action in statement.actions:
        before = entry
        entry, catalog = _act(action, before, catalog, context, notices)
        if isinstance(entry, Table) and entry is not before and entry.definition == made_by:
            entry = replace(entry, definition=f"{made_by};\n{statement.text.rstrip('; ')}")
            catalog = catalog.with_(entry)
        if isinstance(before, Table) and isinstance(entry, Table) and before.schema != entry.schema:
            reshaped.append((before, entry))
    if not reshaped:
        return Definition(catalog, tag, notices=tuple(notices))
    views = views_to_rebuild(catalog, entry.oid)
    for view in views:
        _refuse_changed_shape(view, catalog)
    return Definition(
        catalog,
        tag,
        dropped=tuple(views),
        created=tuple(reversed(views)),
        reshaped=tuple(reshaped),
        notices=tuple(notices),
    )


def _reset(entry: Entry, catalog: Catalog, tag: str) -> Definition:
    """ALTER SOURCE … RESET: goes on with the first records there are, whatever is lost by that."""
    if not isinstance(entry, Source | Table) or "connector" not in entry.options:
        raise WrongObjectType(f'"{entry.name}" has no connector that could be reset')
    return Definition(catalog, tag, reset=(entry,))


def views_to_rebuild(catalog: Catalog, oid: int) -> list[MaterializedView]:
    """The materialized views that need the relation, however indirectly, dependents first."""
    return [e for e in catalog.dependents_closure([oid]) if isinstance(e, MaterializedView)]


def _refuse_changed_shape(view: MaterializedView, catalog: Catalog) -> None:
    """A view keeps its columns: one that says `*` of a table would change with the table."""
    plan = view_plan(view, catalog)
    if plan.schema.types != view.schema.types:
        raise FeatureNotSupported(
            f"the columns of materialized view {view.name} would change with the table",
            hint="Name the columns in the view instead of *.",
        )


def _act(
    action: st.AlterAction, entry: Entry, catalog: Catalog, context: DefineContext, notices: list[SqlError]
) -> tuple[Entry, Catalog]:
    match action:
        case st.RenameTo(name):
            _refuse_named_by_views(catalog, entry)
            catalog.check_free(kind_of(entry), entry.schema_name, name)
            changed: Entry = replace(entry, name=name)
        case st.SetSchema(schema):
            _refuse_named_by_views(catalog, entry)
            target = catalog.creation_schema((schema, entry.name), ())
            catalog.check_free(kind_of(entry), target, entry.name)
            changed = replace(entry, schema_name=target)
        case st.OwnerTo():
            return entry, catalog
        case st.SetOptions() | st.ResetOptions():
            notices.append(Notice("the options are accepted and have no effect"))
            return entry, catalog
        case _ if isinstance(entry, Table):
            changed = _alter_table(action, entry, catalog, context, notices)
        case _:
            raise FeatureNotSupported(f"this ALTER of a {kind_of(entry)} is not supported")
    return changed, catalog.with_(changed)


def _alter_table(
    action: st.AlterAction, table: Table, catalog: Catalog, context: DefineContext, notices: list[SqlError]
) -> Table:
    match action:
        case st.AddColumn():
            return _add_column(action, table, catalog, context, notices)
        case st.DropColumn():
            return _drop_column(action, table, catalog, notices)
        case st.RenameColumn(old, new):
            _refuse_named_by_views(catalog, table)
            return _rename_column(table, old, new)
        case st.AlterColumnDefault(column, default):
            _position(table, column)
            defaults = {k: v for k, v in table.defaults.items() if k != column.name}
            if default is not None:
                defaults[column.name] = default.text
            changed = replace(table, defaults=defaults)
            if default is not None:
                check_default(changed, column.name, catalog, context.search_path)
            return changed
        case st.AlterColumnNotNull(column, not_null):
            position = _position(table, column)
            if not not_null and table.primary_key and position in table.primary_key:
                raise InvalidTableDefinition(f'column "{column.name}" is in a primary key')
            return _with_column(table, position, replace(table.schema[position], nullable=not not_null))
        case _:
            raise FeatureNotSupported(
                "this ALTER TABLE is not supported", hint="Create a new table and INSERT … SELECT into it."
            )


def _add_column(
    action: st.AddColumn, table: Table, catalog: Catalog, context: DefineContext, notices: list[SqlError]
) -> Table:
    new = action.column
    if any(c.name == new.name for c in table.schema):
        if action.if_not_exists:
            message = f'column "{new.name}" of relation "{table.name}" already exists'
            notices.append(Notice(message + ", skipping"))
            return table
        raise DuplicateColumn(f'column "{new.name}" of relation "{table.name}" already exists')
    if new.type is None or new.generated is not None or new.identity:
        raise FeatureNotSupported("a generated or identity column cannot be added to a table")
    column = Column(new.name, new.type.resolve(), not new.not_null)
    columns = list(table.schema.columns)
    end = len(columns) - 1 if table.has_row_id else len(columns)
    columns.insert(end, column)
    key = (len(columns) - 1,) if table.has_row_id else table.key
    changed = replace(table, schema=Schema(tuple(columns)), key=key)
    if new.default is not None:
        changed = replace(changed, defaults={**table.defaults, new.name: new.default.text})
        check_default(changed, new.name, catalog, context.search_path)
    return changed


def _drop_column(action: st.DropColumn, table: Table, catalog: Catalog, notices: list[SqlError]) -> Table:
    if action.if_exists and all(c.name != action.name.name for c in table.schema):
        message = f'column "{action.name.name}" of relation "{table.name}" does not exist'
        notices.append(Notice(message + ", skipping"))
        return table
    position = _position(table, action.name)
    _refuse_named_by_views(catalog, table)
    used = {i for unique in table.uniques for i in unique.columns} | set(table.primary_key or ())
    if position in used or table.checks:
        raise FeatureNotSupported(f'column "{action.name.name}" is used by a constraint')
    columns = tuple(c for i, c in enumerate(table.schema) if i != position)
    moved = {i: i - (i > position) for i in range(len(table.schema))}
    return replace(
        table,
        schema=Schema(columns),
        key=tuple(moved[i] for i in table.key or ()),
        primary_key=table.primary_key and tuple(moved[i] for i in table.primary_key),
        uniques=tuple(replace(u, columns=tuple(moved[i] for i in u.columns)) for u in table.uniques),
        defaults={k: v for k, v in table.defaults.items() if k != action.name.name},
        identities={k: v for k, v in table.identities.items() if k != action.name.name},
        foreign_keys=tuple(
            replace(key, columns=tuple(moved[i] for i in key.columns))
            for key in table.foreign_keys
            if position not in key.columns
        ),
    )


def _rename_column(table: Table, old: st.ColumnName, new: str) -> Table:
    position = _position(table, old)
    if any(c.name == new for c in table.schema):
        raise DuplicateColumn(f'column "{new}" of relation "{table.name}" already exists')
    if table.checks or table.generated:
        raise FeatureNotSupported("a table with checks or generated columns cannot have a column renamed")
    changed = _with_column(table, position, replace(table.schema[position], name=new))
    return replace(
        changed,
        defaults={new if k == old.name else k: v for k, v in table.defaults.items()},
        identities={new if k == old.name else k: v for k, v in table.identities.items()},
    )


def _with_column(table: Table, position: int, column: Column) -> Table:
    columns = list(table.schema.columns)
    columns[position] = column
    return replace(table, schema=Schema(tuple(columns)))


def _position(table: Table, name: st.ColumnName) -> int:
    for i, column in enumerate(table.schema):
        if column.name == name.name and not column.hidden:
            return i
    raise UndefinedColumn(f'column "{name.name}" of relation "{table.name}" does not exist')


def _refuse_named_by_views(catalog: Catalog, entry: Entry) -> None:
    """Views are kept as SQL text, so what they name must keep its name."""
    views = [e for e in catalog.dependents(entry.oid) if isinstance(e, Relation) and not isinstance(e, Index)]
    if views:
        raise DependentObjects(
            f"cannot change the names of {kind_of(entry)} {entry.name} because views name it",
            detail="\n".join(f"{kind_of(view)} {view.name} depends on it" for view in views),
            hint="Drop these first and create them again afterwards.",
        )


def reshaped_rows(
    old: Table, new: Table, rows: Sequence[pa.Array], context: EpochContext, catalog: Catalog
) -> list[pa.Array]:
    """The rows of `old` with the columns of `new`, which one action of ALTER TABLE made of it.

    A new column holds its default.

    Raises NotNullViolation when a new NOT NULL column would hold NULL.
    """
    if not new.schema.columns:
        raise SyntaxFault("a table must have a column")
    count = len(rows[0])
    found: list[pa.Array] = []
    for column, origin in zip(new.schema, column_origins(old, new), strict=True):
        if origin is not None:
            values = rows[origin]
        else:
            expr = bound_default(new, column.name, catalog)
            values = (
                pa.nulls(count, column.type.arrow) if expr is None else evaluate(expr, [], count, context)
            )
        if not column.nullable and values.null_count:
            raise NotNullViolation(
                f'column "{column.name}" of relation "{new.name}" contains null values',
                table=new.name,
                column=column.name,
            )
        found.append(values)
    return found


def column_origins(old: Table, new: Table) -> list[int | None]:
    """For each column of `new` its place in `old`, None where it was added.

    Where the number stays the same one was renamed or lost its NOT NULL, and all keep their places.
    """
    if len(old.schema) == len(new.schema):
        return list(range(len(old.schema)))
    places = {name: i for i, name in enumerate(old.schema.names)}
    return [places.get(name) for name in new.schema.names]
