"""An oracle for functions: the same calls evaluated by millpond and by a real PostgreSQL.

`oracle.check(name, types, rows)` evaluates `name` on rows of argument texts, one batch of all and one
batch a row, and asserts that text, NULL or SQLSTATE and message are PostgreSQL's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import psycopg
import pyarrow as pa
import pytest

from millpond.operators.evaluate import evaluate
from millpond.operators.expr import Call, Cast, ColumnRef, Expr, Literal
from millpond.operators.functions.casts import cast_context
from millpond.operators.functions.registry import SCALARS, ScalarFunction
from millpond.operators.node import EpochContext
from millpond.storage import types as t
from millpond.storage.errors import SqlError
from millpond.storage.textform import TextSettings, format_text, parse_text
from millpond.storage.types import Type, type_by_name

TRY = """
CREATE OR REPLACE FUNCTION try_evaluate(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text; state text; message text;
BEGIN
  EXECUTE command INTO result;
  RETURN result;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
  RETURN 'ERROR ' || state || ' ' || message;
END $$
"""
WORDS = "abcdefghijklmnopqrstuvwxyz_"


def quote(text: str | None, type_: str) -> str:
    if text is None:
        return f"NULL::{type_}"
    escaped = text.replace("'", "''")
    return f"'{escaped}'::{type_}"


def sql_call(name: str, args: Sequence[str]) -> str:
    if name in ("greatest", "least", "nullif"):
        return f"{name}({', '.join(args)})"
    if name[0].lower() in WORDS:
        return f'pg_catalog."{name}"({", ".join(args)})'
    return f"({name} {args[0]})" if len(args) == 1 else f"({args[0]} {name} {args[1]})"


def accepts(declared: Type, actual: Type) -> int:
    """2 for the same type, 1 for one it can become, 0 otherwise."""
    if declared.name in ("any", "anyelement", "anycompatible", "anynonarray"):
        return int(declared.name != "anynonarray" or (actual.element is None and actual.name != "text"))
    if declared.name in ("anyarray", "anycompatiblearray"):
        return int(actual.element is not None)
    if declared.same(actual):
        return 2
    return int(cast_context(actual, declared) == "implicit")


def find(name: str, types: Sequence[Type]) -> ScalarFunction:
    best: tuple[int, ScalarFunction] | None = None
    for function in SCALARS[name]:
        declared = list(function.args)
        if function.variadic and len(types) >= len(declared):
            declared += [declared[-1]] * (len(types) - len(declared))
        if len(declared) != len(types):
            continue
        scores = [accepts(d, a) for d, a in zip(declared, types, strict=True)]
        if all(scores) and (best is None or sum(scores) > best[0]):
            best = sum(scores), function
    assert best is not None, f"no overload {name}({', '.join(map(str, types))})"
    return best[1]


def make_call(name: str, types: Sequence[Type]) -> Call:
    function = find(name, types)
    args: list[Expr] = []
    for i, actual in enumerate(types):
        declared = function.args[min(i, len(function.args) - 1)]
        ref = ColumnRef(i, actual)
        if declared.name.startswith("any") or declared.same(actual):
            args.append(ref)
        else:
            args.append(Cast(ref, declared))
    return Call(function, tuple(args), function.result_type(tuple(a.type for a in args)))


def text_of(type_: Type, array: pa.Array, zone: str) -> list[str | None]:
    """What `::text` makes of the values."""
    if type_.name == "bool":
        return [None if v is None else str(v).lower() for v in array.to_pylist()]
    if type_.name == "bpchar":
        return [None if v is None else v.rstrip(" ") for v in array.to_pylist()]
    return format_text(type_, array, TextSettings(zone)).to_pylist()


def close(got: str | None, want: str | None, digits: int) -> bool:
    try:
        return abs(float(got or "x") - float(want or "x")) <= 10**-digits * max(
            abs(float(want or "x")), 1e-300
        )
    except ValueError:
        return False


class Oracle:
    def __init__(self, postgres: psycopg.Connection, context: EpochContext) -> None:
        self.postgres = postgres
        self.context = context
        self.digits = 0
        postgres.execute(TRY)

    def use_zone(self, zone: str) -> None:
        """Sets the session's time zone on both sides."""
        self.postgres.execute(f"SET timezone = '{zone}'")
        self.context.timezone = zone

    Error = psycopg.Error

    def texts(self, command: str) -> list[list[str | None]]:
        """The rows of a query, every value as the text PostgreSQL sends."""
        with self.postgres.cursor(binary=False) as cursor:
            cursor.execute(command)
            result = cursor.pgresult
            assert result is not None
            rows = [[result.get_value(r, c) for c in range(result.nfields)] for r in range(result.ntuples)]
        return [[None if v is None else v.decode() for v in row] for row in rows]

    def ask(self, commands: Iterable[str]) -> list[str | None]:
        rows = self.postgres.execute(
            "SELECT try_evaluate(c) FROM unnest(%s::text[]) WITH ORDINALITY u(c, n) ORDER BY n",
            [list(commands)],
        ).fetchall()
        return [row[0] for row in rows]

    def check(
        self, name: str, types: Sequence[str], rows: Sequence[Sequence[str | None]], digits: int = 0
    ) -> None:
        """With `digits`, floats need to agree to that many significant digits only."""
        self.digits = digits
        resolved = [type_by_name(t) for t in types]
        assert all(resolved), types
        commands = [
            "SELECT " + sql_call(name, [quote(v, t) for v, t in zip(row, types, strict=True)]) + "::text"
            for row in rows
        ]
        expected = self.ask(commands)
        call = make_call(name, resolved)  # pyright: ignore[reportArgumentType]
        self.compare(call, resolved, rows, expected, commands)  # pyright: ignore[reportArgumentType]

    def ours(self, name: str, types: Sequence[str], row: Sequence[str | None]) -> str | None:
        """What millpond gives for one row of argument texts."""
        resolved = [type_by_name(type_) for type_ in types]
        columns = [
            parse_text(ty, pa.array([v], pa.string())) for ty, v in zip(resolved, row, strict=True) if ty
        ]
        return self.one(make_call(name, resolved), columns)  # pyright: ignore[reportArgumentType]

    def check_constants(
        self,
        name: str,
        texts: Sequence[str],
        types: Sequence[str],
        constants: Sequence[str],
        first: str = "text",
    ) -> None:
        """A whole column, given as texts, with constants as the other arguments."""
        declared = t.numeric(12, 3) if first == "numeric(12,3)" else type_by_name(first)
        assert declared is not None
        resolved = [declared, *(type_by_name(type_) for type_ in types)]
        call = make_call(name, resolved)  # pyright: ignore[reportArgumentType]
        literals = [
            Literal(parse_text(type_, pa.array([value], pa.string()))[0].as_py(), type_)
            for type_, value in zip(resolved[1:], constants, strict=True)
            if type_ is not None
        ]
        fixed = [quote(v, type_) for v, type_ in zip(constants, types, strict=True)]
        commands = ["SELECT " + sql_call(name, [quote(v, first), *fixed]) + "::text" for v in texts]
        column = parse_text(declared, pa.array(texts, pa.string()), TextSettings(self.context.timezone))
        expr = Call(call.function, (call.args[0], *literals), call.type)
        result = evaluate(expr, [column], len(texts), self.context)
        assert text_of(call.type, result, self.context.timezone) == self.ask(commands), name

    def check_cast(self, source: str, target: Type, sql_target: str, texts: Sequence[str | None]) -> None:
        commands = [f"SELECT ({quote(v, source)}::{sql_target})::text" for v in texts]
        type_ = type_by_name(source)
        assert type_ is not None
        cast = Cast(ColumnRef(0, type_), target, explicit=True)
        self.compare(cast, [type_], [(v,) for v in texts], self.ask(commands), commands)

    def compare(
        self,
        expr: Expr,
        types: Sequence[Type],
        rows: Sequence[Sequence[str | None]],
        expected: Sequence[str | None],
        commands: Sequence[str],
    ) -> None:
        columns = [
            parse_text(
                type_, pa.array([row[i] for row in rows], pa.string()), TextSettings(self.context.timezone)
            )
            for i, type_ in enumerate(types)
        ]
        wrong: list[str] = []
        good: list[int] = []
        for i, (want, command) in enumerate(zip(expected, commands, strict=True)):
            got = self.one(expr, [c.slice(i, 1) for c in columns])
            if got is None or not got.startswith("ERROR "):
                good.append(i)
            if got != want and not (self.digits and close(got, want, self.digits)):
                wrong.append(f"{command}\n   is {got!r}, should be {want!r}")
        assert not wrong, "\n" + "\n".join(wrong)
        take = pa.array(good, pa.int64())
        together = evaluate(expr, [c.take(take) for c in columns], len(good), self.context)
        if not self.digits:
            assert text_of(expr.type, together, self.context.timezone) == [expected[i] for i in good]
        if len(good) < len(rows):
            with pytest.raises(SqlError) as caught:
                evaluate(expr, columns, len(rows), self.context)
            if caught.value.rows is not None:
                bad = set(range(len(rows))) - set(good)
                assert caught.value.rows.tolist() and set(caught.value.rows.tolist()) <= bad

    def one(self, expr: Expr, columns: Sequence[pa.Array]) -> str | None:
        try:
            result = evaluate(expr, columns, 1, self.context)
        except SqlError as error:
            return f"ERROR {error.code} {error.message}"
        assert result.type == expr.type.arrow
        return text_of(expr.type, result, self.context.timezone)[0]


@pytest.fixture
def context() -> EpochContext:
    return EpochContext(1, 1_700_000_000_123_456)


@pytest.fixture
def oracle(postgres: psycopg.Connection, context: EpochContext) -> Oracle:
    return Oracle(postgres, context)
