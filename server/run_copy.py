"""COPY … FROM STDIN and TO STDOUT."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import pyarrow as pa

from ..operators.zset import ZSet, concat
from ..planner.defaults import filled_columns
from ..planner.dml import TableWrite, WriteKind
from ..runtime.works import CopyWork, ValuesOf, WriteOutcome
from ..runtime.writes import evaluate_write
from ..sql import statements as st
from ..sql.entries import Relation, Table, View
from ..storage.errors import (
    DuplicateColumn,
    FeatureNotSupported,
    InsufficientPrivilege,
    InvalidParameterValue,
    ProgramLimitExceeded,
    SyntaxFault,
    UndefinedColumn,
    WrongObjectType,
)
from ..storage.schema import Schema
from .backend import CopyDirection, CopyOptions, Result, ResultColumn
from .client import Client, PreparedStatement, executes
from .futures import then
from .run_query import run_select
from .run_write import refuse_read_only


@executes(st.Copy)
def run_copy(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result | Future[Result]:
    statement = prepared.statement
    assert isinstance(statement, st.Copy)
    if statement.file:
        raise InsufficientPrivilege(
            "COPY to or from a file on the server is not supported",
            hint="Use COPY ... FROM STDIN or TO STDOUT, or psql's \\copy.",
        )
    options = copy_options(statement)
    return (
        _copy_out(client, statement, options, alone) if statement.to else _copy_in(client, statement, options)
    )


_OPTIONS = frozenset(("format", "freeze", "delimiter", "null", "header", "quote", "escape", "encoding"))
_UTF8 = frozenset(("utf8", "utf-8", "unicode"))


def _check_names(given: Mapping[str, str]) -> None:
    """Raises for what COPY does not know, or cannot do: nothing asked for is passed over in silence."""
    for name in given:
        if name not in _OPTIONS:
            raise SyntaxFault(f'option "{name}" not recognized')
    if given.get("encoding", "utf8").lower() not in _UTF8:
        raise FeatureNotSupported(f'COPY with encoding "{given["encoding"]}" is not supported')
    if given.get("header", "").lower() == "match":
        raise FeatureNotSupported("COPY with HEADER MATCH is not supported")


def copy_options(statement: st.Copy) -> CopyOptions:
    """The options with PostgreSQL's defaults for the format. Raises as PostgreSQL's ProcessCopyOptions."""
    given = statement.options
    _check_names(given)
    form = given.get("format", "text").lower()
    if form not in ("text", "csv", "binary"):
        raise InvalidParameterValue(f'COPY format "{given["format"]}" not recognized')
    csv = form == "csv"
    if form == "binary":
        for name in ("delimiter", "null", "header"):
            if name in given:
                raise SyntaxFault(f"cannot specify {name.upper()} in BINARY mode")
    delimiter = given.get("delimiter", "," if csv else "\t")
    if len(delimiter.encode()) != 1:
        raise FeatureNotSupported("COPY delimiter must be a single one-byte character")
    quote = given.get("quote", '"')
    if not csv and ("quote" in given or "escape" in given):
        raise FeatureNotSupported(
            f"COPY {'quote' if 'quote' in given else 'escape'} available only in CSV mode"
        )
    return CopyOptions(
        format=form,
        delimiter=delimiter,
        null=given.get("null", "" if csv else "\\N"),
        header=given.get("header", "false").lower() in ("true", "on", "1", ""),
        quote=quote,
        escape=given.get("escape", quote),
        force_quote=statement.force_quote,
        force_null=statement.force_null if isinstance(statement.force_null, tuple) else (),
        force_not_null=statement.force_not_null if isinstance(statement.force_not_null, tuple) else (),
    )


def _copy_out(
    client: Client, statement: st.Copy, options: CopyOptions, alone: bool
) -> Result | Future[Result]:
    query = statement.query
    if query is None:
        query = _as_query(client, statement)
    if not isinstance(query, st.Select):
        raise FeatureNotSupported("COPY of this kind of statement is not supported")
    outcome = run_select(client, client.prepare_statement(query), (), alone)

    def copy(result: Result) -> Result:
        result.tag = "COPY {rows}"
        result.copy, result.copy_options = CopyDirection.OUT, options
        return result

    return then(outcome, copy) if isinstance(outcome, Future) else copy(outcome)


def _as_query(client: Client, statement: st.Copy) -> st.Statement:
    """`COPY t (a, b)` as the SELECT it stands for."""
    from ..sql.parse import parse

    assert statement.table is not None
    entry = client.reading_catalog().resolve(statement.table.parts, client.search_path)
    if isinstance(entry, View):
        raise WrongObjectType(
            f'cannot copy from view "{entry.name}"', hint="Try the COPY (SELECT ...) TO variant."
        )
    if not isinstance(entry, Relation):
        raise WrongObjectType(f'cannot copy from "{entry.name}"')
    positions = _positions(entry.name, entry.schema, [c.name for c in statement.columns])
    names = ", ".join(_quoted(entry.schema[i].name) for i in positions)
    return parse(f"SELECT {names} FROM {_quoted(entry.schema_name)}.{_quoted(entry.name)}")[0]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _positions(relation: str, schema: Schema, names: Sequence[str]) -> list[int]:
    """Positions of the named columns, of all visible ones when none are named."""
    if not names:
        return [i for i, column in enumerate(schema) if not column.hidden]
    found: list[int] = []
    for name in names:
        position = next((i for i, c in enumerate(schema) if c.name == name and not c.hidden), None)
        if position is None:
            raise UndefinedColumn(f'column "{name}" of relation "{relation}" does not exist')
        if position in found:
            raise DuplicateColumn(f'column "{name}" specified more than once')
        found.append(position)
    return found


def _copy_in(client: Client, statement: st.Copy, options: CopyOptions) -> Result:
    refuse_read_only(client, "COPY FROM")
    assert statement.table is not None
    entry = client.catalog.resolve(statement.table.parts, client.search_path)
    if not isinstance(entry, Table):
        raise WrongObjectType(f'cannot copy to "{entry.name}": it is not a table')
    if statement.where is not None:
        raise FeatureNotSupported("COPY ... WHERE is not supported")
    positions = _positions(entry.name, entry.schema, [c.name for c in statement.columns])
    columns = tuple(ResultColumn(entry.schema[i].name, entry.schema[i].type) for i in positions)
    if not columns:
        raise FeatureNotSupported("COPY FROM without columns is not supported")
    incoming = TableCopy(client, entry, positions, columns, entry.name)
    return Result("COPY {rows}", columns=None, copy=CopyDirection.IN, copy_options=options, copy_in=incoming)


@dataclass(slots=True)
class TableCopy:
    """Rows of a COPY FROM on their way into a table, applied together at the end (`backend.CopyIn`)."""

    client: Client
    table: Table
    positions: list[int]
    columns: tuple[ResultColumn, ...]
    relation: str
    pieces: list[ZSet] = field(default_factory=list)
    _bytes: int = 0
    """What the pieces take; bounded by `copy_mb_max`."""

    def write(self, rows: list[pa.Array]) -> None:
        read = self.client.read_context()
        columns = filled_columns(self.table, self.positions, rows, self.client.catalog, read.context)
        self._bytes += sum(column.nbytes for column in columns)
        limit = self.client.database.config.copy_mb_max
        if self._bytes > limit << 20:
            raise ProgramLimitExceeded(
                f"COPY FROM of more than {limit} MB at once",
                hint="Load the file in several parts, or start the server with a larger --copy-mb-max.",
            )
        self.pieces.append(ZSet.inserts(self.table.schema, columns))

    def finish(self) -> Result | Future[Result]:
        client = self.client
        rows = concat(self.table.schema, self.pieces)
        read = client.read_context()
        answer: Callable[[WriteOutcome], Result] = lambda outcome: Result(f"COPY {outcome.affected}")  # noqa: E731
        if client.transaction is None:
            return then(
                client.database.engine.submit(CopyWork(table=self.table, rows=rows, read=read)), answer
            )
        transaction = client.transaction
        write = TableWrite(self.table, WriteKind.INSERT, ValuesOf(rows))

        def apply() -> Result:
            overlay = transaction.overlay(self.table)
            changes = evaluate_write(write, rows, overlay, read.context, transaction.draw_row_ids)
            transaction.write(changes)
            return answer(WriteOutcome(changes.affected, None))

        return client.database.readers.submit(apply)

    def fail(self, message: str) -> None:
        self.pieces.clear()
