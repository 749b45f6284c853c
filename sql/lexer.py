r"""Text to tokens by PostgreSQL's lexical rules, and a string of statements to statements.

The rules are those of the documentation's section 4.1: identifiers folded to lower case and cut to
63 bytes, `"quoted"` and `U&"…"` ones; strings `'…'`, `E'…'`, `U&'…'`, `$tag$…$tag$`, continued over a
line break; bit strings; numbers in decimal, 0x, 0o, 0b with underscores; `$n` parameters; nested
comments; operators cut where a comment begins, and short of a trailing sign as rule 4.1.3 says.

One regular expression does the work, about 0.5 µs a token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..storage.errors import SyntaxFault
from .strings import decode_escapes, decode_unicode

END, WORD, QUOTED, STRING, NUMBER, PARAMETER, SYMBOL, BITS, HEX, LITERALS = range(10)
"""Kinds of tokens. LITERALS stands for a whole VALUES list that was read elsewhere."""

IDENTIFIER_BYTES_MAX = 63

LOOKAHEAD = 4
"""How many END tokens there are, so that looking ahead of the last token needs no care."""

_WORD = r"[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*"
_TAG = r"\$(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*)?\$"
_MASTER = re.compile(
    r"(?P<blank>(?:[ \t\r\n\f\v]+|--[^\r\n]*)+)"
    r"|(?P<prefixed>[eEbBxXnN]'|[uU]&['\"])"
    rf"|(?P<word>{_WORD})"
    r"|(?P<number>0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+"
    r"|(?:[0-9](?:_?[0-9])*(?:\.(?!\.)(?:[0-9](?:_?[0-9])*)?)?|\.[0-9](?:_?[0-9])*)"
    r"(?:[eE][+-]?[0-9](?:_?[0-9])*)?)"
    r"|(?P<single>::|\.\.|:=|[(),\[\];.:])"
    r"|(?P<comment>/\*)"
    r"|(?P<operator>[+\-*/<>=~!@#%^&|`?]+)"
    r"|(?P<string>')"
    r'|(?P<quoted>")'
    r"|(?P<parameter>\$[0-9]+)"
    rf"|(?P<dollar>{_TAG})"
    r"|(?P<other>[\s\S])"
)
_PLAIN = re.compile(r"[^']*(?:''[^']*)*'")
_ESCAPED = re.compile(r"[^'\\]*(?:(?:''|\\[\s\S])[^'\\]*)*'")
_NAME = re.compile(r'[^"]*(?:""[^"]*)*"')
_CONTINUED = re.compile(r"(?:[ \t\f\v]|--[^\r\n]*)*[\r\n](?:[ \t\r\n\f\v]|--[^\r\n]*[\r\n])*'")
_COMMENT_PART = re.compile(r"/\*|\*/")
_UESCAPE = re.compile(r"\s+uescape\s+'([^'])'", re.IGNORECASE)
_BASES = {"0x": "hexadecimal", "0o": "octal", "0b": "binary"}
_JUNK = re.compile(r"[A-Za-z_\x80-\U0010ffff]")


@dataclass(slots=True)
class Tokens:
    """Parallel lists; the last `LOOKAHEAD` tokens are END. `starts` and `ends` are 0-based character offsets.

    `words[i]` is what keywords are compared with: the folded word or the symbol, "" for all else;
    so a string or a quoted name is never taken for a keyword. `values[i]` is the content.
    """

    text: str
    kinds: list[int] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    values: list[object] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def add(self, kind: int, word: str, value: object, start: int, end: int) -> None:
        self.kinds.append(kind)
        self.words.append(word)
        self.values.append(value)
        self.starts.append(start)
        self.ends.append(end)

    def drop(self) -> None:
        """Takes the last token away."""
        for items in (self.kinds, self.words, self.values, self.starts, self.ends):
            items.pop()


def lex(text: str, begin: int = 0, end: int | None = None, into: Tokens | None = None) -> Tokens:
    """The tokens of `text[begin:end]`. Raises SyntaxFault with its position in `text`.

    With `into` they are put behind the tokens already there, in place of their END.
    """
    tokens = into or Tokens(text)
    while into and into.kinds[-1] == END:
        into.drop()
    stop = len(text) if end is None else end
    kinds, words, values, starts, ends = (
        tokens.kinds.append, tokens.words.append, tokens.values.append, tokens.starts.append,
        tokens.ends.append,
    )  # fmt: skip
    match = _MASTER.match
    position = begin
    while position < stop:
        found = match(text, position, stop)
        assert found is not None
        group, following = found.lastgroup, found.end()
        if group == "word":
            word = fold(found[0])
            kinds(WORD)
            words(word)
            values(word)
        elif group == "single":
            kinds(SYMBOL)
            words(found[0])
            values(found[0])
        elif group == "blank":
            position = following
            continue
        else:
            position = _lex_rest(tokens, text, str(group), position, following, stop)
            continue
        starts(position)
        ends(following)
        position = following
    for _ in range(LOOKAHEAD):
        tokens.add(END, "", "", stop, stop)
    return tokens


def fold(word: str) -> str:
    """An unquoted identifier as PostgreSQL folds it: ASCII letters only, 63 bytes at most."""
    if word.isascii():
        return word.lower() if len(word) <= IDENTIFIER_BYTES_MAX else word.lower()[:IDENTIFIER_BYTES_MAX]
    return truncate("".join(c.lower() if c.isascii() else c for c in word))


def truncate(name: str) -> str:
    """`name` cut to 63 bytes of UTF-8, never within a character."""
    data = name.encode()
    if len(data) <= IDENTIFIER_BYTES_MAX:
        return name
    return data[:IDENTIFIER_BYTES_MAX].decode(errors="ignore")


def _lex_rest(tokens: Tokens, text: str, group: str, start: int, end: int, stop: int) -> int:
    """Adds the token of a less frequent kind; gives the position behind it."""
    match group:
        case "operator":
            end = start + _operator_length(text[start:end])
            symbol = text[start:end]
            tokens.add(SYMBOL, "<>" if symbol == "!=" else symbol, symbol, start, end)
        case "string":
            end, value = _string(text, end, stop, start, _PLAIN)
            tokens.add(STRING, "", value.replace("''", "'"), start, end)
        case "number":
            _check_junk(text, start, end)
            tokens.add(NUMBER, "", text[start:end].replace("_", ""), start, end)
        case "quoted":
            end, name = _quoted_name(text, start, end, stop)
            tokens.add(QUOTED, "", truncate(name), start, end)
        case "comment":
            end = skip_comment(text, start, stop)
        case "parameter":
            _check_junk(text, start, end, "parameter")
            tokens.add(PARAMETER, "", int(text[start + 1 : end]), start, end)
        case "dollar":
            end = _dollar_string(tokens, text, start, end, stop)
        case "prefixed":
            end = _prefixed(tokens, text, start, end, stop)
        case _:
            raise SyntaxFault(f'syntax error at or near "{text[start]}"', position=start + 1)
    return end


def _operator_length(symbol: str) -> int:
    """How much of a run of operator characters is one operator (section 4.1.3)."""
    length = len(symbol)
    for comment in ("--", "/*"):
        at = symbol.find(comment)
        if at > 0:
            length = min(length, at)
    if length > 1 and symbol[length - 1] in "+-" and not set(symbol[:length]) & set("~!@#%^&|`?"):
        while length > 1 and symbol[length - 1] in "+-":
            length -= 1
    return length


def _check_junk(text: str, start: int, end: int, what: str = "numeric literal") -> None:
    if _JUNK.match(text, end):
        shown = text[start : end + 1]
        base = _BASES.get(shown.lower())
        if base:
            raise SyntaxFault(f'invalid {base} integer at or near "{shown}"', position=start + 1)
        raise SyntaxFault(f'trailing junk after {what} at or near "{shown}"', position=start + 1)


def _unterminated(what: str, text: str, start: int) -> SyntaxFault:
    return SyntaxFault(f'unterminated {what} at or near "{text[start:]}"', position=start + 1)


def _string(text: str, begin: int, stop: int, start: int, body: re.Pattern[str]) -> tuple[int, str]:
    """The end and raw content of the string whose body begins at `begin`, continuations joined."""
    raw = ""
    while True:
        found = body.match(text, begin, stop)
        if found is None:
            raise _unterminated("quoted string", text, start)
        raw += found[0][:-1]
        more = _CONTINUED.match(text, found.end(), stop)
        if more is None:
            return found.end(), raw
        begin = more.end()


def _quoted_name(text: str, start: int, begin: int, stop: int) -> tuple[int, str]:
    found = _NAME.match(text, begin, stop)
    if found is None:
        raise _unterminated("quoted identifier", text, start)
    if found.end() == begin + 1:
        raise SyntaxFault('zero-length delimited identifier at or near """"', position=start + 1)
    return found.end(), found[0][:-1].replace('""', '"')


