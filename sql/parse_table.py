"""CREATE TABLE and CREATE SOURCE."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..storage.errors import FeatureNotSupported, InvalidTableDefinition, SyntaxFault
from . import parse_expression, parse_query
from .cursor import Cursor
from .parse_connector import (
    merged,
    option_list,
    parse_envelope,
    parse_format,
    parse_from_connection,
    parse_include,
)
from .parse_type import parse_type
from .statements import (
    CheckConstraint,
    ColumnDefinition,
    ColumnName,
    Connector,
    CreateSource,
    CreateTable,
    CreateTableAs,
    ForeignKey,
    KeyConstraint,
    Like,
    ObjectName,
    RelationBody,
    SqlExpression,
    Statement,
    Watermark,
)

_TABLE_CONSTRAINTS = frozenset({"constraint", "primary", "unique", "check", "foreign", "exclude"})
_LIKE_PARTS = frozenset({"all", "comments", "compression", "constraints", "defaults", "generated", "identity",
                         "indexes", "statistics", "storage"})  # fmt: skip


@dataclass(slots=True)
class Body:
    """A `RelationBody` in the making."""

    columns: list[ColumnDefinition] = field(default_factory=list)
    keys: list[KeyConstraint] = field(default_factory=list)
    uniques: list[KeyConstraint] = field(default_factory=list)
    checks: list[CheckConstraint] = field(default_factory=list)
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    watermarks: list[Watermark] = field(default_factory=list)
    likes: list[Like] = field(default_factory=list)
    star: bool = False

    def finished(self, table: str) -> RelationBody:
        if len(self.keys) > 1:
            raise InvalidTableDefinition(
                f'multiple primary keys for table "{table}" are not allowed', position=self.keys[1].position
            )
        return RelationBody(
            tuple(self.columns),
            self.keys[0] if self.keys else None,
            tuple(self.uniques),
            tuple(self.checks),
            tuple(self.foreign_keys),
            tuple(self.watermarks),
            tuple(self.likes),
            self.star,
        )


def sql_expression(c: Cursor, restricted: bool = False) -> SqlExpression:
    """The expression at the cursor, with its text."""
    start = c.start
    parse = parse_expression.parse_restricted if restricted else parse_expression.parse_expression
    return SqlExpression(parse(c), c.since(start), start + 1)


def sql_query(c: Cursor) -> SqlExpression:
    """The query at the cursor, with its text."""
    start = c.start
    query = parse_query.parse_query(c)
    return SqlExpression(query, c.since(start), start + 1)


def parenthesised(c: Cursor) -> SqlExpression:
    c.expect("(")
    expression = sql_expression(c)
    c.expect(")")
    return expression


def if_not_exists(c: Cursor) -> bool:
    return c.accept_start("if", "not", "exists", of=2)


def parse_create_table(c: Cursor, temporary: bool) -> Statement:
    """Behind CREATE [TEMP] TABLE."""
    exists = if_not_exists(c)
    name = c.object_name()
    as_query = _table_as(c, name, exists, temporary)
    if as_query is not None:
        return as_query
    body = _body(c, name.name) if c.word == "(" else None
    table = CreateTable(name, body or RelationBody(), if_not_exists=exists, temporary=temporary)
    before = c.i
    table = _table_clauses(c, table)
    if body is None and c.i == before:
        c.fail()
    return table


def _table_as(c: Cursor, name: ObjectName, exists: bool, temporary: bool) -> Statement | None:
    """CREATE TABLE … [(names)] [APPEND ONLY] [WITH (…)] AS query, or None when it is not that."""
    begin = c.i
    columns: tuple[ColumnName, ...] = ()
    if c.word == "(":
        if not c.is_name(ahead=1) or c.ahead(2) not in (",", ")"):
            return None
        columns = c.column_names()
    append_only = c.accept("append", "only")
    options = option_list(c) if c.accept("with") else {}
    _storage_clauses(c)
    if c.word != "as":
        c.i = begin
        return None
    c.i += 1
    if c.at("execute"):
        raise FeatureNotSupported("CREATE TABLE AS EXECUTE is not supported", position=c.position)
    query = sql_query(c)
    return CreateTableAs(name, query, columns, exists, temporary, append_only, with_data(c), options)


def with_data(c: Cursor) -> bool:
    """WITH [NO] DATA."""
    if c.word != "with" or c.ahead() == "(":
        return True
    c.i += 1
    populated = not c.accept("no")
    c.expect("data")
    return populated


def _storage_clauses(c: Cursor) -> None:
    """USING method, ON COMMIT …, TABLESPACE: nothing to us."""
    if c.word == "using" and c.is_name(ahead=1):
        c.i += 2
    if c.at("on", "commit"):
        c.i += 2
        if c.accept("preserve") or c.accept("delete"):
            c.expect("rows")
        else:
            c.expect("drop")
    if c.accept("tablespace"):
        c.name()


def _table_clauses(c: Cursor, table: CreateTable) -> CreateTable:
    """Everything behind the columns, in the orders both spellings use."""
    options: dict[str, str] = {}
    include, first, format_ = table.connector.include, None, None
    while not c.at_end():
        before = c.i
        if c.accept("append", "only"):
            table = replace(table, append_only=True)
        elif c.at("on", "conflict"):
            table = _on_conflict(c, table)
        elif c.accept("with", "version", "column"):
            table = replace(table, version_columns=c.column_names())
        elif c.word == "with":
            c.i += 1
            options |= option_list(c)
        elif c.word == "include":
            include += parse_include(c)
        elif c.at("from", "source"):
            table = _from_source(c, table)
        elif c.word == "from":
            first = parse_from_connection(c) or _from_table(c, options)
        elif c.word in ("inherits", "partition", "of"):
            raise FeatureNotSupported(f"{c.word.upper()} is not supported", position=c.position)
        else:
            format_ = parse_envelope(c, format_) if c.word == "envelope" else parse_format(c) or format_
            _storage_clauses(c)
        if c.i == before:
            c.fail()
    return replace(table, connector=merged(first, options, format_, include))


def _from_table(c: Cursor, options: dict[str, str]) -> Connector:
    """RisingWave's `FROM source TABLE 'schema.name'` of a shared source."""
    c.expect("from")
    source = c.object_name()
    c.expect("table")
    return Connector({**options, "source": str(source), "table": c.string()})


