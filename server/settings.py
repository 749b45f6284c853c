"""Session settings (GUCs): what SET, SHOW, RESET and `current_setting` know.

A setting in `SETTINGS` is checked and shown as PostgreSQL does; any `prefix.name` and the names in
`ACCEPTED` (spellings of RisingWave, Materialize and PostgreSQL that ask for nothing here) are kept
and shown as they were set. Other names are 42704. SET follows the transaction: undone by ROLLBACK,
and SET LOCAL by COMMIT too. The reported ones go to the client as ParameterStatus on every change.
"""

from __future__ import annotations

import platform
import re
import sys
import zoneinfo
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ..sql.system.own import release
from ..storage.errors import InvalidParameterValue, SqlError, UnknownSetting
from ..storage.textform import TextSettings

SERVER_VERSION = "15.8"
SERVER_VERSION_NUM = "150008"
VERSION = f"PostgreSQL {SERVER_VERSION} (millpond {release()}) on {platform.machine()}-{sys.platform}"
"""What `version()` says; clients read the number behind PostgreSQL."""


class ReadOnlySetting(SqlError, code="55P02"): ...


@dataclass(frozen=True, slots=True)
class Setting:
    """One known setting. `check` returns the value as shown, or raises InvalidParameterValue."""

    name: str
    default: str
    check: Callable[[str, str], str]
    reported: bool = False
    read_only: bool = False
    doc: str = ""


def _any(_name: str, value: str) -> str:
    return value


def _bool(name: str, value: str) -> str:
    word = value.strip().lower()
    if word in ("on", "true", "yes", "1", "t", "y"):
        return "on"
    if word in ("off", "false", "no", "0", "f", "n"):
        return "off"
    raise InvalidParameterValue(f'parameter "{name}" requires a Boolean value')


def _int(low: int, high: int) -> Callable[[str, str], str]:
    def check(name: str, value: str) -> str:
        try:
            number = int(value)
        except ValueError:
            raise InvalidParameterValue(f'invalid value for parameter "{name}": "{value}"') from None
        if not low <= number <= high:
            raise InvalidParameterValue(
                f'{number} is outside the valid range for parameter "{name}" ({low} .. {high})'
            )
        return str(number)

    return check


_TIME_UNITS_MS = {"us": 0.001, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def _milliseconds(name: str, value: str) -> str:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d)?\s*", value)
    if not match:
        raise InvalidParameterValue(f'invalid value for parameter "{name}": "{value}"')
    total = round(float(match[1]) * _TIME_UNITS_MS[match[2] or "ms"])
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if total and total % size == 0:
            return f"{total // size}{unit}"
    return f"{total}ms" if total else "0"


def milliseconds(shown: str) -> int:
    """The number of ms that a shown time setting stands for."""
    match = re.fullmatch(r"(\d+)(ms|s|min|h|d)?", shown)
    assert match, shown
    return int(int(match[1]) * _TIME_UNITS_MS[match[2] or "ms"])


def _choice(*allowed: str) -> Callable[[str, str], str]:
    def check(name: str, value: str) -> str:
        word = value.strip().lower()
        if word not in allowed:
            raise InvalidParameterValue(
                f'invalid value for parameter "{name}": "{value}"',
                hint=f"Available values: {', '.join(allowed)}.",
            )
        return word

    return check


def _encoding(name: str, value: str) -> str:
    word = re.sub(r"[^a-z0-9]", "", value.lower())
    if word in ("utf8", "unicode"):
        return "UTF8"
    if word == "sqlascii":
        return "SQL_ASCII"
    raise InvalidParameterValue(f'invalid value for parameter "{name}": "{value}"')


