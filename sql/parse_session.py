"""SET, RESET, DISCARD, PREPARE, EXECUTE, DEALLOCATE, LISTEN, NOTIFY and the like."""

from __future__ import annotations

import re

from . import parse_expression
from .cursor import Cursor
from .keywords import NOT_COLUMN
from .lexer import END, NUMBER, QUOTED, STRING, WORD
from .parse_transaction import parse_set_transaction, skip
from .parse_type import parse_type
from .statements import (
    AlterSystem,
    CancelJobs,
    Deallocate,
    Discard,
    Execute,
    Failover,
    Flush,
    Listen,
    NoOperation,
    Notify,
    Recover,
    Reset,
    SetVariable,
    Statement,
    Unlisten,
    Wait,
)
from .typename import TypeName

_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_$]*")
_LISTS = frozenset({"search_path"})
"""Settings whose value is a list of identifiers, kept quoted where they need it."""


def parse_set(c: Cursor) -> Statement:
    c.expect("set")
    local = False
    if c.accept("local"):
        local = True
    elif c.word == "session" and c.ahead() not in ("=", "to", "."):
        c.i += 1
        if c.accept("characteristics"):
            c.expect("as", "transaction")
            return parse_set_transaction(c, session=True)
    if c.word == "transaction" and c.ahead() not in ("=", "to"):
        c.i += 1
        return parse_set_transaction(c, session=False)
    if c.word == "constraints":
        if c.kinds[c.i + 1] == END:
            c.fail(1)
        return no_operation(c, "SET CONSTRAINTS")
    return _special(c, local) or _plain(c, local)


def _special(c: Cursor, local: bool) -> Statement | None:
    """SET TIME ZONE, NAMES, SCHEMA, ROLE, SESSION AUTHORIZATION."""
    if c.accept("time", "zone"):
        return SetVariable("timezone", _zone(c), local)
    following = c.kinds[min(c.i + 1, len(c.kinds) - 1)]
    if c.word == "names":
        c.i += 1
        return SetVariable("client_encoding", c.string() if c.kind == STRING else _default(c), local)
    if c.word == "schema" and following == STRING:
        c.i += 1
        return SetVariable("search_path", quoted(c.string()), local)
    if c.word == "role" and following in (STRING, WORD, QUOTED) and c.ahead() != "to":
        c.i += 1
        return SetVariable("role", session_value(c), local)
    if c.accept("authorization"):
        return SetVariable("session_authorization", None if c.accept("default") else session_value(c), local)
    return None


def _default(c: Cursor) -> None:
    c.accept("default")


def _zone(c: Cursor) -> str | None:
    if c.accept_any("default", "local"):
        return None
    if c.accept("interval"):
        zone = c.string()
        c.i += 3 if c.at("hour", "to", "minute") else 0
        return zone
    return session_value(c)


def _plain(c: Cursor, local: bool) -> Statement:
    name = variable(c)
    c.expect_any("to", "=")
    if c.accept("default"):
        return SetVariable(name, None, local)
    values = [session_value(c)]
    while c.accept(","):
        values.append(session_value(c))
    if name in _LISTS:
        values = [quoted(value) for value in values]
    return SetVariable(name, ", ".join(values), local)


def variable(c: Cursor) -> str:
    """A setting's name, in lower case: `a` or `a.b`."""
    parts = [c.name()]
    while c.accept("."):
        parts.append(c.name())
    return ".".join(parts).lower()


def session_value(c: Cursor) -> str:
    """A string, a number, or a word that is not reserved."""
    if c.kind == STRING:
        return c.string()
    sign = c.accept_any("-", "+")
    if c.kind == NUMBER:
        c.i += 1
        return ("-" if sign == "-" else "") + str(c.values[c.i - 1])
    if sign:
        c.fail()
    accepted = c.accept_any("true", "false", "on")
    return accepted or c.nonreserved()


