"""The server, its roles, its sessions and their settings."""

from __future__ import annotations

import zlib
import zoneinfo
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from ...storage.intervals import pack_one
from ..catalog import DATABASE
from ..entries import Schema
from .objects import OWNER
from .registry import Rows, SystemContext, catalogue

OWNER_NAME = "millpond"
DATABASE_OID = 5
UTF8 = 6


@catalogue("pg_namespace", "oid nspname", nspowner=OWNER)
def _namespaces(system: SystemContext) -> Rows:
    """Schemas."""
    for entry in system.catalog.of(Schema):
        yield entry.oid, entry.name


@catalogue(
    "pg_database", "oid datname",
    datdba=OWNER, encoding=UTF8, datlocprovider="c", datallowconn=True, datconnlimit=-1, dattablespace=1663,
    datcollate="C", datctype="C",
)  # fmt: skip
def _databases(system: SystemContext) -> Rows:
    """One: millpond."""
    yield DATABASE_OID, DATABASE


@catalogue("pg_tablespace", "oid spcname", spcowner=OWNER)
def _tablespaces(system: SystemContext) -> Rows:
    """The data directory."""
    yield 1663, "pg_default"
    yield 1664, "pg_global"


# Roles: whoever connects is one, and may do everything.
def role_oid(name: str) -> int:
    """The OID of the user of that name."""
    return OWNER if name == OWNER_NAME else (1 << 29) + zlib.crc32(name.encode()) % (1 << 29)


def roles(system: SystemContext) -> dict[int, str]:
    """The owner and all users with a session, by OID."""
    names = [OWNER_NAME, system.session.get("user", OWNER_NAME)]
    names += [str(row[1]) for row in system.facts("sessions")]
    return {role_oid(name): name for name in dict.fromkeys(names)}


_ROLE = {
    "rolsuper": True, "rolinherit": True, "rolcreaterole": True, "rolcreatedb": True, "rolcanlogin": True,
    "rolreplication": True, "rolbypassrls": True, "rolconnlimit": -1,
}  # fmt: skip


@catalogue("pg_authid", "oid rolname", live=True, fixed=_ROLE)
def _authids(system: SystemContext) -> Rows:
    """The owner and the users with a session."""
    return roles(system).items()


@catalogue("pg_roles", "oid rolname", live=True, rolpassword="********", fixed=_ROLE)
def _roles(system: SystemContext) -> Rows:
    """The owner and the users with a session."""
    return roles(system).items()


_USER = {"usecreatedb": True, "usesuper": True, "userepl": True, "usebypassrls": True}


@catalogue("pg_user", "usesysid usename", live=True, passwd="********", fixed=_USER)
def _users(system: SystemContext) -> Rows:
    """As pg_roles."""
    return roles(system).items()


@catalogue("pg_shadow", "usesysid usename", live=True, fixed=_USER)
def _shadows(system: SystemContext) -> Rows:
    """As pg_roles."""
    return roles(system).items()


# Sessions and settings.
def _moment(micros: Any) -> datetime | None:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros) if micros else None


@catalogue(
    "pg_stat_activity",
    "pid usename usesysid application_name client_addr client_port backend_start xact_start state query"
    " query_start"
    " state_change",
    live=True, datid=DATABASE_OID, datname=DATABASE, backend_type="client backend",
)  # fmt: skip
def _sessions(system: SystemContext) -> Rows:
    """Sessions and what they do."""
    for pid, user, application, address, state, query, since in system.facts("sessions"):
        moment = _moment(since)
        running = moment if state != "idle" else None
        yield (
            pid, user, role_oid(str(user)), application, address or None, -1, moment, running, state, query,
            moment, moment,
        )  # fmt: skip


def setting_row(name: str, value: str, default: str, read_only: bool) -> tuple[str, str, str]:
    """(vartype, context, source) of a setting."""
    if value in ("on", "off"):
        kind = "bool"
    else:
        kind = "integer" if value.lstrip("-").isdigit() else "string"
    return kind, "internal" if read_only else "user", "default" if value == default else "session"


@catalogue(
    "pg_settings", "name setting short_desc boot_val reset_val vartype context source",
    live=True, category="Settings", pending_restart=False,
)  # fmt: skip
def _settings(system: SystemContext) -> Rows:
    """Settings of this session."""
    for name, value, doc, default, read_only in system.facts("settings"):
        name, value, default = str(name), str(value), str(default)
        row = setting_row(name, value, default, bool(read_only))
        yield name, value, doc or None, default, default, *row


@catalogue("pg_cursors", "name statement is_holdable is_scrollable creation_time", live=True, is_binary=False)
def _cursors(system: SystemContext) -> Rows:
    """Cursors of this session."""
    for name, statement, hold, scroll, created in system.facts("cursors"):
        yield name, statement, bool(hold), bool(scroll), _moment(created)


@catalogue(
    "pg_prepared_statements", "name statement parameter_types from_sql",
    live=True, generic_plans=0, custom_plans=0,
)  # fmt: skip
def _prepared_statements(system: SystemContext) -> Rows:
    """Prepared statements of this session."""
    from .names import type_oid_of

    for name, statement, types in system.facts("prepared_statements"):
        assert isinstance(types, list)
        yield name, statement, [type_oid_of(str(type_), system) for type_ in types], False


@lru_cache(1)
def _zones() -> list[tuple[str, str, bytes, bool]]:
    now = datetime.now(UTC)
    found: list[tuple[str, str, bytes, bool]] = []
    for name in sorted(zoneinfo.available_timezones()):
        there = now.astimezone(zoneinfo.ZoneInfo(name))
        offset = there.utcoffset() or timedelta()
        found.append((name, there.tzname() or "", _interval(offset), bool(there.dst())))
    return found


def _interval(offset: timedelta) -> bytes:
    return pack_one(0, 0, round(offset.total_seconds() * 1_000_000))


def timezone_rows() -> list[tuple[str, str, bytes, bool]]:
    """(name, abbreviation, offset, summer time now) of each zone."""
    return _zones()


@catalogue("pg_timezone_names", "name abbrev utc_offset is_dst")
def _timezone_names(system: SystemContext) -> Rows:
    """Time zones by name."""
    return timezone_rows()


@catalogue("pg_timezone_abbrevs", "abbrev utc_offset is_dst")
def _timezone_abbreviations(system: SystemContext) -> Rows:
    """Short names of time zones."""
    yield "UTC", _interval(timedelta()), False
    yield "GMT", _interval(timedelta()), False
