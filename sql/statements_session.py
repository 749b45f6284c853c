"""Statements about the session: its transaction, settings, prepared statements, cursors and channels.

Import them from `statements.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .statements_base import Ast, ObjectName, Statement
from .typename import TypeName


# Transactions.
@dataclass(frozen=True, slots=True)
class Begin(Statement):
    """`isolation` as PostgreSQL shows it ("read committed"), None where nothing was said."""

    read_only: bool | None = None
    isolation: str | None = None
    deferrable: bool | None = None


@dataclass(frozen=True, slots=True)
class Commit(Statement):
    chain: bool = False


@dataclass(frozen=True, slots=True)
class Rollback(Statement):
    """ROLLBACK, or with `to` ROLLBACK TO SAVEPOINT."""

    to: str | None = None
    chain: bool = False


@dataclass(frozen=True, slots=True)
class Savepoint(Statement):
    name: str


@dataclass(frozen=True, slots=True)
class Release(Statement):
    name: str


@dataclass(frozen=True, slots=True)
class SetTransaction(Statement):
    """SET TRANSACTION …, or with `session` SET SESSION CHARACTERISTICS AS TRANSACTION …"""

    read_only: bool | None = None
    isolation: str | None = None
    deferrable: bool | None = None
    session: bool = False


# Session.
@dataclass(frozen=True, slots=True)
class SetVariable(Statement):
    """`name` in lower case; `value` None for TO DEFAULT. A list is joined by ", " as SHOW shows it;
    SET TIME ZONE is `timezone`, SET NAMES `client_encoding`, SET SCHEMA `search_path`."""

    name: str
    value: str | None
    local: bool = False


@dataclass(frozen=True, slots=True)
class ShowVariable(Statement):
    """`name` is "all" for SHOW ALL; SHOW TRANSACTION ISOLATION LEVEL is `transaction_isolation`."""

    name: str


@dataclass(frozen=True, slots=True)
class Reset(Statement):
    """`name` is "all" for RESET ALL."""

    name: str


@dataclass(frozen=True, slots=True)
class Discard(Statement):
    """`what` is "all", "plans", "sequences" or "temp"."""

    what: str


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    """`options`: analyze, verbose, format, … → text ("true", "json"). `statement` is what is explained,
    or `name`, an existing view; its positions count from the start of this statement's text."""

    options: Mapping[str, str]
    statement: Statement | None
    name: ObjectName | None = None


@dataclass(frozen=True, slots=True)
class Prepare(Statement):
    name: str
    types: tuple[TypeName, ...]
    statement: Statement


@dataclass(frozen=True, slots=True)
class Execute(Statement):
    name: str
    arguments: tuple[Ast, ...] = ()


@dataclass(frozen=True, slots=True)
class Deallocate(Statement):
    """`name` None: ALL."""

    name: str | None


@dataclass(frozen=True, slots=True)
class DeclareCursor(Statement):
    """DECLARE … CURSOR FOR `statement` (a Select or a Subscribe), or RisingWave's SUBSCRIPTION CURSOR
    FOR `subscription` with `since` ("", "now()", "begin()", milliseconds, "full")."""

    name: str
    statement: Statement | None
    scroll: bool | None = None
    hold: bool = False
    binary: bool = False
    subscription: ObjectName | None = None
    since: str = ""


@dataclass(frozen=True, slots=True)
class Fetch(Statement):
    """`direction` is "forward", "backward", "absolute" or "relative"; `count` None is ALL.

    NEXT is forward 1, PRIOR backward 1, FIRST absolute 1, LAST absolute −1. `timeout` as written.
    """

    name: str
    direction: str = "forward"
    count: int | None = 1
    timeout: str | None = None


@dataclass(frozen=True, slots=True)
class Move(Statement):
    name: str
    direction: str = "forward"
    count: int | None = 1


@dataclass(frozen=True, slots=True)
class CloseCursor(Statement):
    """`name` None: ALL."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Listen(Statement):
    channel: str


@dataclass(frozen=True, slots=True)
class Unlisten(Statement):
    """`channel` None: `*`."""

    channel: str | None


@dataclass(frozen=True, slots=True)
class Notify(Statement):
    channel: str
    payload: str = ""
