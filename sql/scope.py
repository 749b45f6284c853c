"""Names of columns: the FROM items a query level sees, and those of the queries around it.

A `Scope` is one level. Its columns are expressions over that level's row (almost always a plain
column; the merged column of a FULL JOIN USING is a COALESCE). A name not found in a level is sought in
`parent`: each step out is one more `depth` of the `OuterColumn`. Levels that a FROM item without LATERAL
may not look into are still part of the chain, `reachable=False`, so that depths and errors stay right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..operators.expr import ColumnRef, Expr, OuterColumn, rewrite_expr
from ..storage.errors import AmbiguousColumn, InvalidColumnReference, SyntaxFault, UndefinedTable
from ..storage.types import Type
from .suggest import missing_column


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column by name. `origin`: (table OID, 1-based column number) it shows unchanged, or (0, 0)."""

    name: str
    expr: Expr
    hidden: bool = False
    origin: tuple[int, int] = (0, 0)

    def shifted(self, by: int) -> ScopeColumn:
        """The same column in a row with `by` more columns in front."""

        def shift(e: Expr) -> Expr:
            return ColumnRef(e.index + by, e.type) if isinstance(e, ColumnRef) else e

        return replace(self, expr=rewrite_expr(self.expr, shift)) if by else self


@dataclass(frozen=True, slots=True)
class ScopeItem:
    """One FROM item, or the join of two.

    `alias` is the name it goes by ("" for a join without one), `table` the relation's own name if that
    differs. `visible`: `alias.column` finds it. `merged`: its columns are found through the join that
    contains it, not on their own. `key`: positions in `columns` of a declared primary key.
    """

    alias: str
    columns: tuple[ScopeColumn, ...]
    table: str = ""
    schema_name: str = ""
    visible: bool = True
    merged: bool = False
    key: tuple[int, ...] | None = None
    is_join: bool = False

    def shifted(self, by: int) -> ScopeItem:
        if not by:
            return self
        return replace(self, columns=tuple(column.shifted(by) for column in self.columns))

    def named(self, name: str) -> list[ScopeColumn]:
        return [column for column in self.columns if column.name == name]


