"""`Moment`: what a date or time in text says, whether it can be, and the ways in which a text is wrong."""

from __future__ import annotations

from dataclasses import dataclass

from . import datetimes as dt
from .zones import Zone


class BadFormat(Exception):
    pass


class Overflow(Exception):
    """A field beyond its range; `month_or_day` when another DateStyle might have made sense of it."""

    def __init__(self, month_or_day: bool = False) -> None:
        super().__init__()
        self.month_or_day = month_or_day


class ZoneOverflow(Exception):
    pass


@dataclass(slots=True)
class Moment:
    """What a text says. `special` is set instead of the fields for infinity, now, today …"""

    special: str = ""
    year: int | None = None
    month: int | None = None
    day: int | None = None
    day_of_year: int | None = None
    julian: int | None = None
    micros: int | None = None
    """Time of day."""
    zone: Zone | int | None = None
    """A zone, or an offset in seconds east."""
    before_christ: bool = False
    meridiem: str = ""
    short_year: bool = False
    text_month: bool = False
    order: str = "MDY"
    time_only: bool = False
    expect: str = ""

    @property
    def has_date(self) -> bool:
        if self.julian is not None or (self.day_of_year is not None and self.year is not None):
            return True
        return None not in (self.year, self.month, self.day)

    def days(self) -> int:
        """Days since 1970, once the fields are validated."""
        if self.julian is not None:
            return self.julian - 2_440_588
        assert self.year is not None
        if self.day_of_year is not None:
            return dt.days_from_civil(self.year, 1, 1) + self.day_of_year - 1
        assert self.month is not None
        assert self.day is not None
        return dt.days_from_civil(self.year, self.month, self.day)


def validate(moment: Moment) -> None:
    """Makes years and hours what they mean. Raises Overflow where a field is beyond its range."""
    _validate_meridiem(moment)
    if moment.year is not None and moment.julian is None:
        if moment.before_christ:
            if moment.year <= 0:
                raise Overflow
            moment.year = 1 - moment.year
        elif moment.short_year:
            moment.year += 2000 if moment.year < 70 else 1900 if moment.year < 100 else 0
        elif moment.year <= 0:
            raise Overflow
    if moment.month is not None and not 1 <= moment.month <= 12:
        raise Overflow(month_or_day=True)
    if moment.day is not None and not 1 <= moment.day <= 31:
        raise Overflow(month_or_day=True)
    year, month, day = moment.year, moment.month, moment.day
    if year is not None and month is not None and day is not None and day > dt.days_in_month(year, month):
        raise Overflow


def _validate_meridiem(moment: Moment) -> None:
    if not moment.meridiem or moment.micros is None:
        return
    hours = moment.micros // 3_600_000_000
    if hours > 12:
        raise Overflow
    if moment.meridiem == "am" and hours == 12:
        moment.micros -= 12 * 3_600_000_000
    elif moment.meridiem == "pm" and hours != 12:
        moment.micros += 12 * 3_600_000_000
