"""Text of intervals: PostgreSQL's four output styles, and everything it reads.

An interval is (months, days, microseconds); years are 12 months, weeks 7 days, hours microseconds.
Fractions spill downwards at 30 days a month and 24 hours a day.
"""

from __future__ import annotations

import re

from .errors import DatetimeOverflow, IntervalOverflow, InvalidDatetime

_HOUR, _DAY = 3_600_000_000, 86_400_000_000
_UNITS = {
    word: unit
    for unit, words in {
        "microsecond": "us usec usecs useconds microsecond microseconds microsecon",
        "millisecond": "ms msec msecs msecond mseconds millisecond milliseconds millisecon",
        "second": "s sec secs second seconds",
        "minute": "m min mins minute minutes",
        "hour": "h hr hrs hour hours",
        "day": "d day days",
        "week": "w week weeks",
        "month": "mon mons month months",
        "year": "y yr yrs year years",
        "decade": "dec decs decade decades",
        "century": "c cent century centuries",
        "millennium": "mil mils millennia millennium",
    }.items()
    for word in words.split()
}
_MICROS = {"microsecond": 1, "millisecond": 1000, "second": 1_000_000, "minute": 60_000_000, "hour": _HOUR}
_YEARS = {"year": 1, "decade": 10, "century": 100, "millennium": 1000}


class _BadFormat(Exception):
    pass


class _Overflow(Exception):
    pass


class _Span:
    """The interval being read."""

    def __init__(self) -> None:
        self.years = self.months = self.days = self.micros = 0
        self.seen: set[str] = set()

    def add(self, unit: str, whole: int, fraction: float) -> None:
        """Adds whole + fraction units; the two have one sign."""
        if unit in _MICROS:
            self._add_micros(whole * _MICROS[unit], fraction * _MICROS[unit])
        elif unit == "day":
            self.days += whole
            self._add_micros(0, fraction * _DAY)
        elif unit == "week":
            self.days += whole * 7
            self._add_days(fraction * 7)
        elif unit == "month":
            self.months += whole
            self._add_days(fraction * 30)
        else:
            self.years += whole * _YEARS[unit]
            self.months += round(fraction * 12 * _YEARS[unit])

    def _add_days(self, days: float) -> None:
        whole = int(days)
        self.days += whole
        self._add_micros(0, (days - whole) * _DAY)

    def _add_micros(self, whole: int, part: float) -> None:
        cut = int(part)
        rest = part - cut
        self.micros += whole + cut + (rest > 0.5) - (rest < -0.5)

    def negate(self) -> None:
        self.years, self.months = -self.years, -self.months
        self.days, self.micros = -self.days, -self.micros

    def result(self, text: str) -> tuple[int, int, int]:
        for value, bits in ((self.years, 31), (self.months, 31), (self.days, 31), (self.micros, 63)):
            if not -(1 << bits) <= value < 1 << bits:
                raise IntervalOverflow(f'interval field value out of range: "{text}"')
        months = self.years * 12 + self.months
        if not -(1 << 31) <= months < 1 << 31:
            raise out_of_range()
        return months, self.days, self.micros


TEXT_MAX = 255
"""Characters that are read."""

_FIELDS = re.compile(
    r"""
      (?P<date>[+-]?\ *\d+-\d+-)
    | (?P<time>[+-]?\ *\d*:\d+(?::\d*)?(?:\.\d*)?)
    | (?P<years>[+-]?\ *\d+-\d+)
    | (?P<number>[+-]?\ *(?:\d+(?:\.\d*)?|\.\d+))
    | (?P<word>[a-z]+)
    | (?P<skip>[\s!-*,./:-@\[-`{-~])
    """,
    re.VERBOSE | re.ASCII,
)


def _split(text: str) -> list[tuple[str, str]]:
    fields: list[tuple[str, str]] = []
    lowered, position = text.lower(), 0
    while position < len(lowered):
        match = _FIELDS.match(lowered, position)
        if match is None or match.lastgroup == "date":
            raise _BadFormat
        position = match.end()
        if match.lastgroup != "skip":
            fields.append((match.lastgroup or "", match[0].replace(" ", "")))
    if not fields:
        raise _BadFormat
    return fields


def parse(text: str, style: str = "postgres") -> tuple[int, int, int]:
    """(months, days, microseconds). Raises 22007, 22015."""
    if len(text) > TEXT_MAX:
        raise _unreadable(text)
    try:
        return _read_fields(text, style).result(text)
    except _BadFormat:
        pass
    except _Overflow:
        raise IntervalOverflow(f'interval field value out of range: "{text}"') from None
    try:
        return _read_iso(text.strip()).result(text)
    except _BadFormat:
        raise _unreadable(text) from None
    except _Overflow:
        raise IntervalOverflow(f'interval field value out of range: "{text}"') from None


