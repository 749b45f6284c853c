"""ALTER, DROP, COMMENT ON, REFRESH."""

from __future__ import annotations

from ..storage.errors import FeatureNotSupported
from .cursor import Cursor
from .keywords import RESERVED, words
from .lexer import NUMBER, STRING
from .parse_connector import option_list, option_value
from .parse_constraint import table_constraint
from .parse_definition import Body, if_not_exists, sql_expression, with_data
from .parse_session import parse_alter_system
from .parse_table import parse_column
from .parse_transaction import skip
from .parse_type import parse_type
from .statements import (
    AddColumn,
    AddConstraint,
    Alter,
    AlterAction,
    AlterColumnDefault,
    AlterColumnNotNull,
    AlterColumnType,
    ApplyReplacement,
    CheckConstraint,
    Comment,
    Drop,
    DropColumn,
    DropConstraint,
    ForeignKey,
    KeyConstraint,
    ObjectName,
    OwnerTo,
    Refresh,
    RenameColumn,
    RenameConstraint,
    RenameTo,
    ResetOptions,
    ResetSource,
    SetOptions,
    SetSchema,
    Statement,
    SwapWith,
)

_ALTERED = words("table view source sink index schema sequence connection secret subscription")
_UNALTERED = words(
    """database role user group default function procedure aggregate routine type domain extension trigger
    rule policy operator collation conversion language server foreign publication tablespace text event
    statistics cluster network large"""
)
_DROPPED = _ALTERED | words(
    """database function aggregate procedure routine type domain role user group extension trigger rule
    policy owned operator cluster language cast server"""
)


def object_kind(c: Cursor, kinds: frozenset[str]) -> str:
    """The kind of object named at the cursor: `materialized view`, `table`, …"""
    if c.accept("materialized"):
        c.expect("view")
        return "materialized view"
    return c.expect_any(*kinds)


def parse_drop(c: Cursor) -> Statement:
    c.expect("drop")
    kind = object_kind(c, _DROPPED)
    if kind in ("trigger", "rule", "policy", "owned", "operator", "cast", "server"):
        return skip(c, f"DROP {kind.upper()}")
    c.accept("concurrently")
    if_exists = c.accept("if", "exists")
    names = [_dropped_name(c, kind)]
    while c.accept(","):
        names.append(_dropped_name(c, kind))
    cascade = c.accept_any("cascade", "restrict") == "cascade"
    return Drop(kind, tuple(names), if_exists, cascade)


def _dropped_name(c: Cursor, kind: str) -> ObjectName:
    name = c.object_name()
    if kind in ("function", "aggregate", "procedure", "routine") and c.word == "(":
        c.i = c.close_of(c.i)
        c.expect(")")
    return name


def parse_alter(c: Cursor) -> Statement:
    c.expect("alter")
    if c.accept("system"):
        return parse_alter_system(c)
    if c.word not in _ALTERED and c.word != "materialized":
        if c.word not in _UNALTERED:
            c.fail()
        return skip(c, f"ALTER {c.word.upper()}")
    kind = object_kind(c, _ALTERED)
    if_exists = c.accept("if", "exists")
    c.accept("only")
    name = c.object_name()
    c.accept("*")
    actions = [_action(c)]
    while c.accept(","):
        actions.append(_action(c))
    return Alter(kind, name, tuple(actions), if_exists)


def _action(c: Cursor) -> AlterAction:
    word = c.expect_any("add", "drop", "alter", "rename", "set", "reset", "owner", "swap", "apply", "refresh",
                        "as", "enable", "disable", "attach", "detach", "validate")  # fmt: skip
    match word:
        case "add":
            return _add(c)
        case "drop":
            return _drop(c)
        case "alter":
            c.accept("column")
            return _alter_column(c)
        case "rename":
            return _rename(c)
        case "set":
            return _set(c)
        case "reset":
            return ResetOptions(tuple(option_list(c))) if c.word == "(" else ResetSource()
        case "owner":
            c.expect("to")
            return OwnerTo(c.nonreserved())
        case "swap":
            c.expect("with")
            return SwapWith(c.object_name())
        case "apply":
            c.expect("replacement")
            return ApplyReplacement(c.object_name())
        case _:
            raise FeatureNotSupported(f"ALTER … {word.upper()} is not supported", position=c.position)