def _from_source(c: Cursor, table: CreateTable) -> CreateTable:
    """Materialize's `FROM SOURCE s [(REFERENCE name)]`."""
    c.expect("from", "source")
    source = c.object_name()
    external = ""
    if c.accept("(", "reference"):
        c.accept("=")
        external = str(c.object_name())
        c.expect(")")
    elif c.accept("table"):
        external = c.string()
    return replace(table, from_source=source, external_name=external)


def _on_conflict(c: Cursor, table: CreateTable) -> CreateTable:
    c.expect("on", "conflict")
    if c.accept("overwrite"):
        return replace(table, on_conflict="overwrite")
    if c.accept("ignore"):
        return replace(table, on_conflict="ignore")
    c.expect("do")
    if c.accept("nothing"):
        return replace(table, on_conflict="ignore")
    c.expect("update")
    if c.accept("if"):
        c.expect("not", "null")
        return replace(table, on_conflict="do update if not null")
    c.accept("full")
    return replace(table, on_conflict="overwrite")


def parse_create_source(c: Cursor, temporary: bool) -> Statement:
    """Behind CREATE SOURCE."""
    exists = if_not_exists(c)
    name = c.object_name()
    body = _body(c, name.name) if c.word == "(" else RelationBody()
    if c.accept("in", "cluster"):
        c.name()
    table = _table_clauses(c, CreateTable(name, body))
    if table.from_source or table.append_only or table.on_conflict:
        raise SyntaxFault("a source has no APPEND ONLY, ON CONFLICT or FROM SOURCE clause")
    return CreateSource(name, body, table.connector, exists, temporary)


# Between the parentheses.
def _body(c: Cursor, table: str) -> RelationBody:
    body = Body()
    c.expect("(")
    if c.word != ")":
        _element(c, body, table)
        while c.accept(","):
            _element(c, body, table)
    c.expect(")")
    return body.finished(table)


def _element(c: Cursor, body: Body, table: str) -> None:
    """A column, a constraint, LIKE, WATERMARK or `*`."""
    if c.accept("*"):
        body.star = True
    elif c.word in _TABLE_CONSTRAINTS:
        table_constraint(c, body)
    elif c.accept("like"):
        body.likes.append(_like(c))
    elif c.at("watermark", "for"):
        body.watermarks.append(_watermark(c))
    else:
        parse_column(c, body)


def _like(c: Cursor) -> Like:
    table = c.object_name()
    parts: set[str] = set()
    while c.word in ("including", "excluding"):
        including = c.word == "including"
        c.i += 1
        part = c.expect_any(*_LIKE_PARTS)
        parts = parts | {part} if including else parts - {part}
    return Like(table, frozenset(parts))


def _watermark(c: Cursor) -> Watermark:
    c.expect("watermark", "for")
    column = c.column_name()
    c.expect("as")
    watermark = Watermark(column, sql_expression(c))
    c.accept("with", "ttl")
    return watermark


def parse_column(c: Cursor, body: Body) -> ColumnDefinition:
    """A column definition; its constraints that are the table's go into `body`."""
    position = c.position
    name = c.name()
    type_ = None if c.word in (",", ")", "as", "generated") else parse_type(c)
    column = ColumnDefinition(name, type_, position=position)
    if type_ is not None and type_.serial:
        column = replace(column, not_null=True, identity="by default")
    here = ColumnName(name, position)
    while True:
        changed = _column_constraint(c, column, here, body)
        if changed is None:
            break
        column = changed
    body.columns.append(column)
    return column


