"""BEGIN, COMMIT, ROLLBACK, savepoints, SET TRANSACTION."""

from __future__ import annotations

from dataclasses import dataclass

from .cursor import Cursor
from .statements import (
    Begin,
    Commit,
    Release,
    Rollback,
    Savepoint,
    SetTransaction,
    Statement,
    Unsupported,
)


@dataclass(slots=True)
class _Modes:
    read_only: bool | None = None
    isolation: str | None = None
    deferrable: bool | None = None


def parse_begin(c: Cursor) -> Statement:
    """BEGIN [WORK | TRANSACTION] and START TRANSACTION."""
    if c.accept("start"):
        c.expect("transaction")
    else:
        c.expect("begin")
        c.accept_any("work", "transaction")
    modes = _modes(c)
    return Begin(modes.read_only, modes.isolation, modes.deferrable)


def _modes(c: Cursor) -> _Modes:
    modes = _Modes()
    while _mode(c, modes):
        if c.accept(",") and c.at_end():
            c.fail()
    return modes


def _mode(c: Cursor, modes: _Modes) -> bool:
    if c.accept("isolation"):
        c.expect("level")
        modes.isolation = _isolation(c)
    elif c.accept("read"):
        modes.read_only = c.expect_any("only", "write") == "only"
    elif c.accept("not"):
        c.expect("deferrable")
        modes.deferrable = False
    elif c.accept("deferrable"):
        modes.deferrable = True
    else:
        return False
    return True


def _isolation(c: Cursor) -> str:
    if c.accept("strict"):
        c.expect("serializable")
        return "strict serializable"
    first = c.expect_any("serializable", "repeatable", "read")
    if first == "serializable":
        return first
    second = c.expect_any("read") if first == "repeatable" else c.expect_any("committed", "uncommitted")
    return f"{first} {second}"


def _chain(c: Cursor) -> bool:
    if not c.accept("and"):
        return False
    negated = c.accept("no")
    c.expect("chain")
    return not negated


def parse_commit(c: Cursor) -> Statement:
    c.expect_any("commit", "end")
    if c.word == "prepared":
        return skip(c, "COMMIT PREPARED")
    c.accept_any("work", "transaction")
    return Commit(_chain(c))


def parse_rollback(c: Cursor) -> Statement:
    c.expect_any("rollback", "abort")
    if c.word == "prepared":
        return skip(c, "ROLLBACK PREPARED")
    c.accept_any("work", "transaction")
    if c.accept("to"):
        return Rollback(_savepoint_name(c))
    return Rollback(chain=_chain(c))


def parse_savepoint(c: Cursor) -> Statement:
    c.expect("savepoint")
    return Savepoint(c.name())


def parse_release(c: Cursor) -> Statement:
    c.expect("release")
    return Release(_savepoint_name(c))


def _savepoint_name(c: Cursor) -> str:
    """`[SAVEPOINT] name`, where the name may be `savepoint` itself."""
    if c.word == "savepoint" and c.is_name(ahead=1):
        c.i += 1
    return c.name()


def parse_set_transaction(c: Cursor, session: bool) -> Statement:
    """Behind SET TRANSACTION or SET SESSION CHARACTERISTICS AS TRANSACTION."""
    begin = c.i
    modes = _modes(c)
    if c.i == begin:
        c.fail()
    return SetTransaction(modes.read_only, modes.isolation, modes.deferrable, session)


def skip(c: Cursor, what: str) -> Statement:
    """Takes the rest of a statement that we do not serve."""
    c.i = len(c.kinds) - 1
    return Unsupported(what)
