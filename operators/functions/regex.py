"""PostgreSQL's regular expressions (its manual, 9.7.3) in the syntax of Python's `re` and of RE2.

The three are close kin. Different are: `$` and `^` (the string's ends, unless newline-sensitive), the
constraint escapes \\m \\M \\y \\Y, character classes in brackets, embedded options and directors, and
which brace is literal. PostgreSQL prefers the longest match among alternatives, the others the first:
alternatives that are plain words are therefore tried longest first, other overlaps stay as written.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ...storage.errors import InvalidEscape, InvalidParameterValue, InvalidRegex
from .matching import Pattern

_CLASSES = {
    "alnum": r"^\W_", "alpha": r"^\W\d_", "digit": r"\d", "space": r"\s", "upper": "A-Z", "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "xdigit": "0-9A-Fa-f",
    "graph": "!-~", "print": " -~", "word": r"\w",
}  # fmt: skip
_POSITIVE = {"alnum": r"a-zA-Z0-9À-ÖØ-öø-ÿĀ-ɏͰ-ϿЀ-ӿ", "alpha": r"a-zA-ZÀ-ÖØ-öø-ÿĀ-ɏͰ-ϿЀ-ӿ"}
_CONSTRAINTS = {
    "m": (r"\b(?=\w)", None), "M": (r"\b(?<=\w)", None), "y": (r"\b", r"\b"), "Y": (r"\B", r"\B"),
    "A": (r"\A", r"\A"), "Z": (r"\Z", r"\z"),
}  # fmt: skip
_WORDS = {
    "d": r"\p{Nd}", "D": r"\P{Nd}", "w": r"[\p{L}\p{N}_]", "W": r"[^\p{L}\p{N}_]",
    "s": r"[\t-\r\x1c-\x20\x{85}\p{Z}]", "S": r"[^\t-\r\x1c-\x20\x{85}\p{Z}]",
}  # fmt: skip
"""Unicode's classes, as Python has them, in RE2, whose own are ASCII's."""
_CONTROL = {"a": r"\x07", "b": r"\x08", "B": r"\\", "e": r"\x1b", "f": r"\f", "n": r"\n", "r": r"\r",
            "t": r"\t",
            "v": r"\v", "0": r"\x00"}  # fmt: skip


class _Translation:
    """One pass over a pattern; gives both syntaxes, `re2` False where RE2 has no such thing."""

    def __init__(self, pattern: str, newline: bool, expanded: bool) -> None:
        self.pattern, self.newline, self.expanded = pattern, newline, expanded
        self.at = 0
        self.python: list[str] = []
        self.linear: list[str] | None = []

    def emit(self, python: str, linear: str | None = "") -> None:
        self.python.append(python)
        if linear is None:
            self.linear = None
        elif self.linear is not None:
            self.linear.append(linear or python)

    def run(self) -> tuple[str, str | None]:
        while self.at < len(self.pattern):
            self.step()
        return "".join(self.python), None if self.linear is None else "".join(self.linear)

    def step(self) -> None:
        pattern, at = self.pattern, self.at
        char = pattern[at]
        self.at += 1
        if char == "\\":
            self.escape()
        elif char == "[":
            self.bracket()
        elif char == "^":
            self.emit("^" if self.newline else r"\A", "(?m:^)" if self.newline else r"\A")
        elif char == "$":
            self.emit("$" if self.newline else r"\Z", "(?m:$)" if self.newline else r"\z")
        elif char == "(" and pattern.startswith("?#", self.at):
            end = pattern.find(")", at)
            self.at = len(pattern) if end < 0 else end + 1
        elif char == "(" and pattern[self.at : self.at + 1] == "?":
            self.lookaround()
        elif char == "{" and not pattern[self.at : self.at + 1].isdigit():
            self.emit(r"\{")
        elif self.expanded and char.isspace():
            pass
        elif self.expanded and char == "#":
            end = pattern.find("\n", at)
            self.at = len(pattern) if end < 0 else end + 1
        else:
            self.emit(char if char in "().|*+?{}," or char.isalnum() else re.escape(char))

    def lookaround(self) -> None:
        for start in ("?:", "?=", "?!", "?<=", "?<!"):
            if self.pattern.startswith(start, self.at):
                self.at += len(start)
                self.emit("(" + start, "(?:" if start == "?:" else None)
                return
        raise InvalidRegex("invalid regular expression: quantifier operand invalid")

    def escape(self) -> None:
        if self.at >= len(self.pattern):
            raise InvalidRegex("invalid regular expression: invalid escape \\ sequence")
        char = self.pattern[self.at]
        self.at += 1
        if char in _CONSTRAINTS:
            self.emit(*_CONSTRAINTS[char])
        elif char in _WORDS:
            self.emit("\\" + char, _WORDS[char])
        elif char.isdigit() and char != "0":
            self.emit("(?:\\" + char + ")", None)
        elif char in "xuU":
            self.emit(re.escape(self.code(char)))
        elif char == "c" and self.at < len(self.pattern):
            self.emit(re.escape(chr(ord(self.pattern[self.at]) & 31)))
            self.at += 1
        elif char in _CONTROL:
            self.emit(_CONTROL[char])
        elif char.isalnum():
            raise InvalidRegex("invalid regular expression: invalid escape \\ sequence")
        else:
            self.emit(re.escape(char))

    def code(self, kind: str) -> str:
        length = {"x": 8, "u": 4, "U": 8}[kind]
        match = re.compile(f"[0-9a-fA-F]{{1,{length}}}").match(self.pattern, self.at)
        if match is None or (kind != "x" and len(match[0]) != length):
            raise InvalidRegex("invalid regular expression: invalid escape \\ sequence")
        self.at = match.end()
        return chr(int(match[0], 16))

    def bracket(self) -> None:
        """A bracket expression; [[:<:]] and [[:>:]] are word boundaries."""
        for text, letter in (("[:<:]]", "m"), ("[:>:]]", "M")):
            if self.pattern.startswith(text, self.at):
                self.at += len(text)
                self.emit(*_CONSTRAINTS[letter])
                return
        negated = self.pattern.startswith("^", self.at)
        self.at += negated
        items: list[str] = []
        first = True
        while first or not self.pattern.startswith("]", self.at):
            if self.at >= len(self.pattern):
                raise InvalidRegex("invalid regular expression: brackets [] not balanced")
            items.append(self.member())
            first = False
        self.at += 1
        if negated and self.newline:
            items.append(r"\n")
        self.emit(f"[{'^' if negated else ''}{''.join(items)}]")
        if self.linear is not None and any("\\" in item and item[1:2] in "wWsSdD" for item in items):
            self.linear = None

    def member(self) -> str:
        pattern = self.pattern
        if pattern.startswith("[:", self.at):
            end = pattern.find(":]", self.at)
            name = pattern[self.at + 2 : end] if end > 0 else ""
            if name not in _CLASSES:
                raise InvalidRegex("invalid regular expression: invalid character class")
            self.at = end + 2
            return _POSITIVE.get(name, _CLASSES[name])
        if pattern.startswith(("[.", "[="), self.at):
            end = pattern.find(pattern[self.at + 1] + "]", self.at + 2)
            name = pattern[self.at + 2 : end] if end > 0 else ""
            if len(name) != 1:
                raise InvalidRegex("invalid regular expression: invalid collating element")
            self.at = end + 2
            return re.escape(name)
        char = pattern[self.at]
        self.at += 1
        if char == "\\" and self.at < len(pattern):
            return self.member_escape()
        if char == "-":
            after = pattern[self.at : self.at + 1]
            before = pattern[self.at - 2 : self.at - 1]
            return r"\-" if after == "]" or before in ("[", "^") else "-"
        return re.escape(char)

    def member_escape(self) -> str:
        char = self.pattern[self.at]
        self.at += 1
        if char in "dsw":
            return "\\" + char
        if char in "xuU":
            return re.escape(self.code(char))
        if char in _CONTROL:
            return _CONTROL[char]
        if char.isalnum():
            raise InvalidRegex("invalid regular expression: invalid escape \\ sequence")
        return re.escape(char)


def _options(pattern: str, flags: str) -> tuple[str, str]:
    """(pattern without director and embedded options, all flags)."""
    for char in flags:
        if char not in "bceimnpqstwxg":
            raise InvalidParameterValue(f'invalid regular expression option: "{char}"')
    if pattern.startswith("***="):
        return pattern[4:], flags + "q"
    if pattern.startswith("***:"):
        pattern = pattern[4:]
    match = re.match(r"\(\?([a-z]+)\)", pattern)
    if match is not None and "q" not in flags:
        if set(match[1]) - set("bceimnpqstwx"):
            raise InvalidRegex("invalid regular expression: invalid embedded option")
        return pattern[match.end() :], flags + match[1]
    return pattern, flags


_PLAIN_WORDS = re.compile(r"\(((?:\?:)?)((?:\w+\|)+\w+)\)(?![*+?{])")


def _longest_first(pattern: str) -> str:
    """Plain words as alternatives in a group, the longest first."""

    def order(match: re.Match[str]) -> str:
        return f"({match[1]}{'|'.join(sorted(match[2].split('|'), key=len, reverse=True))})"

    if re.fullmatch(r"(?:\w+\|)+\w+", pattern):
        return "|".join(sorted(pattern.split("|"), key=len, reverse=True))
    return _PLAIN_WORDS.sub(order, pattern)


@lru_cache(4096)
def _translate(pattern: str, flags: str) -> tuple[str, str | None, int]:
    """(Python syntax, RE2 syntax or None, Python flags)."""
    pattern, flags = _options(pattern, flags)
    python_flags = 0
    for flag in flags:  # the last of contradicting ones holds
        if flag == "i":
            python_flags |= re.IGNORECASE
        elif flag == "c":
            python_flags &= ~re.IGNORECASE
    newline = next((f in "nmpw" for f in reversed(flags) if f in "nmpws"), False)
    partial = next((f for f in reversed(flags) if f in "nmpws"), "s")
    anchors, dots = partial in ("n", "m", "w"), partial in ("n", "m", "p")
    if anchors:
        python_flags |= re.MULTILINE
    if not dots:
        python_flags |= re.DOTALL
    if "q" in flags:
        python, linear = re.escape(pattern), re.escape(pattern)
    else:
        python, linear = _Translation(_longest_first(pattern), newline and anchors, "x" in flags).run()
    if linear is not None:
        mode = ("i" if python_flags & re.IGNORECASE else "") + ("" if dots else "s")
        linear = f"(?{mode}){linear}" if mode else linear
    return python, linear, python_flags


@lru_cache(4096)
def compile_pattern(pattern: str, flags: str) -> Pattern:
    """The pattern compiled. Raises 2201B for a faulty pattern and 22023 for a faulty flag."""
    try:
        return Pattern(*_translate(pattern, flags))
    except (re.error, OverflowError) as error:
        raise InvalidRegex(f"invalid regular expression: {_reason(str(error))}") from None


def _reason(text: str) -> str:
    """Python's complaint in PostgreSQL's words."""
    for part, words in (
        ("parenthesis", "parentheses () not balanced"),
        ("unterminated subpattern", "parentheses () not balanced"),
        ("repeat", "quantifier operand invalid"), ("character set", "brackets [] not balanced"),
        ("character range", "invalid character range"), ("group reference", "invalid backreference number"),
    ):  # fmt: skip
        if part in text:
            return words
    return text


def for_re2(pattern: str, flags: str) -> str | None:
    """The pattern for Arrow's RE2 kernels, or None when RE2 cannot match it in the same way."""
    return _translate(pattern, flags)[1]


def similar_to(pattern: str, escape: str = "\\") -> str:
    """The regular expression of an SQL (SIMILAR TO) pattern; escape-quote pairs mark a part."""
    if len(escape) > 1:
        raise InvalidEscape("invalid escape string")
    out = ["^(?:"]
    escaped, inside, quotes = False, False, 0
    for char in pattern:
        if escaped:
            if char == '"' and not inside:
                quotes += 1
                out.append(("){1,1}?(" if quotes == 1 else "){1,1}(?:") if quotes <= 2 else char)
            else:
                out.append("\\" + char)
            escaped = False
        elif escape and char == escape:
            escaped = True
        elif inside:
            out.append("\\\\" if char == "\\" else char)
            inside = char != "]"
        elif char == "[":
            out.append(char)
            inside = True
        elif char == "%":
            out.append(".*")
        elif char == "_":
            out.append(".")
        elif char == "(":
            out.append("(?:")
        elif char in "\\.^$":
            out.append("\\" + char)
        else:
            out.append(char)
    return "".join(out) + ")$"
