"""The tightest part of expressions: constants, columns, calls, parentheses, and what follows them."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from ..storage.errors import SyntaxFault
from . import parse_expression, parse_function, parse_query
from .cursor import Cursor
from .dialect import Ast, place
from .keywords import NOT_COLUMN, NOT_FUNCTION, TYPE_OR_FUNCTION
from .lexer import BITS, HEX, NUMBER, PARAMETER, QUOTED, STRING, WORD
from .parse_type import KEYWORDS, interval_fields, parse_base, parse_type
from .typename import TypeName

_BARE_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)\s*")


def parse_primary(c: Cursor) -> Ast:
    """A primary with its subscripts, fields and `::` casts."""
    kind, start = c.kinds[c.i], c.starts[c.i]
    if kind == WORD:
        node = _word(c)
    elif kind == QUOTED:
        node = _name(c)
    elif kind == NUMBER:
        node = place(exp.Literal(this=_decimal(str(c.values[c.i])), is_string=False), start)
        c.i += 1
    elif kind == STRING:
        node = place(exp.Literal(this=str(c.values[c.i]), is_string=True), start)
        c.i += 1
    elif c.words[c.i] == "(":
        return _postfix(c, _parenthesis(c), fields=True)
    else:
        node = _rare(c, kind, start)
    following = c.words[c.i]
    if following in _FOLLOWING:
        return _postfix(c, node)
    return node


def _decimal(number: str) -> str:
    """A number as plain decimal text: 0x, 0o and 0b are integers."""
    if number[:2].lower() in ("0x", "0o", "0b"):
        return str(int(number, 0))
    return number


def _rare(c: Cursor, kind: int, start: int) -> Ast:
    value = c.values[c.i]
    if kind == PARAMETER:
        c.i += 1
        return place(exp.Parameter(this=exp.Literal(this=str(value), is_string=False)), start)
    if kind in (BITS, HEX):
        c.i += 1
        return place((exp.BitString if kind == BITS else exp.HexString)(this=str(value)), start)
    return c.fail()


_CONSTANTS = (exp.Literal, exp.Null, exp.Boolean, exp.Cast)
_FOLLOWING = frozenset({"::", "[", "."})


def _postfix(c: Cursor, node: Ast, fields: bool = False) -> Ast:
    """`[…]`, `.field` and `::type`, as many as there are; `fields`: behind parentheses.

    A plain name has its dots already, and a call takes no field without parentheses.
    """
    while True:
        word, start = c.words[c.i], c.starts[c.i]
        if word == "::":
            c.i += 1
            node = cast(node, parse_type(c), start)
            fields = False
        elif word == "[" and (fields or not isinstance(node, _CONSTANTS)):
            fields = True
            node = place(_subscript(c, node), start)
        elif word == "." and fields:
            node = _field(c, node)
        else:
            return node


def cast(node: Ast, written: TypeName, start: int) -> Ast:
    """`node` cast to what was written, said to stand at `start`."""
    to = place(exp.DataType(this=exp.DType.USERDEFINED, kind=str(written)), written.position - 1)
    to.meta["type_name"] = written
    return place(exp.Cast(this=node, to=to), start)


def _subscript(c: Cursor, node: Ast) -> Ast:
    c.expect("[")
    lower = None if c.word == ":" else parse_expression.parse_expression(c)
    if not c.accept(":"):
        c.expect("]")
        return exp.Bracket(this=node, expressions=[lower])
    upper = None if c.word == "]" else parse_expression.parse_expression(c)
    c.expect("]")
    return exp.Bracket(this=node, expressions=[exp.Slice(this=lower, expression=upper)])


def _field(c: Cursor, node: Ast) -> Ast:
    c.expect(".")
    if c.word == "*":
        star = place(exp.Star(), c.start)
        c.i += 1
        return exp.Dot(this=node, expression=star)
    return exp.Dot(this=node, expression=c.identifier(frozenset()))


# Words.
def _word(c: Cursor) -> Ast:
    word = c.words[c.i]
    special = _SPECIAL.get(word)
    if special is not None:
        found = special(c)
        if found is not None:
            return found
    if word in KEYWORDS or word == "double":
        found = _typed_literal(c)
        if found is not None:
            return found
    return _name(c)


def _name(c: Cursor) -> Ast:
    """A column, a call, or `type 'literal'` with a plain type name."""
    following, kind = c.ahead(), c.kinds[min(c.i + 1, len(c.kinds) - 1)]
    if following == "(":
        return parse_function.parse_call(c)
    if kind == STRING and c.is_name(NOT_FUNCTION):
        return _typed_constant(c)
    if following == ".":
        return _qualified(c)
    if c.kinds[c.i] == WORD and c.words[c.i] in parse_function.BARE:
        return parse_function.parse_bare(c)
    if not c.is_name(NOT_COLUMN):
        c.fail(int(c.words[c.i] in TYPE_OR_FUNCTION))
    start = c.start
    return place(exp.Column(this=c.identifier()), start)


def _qualified(c: Cursor) -> Ast:
    """`a.b.c`, `a.*`, `schema.function(…)`, `schema.type 'literal'`."""
    begin, start = c.i, c.start
    parts = [c.identifier()]
    while c.word == "." and c.ahead() != "*":
        c.i += 1
        parts.append(c.identifier(frozenset()))
    if c.word == "(":
        c.i = begin
        return parse_function.parse_call(c)
    if c.kind == STRING:
        c.i = begin
        return _typed_constant(c)
    if c.accept("."):
        parts.append(place(exp.Star(), c.start))
        c.expect("*")
        if c.word in (".", "["):
            c.i += 2
            c.complain('improper use of "*"')
    return _column(parts, start)


def _column(parts: list[Ast], start: int) -> Ast:
    if len(parts) > 4:
        shown = ".".join(part.name for part in parts)
        raise SyntaxFault(f"improper qualified name (too many dotted names): {shown}", position=start + 1)
    names = ("this", "table", "db", "catalog")
    return place(exp.Column(**dict(zip(names, reversed(parts), strict=False))), start)


def _typed_constant(c: Cursor) -> Ast:
    """`type 'text'` for any type."""
    start, position = c.start, c.position
    name, modifiers, schema, fields = parse_base(c)
    literal = _literal(c)
    if name == "interval":
        more, precision = interval_fields(c)
        fields, modifiers = more or fields, precision or modifiers
    return cast(_with_unit(literal, fields), TypeName(name, modifiers, 0, schema, fields, position), start)


def _typed_literal(c: Cursor) -> Ast | None:
    """`_typed_constant` where a word of the grammar begins it; None when it is just a name."""
    begin = c.i
    following = c.ahead()
    kind = c.kinds[min(c.i + 1, len(c.kinds) - 1)]
    composed = following in ("varying", "precision", "with", "without", "character", "char")
    if kind != STRING and following != "(" and not composed:
        return None
    if c.word == "double" and following != "precision":
        return None
    try:
        return _typed_constant(c)
    except SyntaxFault:
        if following in ("(", "precision", "varying"):
            raise
        c.i = begin
        return None


def _literal(c: Cursor) -> Ast:
    start = c.start
    return place(exp.Literal(this=c.string(), is_string=True), start)


def _with_unit(literal: Ast, fields: str) -> Ast:
    """`interval '5' minute` means '5 minute'; a bare number counts in the last field."""
    if fields and _BARE_NUMBER.fullmatch(literal.this):
        literal.set("this", f"{literal.this} {fields.split()[-1]}")
    return literal


def _constant(node: Callable[[], Ast]) -> Callable[[Cursor], Ast]:
    def parse(c: Cursor) -> Ast:
        start = c.start
        c.i += 1
        return place(node(), start)

    return parse


def _case(c: Cursor) -> Ast:
    start = c.start
    c.expect("case")
    this = None if c.word == "when" else parse_expression.parse_expression(c)
    branches: list[Ast] = []
    if c.word != "when":
        c.fail()
    while c.word == "when":
        where = c.start
        c.i += 1
        condition = parse_expression.parse_expression(c)
        c.expect("then")
        branches.append(place(exp.If(this=condition, true=parse_expression.parse_expression(c)), where))
    default = parse_expression.parse_expression(c) if c.accept("else") else None
    c.expect("end")
    return place(exp.Case(this=this, ifs=branches, default=default), start)


def _exists(c: Cursor) -> Ast | None:
    if c.ahead() != "(":
        return None
    start = c.start
    c.i += 1
    if not parse_query.is_subquery(c):
        c.fail(1)
    return place(exp.Exists(this=parse_query.parse_subquery(c).this), start)


def _array(c: Cursor) -> Ast:
    start = c.start
    c.expect("array")
    if c.word == "[":
        return place(_array_items(c), start)
    if c.word != "(":
        c.fail()
    if not parse_query.is_subquery(c):
        c.fail(1)
    return place(exp.Array(expressions=[parse_query.parse_subquery(c).this]), start)


def _array_items(c: Cursor) -> Ast:
    """`[a, b]`, and nested `[[a], [b]]`."""
    start = c.start
    c.expect("[")
    items: list[Ast] = []
    if c.word != "]":
        items.append(_array_item(c))
        while c.accept(","):
            items.append(_array_item(c))
    c.expect("]")
    return place(exp.Array(expressions=items), start)


def _array_item(c: Cursor) -> Ast:
    return _array_items(c) if c.word == "[" else parse_expression.parse_expression(c)


def _row(c: Cursor) -> Ast | None:
    if c.ahead() != "(":
        return None
    start = c.start
    c.i += 2
    items = [] if c.word == ")" else parse_expression.parse_list(c)
    c.expect(")")
    return place(exp.Tuple(expressions=items), start)


def _default(c: Cursor) -> Ast:
    """DEFAULT: the binder refuses it where it has no place."""
    start = c.start
    c.i += 1
    return place(exp.Var(this="DEFAULT"), start)


def _parenthesis(c: Cursor) -> Ast:
    """A subquery, a row, or an expression in parentheses."""
    start = c.start
    if parse_query.is_subquery(c):
        return parse_query.parse_subquery(c)
    c.expect("(")
    items = parse_expression.parse_list(c)
    c.expect(")")
    return items[0] if len(items) == 1 else place(exp.Tuple(expressions=items), start)


_SPECIAL: dict[str, Callable[[Cursor], Ast | None]] = {
    "null": _constant(exp.Null),
    "true": _constant(lambda: exp.Boolean(this=True)),
    "false": _constant(lambda: exp.Boolean(this=False)),
    "case": _case, "exists": _exists, "array": _array, "row": _row, "default": _default,
}  # fmt: skip
