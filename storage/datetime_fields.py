"""The grammar of dates and times in text: its fields (`datetime_split.py`) understood one by one.

As the appendix "Date/Time Input Interpretation" of PostgreSQL's manual describes, each field is read by
what is still missing of year, month, day, time and zone.
"""

from __future__ import annotations

import re

from . import datetimes as dt
from .datetime_moment import BadFormat, Moment, Overflow, ZoneOverflow, validate
from .datetime_split import IGNORED, MONTHS, SPECIAL, split_fields
from .errors import InvalidParameterValue
from .zones import ABBREVIATIONS, Zone, zone


def parse_moment(text: str, order: str = "MDY", time_only: bool = False) -> Moment:
    """Reads a text into fields and validates them; raises BadFormat, Overflow or ZoneOverflow."""
    moment = Moment(order=order, time_only=time_only)
    fields = split_fields(text.strip())
    if not fields:
        raise BadFormat
    for kind, value in fields:
        _take_field(moment, kind, value)
    if moment.expect:
        raise BadFormat
    if not moment.special:
        validate(moment)
    elif moment.has_date or (
        moment.zone is not None and moment.special in ("infinity", "-infinity", "epoch")
    ):
        raise BadFormat
    return moment


def _take_field(moment: Moment, kind: str, value: str) -> None:
    if kind == "time":
        _take_time(moment, value)
    elif kind == "date":
        _take_date(moment, value)
    elif kind == "number":
        _take_number(moment, value)
    elif kind == "zone":
        _set_zone(moment, parse_offset(value))
    elif kind == "special":
        _take_word(moment, value.lstrip("+"))
    else:
        _take_word(moment, value)


def _set_zone(moment: Moment, value: Zone | int) -> None:
    if moment.zone is not None:
        raise BadFormat
    moment.zone = value


def parse_offset(text: str) -> int:
    """`+05:30`, `-8`, `+0530`, `+053015` in seconds east."""
    parts = text[1:].split(":")
    if len(parts) > 3 or not all(part.isdigit() for part in parts):
        raise BadFormat
    if len(parts) == 1 and len(parts[0]) > 2:
        digits = parts[0]
        if len(digits) >= 5:
            parts = [digits[:-4], digits[-4:-2], digits[-2:]]
        else:
            parts = [digits[:-2], digits[-2:]]
    hours, minutes, seconds = (*map(int, parts), 0, 0)[:3]
    if hours > 15 or minutes > 59 or seconds > 59:
        raise ZoneOverflow
    size = hours * 3600 + minutes * 60 + seconds
    return -size if text[0] == "-" else size


def _take_time(moment: Moment, value: str) -> None:
    if moment.micros is not None:
        raise BadFormat
    parts = value.split(":")
    fraction = "0"
    if len(parts) == 2 and "." in parts[1]:
        parts = ["0", *parts]  # MM:SS.fff
    if len(parts) > 3 or not all(parts):
        raise BadFormat
    if len(parts) == 3:
        parts[2], _, fraction = parts[2].partition(".")
    if not all(part.isdigit() for part in parts):
        raise BadFormat
    hours, minutes, seconds = (*map(int, parts), 0)[:3]
    _set_time(moment, hours, minutes, seconds, _fraction(fraction))


def _fraction(digits: str) -> int:
    """Microseconds of the digits after the point."""
    if digits and not digits.isdigit():
        raise BadFormat
    return round(float("0." + (digits or "0")) * 1_000_000)


def _set_time(moment: Moment, hours: int, minutes: int, seconds: int, micros: int) -> None:
    if hours > 24 or minutes > 59 or seconds > 60:
        raise Overflow
    if hours == 24 and (minutes or seconds or micros):
        raise Overflow
    moment.micros = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros
    moment.expect = ""


_RUN_WITH_OFFSET = re.compile(r"(?:\d{4}|\d{6})-\d\d")


def _take_date(moment: Moment, value: str) -> None:
    if moment.has_date or (value[0].isalpha() and re.split(r"[-/.]", value)[0] not in MONTHS):
        if not (moment.has_date or moment.time_only):
            # A zone is looked for behind a date only: here it should have been one.
            raise BadFormat
        _take_named_zone(moment, value)
        return
    if moment.time_only and _RUN_WITH_OFFSET.fullmatch(value):
        _take_named_zone(moment, value)
        return
    pieces = re.findall(r"\d+|[a-z]+", value)
    for piece in pieces:
        if piece.isalpha():
            if moment.month is not None or piece not in MONTHS:
                raise BadFormat
            moment.month, moment.text_month = MONTHS[piece], True
    for piece in pieces:
        if piece.isdigit():
            _take_part(moment, piece)
    if not moment.has_date:
        raise BadFormat


def _take_named_zone(moment: Moment, value: str) -> None:
    if value[0].isdigit():
        # A time written 040506-08.
        digits, sign, offset = re.split(r"([-])", value, maxsplit=1) if "-" in value else (value, "", "")
        if not sign or not offset:
            raise BadFormat
        _take_run(moment, digits)
        _set_zone(moment, parse_offset(sign + offset))
        return
    try:
        found = zone(value)
    except InvalidParameterValue as error:
        raise InvalidParameterValue(f'time zone "{value}" not recognized') from error
    _set_zone(moment, found)


