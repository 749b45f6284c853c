"""to_timestamp and to_date: text read by a template."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from ...storage import datetimes as dt
from ...storage import types as t
from ...storage.errors import DatetimeOverflow, InvalidDatetime
from ...storage.zones import zone
from .formatting_dates import DAYS, MONTHS, ROMAN, Token, tokens_of
from .registry import scalar
from .vector import call_each

if TYPE_CHECKING:
    from ..node import EpochContext

_WIDTH = {"HH24": 2, "HH12": 2, "HH": 2, "MI": 2, "SS": 2, "MS": 3, "US": 6, "SSSS": 5, "SSSSS": 5,
          "YYYY": 4, "YYY": 3,
          "YY": 2, "Y": 1, "IYYY": 4, "MM": 2, "DDD": 3, "DD": 2, "D": 1, "ID": 1, "WW": 2, "W": 1, "IW": 2,
          "CC": 2,
          "J": 9, "Q": 1, **{f"FF{n}": n for n in range(1, 7)}}  # fmt: skip
_NAMES: dict[str, Sequence[str]] = {
    "MONTH": MONTHS, "MON": [m[:3] for m in MONTHS], "DAY": DAYS, "DY": [d[:3] for d in DAYS], "RM": ROMAN,
}  # fmt: skip


class _Reader:
    """Reads one text; `fields` collects what the patterns name."""

    def __init__(self, text: str, template: str) -> None:
        self.text, self.at, self.fields = text, 0, dict[str, int]()
        self.tokens = tokens_of(template)

    def run(self) -> dict[str, int]:
        for i, token in enumerate(self.tokens):
            if not token.word:
                self.literal(token.literal)
                continue
            if self.at >= len(self.text):
                break
            following = self.tokens[i + 1] if i + 1 < len(self.tokens) else None
            self.field(token, following)
        return self.fields

    def literal(self, text: str) -> None:
        """A separator takes one of the input, or none; spaces are skipped around it."""
        if len(text) == 1 and not text.isalnum():
            self.space()
            rest = self.text[self.at : self.at + 1]
            if rest and not rest.isalnum() and not (rest in "+-" and text.isspace()):
                self.at += 1
            return
        self.at = min(self.at + len(text), len(self.text))

    def space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def field(self, token: Token, following: Token | None) -> None:
        key = token.key
        self.space()
        if key in _NAMES:
            self.name(key)
        elif key in _WIDTH:
            glued = following is not None and following.word and following.key in _WIDTH
            self.number(key, _WIDTH[key] if glued or key in ("MS", "US") or key.startswith("FF") else 18)
        elif key in ("AM", "PM", "A.M.", "P.M.", "AD", "BC", "A.D.", "B.C."):
            self.word(key)
        elif key == "Y,YYY":
            self.pattern(r"(\d+),(\d{3})", lambda m: self.put("YYYY", int(m[1] + m[2])), token)
        elif key == "TZH":
            self.pattern(r"([+-]?)(\d{1,2})", lambda m: self.put("TZH", int(m[1] + m[2])), token)
        elif key == "TZM":
            self.pattern(r"(\d{1,2})", lambda m: self.put("TZM", int(m[1])), token)

    def put(self, key: str, value: int) -> None:
        self.fields[key] = value

    def pattern(self, pattern: str, take: Callable[[re.Match[str]], None], token: Token) -> None:
        match = re.compile(pattern).match(self.text, self.at)
        if match is None:
            raise self.bad(token.word)
        take(match)
        self.at = match.end()

    def number(self, key: str, width: int) -> None:
        match = re.compile(rf"[+-]?\d{{1,{width}}}").match(self.text, self.at)
        if match is None:
            raise self.bad(key)
        digits = match[0]
        if key == "MS" or key == "US" or key.startswith("FF"):
            self.put("micros", int(digits.ljust(6, "0")[:6]))
        elif key in ("YY", "YYY", "Y") and len(digits) < 4:
            self.put("YYYY", _full_year(int(digits), len(digits)))
        else:
            self.put(
                {"YYY": "YYYY", "YY": "YYYY", "Y": "YYYY", "SSSSS": "SSSS", "HH": "HH12"}.get(key, key),
                int(digits),
            )
        self.at = match.end()

    def name(self, key: str) -> None:
        rest = self.text[self.at :].lower()
        ordered = sorted(enumerate(_NAMES[key]), key=lambda item: -len(item[1]))
        for index, name in ordered:
            if rest.startswith(name.lower()):
                self.at += len(name)
                if key in ("MONTH", "MON", "RM"):
                    self.put("MM", index + 1)
                return
        value = re.compile(r"\S*").match(self.text, self.at)
        raise InvalidDatetime(
            f'invalid value "{value[0] if value else ""}" for "{key}"',
            detail="The given value did not match any of the allowed values for this field.",
        )

    def word(self, key: str) -> None:
        match = re.compile(r"(a\.?m|p\.?m|b\.?c|a\.?d)\.?", re.IGNORECASE).match(self.text, self.at)
        if match is None:
            raise self.bad(key)
        found = match[1].lower().replace(".", "")
        self.put("BC" if found in ("ad", "bc") else "PM", int(found in ("pm", "bc")))
        self.at = match.end()

    def bad(self, key: str) -> InvalidDatetime:
        shown = self.text[self.at : self.at + max(_WIDTH.get(key.upper(), 2), 1)]
        return InvalidDatetime(f'invalid value "{shown}" for "{key}"', detail="Value must be an integer.")


def _full_year(value: int, digits: int) -> int:
    """Years of fewer than four digits mean those nearest to 2020."""
    if digits == 3:
        return value + (2000 if value < 520 else 1000)
    return value + (2000 if value < 70 else 1900)


def _days(fields: dict[str, int], text: str) -> int:
    if "J" in fields:
        return fields["J"] - 2_440_588
    year = fields.get("YYYY", fields.get("IYYY", 1))
    if fields.get("BC"):
        year = 1 - year
    if "YYYY" not in fields and "CC" in fields:
        year = (fields["CC"] - 1) * 100 + 1
    if "IYYY" in fields and "IW" in fields:
        first = dt.days_from_civil(fields["IYYY"], 1, 4)
        return first - (first + 3) % 7 + (fields["IW"] - 1) * 7 + fields.get("ID", 1) - 1
    if "DDD" in fields:
        return dt.days_from_civil(year, 1, 1) + fields["DDD"] - 1
    month = fields.get("MM", (fields["Q"] - 1) * 3 + 1 if "Q" in fields else 1)
    day = fields.get("DD", 1)
    if not 1 <= month <= 12 or not 1 <= day <= dt.days_in_month(year, month):
        raise DatetimeOverflow(f'date/time field value out of range: "{text}"')
    return dt.days_from_civil(year, month, day)


def _clock(fields: dict[str, int], text: str) -> int:
    if "SSSS" in fields:
        return fields["SSSS"] * 1_000_000
    hour = fields.get("HH24", 0)
    if "HH12" in fields:
        hour = fields["HH12"]
        if not 1 <= hour <= 12:
            message = f'hour "{hour}" is invalid for the 12-hour clock'
            raise InvalidDatetime(message, hint="Use the 24-hour clock, or give an hour between 1 and 12.")
        hour = hour % 12 + 12 * fields.get("PM", 0)
    minute, second = fields.get("MI", 0), fields.get("SS", 0)
    if hour > 23 or minute > 59 or second > 59:
        raise DatetimeOverflow(f'date/time field value out of range: "{text}"')
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + fields.get("micros", 0)


def parse_moment(text: str, template: str, timezone: str) -> int:
    """The instant a text means by a template, in µs since 1970 UTC. Raises 22007 and 22008."""
    fields = _Reader(text, template).run()
    local = _days(fields, text) * dt.DAY + _clock(fields, text)
    if "TZH" in fields:
        hours = fields["TZH"]
        return local - (hours * 3600 + (-1 if hours < 0 else 1) * fields.get("TZM", 0) * 60) * 1_000_000
    return local - zone(timezone).local_offset(local // 1_000_000) * 1_000_000


def parse_day(text: str, template: str) -> int:
    """The day a text means by a template. Raises 22007 and 22008."""
    return _days(_Reader(text, template).run(), text)


@scalar("to_timestamp", (t.TEXT, t.TEXT), t.TIMESTAMPTZ, volatility="stable")
def _to_timestamp(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Text read as an instant by a template."""
    rows = zip(args[0].to_pylist(), args[1].to_pylist(), strict=True)
    found = call_each(lambda text, template: parse_moment(text, template, context.timezone), rows)
    return pa.array(found, pa.int64()).view(t.TIMESTAMPTZ.arrow)


@scalar("to_date", (t.TEXT, t.TEXT), t.DATE)
def _to_date(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Text read as a date by a template."""
    rows = zip(args[0].to_pylist(), args[1].to_pylist(), strict=True)
    return pa.array(call_each(parse_day, rows), pa.int32()).view(pa.date32())
