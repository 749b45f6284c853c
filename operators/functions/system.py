"""Functions about the session and the server that need no catalogue.

Session values come from `context.session`: user, session_user, database, search_path, server_version,
backend_pid … Functions that look things up in the catalogue are the binder's to provide.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from ...storage import types as t
from ...storage.errors import UnknownSetting
from ...storage.types import Type
from .registry import scalar
from .vector import each, rowwise, typed

if TYPE_CHECKING:
    from ..node import EpochContext

SERVER_VERSION = "16.0"
VERSION = f"PostgreSQL {SERVER_VERSION} (millpond)"

_S = pa.string()


def search_path(context: EpochContext, implicit: bool = False) -> list[str]:
    """The schemas of the session's search path that exist; with `implicit`, pg_catalog before them."""
    text = context.session.get("schemas", "public")
    names = [part.strip().strip('"') for part in text.split(",")]
    found = [name for name in names if name]
    return ["pg_catalog", *found] if implicit and "pg_catalog" not in found else found


def _session(name: str, type_: Type, value: Callable[[EpochContext], Any], doc: str) -> None:
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        return pa.array([value(context)] * length, type_.arrow)

    kernel.__doc__ = doc
    scalar(name, (), type_, volatility="stable")(kernel)


def _user(context: EpochContext) -> str:
    return context.session.get("user", "millpond")


def _database(context: EpochContext) -> str:
    return context.session.get("database", "millpond")


def _first_schema(context: EpochContext) -> str | None:
    return next(iter(search_path(context)), None)


for _name in ("current_user", "user", "session_user", "current_role"):
    _session(_name, t.NAME, _user, "Name of the user.")
for _name in ("current_database", "current_catalog"):
    _session(_name, t.NAME, _database, "Name of the database.")
_session("current_schema", t.NAME, _first_schema, "The first schema of the search path.")
_session("version", t.TEXT, lambda c: c.session.get("version", VERSION), "The server's version as text.")
_session("pg_backend_pid", t.INT4, lambda c: int(c.session.get("backend_pid", "0")), "Number of the session.")
_session(
    "pg_is_in_recovery", t.BOOL, lambda c: c.session.get("standby") == "on", "Whether this is a standby."
)
_session("current_query", t.TEXT, lambda c: c.session.get("query"), "The text of the statement.")
_session("inet_server_addr", t.TEXT, lambda c: c.session.get("server_addr"), "Address of the server.")
_session("inet_client_addr", t.TEXT, lambda c: c.session.get("client_addr"), "Address of the client.")
_session("pg_my_temp_schema", t.OID, lambda c: 0, "0: there are no temporary tables.")


@scalar("current_schemas", (t.BOOL,), t.array_of(t.NAME), volatility="stable")
def _current_schemas(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The schemas of the search path, with the implicit ones if the argument is true."""
    return pa.array([search_path(context, flag) for flag in args[0].to_pylist()], pa.list_(_S))


def _setting(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The value of a setting; with a second argument true, NULL for an unknown one."""
    missing = args[1].to_pylist() if len(args) > 1 else [False] * length
    done: list[str | None] = []
    for name, lenient in zip(args[0].to_pylist(), missing, strict=True):
        found = _find_setting(name, context)
        if found is None and not lenient:
            raise UnknownSetting(f'unrecognized configuration parameter "{name}"')
        done.append(found)
    return pa.array(done, _S)


def _find_setting(name: str, context: EpochContext) -> str | None:
    lowered = name.lower()
    for key, value in context.session.items():
        if key.lower() == lowered:
            return value
    known = {"timezone": context.timezone, "server_version": SERVER_VERSION, "server_encoding": "UTF8",
             "client_encoding": "UTF8", "standard_conforming_strings": "on", "integer_datetimes": "on",
             "server_version_num": "160000"}  # fmt: skip
    return known.get(lowered)


scalar("current_setting", (t.TEXT,), t.TEXT, volatility="stable")(_setting)
scalar("current_setting", (t.TEXT, t.BOOL), t.TEXT, volatility="stable")(_setting)


# Names of encodings, sizes.

_ENCODINGS = {0: "SQL_ASCII", 6: "UTF8", 8: "LATIN1"}


def _encoding_name(number: int) -> str:
    """Name of a character set by its number."""
    return _ENCODINGS.get(number, "")


def _size_pretty(size: int) -> str:
    """Bytes in the unit people read."""
    value, units = abs(size), ("bytes", "kB", "MB", "GB", "TB", "PB")
    if value < 10 * 1024:
        return f"{size} bytes"
    number, last = value << 1, 0
    for i in range(1, len(units)):
        last = i
        number >>= 10
        if number < 2 * 10 * 1024 - 1 or i == len(units) - 1:
            break
    shown = (number + 1) >> 1
    return f"{'-' if size < 0 else ''}{shown} {units[last]}"


def _numeric_size_pretty(size: str | Decimal) -> str:
    """Bytes in the unit people read."""
    return _size_pretty(round(Decimal(size)))


scalar("pg_encoding_to_char", (t.INT4,), t.NAME)(each(_encoding_name, _S))
scalar("pg_size_pretty", (t.INT8,), t.TEXT)(each(_size_pretty, _S))
scalar("pg_size_pretty", (t.NUMERIC,), t.TEXT)(each(_numeric_size_pretty, _S))


@scalar("pg_column_size", (Type("any"),), t.INT4, volatility="stable")
@typed
def _column_size(
    args: Sequence[pa.Array], length: int, context: EpochContext, types: tuple[Type, ...] = ()
) -> pa.Array:
    """Bytes of the value's text or fixed form."""
    size = types[0].info.size
    if size > 0:
        return pa.repeat(pa.scalar(size, pa.int32()), length)
    return pa.array([len(str(v).encode()) + 1 for v in args[0].to_pylist()], pa.int32())


# Volatile ones.


SLEEP_STEP_S = 0.02
"""How long a sleep goes on after the statement was cancelled, at most."""


@scalar("pg_sleep", (t.FLOAT8,), t.VOID, volatility="volatile")
def _pg_sleep(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Waits for so many seconds, or until the statement is cancelled."""
    for seconds in args[0].to_pylist():
        end = time.monotonic() + (seconds or 0.0)
        while (left := end - time.monotonic()) > 0:
            if context.cancelled is not None:
                context.cancelled()
            time.sleep(min(left, SLEEP_STEP_S))
    return pa.array([""] * length, _S)


@scalar("random", (), t.FLOAT8, volatility="volatile")
def _random(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """A number from 0 up to below 1."""
    return pa.array(np.random.default_rng().random(length))


@scalar("gen_random_uuid", (), t.UUID, volatility="volatile")
def _random_uuid(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """A random UUID (version 4)."""
    return pa.array([uuid4().bytes for _ in range(length)], pa.binary(16))


def _hash_text(text: str | None) -> int:
    """A stable 32-bit hash of a text."""
    digest = hashlib.blake2b((text or "").encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little", signed=True)


scalar("hashtext", (t.TEXT,), t.INT4)(rowwise(_hash_text, pa.int32()))
