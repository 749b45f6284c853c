"""Functions about the server and the session: settings, users, transactions, locks that ask for nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...operators.functions.registry import SCALARS
from ...operators.functions.tables import table
from ...storage import types as t
from ...storage.errors import FeatureNotSupported, NullNotAllowed, UnknownSetting
from .each import catalog_function
from .pg_server import roles, timezone_rows
from .registry import Rows, SystemContext

if TYPE_CHECKING:
    from ...operators.node import EpochContext

OD, I4, I8, B, TX, N, VOID = t.OID, t.INT4, t.INT8, t.BOOL, t.TEXT, t.NAME, t.VOID
_NOTHING = ""
"""The value of type void."""


# Settings.
SCALARS.pop("current_setting", None)


def _shown(system: SystemContext, name: str) -> str | None:
    if system.setting is not None:
        try:
            return system.setting(name)
        except UnknownSetting:
            return None
    return system.session.get(name.lower())


@catalog_function("current_setting", (TX,), (TX, B), result=TX)
def _current_setting(system: SystemContext, name: str, missing_ok: bool = False) -> str | None:
    """The value of a setting; with true behind it, NULL for an unknown one."""
    found = _shown(system, name)
    if found is None and not missing_ok:
        raise UnknownSetting(f'unrecognized configuration parameter "{name}"')
    return found


@catalog_function("set_config", (TX, TX, B), result=TX, strict=False, volatility="volatile")
def _set_config(system: SystemContext, name: str | None, value: str | None, local: bool | None) -> str | None:
    """Changes a setting, for this transaction only if the third argument is true."""
    if name is None:
        raise NullNotAllowed("SET requires parameter name")
    if system.set_config is None:
        raise FeatureNotSupported("set_config is not possible here")
    return system.set_config(name, value, bool(local))


# Users.
@catalog_function("pg_get_userbyid", (OD,), result=N)
def _user(system: SystemContext, oid: int) -> str:
    """The name of a role."""
    return roles(system).get(oid, f"unknown (OID={oid})")


@catalog_function("getdatabaseencoding", (), result=N)
@catalog_function("pg_client_encoding", (), result=N)
def _encoding(system: SystemContext) -> str:
    """UTF8."""
    return "UTF8"


@catalog_function("pg_char_to_encoding", (N,), result=I4)
def _encoding_number(system: SystemContext, name: str) -> int:
    """The number of a character set, -1 if unknown."""
    return {"utf8": 6, "unicode": 6, "sqlascii": 0, "latin1": 8}.get(
        name.lower().replace("_", "").replace("-", ""), -1
    )


@catalog_function("pg_is_other_temp_schema", (OD,), result=B)
def _is_other_temp_schema(system: SystemContext, oid: int) -> bool:
    """False."""
    return False


# Time and transactions.
def _started(system: SystemContext) -> datetime:
    started = next(iter(system.facts("server")), (0,))[0]
    assert isinstance(started, int)
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=started)


@catalog_function("pg_postmaster_start_time", (), result=t.TIMESTAMPTZ)
@catalog_function("pg_conf_load_time", (), result=t.TIMESTAMPTZ)
def _start_time(system: SystemContext) -> datetime:
    """When the server started."""
    return _started(system)


def _epoch(system: SystemContext) -> int:
    row = next(iter(system.facts("server")), (0, 0))
    assert isinstance(row[1], int)
    return row[1]


@catalog_function("txid_current", (), result=I8, volatility="volatile")
@catalog_function("txid_current_if_assigned", (), result=I8, volatility="volatile")
@catalog_function("pg_current_xact_id", (), result=I8, volatility="volatile")
def _transaction(system: SystemContext) -> int:
    """The epoch the next commit will make."""
    return _epoch(system) + 1


@catalog_function("age", (t.Type("xid"),), result=I4)
@catalog_function("mxid_age", (t.Type("xid"),), result=I4)
def _age(system: SystemContext, transaction: int) -> int:
    """0: rows have no transaction numbers that could wrap around."""
    return 0


for _name in ("pg_is_wal_replay_paused", "pg_jit_available"):

    @catalog_function(_name, (), result=B)
    def _false(system: SystemContext) -> bool:
        """False."""
        return False


# Advisory locks: held by nobody, had by everybody.
def _locks() -> None:
    keys = ((I8,), (I4, I4))
    for word in ("", "_xact"):
        for shared in ("", "_shared"):

            @catalog_function(f"pg_advisory{word}_lock{shared}", *keys, result=VOID, volatility="volatile")
            def _lock(system: SystemContext, *_: object) -> str:
                """Does nothing."""
                return _NOTHING

            @catalog_function(f"pg_try_advisory{word}_lock{shared}", *keys, result=B, volatility="volatile")
            def _try(system: SystemContext, *_: object) -> bool:
                """True, and does nothing."""
                return True

    for shared in ("", "_shared"):

        @catalog_function(f"pg_advisory_unlock{shared}", *keys, result=B, volatility="volatile")
        def _unlock(system: SystemContext, *_: object) -> bool:
            """True, and does nothing."""
            return True


_locks()


@catalog_function("pg_advisory_unlock_all", (), result=VOID, volatility="volatile")
def _unlock_all(system: SystemContext) -> str:
    """Does nothing."""
    return _NOTHING


# Other sessions.
def _control(word: str) -> Callable[..., bool]:
    def control(system: SystemContext, pid: int, *_: object) -> bool:
        return system.control is not None and system.control(word, pid)

    return control


def _register_control() -> None:
    cancel, terminate = _control("cancel"), _control("terminate")
    cancel.__doc__ = "Cancels the statement of the session of that number."
    terminate.__doc__ = "Ends the session of that number."
    catalog_function("pg_cancel_backend", (I4,), result=B, volatility="volatile")(cancel)
    catalog_function("pg_terminate_backend", (I4,), (I4, I8), result=B, volatility="volatile")(terminate)


_register_control()


@catalog_function("pg_blocking_pids", (I4,), result=t.array_of(I4), volatility="volatile")
def _blocking(system: SystemContext, pid: int) -> list[int]:
    """Nobody waits for another session's lock."""
    return []