def _add(c: Cursor) -> AlterAction:
    body = Body()
    if c.word in ("constraint", "primary", "unique", "check", "foreign", "exclude"):
        table_constraint(c, body)
        return _constraint(body)
    c.accept("column")
    exists = if_not_exists(c)
    position = c.position
    column = parse_column(c, body)
    if body.keys or body.uniques or body.checks or body.foreign_keys:
        raise FeatureNotSupported(
            "ADD COLUMN with a key or check is not supported", position=position,
            hint="Add the column first, then the constraint.",
        )  # fmt: skip
    return AddColumn(column, exists)


def _constraint(body: Body) -> AddConstraint:
    found: KeyConstraint | CheckConstraint | ForeignKey
    if body.keys:
        kind, found = "primary key", body.keys[0]
    elif body.uniques:
        kind, found = "unique", body.uniques[0]
    elif body.checks:
        kind, found = "check", body.checks[0]
    else:
        kind, found = "foreign key", body.foreign_keys[0]
    return AddConstraint(kind, found)


def _drop(c: Cursor) -> AlterAction:
    if c.accept("constraint"):
        if_exists = c.accept("if", "exists")
        name = c.name()
        return DropConstraint(name, if_exists, c.accept_any("cascade", "restrict") == "cascade")
    c.accept("column")
    if_exists = c.accept("if", "exists")
    column = c.column_name()
    return DropColumn(column, if_exists, c.accept_any("cascade", "restrict") == "cascade")


def _alter_column(c: Cursor) -> AlterAction:
    column = c.column_name()
    if c.accept("type") or c.accept("set", "data", "type"):
        written = parse_type(c)
        if c.accept("collate"):
            c.object_name()
        return AlterColumnType(column, written, sql_expression(c) if c.accept("using") else None)
    if c.accept("set", "default"):
        return AlterColumnDefault(column, sql_expression(c))
    if c.accept("drop", "default"):
        return AlterColumnDefault(column, None)
    if c.accept("set", "not", "null"):
        return AlterColumnNotNull(column, True)
    if c.accept("drop", "not", "null"):
        return AlterColumnNotNull(column, False)
    if c.word in ("set", "drop", "add", "reset", "restart") and c.is_name(RESERVED, 1):
        raise FeatureNotSupported(
            f"ALTER COLUMN … {c.word.upper()} {c.ahead().upper()} is not supported", position=c.position
        )
    return c.fail(int(c.word in ("set", "drop", "add")))


def _rename(c: Cursor) -> AlterAction:
    if c.accept("to"):
        return RenameTo(c.name())
    if c.accept("constraint"):
        old = c.name()
        c.expect("to")
        return RenameConstraint(old, c.name())
    c.accept("column")
    column = c.column_name()
    c.expect("to")
    return RenameColumn(column, c.name())


def _set(c: Cursor) -> AlterAction:
    if c.accept("schema"):
        return SetSchema(c.name())
    if c.word == "(":
        return SetOptions(option_list(c))
    key = c.label()
    if c.accept_any("to", "="):
        return SetOptions({key: option_value(c)})
    if c.kind in (STRING, NUMBER):
        return SetOptions({key: option_value(c)})
    raise FeatureNotSupported(f"ALTER … SET {key.upper()} is not supported", position=c.position)


def parse_comment(c: Cursor) -> Statement:
    c.expect("comment", "on")
    kinds = _DROPPED | {"column", "constraint"}
    kind = object_kind(c, kinds)
    if kind in ("function", "aggregate", "procedure", "routine", "constraint", "operator", "cast", "trigger"):
        return skip(c, f"COMMENT ON {kind.upper()}")
    name = c.object_name()
    column = ""
    if kind == "column":
        if len(name.parts) < 2:
            c.fail()
        column, name = name.parts[-1], ObjectName(name.parts[:-1], name.position)
    c.expect("is")
    return Comment(kind, name, column, None if c.accept("null") else c.string())


def parse_refresh(c: Cursor) -> Statement:
    c.expect("refresh", "materialized", "view")
    c.accept("concurrently")
    name = c.object_name()
    with_data(c)
    return Refresh(name)
