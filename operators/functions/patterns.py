"""LIKE, ILIKE and the regular expression operators and functions.

Constant patterns are matched by Arrow's RE2 kernels where RE2 knows the pattern; everything else goes
through `matching.Pattern`, a distinct value at a time. `regex.py` translates PostgreSQL's syntax for both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...storage import types as t
from ...storage.arrow_compute import pc
from ...storage.errors import InvalidEscape, InvalidParameterValue
from . import regex
from .registry import Kernel, scalar
from .vector import each, native

if TYPE_CHECKING:
    from ..node import EpochContext

_S = pa.string()


# LIKE.


def _ends_in_escape(pattern: str) -> bool:
    return (len(pattern) - len(pattern.rstrip("\\"))) % 2 == 1


def _like_dangling(text: str, pattern: str, ignore_case: bool) -> bool:
    """Against a pattern that ends in an escape nothing matches: 22025 for texts that get as far."""
    found = _like_regex(pattern[:-1], ignore_case).match(text)
    if found is not None and found.end() < len(text):
        raise InvalidEscape("LIKE pattern must not end with escape character")
    return False


@lru_cache(1024)
def _like_regex(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    out: list[str] = []
    escaped = False
    for char in pattern:
        if escaped or char not in "%_\\":
            out.append(re.escape(char))
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            out.append(".*" if char == "%" else ".")
    return re.compile("".join(out), re.DOTALL | (re.IGNORECASE if ignore_case else 0))


_WILDCARDS_MAX = 2
"""With more of them Python's matcher, which tries again and again, may take for ever: RE2 does not."""


def _like(symbol: str) -> Kernel:
    negated, ignore_case = symbol[0] == "!", symbol[-1] == "*"

    def by_value(text: str, pattern: str) -> bool:
        if _ends_in_escape(pattern):
            return _like_dangling(text, pattern, ignore_case) != negated
        if pattern.count("%") > _WILDCARDS_MAX:
            return pc.match_like(pa.array([text]), pattern, ignore_case=ignore_case)[0].as_py() != negated
        return (_like_regex(pattern, ignore_case).fullmatch(text) is not None) != negated

    slow = each(by_value, pa.bool_())

    @native
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        """Whether the string matches the pattern; % stands for any string, _ for any character."""
        pattern = args[1]
        constant = pattern.as_py() if isinstance(pattern, pa.Scalar) else None
        if length < 4 or constant is None or _ends_in_escape(constant):
            return slow(args, length, context)
        found = pc.match_like(args[0], constant, ignore_case=ignore_case)
        return pc.invert(found) if negated else found

    return kernel


for _symbol in ("~~", "!~~", "~~*", "!~~*"):
    scalar(_symbol, (t.TEXT, t.TEXT), t.BOOL)(_like(_symbol))
    scalar(_symbol, (t.BPCHAR, t.TEXT), t.BOOL)(_like(_symbol))


def _like_escape(pattern: str, escape: str) -> str:
    """A LIKE pattern with another escape character, rewritten for the backslash."""
    if len(escape) > 1:
        raise InvalidEscape("invalid escape string")
    if escape == "\\":
        return pattern
    out: list[str] = []
    escaped = False
    for char in pattern:
        if escape and char == escape and not escaped:
            escaped = True
            out.append("\\")
            continue
        out.append("\\\\" if char == "\\" and not escaped else char)
        escaped = False
    return "".join(out)


scalar("like_escape", (t.TEXT, t.TEXT), t.TEXT)(each(_like_escape, _S))
scalar("similar_to_escape", (t.TEXT,), t.TEXT)(each(regex.similar_to, _S))
scalar("similar_to_escape", (t.TEXT, t.TEXT), t.TEXT)(each(regex.similar_to, _S))


# Regular expressions: operators.


def _matches(symbol: str) -> Kernel:
    negated = symbol[0] == "!"
    flags = "i" if symbol[-1] == "*" else ""

    def by_value(text: str, pattern: str) -> bool:
        return (regex.compile_pattern(pattern, flags).search(text) is not None) != negated

    slow = each(by_value, pa.bool_())

    @native
    def kernel(args: Sequence[Any], length: int, context: EpochContext) -> pa.Array:
        """Whether the string matches the regular expression somewhere."""
        pattern = args[1]
        if length >= 16 and isinstance(pattern, pa.Scalar) and pattern.is_valid:
            regex.compile_pattern(pattern.as_py(), flags)
            linear = regex.for_re2(pattern.as_py(), flags)
            if linear is not None:
                try:
                    found = pc.match_substring_regex(args[0], linear)
                except pa.ArrowInvalid:  # RE2 refuses what Python knows
                    return slow(args, length, context)
                return pc.invert(found) if negated else found
        return slow(args, length, context)

    return kernel


