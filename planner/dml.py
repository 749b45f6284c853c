"""INSERT, UPDATE and DELETE into a `TableWrite`, which the engine carries out.

The rows to write are a `Node` like any query; only what to do with them is said here:

| kind   | a row of `node`                                                                          |
|--------|------------------------------------------------------------------------------------------|
| INSERT | the new row: every column of the table in table order, defaults filled in, types assigned |
| UPDATE | old row ++ new row ++ the row of the FROM items (for RETURNING)                          |
| DELETE | old row ++ the row of the USING items (for RETURNING)                                    |

Old and new rows have all columns of the table, hidden ones too (a hidden column of an INSERT is NULL:
the engine draws it). If the FROM items match an old row several times it appears several times: the
engine takes the first. `returning` are expressions over the node's row; for INSERT … ON CONFLICT
DO UPDATE over the row as it ends up in the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from ..operators.expr import Expr, Literal
from ..operators.node import Node
from ..sql import statements as st
from ..sql.catalog import Catalog, Table
from ..sql.coerce import DEFAULT_SETTINGS
from ..sql.parameters import ParameterTypes
from ..storage.textform import TextSettings
from ..storage.types import Type
from .rewriting import substitute_expr, substitute_node


class WriteKind(Enum):
    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class ConflictAction:
    """ON CONFLICT. `arbiter` is the constraint that decides: 0 the primary key, n the table's n-th UNIQUE,
    None any of them. With `update` None: DO NOTHING.

    `update` has one expression per column of the table: the whole new row. `update` and `where` are over
    (existing row ++ proposed row); a row whose `where` is not true stays as it is and returns nothing.
    """

    update: tuple[Expr, ...] | None = None
    where: Expr | None = None
    arbiter: int | None = None


@dataclass(frozen=True, slots=True)
class TableWrite:
    """A write to one table; see the module's table for the rows of `node`.

    `returning` is None without RETURNING; then `names`, `types` and `origins` (as in `Query`) are empty.
    """

    table: Table
    kind: WriteKind
    node: Node
    conflict: ConflictAction | None = None
    returning: tuple[Expr, ...] | None = None
    names: tuple[str, ...] = ()
    types: tuple[Type, ...] = ()
    origins: tuple[tuple[int, int], ...] = ()


def translate_write(
    statement: st.Insert | st.Update | st.Delete,
    catalog: Catalog,
    search_path: Sequence[str],
    parameters: ParameterTypes | None = None,
    *,
    text: str = "",
    settings: TextSettings = DEFAULT_SETTINGS,
) -> TableWrite:
    """Binds and translates an INSERT, UPDATE or DELETE.

    Raises the SqlError PostgreSQL would raise, with its position.
    """
    from .translate import new_environment
    from .translate_insert import translate_insert
    from .translate_update import translate_delete, translate_update

    environment = new_environment(catalog, search_path, parameters, settings=settings)
    if isinstance(statement, st.Insert):
        return translate_insert(statement, environment)
    if isinstance(statement, st.Update):
        return translate_update(statement, environment)
    return translate_delete(statement, environment)


def substitute_write(write: TableWrite, literals: Mapping[int, Literal]) -> TableWrite:
    """`write` with every `$n` replaced by `literals[n]`."""
    conflict = write.conflict
    if conflict is not None:
        update = conflict.update and tuple(substitute_expr(expr, literals) for expr in conflict.update)
        where = conflict.where and substitute_expr(conflict.where, literals)
        conflict = ConflictAction(update, where, conflict.arbiter)
    returning = write.returning and tuple(substitute_expr(expr, literals) for expr in write.returning)
    return replace(write, node=substitute_node(write.node, literals), conflict=conflict, returning=returning)
