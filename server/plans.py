"""Plans of queries and writes, made once per text and catalogue.

A plan is good for the catalogue (its version), the search path and the parameter types it was made for.
It holds `Parameter`s; `bound` puts the values in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from ..operators.constants import plain_value
from ..operators.expr import Cast, ColumnRef, Expr, Literal, Parameter
from ..operators.node import Node, walk
from ..operators.project import Project
from ..operators.scan import Scan
from ..planner.dml import TableWrite, WriteKind, substitute_write, translate_write
from ..planner.key_lookup import KeyLookup
from ..planner.optimize import optimize
from ..planner.rewriting import substitute_node
from ..planner.row_template import RowTemplate, row_template
from ..planner.translate import Query, translate_query
from ..runtime.works import WriteOutcome
from ..sql import statements as st
from ..sql.catalog import Catalog
from ..sql.parameters import ParameterTypes
from ..storage.textform import TextSettings
from ..storage.types import TEXT, Type
from .backend import Result, ResultColumn
from .cost import may_last

_INTEGERS = ("int2", "int4", "int8")


@dataclass(frozen=True, slots=True)
class PointRead:
    """A plan that is columns of the rows with one primary key, found without running operators.

    `keys` are the key's expressions (parameters, literals, and whole numbers widened by a cast), `columns`
    what comes out, `parameters` the places of the keys among the parameters if all are parameters whose
    values are those of the key.
    """

    relation: str
    keys: tuple[Expr, ...]
    columns: tuple[int, ...]
    parameters: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """An optimized query."""

    query: Query
    node: Node
    columns: tuple[ResultColumn, ...]
    parameter_types: tuple[Type, ...]
    point: PointRead | None
    lasting: bool
    """Whether it may take long however few rows it reads (`cost.may_last`)."""

    def bound(self, values: Sequence[pa.Array]) -> Node:
        """The plan with its parameters' values in place."""
        return substitute_node(self.node, literals(self.parameter_types, values)) if values else self.node


@dataclass(frozen=True, slots=True)
class WritePlan:
    """An optimized INSERT, UPDATE or DELETE. `columns` are those of RETURNING."""

    write: TableWrite
    columns: tuple[ResultColumn, ...] | None
    parameter_types: tuple[Type, ...]
    reads_views: bool
    template: RowTemplate | None
    """How single rows with parameters are written, many statements at once."""

    def bound(self, values: Sequence[pa.Array]) -> TableWrite:
        return substitute_write(self.write, literals(self.parameter_types, values)) if values else self.write

    def result(self, outcome: WriteOutcome) -> Result:
        """The answer: the command tag, and RETURNING's rows."""
        kind = self.write.kind
        prefix = "INSERT 0" if kind is WriteKind.INSERT else kind.name
        tag = f"{prefix} {outcome.affected}"
        if self.columns is None:
            return Result(tag)
        rows = outcome.returning or []
        return Result(tag, self.columns, iter([rows] if rows and len(rows[0]) else []))


def literals(types: Sequence[Type], values: Sequence[pa.Array]) -> dict[int, Literal]:
    """The values of `$1`, `$2` … (arrays of length 1) as literals by number."""
    return {
        i: Literal(plain_value(type_, value), type_)
        for i, (type_, value) in enumerate(zip(types, values, strict=True), 1)
    }


def plan_query(
    statement: st.Select,
    catalog: Catalog,
    search_path: Sequence[str],
    declared: Sequence[Type | None],
    settings: TextSettings,
) -> QueryPlan:
    """Binds, translates and optimizes a SELECT."""
    parameters = ParameterTypes(declared)
    query = translate_query(
        statement.ast, catalog, search_path, parameters, text=statement.text, settings=settings
    )
    node = optimize(query.node, catalog)
    types = parameters.types()
    return QueryPlan(query, node, result_columns(query), types, point_read(node), may_last(node))


def plan_write(
    statement: st.Insert | st.Update | st.Delete,
    catalog: Catalog,
    search_path: Sequence[str],
    declared: Sequence[Type | None],
    settings: TextSettings,
) -> WritePlan:
    """Binds, translates and optimizes an INSERT, UPDATE or DELETE."""
    parameters = ParameterTypes(declared)
    write = translate_write(
        statement, catalog, search_path, parameters, text=statement.text, settings=settings
    )
    write = replace(write, node=optimize(write.node, catalog))
    columns = None
    if write.returning is not None:
        columns = tuple(
            ResultColumn(name, type_, *origin)
            for name, type_, origin in zip(write.names, write.types, write.origins, strict=True)
        )
    tables = {entry.id for entry in catalog if type(entry).__name__ == "Table"}
    reads_views = any(isinstance(n, Scan) and n.relation not in tables for n in walk(write.node))
    types = parameters.types()
    return WritePlan(write, columns, types, reads_views, row_template(write) if types else None)


def result_columns(query: Query) -> tuple[ResultColumn, ...]:
    return tuple(
        ResultColumn(name, TEXT if type_.name == "unknown" else type_, *origin)
        for name, type_, origin in zip(query.names, query.types, query.origins, strict=True)
    )


def _uncast(key: Expr) -> Expr:
    """The key without its cast, if that leaves every value as it is: a whole number to a wider type."""
    if isinstance(key, Cast) and key.type.name in _INTEGERS:
        narrower = _INTEGERS[: _INTEGERS.index(key.type.name)]
        return key.arg if key.arg.type.name in narrower else key
    return key


def point_read(node: Node) -> PointRead | None:
    """The plan as a point read, if it is one: plain columns over a lookup of a single key."""
    columns: tuple[int, ...] | None = None
    if isinstance(node, Project):
        if not all(isinstance(expr, ColumnRef) for expr in node.exprs):
            return None
        columns = tuple(expr.index for expr in node.exprs if isinstance(expr, ColumnRef))
        node = node.input
    if not isinstance(node, KeyLookup) or len(node.keys) != 1:
        return None
    if not all(isinstance(_uncast(key), Parameter | Literal) for key in node.keys[0]):
        return None
    cut = node.columns if node.columns is not None else tuple(range(len(node.schema_)))
    chosen = cut if columns is None else tuple(cut[i] for i in columns)
    return PointRead(node.relation, node.keys[0], chosen, _parameters(node.keys[0]))


def _parameters(keys: Sequence[Expr]) -> tuple[int, ...] | None:
    found = [_uncast(key) for key in keys]
    if not all(isinstance(key, Parameter) for key in found):
        return None
    return tuple(key.number - 1 for key in found if isinstance(key, Parameter))
