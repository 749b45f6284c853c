"""to_char of moments and intervals, by PostgreSQL's template patterns (its manual, 9.8)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pyarrow as pa

from ...storage import datetimes as dt
from ...storage import intervals
from ...storage import types as t
from ...storage.arrow_compute import pc
from ...storage.textform_zoned import to_local
from ...storage.types import Type
from ...storage.zones import zone
from .registry import Kernel, scalar
from .vector import from_numpy, values

if TYPE_CHECKING:
    from ..node import EpochContext

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip
DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_TOKEN = re.compile(
    r'"((?:[^"\\]|\\.)*)"?|'
    r"(FM|fm)?(?:TM|tm)?(HH24|HH12|HH|MI|SSSSS|SSSS|SS|MS|US|FF[1-6]|[AP]\.M\.|[AP]M|B\.C\.|A\.D\.|BC|AD|Y,YYY|IYYY|IYY"
    r"|YYYY|YYY|YY|IY|Y|MONTH|MON|MM|IDDD|DDD|DD|DAY|DY|ID|D|WW|IW|W|I|CC|J|Q|RM|TZH|TZM|TZ|OF|FX)(TH|th)?|(.)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of a template: a literal text, or a pattern as written with its modifiers."""

    literal: str
    word: str = ""
    fill: bool = True
    ordinal: str = ""

    @property
    def key(self) -> str:
        return self.word.upper()


@lru_cache(1024)
def tokens_of(template: str) -> tuple[Token, ...]:
    """A template taken apart."""
    found: list[Token] = []
    for match in _TOKEN.finditer(template):
        quoted, fm, word, ordinal, char = match.groups()
        if word is not None:
            found.append(Token("", word, fm is None, ordinal or ""))
        elif char is not None:
            found.append(Token(char))
        elif quoted is not None:
            found.append(Token(re.sub(r"\\(.)", r"\1", quoted)))
    return tuple(found)