@dataclass(frozen=True, slots=True)
class Scope:
    """One query level; see the module."""

    items: tuple[ScopeItem, ...] = ()
    parent: Scope | None = None
    reachable: bool = True
    lateral_hint: bool = False
    """Whether marking the blocked FROM item LATERAL would make the items of this level reachable."""
    outer_join: bool = False
    """Not reachable because a RIGHT or FULL JOIN is between."""

    @property
    def levels(self) -> int:
        """How many levels there are, this one included."""
        return 1 + (self.parent.levels if self.parent else 0)

    def chain(self) -> Iterator[tuple[int, Scope]]:
        """(depth, scope) from this level outwards; depth 0 is this one."""
        scope, depth = self, 0
        while scope is not None:
            yield depth, scope
            scope, depth = scope.parent, depth + 1

    def column(self, name: str, position: int) -> tuple[Expr, ScopeColumn] | None:
        """The column called just `name`, as an expression of this level. None if there is none.

        Raises AmbiguousColumn when the nearest level that has it has several.
        """
        for depth, scope in self.chain():
            found = [c for item in scope.items if not item.merged for c in item.named(name)]
            if not scope.reachable:
                if found and scope.outer_join:
                    raise self._through_outer_join(scope, name, position)
                continue
            if len(found) > 1:
                raise AmbiguousColumn(f'column reference "{name}" is ambiguous', position=position)
            if found:
                return outward(found[0].expr, depth), found[0]
        return None

    def item(self, alias: str, schema_name: str, position: int) -> tuple[int, ScopeItem]:
        """(depth, item) of the FROM item that goes by `alias`. Raises 42P01 as PostgreSQL words it."""
        for depth, scope in self.chain():
            found = [i for i in scope.items if i.visible and _goes_by(i, alias, schema_name)]
            if not scope.reachable:
                if found and scope.outer_join:
                    raise _outer_join_error(alias, position)
                continue
            if len(found) > 1:
                raise AmbiguousColumn(f'table reference "{alias}" is ambiguous', position=position)
            if found:
                return depth, found[0]
        raise self._missing_item(alias, schema_name, position)

    def qualified(
        self, alias: str, name: str, position: int, schema_name: str = ""
    ) -> tuple[Expr, ScopeColumn]:
        """The column `alias.name`. Raises 42P01, 42702 or 42703."""
        depth, item = self.item(alias, schema_name, position)
        found = item.named(name)
        if len(found) > 1:
            raise AmbiguousColumn(f'column reference "{name}" is ambiguous', position=position)
        if not found:
            raise self.missing(name, position, alias)
        return outward(found[0].expr, depth), found[0]

    def missing(self, name: str, position: int, alias: str = "") -> Exception:
        """The error that there is no such column, with PostgreSQL's suggestion."""
        named = [
            (item.alias, [column.name for column in item.columns if not column.hidden])
            for _, scope in self.chain()
            for item in scope.items
            if not item.is_join
        ]
        blocked = [
            item.alias
            for _, scope in self.chain()
            if not scope.reachable
            for item in scope.items
            if item.named(name)
        ]
        return missing_column(name, alias, named, position, blocked)

    def star(self) -> list[ScopeColumn]:
        """The columns of `*`. Raises 42601 without any FROM item."""
        if not self.items:
            raise SyntaxFault("SELECT * with no tables specified is not valid")
        return [c for item in self.items if not item.merged for c in item.columns if not c.hidden]

    def item_star(self, alias: str, position: int, schema_name: str = "") -> list[ScopeColumn]:
        """The columns of `alias.*`, as expressions of this level."""
        depth, item = self.item(alias, schema_name, position)
        shown = [column for column in item.columns if not column.hidden]
        return [replace(column, expr=outward(column.expr, depth)) for column in shown] if depth else shown

    def _missing_item(self, alias: str, schema_name: str, position: int) -> UndefinedTable:
        for _, scope in self.chain():
            for item in scope.items:
                if item.is_join and not item.alias:
                    continue
                if item.alias == alias or (item.table == alias and not schema_name):
                    return self._unreachable_item(item, alias, scope, position)
        return UndefinedTable(f'missing FROM-clause entry for table "{alias}"', position=position)

    def _through_outer_join(self, scope: Scope, name: str, position: int) -> InvalidColumnReference:
        owner = next(item for item in scope.items if not item.merged and item.named(name))
        return _outer_join_error(owner.alias, position)

    def _unreachable_item(self, item: ScopeItem, alias: str, scope: Scope, position: int) -> UndefinedTable:
        message = f'invalid reference to FROM-clause entry for table "{alias}"'
        if item.alias != alias and item.visible and scope.reachable:
            hint = f'Perhaps you meant to reference the table alias "{item.alias}".'
            return UndefinedTable(message, position=position, hint=hint)
        detail = (
            f'There is an entry for table "{item.alias}", '
            "but it cannot be referenced from this part of the query."
        )
        hint = (
            "To reference that table, you must mark this subquery with LATERAL." if scope.lateral_hint else ""
        )
        return UndefinedTable(message, position=position, detail=detail, hint=hint)


def _outer_join_error(alias: str, position: int) -> InvalidColumnReference:
    return InvalidColumnReference(
        f'invalid reference to FROM-clause entry for table "{alias}"',
        detail="The combining JOIN type must be INNER or LEFT for a LATERAL reference.",
        position=position,
    )


def _goes_by(item: ScopeItem, alias: str, schema_name: str) -> bool:
    if item.alias != alias:
        return False
    return not schema_name or (item.schema_name == schema_name and not item.table)


def outward(expr: Expr, depth: int) -> Expr:
    """`expr` over the row of the level `depth` steps out, as seen from the inner level."""
    if not depth:
        return expr

    def change(e: Expr) -> Expr:
        if isinstance(e, ColumnRef):
            return OuterColumn(depth, e.index, e.type)
        if isinstance(e, OuterColumn):
            return OuterColumn(e.depth + depth, e.index, e.type)
        return e

    return rewrite_expr(expr, change)


def columns_from(
    names: Sequence[str], types: Sequence[Type], origins: Sequence[tuple[int, int]] = ()
) -> tuple[ScopeColumn, ...]:
    """Columns 0, 1, … of a row."""
    places = origins or [(0, 0)] * len(names)
    return tuple(
        ScopeColumn(name, ColumnRef(i, type_), False, origin)
        for i, (name, type_, origin) in enumerate(zip(names, types, places, strict=True))
    )