def _unreadable(text: str) -> InvalidDatetime:
    return InvalidDatetime(f'invalid input syntax for type interval: "{text}"')


def _read_fields(text: str, style: str) -> _Span:
    """Fields are read from the last to the first: a unit follows its number."""
    fields = _split(text)
    negated = (
        style == "sql_standard"
        and fields[0][1].startswith("-")
        and not any(value[0] in "+-" for kind, value in fields[1:] if kind != "word")
    )
    span, unit, ago = _Span(), "second", False
    pending = False
    for position in range(len(fields) - 1, -1, -1):
        kind, value = fields[position]
        if kind == "word":
            if value == "ago":
                ago = True
                continue
            if value not in _UNITS or pending:
                raise _BadFormat
            unit, pending = _UNITS[value], True
            continue
        sign = -1 if value[0] == "-" or (negated and position > 0) else 1
        unit, pending = _read_number(span, kind, value.lstrip("+-"), sign, unit), False
    if pending or not span.seen:
        raise _BadFormat
    if ago:
        span.negate()
    return span


def _mark(span: _Span, *units: str) -> None:
    if span.seen.intersection(units):
        raise _BadFormat
    span.seen.update(units)


def _read_number(span: _Span, kind: str, value: str, sign: int, unit: str) -> str:
    """Adds one field; returns the unit that a bare number to the left of it has."""
    if kind == "time":
        _mark(span, "hour", "minute", "second")
        span.micros += sign * _read_time(value)
        return "day"
    if kind == "years":
        _mark(span, "year", "month")
        years, months = map(int, value.split("-"))
        if months >= 12:
            raise _Overflow
        span.years += sign * years
        span.months += sign * months
        return "month"
    whole, _, fraction = value.partition(".")
    _mark(span, unit)
    if int(whole or 0) >= 1 << 63:
        raise _Overflow
    part = float("0." + fraction) if fraction else 0.0
    span.add(unit, sign * int(whole or 0), sign * part)
    return unit


def _read_time(value: str) -> int:
    clock, _, fraction = value.partition(".")
    parts = clock.split(":")
    if len(parts) == 2 and fraction:
        parts = ["0", *parts]
    hours, minutes, seconds = (*(int(part or 0) for part in parts), 0)[:3]
    if minutes > 59 or seconds > 60:
        raise _Overflow
    micros = round(float("0." + fraction) * 1_000_000) if fraction else 0
    return hours * _HOUR + minutes * 60_000_000 + seconds * 1_000_000 + micros


_DESIGNATED = re.compile(r"([+-]?\d*(?:\.\d*)?)([YMWDHSymwdhs])", re.ASCII)
_ISO_DATE = {"Y": "year", "M": "month", "W": "week", "D": "day"}
_ISO_TIME = {"H": "hour", "M": "minute", "S": "second"}


def _read_iso(text: str) -> _Span:
    """ISO 8601: `P1Y2M3DT4H5M6S`, `P0001-02-03T04:05:06`."""
    if len(text) < 2 or text[0] != "P":
        raise _BadFormat
    span = _Span()
    date, _, clock = text[1:].partition("T")
    for part, units, alternative in ((date, _ISO_DATE, "-"), (clock, _ISO_TIME, ":")):
        if part.isdigit() or (alternative in part[1:] and part[-1].isdigit()):
            _read_alternative(span, part, alternative)
        else:
            _read_designated(span, part, units)
    return span


def _read_designated(span: _Span, part: str, units: dict[str, str]) -> None:
    position = 0
    while position < len(part):
        match = _DESIGNATED.match(part, position)
        if match is None or not any(c.isdigit() for c in match[1]) or match[2] not in units:
            raise _BadFormat
        value = match[1]
        sign = -1 if value.startswith("-") else 1
        whole, _, fraction = value.lstrip("+-").partition(".")
        span.add(units[match[2]], sign * int(whole or 0), sign * float("0." + (fraction or "0")))
        position = match.end()


def _read_alternative(span: _Span, part: str, separator: str) -> None:
    pieces = part.split(separator)
    basic = 8 if separator == "-" else 6
    if len(part) == basic and part.isdigit():
        pieces = [part[:-4], part[-4:-2], part[-2:]]
    if len(pieces) > 3 or not all(re.fullmatch(r"\d+(\.\d+)?", piece) for piece in pieces):
        raise _BadFormat
    units = ("year", "month", "day") if separator == "-" else ("hour", "minute", "second")
    for unit, piece in zip(units, pieces, strict=False):
        whole, _, fraction = piece.partition(".")
        span.add(unit, int(whole), float("0." + (fraction or "0")))