for _name in ("pg_stat_get_numscans", "pg_stat_get_live_tuples", "pg_stat_get_dead_tuples"):

    @catalog_function(_name, (OD,), result=I8)
    def _zero(system: SystemContext, oid: int) -> int:
        """0: not counted."""
        return 0


@catalog_function("acldefault", (t.CHAR, OD), result=t.array_of(TX))
def _default_privileges(system: SystemContext, kind: str, owner: int) -> None:
    """NULL: there are no privileges to speak of."""


# In FROM.
def _table(name: str, args: Sequence[t.Type], columns: Sequence[tuple[str, t.Type]], rows: Any) -> None:
    """A function in FROM whose rows hang on the context only."""

    def kernel(
        args: Sequence[pa.Array], length: int, context: EpochContext
    ) -> tuple[pa.Array, list[pa.Array]]:
        found = list(rows(context.surroundings)) * length
        origin = pa.array([i for i in range(length) for _ in range(len(found) // max(length, 1))], pa.int64())
        return origin, [
            pa.array([row[i] for row in found], type_.arrow) for i, (_, type_) in enumerate(columns)
        ]

    kernel.__doc__ = rows.__doc__
    table(name, tuple(args), tuple(columns))(kernel)


def _zone_rows(system: SystemContext) -> Rows:
    """Time zones by name."""
    return timezone_rows()


def _no_rows(system: SystemContext) -> Rows:
    """Always empty."""
    return ()


_ZONES = (("name", TX), ("abbrev", TX), ("utc_offset", t.INTERVAL), ("is_dst", B))
_EXTENSIONS = (("name", N), ("default_version", TX), ("comment", TX))
_ACL = (("grantor", OD), ("grantee", OD), ("privilege_type", TX), ("is_grantable", B))
_PARTITIONS = (("relid", t.REGCLASS), ("parentrelid", t.REGCLASS), ("isleaf", B), ("level", I4))

_table("pg_timezone_names", (), _ZONES, _zone_rows)
_table("pg_available_extensions", (), _EXTENSIONS, _no_rows)
_table("aclexplode", (t.array_of(TX),), _ACL, _no_rows)
_table("pg_partition_ancestors", (t.REGCLASS,), (("relid", t.REGCLASS),), _no_rows)
_table("pg_partition_tree", (t.REGCLASS,), _PARTITIONS, _no_rows)