for _symbol in ("~", "!~", "~*", "!~*"):
    scalar(_symbol, (t.TEXT, t.TEXT), t.BOOL)(_matches(_symbol))
    scalar(_symbol, (t.BPCHAR, t.TEXT), t.BOOL)(_matches(_symbol))


# Regular expressions: functions.


def _groups(match: re.Match[str]) -> list[str | None]:
    return list(match.groups()) if match.re.groups else [match[0]]


def _regexp_match(text: str, pattern: str, flags: str = "") -> list[str | None] | None:
    """The parenthesised parts of the first match, or the whole match; NULL when there is none."""
    if "g" in flags:
        raise InvalidParameterValue(
            'regexp_match() does not support the "global" option',
            hint="Use the regexp_matches function instead.",
        )
    match = regex.compile_pattern(pattern, flags).search(text)
    return None if match is None else _groups(match)


def regexp_matches(text: str, pattern: str, flags: str = "") -> list[list[str | None]]:
    """What `_regexp_match` gives, for the first match or with flag g for all."""
    compiled = regex.compile_pattern(pattern, flags.replace("g", ""))
    found = [_groups(match) for match in compiled.matches(text)]
    return found if "g" in flags else found[:1]


def regexp_split(text: str, pattern: str, flags: str = "", name: str = "regexp_split_to_array") -> list[str]:
    """The parts between matches; an empty match splits between characters only."""
    if "g" in flags:
        raise InvalidParameterValue(f'{name}() does not support the "global" option')
    parts: list[str] = []
    last = previous = 0
    for match in regex.compile_pattern(pattern, flags).matches(text):
        if match.start() < len(text) and match.end() > previous:
            parts.append(text[last : match.start()])
            last = match.end()
        previous = match.end()
    return [*parts, text[last:]]


def _split_to_array(text: str, pattern: str, flags: str = "") -> list[str]:
    """The parts of the string between matches of the pattern."""
    return regexp_split(text, pattern, flags)


@lru_cache(1024)
def _replacement(text: str) -> Callable[[re.Match[str]], str]:
    pieces = re.split(r"\\([&0-9\\])", text)

    def expand(match: re.Match[str]) -> str:
        out = [pieces[0]]
        for code, literal in zip(pieces[1::2], pieces[2::2], strict=True):
            if code == "\\":
                out.append("\\")
            elif code == "&" or code == "0":
                out.append(match[0] if code == "&" else "")
            elif int(code) <= match.re.groups:
                out.append(match[int(code)] or "")
            out.append(literal)
        return "".join(out)

    return expand


def _replace(text: str, pattern: str, new: str, flags: str = "") -> str:
    """The first match replaced (all with flag g); \\1 … \\9 stand for parts, \\& for the match."""
    if flags[:1].isdigit():
        raise InvalidParameterValue(
            f'invalid regular expression option: "{flags[0]}"',
            hint="If you meant to use regexp_replace() with a start parameter, "
            "cast the fourth argument to integer explicitly.",
        )
    return _replace_from(text, pattern, new, 1, 0 if "g" in flags else 1, flags.replace("g", ""))


def _replace_at(
    text: str, pattern: str, new: str, start: int, number: int | None = None, flags: str = ""
) -> str:
    """The number-th match from a start position on replaced; 0 means all."""
    if start < 1:
        raise InvalidParameterValue(f'invalid value for parameter "start": {start}')
    if number is None:
        number = 1
    if number < 0:
        raise InvalidParameterValue(f'invalid value for parameter "n": {number}')
    return _replace_from(text, pattern, new, start, number, flags.replace("g", ""))


def _replace_from(text: str, pattern: str, new: str, start: int, number: int, flags: str) -> str:
    compiled = regex.compile_pattern(pattern, flags)
    expand = _replacement(new)
    out: list[str] = []
    last = 0
    for i, match in enumerate(compiled.matches(text, start - 1), 1):
        if number and i != number:
            continue
        out += (text[last : match.start()], expand(match))
        last = match.end()
        if number:
            break
    return "".join(out) + text[last:]