def _timezone(name: str, value: str) -> str:
    word = value.strip()
    if word.lower() in ("default", "local"):
        return "UTC"
    if word.upper() in ("UTC", "GMT", "Z"):
        return word.upper() if word.upper() != "Z" else "UTC"
    if re.fullmatch(r"[+-]?\d{1,2}(:\d{2})?", word):
        hours = float(word.replace(":00", ""))
        return f"<{hours:+03.0f}>{-hours:+03.0f}"
    try:
        return zoneinfo.ZoneInfo(word).key
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        found = {zone.lower(): zone for zone in zoneinfo.available_timezones()}.get(word.lower())
        if found:
            return found
        raise InvalidParameterValue(f'invalid value for parameter "{name}": "{value}"') from None


def _date_style(name: str, value: str) -> str:
    words = [word.strip().lower() for word in value.split(",")]
    order = {"mdy": "MDY", "us": "MDY", "dmy": "DMY", "european": "DMY", "ymd": "YMD"}
    shown = "MDY"
    for word in words:
        if word in order:
            shown = order[word]
        elif word != "iso":
            raise InvalidParameterValue(
                f'invalid value for parameter "{name}": "{value}"', hint="Dates are shown in ISO style only."
            )
    return f"ISO, {shown}"


_ISOLATION = _choice("serializable", "repeatable read", "read committed", "read uncommitted")

SETTINGS: dict[str, Setting] = {
    setting.name.lower(): setting
    for setting in (
        Setting("server_version", SERVER_VERSION, _any, True, True, "the PostgreSQL version spoken"),
        Setting("server_version_num", SERVER_VERSION_NUM, _any, read_only=True),
        Setting("server_encoding", "UTF8", _any, True, True),
        Setting("client_encoding", "UTF8", _encoding, True),
        Setting("application_name", "", _any, True),
        Setting("default_transaction_read_only", "off", _bool, True),
        Setting("in_hot_standby", "off", _any, True, True),
        Setting("is_superuser", "on", _any, True, True),
        Setting("session_authorization", "millpond", _any, True),
        Setting("DateStyle", "ISO, MDY", _date_style, True),
        Setting("IntervalStyle", "postgres",
                _choice("postgres", "postgres_verbose", "sql_standard", "iso_8601"), True),
        Setting("TimeZone", "UTC", _timezone, True),
        Setting("integer_datetimes", "on", _any, True, True),
        Setting("standard_conforming_strings", "on", _bool, True),
        Setting("bytea_output", "hex", _choice("hex", "escape")),
        Setting("extra_float_digits", "1", _int(-15, 3)),
        Setting("search_path", '"$user", public', _any),
        Setting("statement_timeout", "0", _milliseconds),
        Setting("lock_timeout", "0", _milliseconds),
        Setting("idle_in_transaction_session_timeout", "0", _milliseconds),
        Setting("idle_session_timeout", "0", _milliseconds),
        Setting("transaction_timeout", "0", _milliseconds),
        Setting("transaction_isolation", "repeatable read", _ISOLATION),
        Setting("default_transaction_isolation", "repeatable read", _ISOLATION),
        Setting("transaction_read_only", "off", _bool),
        Setting("transaction_deferrable", "off", _bool),
        Setting("max_staleness", "0", _milliseconds,
                doc="a standby that is further behind refuses to answer (40001); 0 takes any"),
        Setting("default_transaction_deferrable", "off", _bool),
        Setting("client_min_messages", "notice",
                _choice("debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning",
                        "error")),
        Setting("max_identifier_length", "63", _any, read_only=True),
        Setting("max_index_keys", "32", _any, read_only=True),
        Setting("block_size", "8192", _any, read_only=True),
        Setting("lc_collate", "C", _any, read_only=True),
        Setting("lc_ctype", "C", _any, read_only=True),
        Setting("lc_messages", "C", _any),
        Setting("lc_monetary", "C", _any),
        Setting("lc_numeric", "C", _any),
        Setting("lc_time", "C", _any),
        Setting("password_encryption", "scram-sha-256", _choice("scram-sha-256")),
        Setting("max_connections", "500", _any, read_only=True),
        Setting("wal_level", "replica", _any, read_only=True),
        Setting("ssl", "off", _any, read_only=True),
        Setting("row_security", "on", _bool),
        Setting("work_mem", "4MB", _any),
        Setting("jit", "off", _bool),
        Setting("escape_string_warning", "on", _bool),
        Setting("backslash_quote", "safe_encoding", _any),
        Setting("array_nulls", "on", _bool),
        Setting("xmloption", "content", _any),
        Setting("xmlbinary", "base64", _any),
        Setting("default_table_access_method", "heap", _any),
        Setting("default_tablespace", "", _any),
        Setting("default_text_search_config", "pg_catalog.simple", _any),
        Setting("synchronous_commit", "on", _any),
        Setting("seed", "unavailable", _any),
        Setting("plan_cache_mode", "auto", _any),
        Setting("check_function_bodies", "on", _bool),
        Setting("role", "none", _any),
        Setting("show_matviews_as_tables", "on", _bool,
                doc="information_schema shows materialized views, as views"),
    )
}  # fmt: skip