@dataclass(slots=True)
class Parts:
    """A moment or interval in fields. `year` is astronomical; `offset` in seconds east, for timestamptz."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    micros: int
    days: int = 0
    offset: int = 0
    zone: str = ""
    span: bool = False

    @property
    def shown_year(self) -> int:
        return self.year if self.span or self.year > 0 else 1 - self.year

    @property
    def day_of_year(self) -> int:
        return self.days - dt.days_from_civil(self.year, 1, 1) + 1

    @property
    def iso(self) -> tuple[int, int, int]:
        """(ISO year, ISO week, day of the ISO year)."""
        thursday = self.days - (self.days + 3) % 7 + 3
        year = dt.civil_from_days(thursday)[0]
        first_thursday = dt.days_from_civil(year, 1, 1)
        week = (thursday - first_thursday) // 7 + 1
        return year, week, (week - 1) * 7 + (self.days + 3) % 7 + 1


def ordinal(number: str, style: str) -> str:
    """The English ending of a number, in the case of `style`."""
    last, before = number[-1:], number[-2:-1]
    ending = "th" if before == "1" else {"1": "st", "2": "nd", "3": "rd"}.get(last, "th")
    return ending.upper() if style == "TH" else ending


def _number(value: int, width: int, token: Token) -> str:
    if not token.fill:
        return str(value)
    return f"{value:0{width + (value < 0)}d}"


def _cased(text: str, token: Token, width: int = 0) -> str:
    word = token.word
    if word.isupper():
        text = text.upper()
    elif word[0].islower():
        text = text.lower()
    return text.ljust(width) if token.fill and width else text


_Show = Callable[[Parts, Token], str]


def _meridiem(p: Parts, token: Token) -> str:
    text = "PM" if p.hour % 24 >= 12 else "AM"
    text = f"{text[0]}.{text[1]}." if "." in token.word else text
    return text if token.word[0].isupper() else text.lower()


def _era(p: Parts, token: Token) -> str:
    text = "BC" if p.year <= 0 else "AD"
    text = f"{text[0]}.{text[1]}." if "." in token.word else text
    return text if token.word[0].isupper() else text.lower()


def _century(p: Parts, token: Token) -> str:
    year = p.year
    number = year // 100 if p.span else (year - 1) // 100 + 1 if year > 0 else -((100 - year) // 100)
    return _number(number, 2, token)


def _offset(p: Parts, token: Token) -> str:
    size = abs(p.offset)
    text = f"{'-' if p.offset < 0 else '+'}{size // 3600:02d}"
    return text + (f":{size // 60 % 60:02d}" if size // 60 % 60 else "")


def _with_thousands(p: Parts, token: Token) -> str:
    thousands, rest = divmod(p.shown_year, 1000)
    return f"{thousands},{rest:03d}"


def _year(digits: int, iso: bool) -> _Show:
    def show(p: Parts, token: Token) -> str:
        year = p.iso[0] if iso else p.shown_year
        if iso and year <= 0:
            year = 1 - year
        return _number(year if digits == 4 else year % 10**digits, digits, token)

    return show


def _numeric(get: Callable[[Parts], int], width: int) -> _Show:
    return lambda p, token: _number(get(p), width, token)


def _half_day(p: Parts) -> int:
    return int(math.fmod(p.hour, 12)) or 12


_SHOW: dict[str, _Show] = {
    "HH24": _numeric(lambda p: p.hour, 2),
    "HH": _numeric(_half_day, 2),
    "HH12": _numeric(_half_day, 2),
    "MI": _numeric(lambda p: p.minute, 2),
    "SS": _numeric(lambda p: p.second, 2),
    "MS": _numeric(lambda p: p.micros // 1000, 3),
    "US": _numeric(lambda p: p.micros, 6),
    "SSSS": _numeric(lambda p: p.hour * 3600 + p.minute * 60 + p.second, 0),
    "SSSSS": _numeric(lambda p: p.hour * 3600 + p.minute * 60 + p.second, 0),
    **{f"FF{n}": (lambda p, token, n=n: f"{p.micros:06d}"[:n]) for n in range(1, 7)},
    "AM": _meridiem, "PM": _meridiem, "A.M.": _meridiem, "P.M.": _meridiem,
    "AD": _era, "BC": _era, "A.D.": _era, "B.C.": _era,
    "Y,YYY": _with_thousands,
    "YYYY": _year(4, False), "YYY": _year(3, False), "YY": _year(2, False), "Y": _year(1, False),
    "IYYY": _year(4, True), "IYY": _year(3, True), "IY": _year(2, True), "I": _year(1, True),
    "MONTH": lambda p, token: _cased(MONTHS[p.month - 1], token, 9) if p.month else "",
    "MON": lambda p, token: _cased(MONTHS[p.month - 1][:3], token) if p.month else "",
    "MM": _numeric(lambda p: p.month, 2),
    "DAY": lambda p, token: _cased(DAYS[(p.days + 4) % 7], token, 9),
    "DY": lambda p, token: _cased(DAYS[(p.days + 4) % 7][:3], token),
    "DDD": _numeric(lambda p: p.day_of_year, 3),
    "IDDD": _numeric(lambda p: p.iso[2], 3),
    "DD": _numeric(lambda p: p.day, 2),
    "D": _numeric(lambda p: (p.days + 4) % 7 + 1, 1),
    "ID": _numeric(lambda p: (p.days + 3) % 7 + 1, 1),
    "WW": _numeric(lambda p: (p.day_of_year - 1) // 7 + 1, 2),
    "W": _numeric(lambda p: (p.day - 1) // 7 + 1, 1),
    "IW": _numeric(lambda p: p.iso[1], 2),
    "CC": _century,
    "J": _numeric(lambda p: p.days + 2_440_588, 0),
    "Q": lambda p, token: str((p.month - 1) // 3 + 1) if p.month else "",
    "RM": lambda p, token: _cased(ROMAN[p.month - 1], token, 4) if p.month else "",
    "TZ": lambda p, token: p.zone if token.word.isupper() else p.zone.lower(),
    "TZH": lambda p, token: f"{'-' if p.offset < 0 else '+'}{abs(p.offset) // 3600:02d}",
    "TZM": lambda p, token: f"{abs(p.offset) // 60 % 60:02d}",
    "OF": _offset,
    "FX": lambda p, token: "",
}  # fmt: skip


def show(parts: Parts, template: str) -> str:
    """The text of a moment by a template."""
    out: list[str] = []
    for token in tokens_of(template):
        if not token.word:
            out.append(token.literal)
            continue
        text = _SHOW[token.key](parts, token)
        out.append(text + (ordinal(text, token.ordinal) if token.ordinal and text[-1:].isdigit() else ""))
    return "".join(out)


def _clock(micros: int) -> tuple[int, int, int, int]:
    seconds, fraction = divmod(micros, 1_000_000)
    return seconds // 3600, seconds // 60 % 60, seconds % 60, fraction


def _moment_parts(micros: int) -> Parts:
    days, clock = divmod(micros, dt.DAY)
    return Parts(*dt.civil_from_days(days), *_clock(clock), days=days)


_FIRST_HOUR = -17_250_000
"""In the year 2: Python's calendar begins there, and no zone had changed yet."""


