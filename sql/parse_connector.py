"""WITH (…), FORMAT … ENCODE …, INCLUDE …, and Materialize's FROM KAFKA CONNECTION … ENVELOPE …"""

from __future__ import annotations

from .cursor import Cursor
from .lexer import NUMBER, QUOTED, STRING, SYMBOL, WORD
from .parse_type import parse_type
from .statements import Connector, Format, Include, ObjectName

_KEY_KINDS = (WORD, QUOTED, SYMBOL)
_CLOSERS = {")": "(", "]": "["}


def parse_options(c: Cursor) -> dict[str, str]:
    """`WITH (key = value, …)`, or nothing."""
    if not c.accept("with"):
        return {}
    return option_list(c)


def option_list(c: Cursor) -> dict[str, str]:
    """`(key [=] value, …)`: dotted keys in lower case, values as text; a key alone is "true"."""
    options: dict[str, str] = {}
    c.expect("(")
    while c.word != ")":
        key = option_key(c)
        c.accept_any("=", "=>")
        options[key] = option_value(c)
        if not c.accept(","):
            break
    c.expect(")")
    return options


def option_key(c: Cursor) -> str:
    """`a.b.c`, a string, or several words (joined by `_`): all those before `=` or before a constant.

    Without either the first word is the key and the rest its value: `type distsql`.
    """
    if c.kind == STRING:
        return c.string().lower()
    end = c.i
    while c.words[end] not in ("=", "=>", ",", ")", "secret", "(", "[") and c.kinds[end] in _KEY_KINDS:
        end += 1
    spoken = c.words[end] in ("=", "=>") or c.kinds[end] in (STRING, NUMBER)
    key = c.label().lower()
    while c.word in (".", "-") or (spoken and c.i < end):
        joint = c.accept_any(".", "-") or "_"
        key += joint + c.label().lower()
    return key


def option_value(c: Cursor) -> str:
    """A string, a number, a word, `SECRET name`, or a bracketed list as its source text."""
    if c.word in (",", ")"):
        return "true"
    if c.kind == STRING:
        return c.string()
    if c.word == "secret" and c.is_name(ahead=1):
        c.i += 1
        secret = f"secret:{c.object_name()}"
        if c.accept("as"):
            c.expect_any("file", "text")
        return secret
    sign = c.accept_any("-", "+")
    if c.kind == NUMBER:
        c.i += 1
        return ("-" if sign == "-" else "") + str(c.values[c.i - 1])
    return _bracketed(c) if c.word in ("(", "[") else _words(c)


def _words(c: Cursor) -> str:
    """Words and calls up to the next comma at this depth: `now()`, `REFRESH EVERY '1 day'`."""
    start = c.start
    if c.kind not in (WORD, QUOTED):
        c.fail()
    while c.word not in (",", ")") and not c.at_end():
        if c.word in ("(", "["):
            _bracketed(c)
        else:
            c.i += 1
    return c.since(start)


def _bracketed(c: Cursor) -> str:
    start, depth = c.start, 0
    while True:
        if c.at_end():
            c.fail()
        if c.word in ("(", "["):
            depth += 1
        elif c.word in _CLOSERS:
            depth -= 1
        c.i += 1
        if not depth:
            return c.since(start)


def parse_format(c: Cursor) -> Format | None:
    """`FORMAT f ENCODE e (…)`, or Materialize's `FORMAT e […] [ENVELOPE v]` and KEY/VALUE FORMAT."""
    if c.at("key", "format"):
        return _key_value_format(c)
    if not c.accept("format"):
        return parse_envelope(c) if c.word == "envelope" else None
    first = c.label()
    if c.accept("encode"):
        encode = c.label()
        options = option_list(c) if c.word == "(" else {}
        found = Format(first, encode, options)
        if c.at("key", "encode"):
            c.i += 2
            key = c.label()
            key_options = option_list(c) if c.word == "(" else {}
            found = Format(first, encode, options, key, key_options)
        return found
    encode, connection = _encoding(c, first)
    return parse_envelope(c, Format("plain", encode, connection=connection))


def _key_value_format(c: Cursor) -> Format:
    c.expect("key", "format")
    key, _ = _encoding(c, c.label())
    c.expect("value", "format")
    encode, connection = _encoding(c, c.label())
    return parse_envelope(c, Format("plain", encode, {}, key, {}, "", connection))


def _encoding(c: Cursor, name: str) -> tuple[str, ObjectName | None]:
    """Materialize's encoding called `name`, and its registry connection."""
    connection = None
    if c.accept("using", "confluent", "schema", "registry", "connection"):
        connection = c.object_name()
        if c.word == "(":
            option_list(c)
    elif c.accept("with"):
        c.integer()
        c.expect_any("columns", "column")
    return name, connection


def parse_envelope(c: Cursor, before: Format | None = None) -> Format:
    """`ENVELOPE v`, which completes a format that was read before; nothing if it does not come next."""
    found = before or Format("plain", "")
    if not c.accept("envelope"):
        return found
    envelope = c.label()
    if c.word == "(":
        option_list(c)
    name = "plain" if envelope == "none" else envelope
    return Format(name, found.encode, found.options, found.key_encode, {}, envelope, found.connection)


def parse_include(c: Cursor) -> tuple[Include, ...]:
    """Any number of `INCLUDE what …`, or one with commas."""
    found: list[Include] = []
    while c.accept("include"):
        found.append(_include(c))
        while c.accept(","):
            found.append(_include(c))
    return tuple(found)


def _include(c: Cursor) -> Include:
    what = c.label()
    field = c.string() if c.kind == STRING else ""
    type_ = None
    if c.kind == WORD and c.word not in ("as", "include", "format", "envelope", "with", "from", "expose"):
        type_ = parse_type(c)
    alias = c.label() if c.accept("as") else ""
    return Include(what, alias, field, type_)


def parse_from_connection(c: Cursor) -> Connector | None:
    """Materialize's `FROM KAFKA CONNECTION c (TOPIC 't', …)` or `FROM LOAD GENERATOR name (…)`."""
    if c.word != "from" or not c.is_name(ahead=1):
        return None
    if c.at("from", "load", "generator"):
        c.i += 3
        options = {"connector": "load generator", "generator": c.label()}
        return Connector(options | (option_list(c) if c.at("(") else {}))
    if c.ahead(2) != "connection":
        return None
    c.i += 1
    options = {"connector": c.label()}
    c.expect("connection")
    connection = c.object_name()
    if c.at("("):
        options |= option_list(c)
    return Connector(options, connection=connection)


def merged(first: Connector | None, options: dict[str, str], format_: Format | None,
           include: tuple[Include, ...]) -> Connector:  # fmt: skip
    """One connector of the two spellings' parts."""
    if first is None:
        return Connector(options, format_, include)
    return Connector({**first.options, **options}, format_, include, first.connection)