def _column_constraint(
    c: Cursor, column: ColumnDefinition, here: ColumnName, body: Body
) -> ColumnDefinition | None:
    """The column with the next constraint added, None when there is none."""
    name = c.name() if c.accept("constraint") else ""
    position = c.position
    match c.word:
        case "not":
            c.expect("not", "null")
            return replace(column, not_null=True)
        case "null":
            c.i += 1
        case "default":
            c.i += 1
            return replace(column, default=sql_expression(c, restricted=True))
        case "primary":
            c.expect("primary", "key")
            body.keys.append(KeyConstraint(name, (here,), position))
            return replace(column, not_null=True)
        case "unique":
            c.i += 1
            c.accept("nulls", "not", "distinct")
            body.uniques.append(KeyConstraint(name, (here,), position))
        case "check":
            c.i += 1
            body.checks.append(CheckConstraint(name, parenthesised(c)))
            c.accept("no", "inherit")
        case "references":
            body.foreign_keys.append(_references(c, name, (here,)))
        case "generated" | "as":
            return _generated(c, column)
        case "collate":
            c.i += 1
            return replace(column, collation=str(c.object_name()))
        case _:
            if name:
                c.fail()
            return None
    return column


def _generated(c: Cursor, column: ColumnDefinition) -> ColumnDefinition:
    """GENERATED … AS IDENTITY, GENERATED ALWAYS AS (…) STORED, or RisingWave's AS expression."""
    if c.accept("as"):
        return replace(column, generated=sql_expression(c))
    c.expect("generated")
    by_default = c.accept("by", "default")
    if not by_default:
        c.expect("always")
    c.expect("as")
    if c.accept("identity"):
        if c.word == "(":
            _sequence_options(c)
        identity = "by default" if by_default else "always"
        return replace(column, identity=identity, not_null=True)
    if by_default:
        c.fail()
    expression = parenthesised(c)
    c.accept("stored")
    return replace(column, generated=expression)


def _sequence_options(c: Cursor) -> None:
    """START, INCREMENT …: an identity always counts from 1 by 1, so other settings are refused."""
    c.expect("(")
    while not c.accept(")"):
        if c.accept("start"):
            c.accept("with")
        elif c.accept("increment"):
            c.accept("by")
        else:
            raise FeatureNotSupported("sequence options are not supported", position=c.position)
        position = c.position
        if c.signed_integer() != 1:
            raise FeatureNotSupported(
                "an identity column starts at 1 and counts by 1 only", position=position
            )


def table_constraint(c: Cursor, body: Body) -> None:
    """A table constraint, put into `body`."""
    name = c.name() if c.accept("constraint") else ""
    position = c.position
    match c.word:
        case "primary":
            c.expect("primary", "key")
            body.keys.append(KeyConstraint(name, c.column_names(), position))
            _index_clauses(c)
        case "unique":
            c.i += 1
            c.accept("nulls", "not", "distinct")
            body.uniques.append(KeyConstraint(name, c.column_names(), position))
            _index_clauses(c)
        case "check":
            c.i += 1
            body.checks.append(CheckConstraint(name, parenthesised(c)))
            c.accept("no", "inherit")
        case "foreign":
            c.expect("foreign", "key")
            columns = c.column_names()
            body.foreign_keys.append(_references(c, name, columns))
        case "exclude":
            raise FeatureNotSupported("exclusion constraints are not supported", position=position)
        case _:
            c.fail()


def _index_clauses(c: Cursor) -> None:
    """INCLUDE (…), WITH (…), NOT ENFORCED, [NOT] DEFERRABLE: nothing to us."""
    if c.at("include", "("):
        c.i += 1
        c.column_names()
    _enforcement(c)


def _enforcement(c: Cursor) -> None:
    while c.word in ("not", "deferrable", "initially"):
        if c.accept("initially"):
            c.expect_any("deferred", "immediate")
        elif c.accept("not"):
            c.expect_any("enforced", "deferrable", "valid")
        else:
            c.expect("deferrable")


def _references(c: Cursor, name: str, columns: tuple[ColumnName, ...]) -> ForeignKey:
    c.expect("references")
    table = c.object_name()
    references = c.accept_column_names()
    actions = {"delete": "", "update": ""}
    if c.accept("match"):
        c.expect_any("full", "partial", "simple")
    while c.accept("on"):
        which = c.expect_any(*actions)
        actions[which] = _action(c)
    _enforcement(c)
    return ForeignKey(name, columns, table, references, actions["delete"], actions["update"])


def _action(c: Cursor) -> str:
    word = c.expect_any("cascade", "restrict", "set", "no")
    if word == "no":
        c.expect("action")
        return "no action"
    if word != "set":
        return word
    return "set " + c.expect_any("null", "default")
