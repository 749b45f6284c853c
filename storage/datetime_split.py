"""A date or time in text cut into fields, with the words that the grammar knows."""

from __future__ import annotations

import re

from .datetime_moment import BadFormat

MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july", "aug august",
         "sep sept september", "oct october", "nov november", "dec december"), 1)
    for name in names.split()
}  # fmt: skip
IGNORED = frozenset(
    ["at", "on", "sun", "sunday", "mon", "monday", "tue", "tues", "tuesday", "wed", "weds", "wednesday",
     "thu", "thur", "thurs", "thursday", "fri", "friday", "sat", "saturday"]
)  # fmt: skip
SPECIAL = frozenset(
    ["now", "today", "tomorrow", "yesterday", "epoch", "infinity", "-infinity", "+infinity", "allballs"]
)
_OTHER = frozenset(
    ["am", "pm", "ad", "bc", "t", "j", "jd", "julian", "dst", "d", "h", "m", "s", "y", "dow", "doy", "isodow",
     "isoyear", "mm", "z", "zulu", "utc"]
)  # fmt: skip
_CORE = frozenset(MONTHS) | IGNORED | SPECIAL | _OTHER

_FIELDS = re.compile(
    r"""
      (?P<time>\d+:[\d:.]*)
    | (?P<date>\d+(?P<delimiter>[-/.])(?:\d+(?P=delimiter)(?:\d|(?P=delimiter))*
                                      |[a-z](?:[\da-z]|(?P=delimiter))*)
       |\d+[-/]\d+)
    | (?P<number>\d+(?:\.\d*)?|\.\d+)
    | (?P<word>[a-z]+)
    | (?P<zone>[+-]\ *\d[\d:.]*)
    | (?P<special>[+-]\ *[a-z]+)
    | (?P<skip>[\s!-*,./:-@\[-`{-~])
    """,
    re.VERBOSE | re.ASCII,
)
TEXT_MAX = 150
"""Characters that are read."""
_NAME = re.compile(r"[-+/_.:a-z0-9]*", re.ASCII)


def split_fields(text: str) -> list[tuple[str, str]]:
    """The (kind, text) fields: time, date, number, word, zone, special."""
    if len(text) > TEXT_MAX:
        raise BadFormat
    lowered, position = text.lower(), 0
    fields: list[tuple[str, str]] = []
    while position < len(lowered):
        match = _FIELDS.match(lowered, position)
        if match is None:
            raise BadFormat
        kind, value, position = match.lastgroup or "", match[0], match.end()
        if match["date"] is not None:
            kind = "date"
        if kind == "word" and _goes_on(value, lowered[position : position + 1]):
            rest = _NAME.match(lowered, position)
            assert rest is not None
            kind, value, position = "date", value + rest[0], rest.end()
        if kind != "skip":
            fields.append((kind, value.replace(" ", "")))
    return fields


def _goes_on(word: str, following: str) -> bool:
    """Whether a word is the beginning of a date (`jan-8`) or of a zone's name (`europe/paris`)."""
    if following in ("-", "/", "."):
        return not (following == "-" and word in ("z", "t"))
    return (following == "+" or following.isdigit()) and word not in _CORE