def _take_number(moment: Moment, value: str) -> None:
    whole, point, fraction = value.partition(".")
    if moment.time_only and not moment.has_date and moment.micros is None and len(whole) in (4, 6):
        _take_run(moment, value)
        return
    if moment.expect == "julian":
        if moment.has_date:
            raise BadFormat
        moment.julian, moment.expect = int(whole), ""
        if point and fraction.strip("0"):
            moment.micros = round(float("0." + fraction) * dt.DAY)
        return
    if moment.expect == "time":
        _take_run(moment, value)
    elif point and not moment.has_date and not moment.time_only and whole:
        _take_dotted(moment, whole, fraction)
    elif point and len(whole) > 2:
        _take_run(moment, value)
    elif point:
        raise BadFormat
    elif len(whole) >= 6 and (not moment.has_date or moment.micros is None):
        _take_run(moment, value)
    else:
        _take_part(moment, whole)


def _take_dotted(moment: Moment, whole: str, fraction: str) -> None:
    if len(whole) >= 8:
        _take_run(moment, whole)
        _take_run(moment, fraction)
    elif len(whole) >= 4 and len(fraction) == 3:
        _take_part(moment, whole)
        moment.day_of_year = int(fraction)
    else:
        raise BadFormat


def _take_run(moment: Moment, value: str) -> None:
    """Digits run together: YYYYMMDD, YYMMDD, HHMMSS, HHMM."""
    whole, _, fraction = value.partition(".")
    untouched = moment.year is None and moment.month is None and moment.day is None and moment.julian is None
    is_date = untouched and not (moment.time_only or moment.expect or fraction)
    if is_date and (len(whole) >= 8 or len(whole) == 6):
        moment.year, moment.month, moment.day = int(whole[:-4]), int(whole[-4:-2]), int(whole[-2:])
        moment.short_year = len(whole) == 6
        return
    if moment.micros is None and len(whole) in (4, 6):
        seconds = int(whole[4:] or 0)
        _set_time(moment, int(whole[:2]), int(whole[2:4]), seconds, _fraction(fraction))
        return
    raise BadFormat


def _take_part(moment: Moment, digits: str) -> None:
    """One number of a date, by what is known already and by the order of DateStyle."""
    number, long = int(digits), len(digits) >= 3
    known = (moment.year is not None, moment.month is not None, moment.day is not None)
    if len(digits) == 3 and known == (True, False, False) and 1 <= number <= 366:
        moment.day_of_year = number
        return
    if known == (True, True, True) or moment.has_date:
        _take_run(moment, digits)
        return
    if known == (True, True, False) and moment.text_month and long and moment.short_year:
        moment.day, moment.year, moment.short_year = moment.year, number, False
        return
    target = _target(moment, known, long)
    if target == "year":
        moment.year, moment.short_year = number, len(digits) <= 2
    elif target == "month":
        moment.month = number
    else:
        moment.day = number


def _target(moment: Moment, known: tuple[bool, bool, bool], long: bool) -> str:
    if known == (False, False, False):
        if long or moment.order == "YMD":
            return "year"
        return "day" if moment.order == "DMY" else "month"
    if known == (False, True, False) and moment.text_month:
        return "year" if long or moment.order == "YMD" else "day"
    return {
        (True, False, False): "month",
        (False, True, False): "day",
        (True, True, False): "day",
        (False, False, True): "month",
        (False, True, True): "year",
        (True, False, True): "month",
    }[known]


def _take_word(moment: Moment, word: str) -> None:
    if word in SPECIAL:
        if word == "allballs":
            if moment.micros is not None:
                raise BadFormat
            moment.micros = 0
            _set_zone(moment, 0)
        elif moment.special:
            raise BadFormat
        else:
            moment.special = word
    elif word in MONTHS:
        _take_month(moment, MONTHS[word])
    elif word in ("am", "pm"):
        moment.meridiem = word
    elif word in ("ad", "bc"):
        moment.before_christ = word == "bc"
    elif word == "t":
        if not (moment.has_date or moment.time_only):
            raise BadFormat
        moment.expect = "time"
    elif word in ("j", "jd", "julian"):
        moment.expect = "julian"
    elif word in IGNORED:
        return
    elif word in ABBREVIATIONS or word in ("utc", "z", "zulu", "gmt"):
        _set_zone(moment, ABBREVIATIONS.get(word, 0))
    else:
        try:
            _set_zone(moment, zone(word))
        except InvalidParameterValue:
            raise BadFormat from None


def _take_month(moment: Moment, month: int) -> None:
    if moment.month is not None:
        # `8 Jan`: the number taken for a month was the day.
        if moment.text_month or moment.day is not None or not 1 <= moment.month <= 31:
            raise BadFormat
        moment.day = moment.month
    moment.month, moment.text_month = month, True
