"""Function calls: arguments, special syntax, and FILTER, WITHIN GROUP and OVER behind them."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from . import parse_expression, parse_primary, parse_tail
from .cursor import Cursor
from .dialect import Ast, place
from .keywords import COLUMN_NAME, NOT_FUNCTION, words
from .lexer import QUOTED, STRING, WORD
from .parse_type import parse_type

BARE = words(
    """current_date current_time current_timestamp localtime localtimestamp current_role current_user
    session_user system_user user current_catalog current_schema"""
)
"""Functions called without parentheses."""

_PRECISE = frozenset({"current_time", "current_timestamp", "localtime", "localtimestamp"})
_FIELD_WORDS = frozenset({"year", "month", "day", "hour", "minute", "second"})


def parse_bare(c: Cursor) -> Ast:
    """`current_date` and its kin."""
    start, name = c.start, c.word
    c.i += 1
    return place(exp.Anonymous(this=name, expressions=[], bare=True), start)


def parse_call(c: Cursor) -> Ast:
    """A call with everything behind its closing parenthesis. The cursor is at its name."""
    special = _SPECIAL.get(c.word) if c.ahead() == "(" else None
    if special is not None:
        return special(c)
    if c.word in _PRECISE and c.ahead() == "(":
        return _precise(c)
    if c.word in BARE - {"current_schema"} and c.kind == WORD:
        c.fail(1)
    return _behind(c, _plain_call(c))


def _plain_call(c: Cursor) -> Ast:
    """`name(…)` or `schema.name(…)`."""
    start = c.start
    schema: list[Ast] = []
    while c.ahead() == ".":
        schema.append(c.identifier())
        c.expect(".")
    name_start = c.start
    forbidden = frozenset[str]() if schema else NOT_FUNCTION
    if not c.is_name(forbidden):
        c.fail(int(c.word in COLUMN_NAME))
    call = exp.Anonymous(this=c.name(forbidden), expressions=[])
    c.expect("(")
    _arguments(c, call)
    c.expect(")")
    place(call, start if schema else name_start)
    if not schema:
        return call
    return place(exp.Dot(this=schema[-1], expression=call), start)


def _arguments(c: Cursor, call: Ast) -> None:
    """What stands in the parentheses."""
    if c.word == ")":
        return
    if c.word == "*":
        call.set("expressions", [place(exp.Star(), c.start)])
        c.i += 1
        return
    if c.accept("distinct"):
        call.set("distinct", True)
    else:
        c.accept("all")
    args = [_argument(c, call)]
    while c.accept(","):
        args.append(_argument(c, call))
    call.set("expressions", args)
    if c.word == "order":
        call.set("order", parse_tail.parse_order(c))


def _argument(c: Cursor, call: Ast) -> Ast:
    if c.accept("variadic"):
        call.set("variadic", True)
        return parse_expression.parse_expression(c)
    if c.is_name() and c.ahead() in ("=>", ":="):
        start = c.start
        name = exp.Var(this=c.name())
        c.i += 1
        return place(exp.Kwarg(this=name, expression=parse_expression.parse_expression(c)), start)
    return parse_expression.parse_expression(c)


def _precise(c: Cursor) -> Ast:
    """`current_timestamp(3)`."""
    start, name = c.start, c.word
    c.i += 2
    precision = exp.Literal(this=str(c.integer()), is_string=False)
    c.expect(")")
    return place(exp.Anonymous(this=name, expressions=[precision], bare=True), start)


def _behind(c: Cursor, call: Ast) -> Ast:
    """WITHIN GROUP, FILTER, OVER."""
    start = position = c.starts[c.i]
    meta = call._meta
    if meta:
        start = meta["start"]
    if c.accept("within"):
        c.expect("group", "(")
        call = place(exp.WithinGroup(this=call, expression=parse_tail.parse_order(c)), start)
        c.expect(")")
    if c.accept("filter"):
        c.expect("(")
        position = c.start
        c.expect("where")
        where = place(exp.Where(this=parse_expression.parse_expression(c)), position)
        c.expect(")")
        call = place(exp.Filter(this=call, expression=where), start)
    if c.word == "over":
        return place(_over(c, call), start)
    return call


def _over(c: Cursor, call: Ast) -> Ast:
    c.expect("over")
    if c.word != "(":
        return exp.Window(this=call, alias=c.identifier(), over="OVER")
    return parse_window(c, call)


def parse_window(c: Cursor, this: Ast) -> Ast:
    """`([name] [PARTITION BY …] [ORDER BY …] [frame])` as the window of `this`."""
    c.expect("(")
    alias = None
    if c.is_name() and c.word not in ("partition", "range", "rows", "groups", "session"):
        alias = c.identifier()
    partition: list[Ast] = []
    if c.accept("partition"):
        c.expect("by")
        partition = parse_expression.parse_list(c)
    order = parse_tail.parse_order(c) if c.word == "order" else None
    frame = _frame(c)
    c.expect(")")
    return exp.Window(this=this, partition_by=partition, order=order, spec=frame, alias=alias, over="OVER")


def _frame(c: Cursor) -> Ast | None:
    start = c.start
    kind = c.accept_any("rows", "range", "groups", "session")
    if not kind:
        return None
    frame = place(exp.WindowSpec(kind=kind.upper()), start)
    if kind == "session":
        c.expect("with", "gap")
        frame.set("start", parse_expression.parse_expression(c))
        return frame
    if c.accept("between"):
        _bound(c, frame, "start")
        c.expect("and")
        _bound(c, frame, "end")
    else:
        _bound(c, frame, "start")
    if c.accept("exclude"):
        _exclusion(c, frame)
    return frame


def _bound(c: Cursor, frame: Ast, which: str) -> None:
    if c.accept("current", "row"):
        frame.set(which, "CURRENT ROW")
        return
    if c.word == "unbounded" and c.ahead() in ("preceding", "following"):
        c.i += 1
        frame.set(which, "UNBOUNDED")
    else:
        frame.set(which, parse_expression.parse_expression(c))
    frame.set(which + "_side", c.expect_any("preceding", "following").upper())


def _exclusion(c: Cursor, frame: Ast) -> None:
    if c.accept("no"):
        c.expect("others")
    elif c.accept("current"):
        c.expect("row")
        frame.set("exclude", "CURRENT ROW")
    else:
        frame.set("exclude", c.expect_any("group", "ties").upper())


# Special syntax.
def _call(name: str, args: list[Ast], start: int) -> Ast:
    return place(exp.Anonymous(this=name, expressions=args), start)


def _cast(c: Cursor) -> Ast:
    start = c.start
    c.i += 2
    operand = parse_expression.parse_expression(c)
    c.expect("as")
    written = parse_type(c)
    c.expect(")")
    return parse_primary.cast(operand, written, start)


def _extract(c: Cursor) -> Ast:
    start = c.start
    c.i += 2
    where = c.start
    if c.kind == STRING:
        field = c.string()
    elif c.kind == QUOTED or c.word in _FIELD_WORDS:
        field = c.label()
    else:
        field = c.name()
    c.expect("from")
    source = parse_expression.parse_expression(c)
    c.expect(")")
    return _call("extract", [place(exp.Literal(this=field, is_string=True), where), source], start)


def _position(c: Cursor) -> Ast:
    start = c.start
    c.i += 2
    part = parse_expression.parse_restricted(c)
    c.expect("in")
    whole = parse_expression.parse_restricted(c)
    c.expect(")")
    return _call("position", [whole, part], start)


def _substring(c: Cursor) -> Ast:
    start = c.start
    c.i += 2
    if c.word == ")":
        c.i += 1
        return _call("substring", [], start)
    args = [parse_expression.parse_expression(c)]
    if c.word == ",":
        while c.accept(","):
            args.append(parse_expression.parse_expression(c))
    elif c.accept("similar"):
        args.append(parse_expression.parse_expression(c))
        c.expect("escape")
        args.append(parse_expression.parse_expression(c))
    else:
        args += _from_for(c)
    c.expect(")")
    return _behind(c, _call("substring", args, start))


def _from_for(c: Cursor) -> list[Ast]:
    """`FROM a [FOR b]`, `FOR b [FROM a]`, in the order (a, b)."""
    begin: Ast | None = None
    length: Ast | None = None
    while c.word in ("from", "for"):
        which = c.word
        c.i += 1
        if which == "from" and begin is None:
            begin = parse_expression.parse_expression(c)
        elif which == "for" and length is None:
            length = parse_expression.parse_expression(c)
        else:
            c.fail(-1)
    if begin is None and length is not None:
        begin = exp.Literal(this="1", is_string=False)
    return [part for part in (begin, length) if part is not None]


def _overlay(c: Cursor) -> Ast:
    start = c.start
    c.i += 2
    args = [parse_expression.parse_expression(c)]
    if c.accept("placing"):
        args.append(parse_expression.parse_expression(c))
        args += _from_for(c)
    else:
        while c.accept(","):
            args.append(parse_expression.parse_expression(c))
    c.expect(")")
    return _call("overlay", args, start)


def _trim(c: Cursor) -> Ast:
    """`TRIM([BOTH|LEADING|TRAILING] [characters] [FROM] source)`."""
    start = c.start
    c.i += 2
    side = c.accept_any("both", "leading", "trailing")
    if c.accept("from"):
        args = parse_expression.parse_list(c)
    else:
        args = [parse_expression.parse_expression(c)]
        if c.accept("from"):
            characters = args
            args = [*parse_expression.parse_list(c), *characters]
        else:
            while c.accept(","):
                args.append(parse_expression.parse_expression(c))
    c.expect(")")
    name = {"leading": "ltrim", "trailing": "rtrim"}.get(side, "btrim")
    return _call(name, args, start)


def _list_call(c: Cursor) -> Ast:
    """COALESCE, GREATEST, LEAST, GROUPING: plain lists, not empty."""
    start, name = c.start, c.word
    c.i += 2
    args = parse_expression.parse_list(c)
    c.expect(")")
    return _call(name, args, start)


def _nullif(c: Cursor) -> Ast:
    start = c.start
    c.i += 2
    left = parse_expression.parse_expression(c)
    c.expect(",")
    right = parse_expression.parse_expression(c)
    c.expect(")")
    return _call("nullif", [left, right], start)


def _collation_for(c: Cursor) -> Ast:
    start = c.start
    c.expect("collation")
    c.expect("for")
    c.expect("(")
    args = [parse_expression.parse_expression(c)]
    c.expect(")")
    return _call("pg_collation_for", args, start)


def _normalize(c: Cursor) -> Ast:
    start = c.start
    c.i += 2
    args = [parse_expression.parse_expression(c)]
    if c.accept(","):
        args.append(exp.Literal(this=c.expect_any("nfc", "nfd", "nfkc", "nfkd").upper(), is_string=True))
    c.expect(")")
    return _call("normalize", args, start)


_SPECIAL: dict[str, Callable[[Cursor], Ast]] = {
    "cast": _cast, "extract": _extract, "position": _position, "substring": _substring,
    "overlay": _overlay, "trim": _trim, "normalize": _normalize, "collation": _collation_for,
    "coalesce": _list_call, "greatest": _list_call, "least": _list_call, "grouping": _list_call,
    "nullif": _nullif,
}  # fmt: skip