def quoted(name: str) -> str:
    """`name` as an identifier, in quotes if it needs them."""
    if _PLAIN_NAME.fullmatch(name) and name not in NOT_COLUMN:
        return name
    return '"' + name.replace('"', '""') + '"'


def parse_reset(c: Cursor) -> Statement:
    c.expect("reset")
    if c.accept("all"):
        return Reset("all")
    if c.accept("time", "zone"):
        return Reset("timezone")
    if c.accept("transaction", "isolation", "level"):
        return Reset("transaction_isolation")
    if c.accept("session", "authorization"):
        return Reset("session_authorization")
    return Reset(variable(c))


def parse_discard(c: Cursor) -> Statement:
    c.expect("discard")
    what = c.expect_any("all", "plans", "sequences", "temp", "temporary")
    return Discard("temp" if what == "temporary" else what)


def parse_types(c: Cursor) -> tuple[TypeName, ...]:
    """`(type, …)` or nothing."""
    if not c.accept("("):
        return ()
    types = [parse_type(c)]
    while c.accept(","):
        types.append(parse_type(c))
    c.expect(")")
    return tuple(types)


def parse_execute(c: Cursor) -> Statement:
    c.expect("execute")
    name = c.name()
    if not c.accept("("):
        return Execute(name)
    arguments = parse_expression.parse_list(c)
    c.expect(")")
    return Execute(name, tuple(arguments))


def parse_deallocate(c: Cursor) -> Statement:
    c.expect("deallocate")
    if c.word == "prepare" and (c.ahead() == "all" or c.is_name(ahead=1)):
        c.i += 1
    return Deallocate(None if c.accept("all") else c.name())


def parse_listen(c: Cursor) -> Statement:
    c.expect("listen")
    return Listen(c.name())


def parse_unlisten(c: Cursor) -> Statement:
    c.expect("unlisten")
    return Unlisten(None if c.accept("*") else c.name())


def parse_notify(c: Cursor) -> Statement:
    c.expect("notify")
    channel = c.name()
    return Notify(channel, c.string() if c.accept(",") else "")


def parse_single_word(c: Cursor) -> Statement:
    """FLUSH, WAIT, RECOVER."""
    word = c.expect_any("flush", "wait", "recover")
    return {"flush": Flush, "wait": Wait, "recover": Recover}[word]()


def parse_cancel(c: Cursor) -> Statement:
    c.expect("cancel")
    c.expect_any("jobs", "job")
    numbers = [c.integer()]
    while c.accept(","):
        numbers.append(c.integer())
    return CancelJobs(tuple(numbers))


def parse_alter_system(c: Cursor) -> Statement:
    """Behind ALTER SYSTEM."""
    if c.accept("failover"):
        return Failover()
    if c.accept("reset"):
        return AlterSystem("all" if c.accept("all") else variable(c), None)
    c.expect("set")
    setting = _plain(c, local=False)
    assert isinstance(setting, SetVariable)
    return AlterSystem(setting.name, setting.value)


def no_operation(c: Cursor, tag: str) -> Statement:
    """Takes the rest of a statement that has nothing to do here."""
    c.i = len(c.kinds) - 1
    return NoOperation(tag)


def parse_maintenance(c: Cursor) -> Statement:
    """VACUUM, ANALYZE, CHECKPOINT, LOCK, CLUSTER, REINDEX."""
    word = c.word
    if word == "lock" and c.kinds[c.i + 1] == END:
        c.fail(1)
    tag = {"analyse": "ANALYZE", "lock": "LOCK TABLE"}.get(word, word.upper())
    return no_operation(c, tag)


def parse_unsupported(c: Cursor) -> Statement:
    """Statements of PostgreSQL that we do not serve, named by their first words."""
    first, second = c.word, c.ahead()
    if c.kinds[c.i + 1] == END:
        c.fail(1)
    two_words = first in ("import", "reassign", "security")
    return skip(c, f"{first} {second}".upper() if two_words else first.upper())