ACCEPTED = frozenset(
    """
    query_mode visibility_mode streaming_parallelism rw_implicit_flush rw_batch_enable_sort_agg
    rw_streaming_enable_delta_join background_ddl backfill_rate_limit source_rate_limit sink_decouple
    cluster cluster_replica database real_time_recency transaction_priority enable_seqscan
    enable_indexscan enable_bitmapscan enable_hashjoin enable_mergejoin enable_nestloop enable_sort geqo
    random_page_cost session_replication_role synchronize_seqscans max_parallel_workers_per_gather
    gin_fuzzy_search_limit temp_buffers maintenance_work_mem log_statement log_min_duration_statement
    quote_all_identifiers default_toast_compression vacuum_cost_delay
    """.split()  # noqa: SIM905
)
"""Names that are stored and shown, and change nothing."""


@dataclass(frozen=True, slots=True)
class IdleLimits:
    """Seconds after which a session is ended; 0 is never."""

    idle: float
    idle_in_transaction: float
    transaction: float


@dataclass(slots=True)
class SessionSettings:
    """The values of one session, with those to go back to at the end of the transaction."""

    values: dict[str, str] = field(default_factory=dict)
    server: Mapping[str, str] = field(default_factory=dict)
    """What the server dictates, whatever was set: on a standby, that it only reads."""
    startup: dict[str, str] = field(default_factory=dict)
    at_begin: dict[str, str] | None = None
    local_before: dict[str, str | None] = field(default_factory=dict)
    at_savepoints: list[tuple[dict[str, str], dict[str, str | None]]] = field(default_factory=list)
    """`values` and `local_before` at each savepoint there is."""
    _text: TextSettings | None = None
    _timeout_ms: int | None = None
    _idle_limits: IdleLimits | None = None
    _path: tuple[str, tuple[str, ...]] | None = None
    """What was made of settings, until one is changed: statements ask for these each time."""

    def show(self, name: str) -> str:
        """The value as SHOW gives it. Raises UnknownSetting."""
        key = name.lower()
        if key in self.server:
            return self.server[key]
        if key in self.values:
            return self.values[key]
        if key in self.startup:
            return self.startup[key]
        if key in SETTINGS:
            return SETTINGS[key].default
        if key in ACCEPTED:
            return ""
        raise UnknownSetting(f'unrecognized configuration parameter "{name}"')

    def set(self, name: str, value: str | None, local: bool = False) -> None:
        """SET [LOCAL] name = value; None is DEFAULT. Raises UnknownSetting, InvalidParameterValue."""
        key = name.lower()
        setting = SETTINGS.get(key)
        if setting is None and key not in ACCEPTED and "." not in key:
            raise UnknownSetting(f'unrecognized configuration parameter "{name}"')
        if setting is not None and setting.read_only:
            raise ReadOnlySetting(f'parameter "{setting.name}" cannot be changed')
        self._forget()
        if local:
            self.local_before.setdefault(key, self.values.get(key))
        else:
            self.local_before.pop(key, None)
        if value is None:
            self.values.pop(key, None)
        else:
            self.values[key] = setting.check(setting.name, value) if setting else value

    def set_startup(self, name: str, value: str) -> bool:
        """A parameter of the startup message: becomes the session's default. False when unknown."""
        setting = SETTINGS.get(name.lower())
        if setting is None or setting.read_only:
            return name.lower() in ACCEPTED or "." in name
        self._forget()
        self.startup[setting.name.lower()] = setting.check(setting.name, value)
        return True

    def reset_all(self) -> None:
        self._forget()
        self.values.clear()

    def begin(self) -> None:
        self.at_begin = dict(self.values)
        self.local_before.clear()

    def savepoint(self) -> None:
        self.at_savepoints.append((dict(self.values), dict(self.local_before)))

    def rollback_to(self, position: int) -> None:
        """Undoes every SET since the savepoint at `position`, from 0."""
        self._forget()
        values, local_before = self.at_savepoints[position]
        self.values, self.local_before = dict(values), dict(local_before)
        del self.at_savepoints[position + 1 :]

    def end(self, committed: bool) -> None:
        """End of the transaction: undoes SET LOCAL, and on rollback every SET since `begin`."""
        self._forget()
        if not committed and self.at_begin is not None:
            self.values = self.at_begin
        else:
            for key, value in self.local_before.items():
                if value is None:
                    self.values.pop(key, None)
                else:
                    self.values[key] = value
        self.at_begin = None
        self.local_before.clear()
        self.at_savepoints.clear()

    def reported(self) -> dict[str, str]:
        """The ParameterStatus set."""
        return {s.name: self.show(s.name) for s in SETTINGS.values() if s.reported}

    def text_settings(self) -> TextSettings:
        if self._text is None:
            self._text = _text_settings(
                self.show("timezone"),
                self.show("datestyle"),
                self.show("intervalstyle"),
                self.show("bytea_output"),
                self.show("extra_float_digits"),
            )
        return self._text

    def timeout_ms(self) -> int:
        """`statement_timeout`; 0 is none."""
        if self._timeout_ms is None:
            self._timeout_ms = milliseconds(self.show("statement_timeout"))
        return self._timeout_ms

    def idle_limits(self) -> IdleLimits:
        if self._idle_limits is None:
            self._idle_limits = IdleLimits(
                milliseconds(self.show("idle_session_timeout")) / 1000,
                milliseconds(self.show("idle_in_transaction_session_timeout")) / 1000,
                milliseconds(self.show("transaction_timeout")) / 1000,
            )
        return self._idle_limits

    def search_path(self, user: str) -> tuple[str, ...]:
        """The schemas of `search_path` in order, `"$user"` replaced."""
        if self._path is None or self._path[0] != user:
            self._path = user, _search_path(self.show("search_path"), user)
        return self._path[1]

    def _forget(self) -> None:
        self._text = self._timeout_ms = self._path = self._idle_limits = None

    def all(self) -> Iterator[tuple[str, str, str]]:
        """(name, value, description) of every setting, by name."""
        known = {s.name.lower(): s.name for s in SETTINGS.values()} | {k: k for k in self.values}
        for key in sorted(known):
            yield known[key], self.show(key), SETTINGS[key].doc if key in SETTINGS else ""


@lru_cache(1000)
def _text_settings(timezone: str, dates: str, intervals: str, bytes_: str, digits: str) -> TextSettings:
    return TextSettings(timezone, dates, intervals, bytes_, int(digits))


@lru_cache(1000)
def _search_path(text: str, user: str) -> tuple[str, ...]:
    words = (word.strip() for word in text.split(","))
    names = [_identifier(word) for word in words if word]
    return tuple(user if name == "$user" else name for name in names)


def _identifier(word: str) -> str:
    return word[1:-1].replace('""', '"') if word.startswith('"') else word.lower()