def _dollar_string(tokens: Tokens, text: str, start: int, end: int, stop: int) -> int:
    tag = text[start:end]
    close = text.find(tag, end, stop)
    if close < 0:
        raise _unterminated("dollar-quoted string", text, start)
    tokens.add(STRING, "", text[end:close], start, close + len(tag))
    return close + len(tag)


def _prefixed(tokens: Tokens, text: str, start: int, begin: int, stop: int) -> int:
    """E'…', B'…', X'…', N'…', U&'…' and U&"…"."""
    prefix = text[start].lower()
    if prefix == "e":
        end, raw = _string(text, begin, stop, start, _ESCAPED)
        tokens.add(STRING, "", decode_escapes(raw, text, begin), start, end)
    elif prefix == "u":
        end = _unicode(tokens, text, start, begin, stop)
    else:
        end, raw = _string(text, begin, stop, start, _PLAIN)
        kind = {"b": BITS, "x": HEX, "n": STRING}[prefix]
        tokens.add(kind, "", raw.replace("''", "'"), start, end)
    return end


def _unicode(tokens: Tokens, text: str, start: int, begin: int, stop: int) -> int:
    is_name = text[begin - 1] == '"'
    if is_name:
        end, raw = _quoted_name(text, start, begin, stop)
    else:
        end, raw = _string(text, begin, stop, start, _PLAIN)
        raw = raw.replace("''", "'")
    escape = "\\"
    chosen = _UESCAPE.match(text, end, stop)
    if chosen:
        escape, end = chosen[1], chosen.end()
        if escape in "+'\" \t\r\n" or escape in "0123456789abcdefABCDEF":
            at = chosen.start(1)
            raise SyntaxFault(f"invalid Unicode escape character at or near \"'{escape}'\"", position=at)
    value = decode_unicode(raw, escape, begin)
    tokens.add(QUOTED if is_name else STRING, "", truncate(value) if is_name else value, start, end)
    return end


def skip_comment(text: str, start: int, stop: int) -> int:
    """The position behind the (nested) comment that begins at `start`."""
    depth, position = 1, start + 2
    while depth:
        found = _COMMENT_PART.search(text, position, stop)
        if found is None:
            raise _unterminated("/* comment", text, start)
        depth += 1 if found[0] == "/*" else -1
        position = found.end()
    return position
