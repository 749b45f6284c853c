"""Dates and times, one value at a time: the calendar, PostgreSQL's text of them, their limits.

Dates are days and timestamps microseconds since 1970-01-01 UTC, in the proleptic Gregorian calendar;
year 0 is 1 BC.
"""

from __future__ import annotations

from .errors import DatetimeOverflow

DAY = 86_400_000_000
"""Microseconds of a day."""
DATE_INFINITY, DATE_MINUS_INFINITY = (1 << 31) - 1, -(1 << 31)
INFINITY, MINUS_INFINITY = (1 << 63) - 1, -(1 << 63)
POSTGRES_EPOCH_DAYS = 10_957
"""2000-01-01, from which PostgreSQL counts."""
POSTGRES_EPOCH = POSTGRES_EPOCH_DAYS * DAY


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 (counting years from March, so that the leap day is the last)."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + day_of_year - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """(year, month, day), the inverse of `days_from_civil`."""
    era, rest = divmod(days + 719_468, 146_097)
    year = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
    day_of_year = rest - (365 * year + year // 4 - year // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return era * 400 + year + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


MIN_DATE = days_from_civil(-4713, 11, 24)
MAX_DATE = days_from_civil(5_874_897, 12, 31)
MIN_TIMESTAMP = MIN_DATE * DAY
MAX_TIMESTAMP = INFINITY - 1
"""PostgreSQL's own last timestamp, in the year 294276, is beyond 64 bits counted from 1970."""

_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def days_in_month(year: int, month: int) -> int:
    if month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):
        return 29
    return _MONTH_DAYS[month - 1]


def format_date(days: int) -> str:
    """ISO text, ` BC` after years before 1."""
    if days in (DATE_INFINITY, DATE_MINUS_INFINITY):
        return "infinity" if days > 0 else "-infinity"
    text, era = _date_parts(days)
    return text + era


def _date_parts(days: int) -> tuple[str, str]:
    year, month, day = civil_from_days(days)
    if year > 0:
        return f"{year:04d}-{month:02d}-{day:02d}", ""
    return f"{1 - year:04d}-{month:02d}-{day:02d}", " BC"


def format_time(micros: int) -> str:
    """HH:MM:SS with as many digits of fraction as are not zero."""
    seconds, fraction = divmod(micros, 1_000_000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:06d}".rstrip("0") if fraction else text


def format_timestamp(micros: int, offset: int | None = None) -> str:
    """A local timestamp, followed by the offset from UTC in seconds when given."""
    if micros in (INFINITY, MINUS_INFINITY):
        return "infinity" if micros > 0 else "-infinity"
    days, rest = divmod(micros, DAY)
    text, era = _date_parts(days)
    zone = "" if offset is None else format_offset(offset)
    return f"{text} {format_time(rest)}{zone}{era}"


def format_offset(seconds: int) -> str:
    """`+02`, `-03:30`, `+00:53:28`."""
    sign, size = ("-", -seconds) if seconds < 0 else ("+", seconds)
    text = f"{sign}{size // 3600:02d}"
    if size % 3600:
        text += f":{size // 60 % 60:02d}"
    if size % 60:
        text += f":{size % 60:02d}"
    return text


def check_timestamp(micros: int, text: str | None = None) -> int:
    """`micros` if a timestamp can hold it, else raises 22008."""
    if MIN_TIMESTAMP <= micros <= MAX_TIMESTAMP:
        return micros
    raise DatetimeOverflow("timestamp out of range" + ("" if text is None else f': "{text}"'))