def _cut(value: int, by: int) -> tuple[int, int]:
    """Quotient and rest, both of the sign of `value`."""
    quotient, rest = divmod(abs(value), by)
    return (quotient, rest) if value >= 0 else (-quotient, -rest)


def _seconds(seconds: int, micros: int, pad: bool) -> str:
    text = f"{abs(seconds):02d}" if pad else str(abs(seconds))
    return f"{text}.{abs(micros):06d}".rstrip("0") if micros else text


def _clock(micros: int, pad: bool) -> str:
    size = abs(micros)
    hours, rest = divmod(size, _HOUR)
    minutes, rest = divmod(rest, 60_000_000)
    text = f"{hours:02d}" if pad else str(hours)
    return f"{text}:{minutes:02d}:{_seconds(rest // 1_000_000, rest % 1_000_000, True)}"


def format_parts(months: int, days: int, micros: int, style: str = "postgres") -> str:
    """The text in an `IntervalStyle`."""
    if style == "postgres":
        return _postgres(months, days, micros)
    if style == "iso_8601":
        return _iso(months, days, micros)
    if style == "sql_standard":
        return _sql_standard(months, days, micros)
    return _verbose(months, days, micros)


def _postgres(months: int, days: int, micros: int) -> str:
    parts: list[str] = []
    before = False
    years, months = _cut(months, 12)
    for value, unit in ((years, "year"), (months, "mon"), (days, "day")):
        if value:
            sign = "+" if before and value > 0 else ""
            parts.append(f"{sign}{value} {unit}{'' if value == 1 else 's'}")
            before = value < 0
    if micros or not parts:
        parts.append(("-" if micros < 0 else "+" if before else "") + _clock(micros, True))
    return " ".join(parts)


def _time_parts(micros: int) -> tuple[int, int, int, int]:
    hours, rest = _cut(micros, _HOUR)
    minutes, rest = _cut(rest, 60_000_000)
    seconds, rest = _cut(rest, 1_000_000)
    return hours, minutes, seconds, rest


def _iso(months: int, days: int, micros: int) -> str:
    years, months = _cut(months, 12)
    hours, minutes, seconds, rest = _time_parts(micros)
    date = "".join(f"{value}{unit}" for value, unit in ((years, "Y"), (months, "M"), (days, "D")) if value)
    clock = "".join(f"{value}{unit}" for value, unit in ((hours, "H"), (minutes, "M")) if value)
    if seconds or rest:
        clock += ("-" if seconds < 0 or rest < 0 else "") + _seconds(seconds, rest, False) + "S"
    if not date and not clock:
        return "PT0S"
    return "P" + date + ("T" + clock if clock else "")


def _sql_standard(months: int, days: int, micros: int) -> str:
    values = (months, days, micros)
    if not any(values):
        return "0"
    mixed = any(v < 0 for v in values) and any(v > 0 for v in values)
    if mixed or (months and (days or micros)):
        years, rest = divmod(abs(months), 12)
        signs = ["-" if v < 0 else "+" for v in values]
        return f"{signs[0]}{years}-{rest} {signs[1]}{abs(days)} {signs[2]}{_clock(micros, False)}"
    sign = "-" if any(v < 0 for v in values) else ""
    if months:
        return f"{sign}{abs(months) // 12}-{abs(months) % 12}"
    if days:
        return f"{sign}{abs(days)} {_clock(micros, False)}"
    return sign + _clock(micros, False)


def _verbose(months: int, days: int, micros: int) -> str:
    years, months = _cut(months, 12)
    hours, minutes, seconds, rest = _time_parts(micros)
    named = (years, "year"), (months, "mon"), (days, "day"), (hours, "hour"), (minutes, "min")
    text, before = "@", False
    for value, unit in named:
        if value:
            if text == "@":
                before = value < 0
            shown = -value if before else value
            text += f" {shown} {unit}{'' if shown == 1 else 's'}"
    if seconds or rest:
        negative = seconds < 0 or rest < 0
        if text == "@":
            before = negative
        sign = "-" if negative != before else ""
        plural = "" if abs(seconds) == 1 and not rest else "s"
        text += f" {sign}{_seconds(seconds, rest, False)} sec{plural}"
    return (text if text != "@" else "@ 0") + (" ago" if before else "")


def out_of_range() -> DatetimeOverflow:
    return DatetimeOverflow("interval out of range")