def _count(text: str, pattern: str, start: int = 1, flags: str = "") -> int:
    """Number of matches from a start position on."""
    if start < 1:
        raise InvalidParameterValue(f'invalid value for parameter "start": {start}')
    if "g" in flags:
        raise InvalidParameterValue('regexp_count() does not support the "global" option')
    return sum(1 for _ in regex.compile_pattern(pattern, flags).matches(text, start - 1))


def _is_like(text: str, pattern: str, flags: str = "") -> bool:
    """Whether the string matches the regular expression somewhere."""
    if "g" in flags:
        raise InvalidParameterValue('regexp_like() does not support the "global" option')
    return regex.compile_pattern(pattern, flags).search(text) is not None


def _nth(text: str, pattern: str, start: int, number: int, flags: str, name: str) -> re.Match[str] | None:
    if start < 1:
        raise InvalidParameterValue(f'invalid value for parameter "start": {start}')
    if number < 1:
        raise InvalidParameterValue(f'invalid value for parameter "n": {number}')
    if "g" in flags:
        raise InvalidParameterValue(f'{name}() does not support the "global" option')
    found = regex.compile_pattern(pattern, flags).matches(text, start - 1)
    return next((m for i, m in enumerate(found, 1) if i == number), None)


def _substr(
    text: str, pattern: str, start: int = 1, number: int = 1, flags: str = "", part: int = 0
) -> str | None:
    """The number-th match, or its part-th parenthesised part; NULL when there is none."""
    if part < 0:
        raise InvalidParameterValue(f'invalid value for parameter "subexpr": {part}')
    match = _nth(text, pattern, start, number, flags, "regexp_substr")
    return None if match is None or part > match.re.groups else match[part]


def _instr(
    text: str, pattern: str, start: int = 1, number: int = 1, end: int = 0, flags: str = "", part: int = 0
) -> int:
    """Position of the number-th match (or of its end with the fifth argument 1), 0 when there is none."""
    if end not in (0, 1):
        raise InvalidParameterValue(f'invalid value for parameter "endoption": {end}')
    if part < 0:
        raise InvalidParameterValue(f'invalid value for parameter "subexpr": {part}')
    match = _nth(text, pattern, start, number, flags, "regexp_instr")
    if match is None or part > match.re.groups or match.start(part) < 0:
        return 0
    return (match.end(part) if end else match.start(part)) + 1


def _substring_regex(text: str, pattern: str) -> str | None:
    """The part that matches the regular expression, or its first parenthesised part."""
    match = regex.compile_pattern(pattern, "").search(text)
    if match is None:
        return None
    return match[1] if match.re.groups else match[0]


def _substring_similar(text: str, pattern: str, escape: str) -> str | None:
    """The part of the string that the marked part of an SQL pattern matches."""
    return _substring_regex(text, regex.similar_to(pattern, escape))


def _register(
    name: str, function: Callable[..., Any], result: t.Type, most: Sequence[t.Type], least: int
) -> None:
    kernel = each(function, result.arrow)
    for count in range(least, len(most) + 1):
        scalar(name, tuple(most[:count]), result)(kernel)


_X, _N = t.TEXT, t.INT4
_register("regexp_match", _regexp_match, t.array_of(t.TEXT), (_X, _X, _X), 2)
_register("regexp_split_to_array", _split_to_array, t.array_of(t.TEXT), (_X, _X, _X), 2)
_register("regexp_replace", _replace, t.TEXT, (_X, _X, _X, _X), 3)
_register("regexp_replace", _replace_at, t.TEXT, (_X, _X, _X, _N, _N, _X), 4)
_register("regexp_count", _count, t.INT4, (_X, _X, _N, _X), 2)
_register("regexp_like", _is_like, t.BOOL, (_X, _X, _X), 2)
_register("regexp_substr", _substr, t.TEXT, (_X, _X, _N, _N, _X, _N), 2)
_register("regexp_instr", _instr, t.INT4, (_X, _X, _N, _N, _N, _X, _N), 2)
_register("substring", _substring_regex, t.TEXT, (_X, _X), 2)
_register("substring", _substring_similar, t.TEXT, (_X, _X, _X), 3)
