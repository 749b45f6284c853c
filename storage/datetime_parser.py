"""Reads dates, times and timestamps in all the spellings PostgreSQL accepts.

`2020-01-31`, `1/31/2020`, `Jan 31, 2020`, `31-Jan-20`, `20200131T101530`, `J2451187`, `1999.008`,
`10:15 pm PST`, `2020-01-31 10:15:30.25 Europe/Paris`, `0044-03-15 BC`, `infinity`, `today` … The grammar
is in `datetime_fields.py`; the usual ISO spelling takes a shorter way.
"""

from __future__ import annotations

import re
import time
from datetime import date

from . import datetimes as dt
from .datetime_fields import parse_moment, parse_offset
from .datetime_moment import BadFormat, Moment, Overflow, ZoneOverflow
from .errors import DatetimeOverflow, InvalidDatetime, InvalidTimeZoneDisplacement, SqlError
from .zones import zone


def _read(text: str, sql_name: str, order: str, time_only: bool = False) -> Moment:
    """`parse_moment` with its failures turned into PostgreSQL's errors."""
    try:
        return parse_moment(text, order, time_only)
    except BadFormat:
        raise bad_format(text, sql_name) from None
    except Overflow as error:
        hint = 'Perhaps you need a different "datestyle" setting.' if error.month_or_day else ""
        raise DatetimeOverflow(f'date/time field value out of range: "{text}"', hint=hint) from None
    except ZoneOverflow:
        raise InvalidTimeZoneDisplacement(f'time zone displacement out of range: "{text}"') from None


def bad_format(text: str, sql_name: str) -> SqlError:
    return InvalidDatetime(f'invalid input syntax for type {sql_name}: "{text}"')


_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)


def _read_iso(text: str) -> tuple[int, str | None] | None:
    """(local microseconds, zone) of the usual spelling of a valid timestamp, else None."""
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    year, month, day, hours, minutes, seconds, fraction, where = match.groups()
    try:
        days = date(int(year), int(month), int(day)).toordinal() - 719_163
    except ValueError:
        return None
    if hours is None:
        return days * dt.DAY, None
    if hours > "23" or minutes > "59" or (seconds or "") > "59":
        return None
    clock = (int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)
    return days * dt.DAY + clock * 1_000_000 + int((fraction or "0").ljust(6, "0")), where


def _iso_timestamp(text: str, timezone: str | None) -> int | None:
    found = _read_iso(text)
    if found is None:
        return None
    micros, where = found
    offset = 0
    if where is not None:
        try:
            offset = 0 if where == "Z" else parse_offset(where)
        except ZoneOverflow:
            return None
    if timezone is None:
        return micros
    if where is None:
        offset = zone(timezone).local_offset(micros // 1_000_000)
    return micros - offset * 1_000_000


def _now(name: str) -> tuple[int, int]:
    """(instant, local timestamp) now in the zone, microseconds."""
    instant = time.time_ns() // 1000
    return instant, instant + zone(name).offset_at(instant // 1_000_000) * 1_000_000


_SHIFTS = {"today": 0, "tomorrow": 1, "yesterday": -1}


def parse_date(text: str, order: str = "MDY", timezone: str = "UTC") -> int:
    """Days since 1970. Raises 22007, 22008."""
    if len(text) == 10 and (iso := _read_iso(text)) is not None:
        return iso[0] // dt.DAY
    moment = _read(text, "date", order)
    if moment.special:
        if moment.special in ("infinity", "-infinity"):
            return dt.DATE_INFINITY if moment.special == "infinity" else dt.DATE_MINUS_INFINITY
        if moment.special == "epoch":
            return 0
        return _now(timezone)[1] // dt.DAY + _SHIFTS.get(moment.special, 0)
    if not moment.has_date:
        raise bad_format(text, "date")
    days = moment.days()
    if not dt.MIN_DATE <= days <= dt.MAX_DATE:
        raise DatetimeOverflow(f'date out of range: "{text}"')
    return days


def parse_timestamp(text: str, order: str = "MDY", timezone: str | None = None, default: str = "UTC") -> int:
    """Microseconds since 1970: local time if `timezone` is None (a zone in the text is then ignored),
    else the instant, `timezone` being that of texts without one. Raises 22007, 22008.
    """
    iso = _iso_timestamp(text, timezone)
    if iso is not None:
        return iso
    sql_name = "timestamp" if timezone is None else "timestamp with time zone"
    moment = _read(text, sql_name, order)
    if moment.special:
        return _special_timestamp(moment, timezone, default)
    if not moment.has_date:
        raise bad_format(text, sql_name)
    micros = moment.days() * dt.DAY + (moment.micros or 0)
    if timezone is not None:
        where = moment.zone if moment.zone is not None else zone(timezone)
        offset = where if isinstance(where, int) else where.local_offset(micros // 1_000_000)
        micros -= offset * 1_000_000
    return dt.check_timestamp(micros, text)


def _special_timestamp(moment: Moment, timezone: str | None, default: str) -> int:
    if moment.special in ("infinity", "-infinity"):
        return dt.INFINITY if moment.special == "infinity" else dt.MINUS_INFINITY
    if moment.special == "epoch":
        return 0
    instant, local = _now(timezone or default)
    if moment.special == "now":
        return local if timezone is None else instant
    local = (local // dt.DAY + _SHIFTS[moment.special]) * dt.DAY + (moment.micros or 0)
    if timezone is None:
        return local
    where = moment.zone if moment.zone is not None else zone(timezone)
    offset = where if isinstance(where, int) else where.local_offset(local // 1_000_000)
    return local - offset * 1_000_000


def parse_time(text: str, order: str = "MDY", timezone: str = "UTC") -> int:
    """Microseconds of the day, 24:00:00 included. Raises 22007, 22008."""
    moment = _read(text, "time", order, time_only=True)
    if moment.special == "now":
        return _now(timezone)[1] % dt.DAY
    nameless = moment.zone is None or isinstance(moment.zone, int) or len(moment.zone.offsets) == 1
    if moment.special or moment.micros is None or not (nameless or moment.has_date):
        raise bad_format(text, "time")
    return moment.micros