@lru_cache(256)
def _abbreviation(name: str, hour: int) -> str:
    """The zone's abbreviation in an hour since 1970 UTC."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=max(hour, _FIRST_HOUR))
        return moment.astimezone(ZoneInfo(name)).tzname() or ""
    except (ValueError, OSError, OverflowError, KeyError):
        return name


def _instant_parts(micros: int, timezone: str) -> Parts:
    offset = zone(timezone).offset_at(micros // 1_000_000)
    parts = _moment_parts(micros + offset * 1_000_000)
    parts.offset, parts.zone = offset, _abbreviation(timezone, micros // 3_600_000_000)
    return parts


def _span_parts(value: bytes) -> Parts:
    months, days, micros = intervals.unpack_one(value)
    size, sign = abs(micros), -1 if micros < 0 else 1
    clock = (sign * part for part in _clock(size))
    year = int(months / 12)
    return Parts(year, months - year * 12, days, *clock, days=days, span=True)


_PLAIN = {"YYYY": "%Y", "MM": "%m", "DD": "%d", "HH24": "%H", "MI": "%M", "SS": "%S", "DDD": "%j"}
_FIRST, _LAST = dt.days_from_civil(1000, 1, 1) * dt.DAY, dt.days_from_civil(10_000, 1, 1) * dt.DAY


@lru_cache(1024)
def _for_arrow(template: str) -> str | None:
    """The strftime format of a template of plain numbers, or None."""
    out: list[str] = []
    for token in tokens_of(template):
        if not token.word:
            out.append(token.literal.replace("%", "%%"))
        elif token.key in _PLAIN and token.fill and not token.ordinal:
            out.append(_PLAIN[token.key])
        else:
            return None
    return "".join(out) or None


def _in_bulk(array: pa.Array, template: str) -> pa.Array | None:
    """Local times by a plain template, all at once; None when the template or a year is not plain."""
    layout = _for_arrow(template)
    micros = values(array)
    if layout is None or micros.min() < _FIRST or micros.max() >= _LAST:
        return None
    return pc.strftime(from_numpy(micros // 1_000_000, pa.int64()).view(pa.timestamp("s")), layout)


def _to_char(type_: Type) -> Kernel:
    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        """The moment or interval as text by a template; NULL for infinities."""
        if length > 16 and type_ != t.INTERVAL and len(args[1].unique()) == 1:
            local = to_local(args[0], context.timezone) if type_ == t.TIMESTAMPTZ else args[0]
            found = _in_bulk(local, args[1][0].as_py())
            if found is not None:
                return found
        if type_ == t.INTERVAL:
            pairs = zip(args[0].to_pylist(), args[1].to_pylist(), strict=True)
            return pa.array([show(_span_parts(v), f) if f else None for v, f in pairs], pa.string())
        done: list[str | None] = []
        for micros, template in zip(values(args[0]).tolist(), args[1].to_pylist(), strict=True):
            if micros in (dt.INFINITY, dt.MINUS_INFINITY) or not template:
                done.append(None)
                continue
            zoned = type_ == t.TIMESTAMPTZ
            parts = _instant_parts(micros, context.timezone) if zoned else _moment_parts(micros)
            done.append(show(parts, template))
        return pa.array(done, pa.string())

    return kernel


for _type in (t.TIMESTAMP, t.TIMESTAMPTZ, t.INTERVAL):
    scalar("to_char", (_type, t.TEXT), t.TEXT, volatility="stable")(_to_char(_type))
