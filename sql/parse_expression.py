"""Expressions, by precedence climbing (Pratt 1973) with PostgreSQL's table (section 4.1.6, gram.y).

From loose to tight: OR, AND, NOT, IS, comparison (does not chain), BETWEEN IN LIKE (do not chain), any
other operator, + -, * / %, ^, AT TIME ZONE, COLLATE, unary sign; the rest is `parse_primary.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from . import parse_primary, parse_query
from .cursor import Cursor
from .dialect import BINARY, Ast, place
from .keywords import NEEDS_AS
from .lexer import END, SYMBOL

OR, AND, NOT, IS, COMPARISON, RANGE, OTHER, SUM, PRODUCT, POWER, AT, COLLATE, SIGN = range(1, 14)

_SYMBOLS = {
    "=": COMPARISON, "<>": COMPARISON, "<": COMPARISON, ">": COMPARISON, "<=": COMPARISON, ">=": COMPARISON,
    "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT, "^": POWER,
}  # fmt: skip
_NOT_OPERATORS = frozenset({"(", ")", "[", "]", ",", ";", ".", ":", "::", "..", ":=", "=>"})
_WORDS = {
    "or": OR, "and": AND, "is": IS, "isnull": IS, "notnull": IS, "between": RANGE, "in": RANGE, "like": RANGE,
    "ilike": RANGE, "similar": RANGE, "at": AT, "collate": COLLATE, "operator": OTHER, "overlaps": OTHER,
}  # fmt: skip
_NOT_RANGE = frozenset({"between", "in", "like", "ilike", "similar"})
_CHAINLESS = (
    exp.EQ, exp.NEQ, exp.LT, exp.GT, exp.LTE, exp.GTE, exp.Like, exp.ILike, exp.SimilarTo, exp.Between,
    exp.NullSafeEQ, exp.NullSafeNEQ,
)  # fmt: skip
_QUANTIFIERS = {"any": exp.Any, "some": exp.Any, "all": exp.All}
_B_EXPRESSION = frozenset({OR, AND, RANGE, AT, COLLATE})


def parse_expression(c: Cursor) -> Ast:
    """Any expression (gram.y's a_expr)."""
    return _climb(c, OR)


def parse_restricted(c: Cursor) -> Ast:
    """An expression without AND, OR, NOT, IN, LIKE … at its top (b_expr), as DEFAULT and BETWEEN take."""
    return _climb(c, COMPARISON, restricted=True)


def _climb(c: Cursor, least: int, restricted: bool = False) -> Ast:
    """An expression of operators that bind at least as tightly as `least`."""
    left = _prefix(c, restricted)
    chainless = 0
    while True:
        level = _level(c)
        if level < least or (restricted and level in _B_EXPRESSION):
            return left
        if level == chainless:
            c.fail()
        left = _infix(c, left, level)
        chainless = level if _ends_open(left) else 0


def _ends_open(node: Ast) -> bool:
    """Whether `node` is of a kind that does not chain and ends with an operand, not a parenthesis."""
    return isinstance(node, _CHAINLESS) and not isinstance(node.args.get("expression"), (exp.Any, exp.All))


def _level(c: Cursor) -> int:
    """How tightly the operator at the cursor binds; 0 when there is none."""
    word = c.words[c.i]
    if c.kinds[c.i] == SYMBOL:
        return _SYMBOLS.get(word) or (0 if word in _NOT_OPERATORS else OTHER)
    level = _WORDS.get(word, 0)
    if level and c.labels and _is_label(c, word):
        return 0
    if not level:
        return RANGE if word == "not" and c.ahead() in _NOT_RANGE else 0
    if word == "at":
        return level if c.ahead() in ("time", "local") else 0
    return level if word != "operator" or c.ahead() == "(" else 0


def _is_label(c: Cursor, word: str) -> bool:
    """Whether an operator that is a word is an output column's label: `SELECT a AND FROM t`."""
    ends = c.kinds[c.i + 1] == END or c.words[c.i + 1] in (",", "from")
    return ends and word not in NEEDS_AS


def _prefix(c: Cursor, restricted: bool) -> Ast:
    """A primary, behind any prefix operators."""
    word, start = c.words[c.i], c.starts[c.i]
    if word == "not" and not restricted:
        c.i += 1
        return place(exp.Not(this=_climb(c, NOT)), start)
    if c.kinds[c.i] == SYMBOL and word not in _NOT_OPERATORS:
        return _prefix_operator(c, word, start)
    if word == "operator" and c.ahead() == "(":
        symbol = operator_symbol(c)
        return place(exp.Operator(operator=symbol, expression=_climb(c, OTHER + 1)), start)
    return parse_primary.parse_primary(c)


def _prefix_operator(c: Cursor, word: str, start: int) -> Ast:
    if word in ("+", "-"):
        c.i += 1
        operand = _climb(c, SIGN)
        if word == "+":
            return place(exp.Operator(operator="+", expression=operand), start)
        return place(exp.Neg(this=operand), start)
    if word in _SYMBOLS:
        c.fail()
    c.i += 1
    return place(exp.Operator(operator=word, expression=_climb(c, OTHER + 1)), start)


def operator_symbol(c: Cursor) -> str:
    """`OPERATOR(schema.symbol)`; the schema is dropped."""
    c.expect("operator", "(")
    while c.is_name():
        c.name()
        c.expect(".")
    if c.kinds[c.i] != SYMBOL or c.word in _NOT_OPERATORS:
        c.fail()
    symbol = c.word
    c.i += 1
    c.expect(")")
    return symbol


def _infix(c: Cursor, left: Ast, level: int) -> Ast:
    """`left`, the operator at the cursor and what belongs to it."""
    word, start = c.words[c.i], c.starts[c.i]
    if c.kinds[c.i] == SYMBOL:
        c.i += 1
        return _binary(c, left, word, level, start)
    if word == "operator":
        return _binary(c, left, operator_symbol(c), OTHER, start)
    return place(_WORD_PARSERS[word](c, left), start)


def _binary(c: Cursor, left: Ast, symbol: str, level: int, start: int) -> Ast:
    quantifier = _QUANTIFIERS.get(c.word)
    right = _quantified(c, quantifier) if quantifier else _climb(c, level + 1)
    node = BINARY.get(symbol)
    if node is None:
        return place(exp.Operator(this=left, operator=symbol, expression=right), start)
    return place(node(this=left, expression=right), start)


def _quantified(c: Cursor, quantifier: type[Ast]) -> Ast:
    """`ANY (subquery or array)`."""
    start = c.start
    c.i += 1
    if c.word != "(":
        c.fail()
    if parse_query.is_subquery(c):
        return place(quantifier(this=parse_query.parse_subquery(c)), start)
    c.expect("(")
    array = parse_expression(c)
    c.expect(")")
    return place(quantifier(this=array), start)


# Operators that are words.
def _or(c: Cursor, left: Ast) -> Ast:
    c.i += 1
    return exp.Or(this=left, expression=_climb(c, AND))


def _and(c: Cursor, left: Ast) -> Ast:
    c.i += 1
    return exp.And(this=left, expression=_climb(c, NOT))


def _null_test(c: Cursor, left: Ast) -> Ast:
    """ISNULL and NOTNULL."""
    word = c.word
    c.i += 1
    return exp.Is(this=left, expression=exp.Null(), negate=word == "notnull")


def _is(c: Cursor, left: Ast) -> Ast:
    c.expect("is")
    negate = c.accept("not")
    if c.accept("distinct", "from"):
        node = exp.NullSafeEQ if negate else exp.NullSafeNEQ
        return node(this=left, expression=_climb(c, IS + 1))
    word = c.accept_any("null", "true", "false", "unknown") or c.fail(int(c.word == "distinct"))
    right: Ast = {
        "null": exp.Null(), "true": exp.Boolean(this=True), "false": exp.Boolean(this=False),
    }.get(word) or exp.Var(this="UNKNOWN")  # fmt: skip
    return exp.Is(this=left, expression=right, negate=negate)


def _not(c: Cursor, left: Ast) -> Ast:
    c.expect("not")
    node = _WORD_PARSERS[c.word](c, left)
    node.set("negate", True)
    return node


def _between(c: Cursor, left: Ast) -> Ast:
    c.expect("between")
    symmetric = c.accept("symmetric")
    if not symmetric:
        c.accept("asymmetric")
    low = parse_restricted(c)
    c.expect("and")
    high = _climb(c, RANGE + 1)
    return exp.Between(this=left, low=low, high=high, symmetric=symmetric, negate=False)


def _in(c: Cursor, left: Ast) -> Ast:
    c.expect("in")
    if c.word == "(" and parse_query.is_subquery(c):
        return exp.In(this=left, query=parse_query.parse_subquery(c), negate=False)
    c.expect("(")
    items = parse_list(c)
    c.expect(")")
    return exp.In(this=left, expressions=items, negate=False)


def _like(c: Cursor, left: Ast) -> Ast:
    node = exp.Like if c.word == "like" else exp.ILike
    c.i += 1
    quantifier = _QUANTIFIERS.get(c.word)
    if quantifier:
        return node(this=left, expression=_quantified(c, quantifier), negate=False)
    return _pattern(c, node, left)


def _similar(c: Cursor, left: Ast) -> Ast:
    c.expect("similar", "to")
    return _pattern(c, exp.SimilarTo, left)


def _pattern(c: Cursor, node: type[Ast], left: Ast) -> Ast:
    right = _climb(c, RANGE + 1)
    escape = _climb(c, RANGE + 1) if c.accept("escape") else None
    return node(this=left, expression=right, escape=escape, negate=False)


def _at(c: Cursor, left: Ast) -> Ast:
    c.expect("at")
    if c.accept("local"):
        return exp.Anonymous(this="timezone", expressions=[left])
    c.expect("time", "zone")
    return exp.Anonymous(this="timezone", expressions=[_climb(c, AT + 1), left])


def _collate(c: Cursor, left: Ast) -> Ast:
    c.expect("collate")
    name = c.identifier()
    while c.accept("."):
        name = exp.Dot(this=name, expression=c.identifier(frozenset()))
    return exp.Collate(this=left, expression=name)


def _overlaps(c: Cursor, left: Ast) -> Ast:
    c.expect("overlaps")
    right = _climb(c, OTHER + 1)
    args = [*left.expressions, *right.expressions]
    return exp.Anonymous(this="overlaps", expressions=args)


def parse_list(c: Cursor) -> list[Ast]:
    """`a, b, …`, at least one."""
    items = [parse_expression(c)]
    while c.accept(","):
        items.append(parse_expression(c))
    return items


_WORD_PARSERS: dict[str, Callable[[Cursor, Ast], Ast]] = {
    "or": _or, "and": _and, "is": _is, "isnull": _null_test, "notnull": _null_test, "not": _not,
    "between": _between, "in": _in, "like": _like, "ilike": _like, "similar": _similar, "at": _at,
    "collate": _collate, "overlaps": _overlaps,
}  # fmt: skip
