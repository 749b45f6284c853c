"""Writes the tables of docs/sql.md that follow from the code: types, functions, system relations.

    .venv/bin/python docs/generate.py

Each table stands between two marks in the page, `<!-- types -->` and `<!-- /types -->`. tests/test_docs.py
fails when the page is not what this script would write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import millpond.operators.functions as functions
from millpond.operators.functions.aggregates import AGGREGATES
from millpond.operators.functions.registry import SCALARS, TABLE_FUNCTIONS
from millpond.operators.window_functions import WINDOW_FUNCTIONS
from millpond.sql.system import SYSTEM_RELATIONS
from millpond.storage.types import INFO, VECTORS, Type

PAGE = Path(__file__).parent / "sql.md"
SIGNATURES_MAX = 6
"""More overloads than this are told by the types of their first arguments."""
CATALOGUE = "millpond.sql.system"
NOT_OF_USERS = frozenset({"unknown", "record", "void", "char", "name", "xid"})

assert functions  # imported for what it registers


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def types_table() -> str:
    rows = [
        (info.sql_name, ", ".join(a for a in (info.name, *info.aliases) if a != info.sql_name), str(info.oid))
        for info in sorted(INFO.values(), key=lambda i: i.sql_name)
        if info.name not in NOT_OF_USERS
    ]
    return table(("type", "other names", "OID"), rows)


def type_text(type_: Type) -> str:
    known = type_.element is not None or type_.name in INFO
    return str(type_.bare()) if known else type_.name


def signature(name: str, overload: Any) -> str:
    """`f(integer, text) → text`, or `integer + text → text`."""
    args = [type_text(arg) for arg in overload.args]
    if getattr(overload, "variadic", False) and args:
        args[-1] = "VARIADIC " + args[-1]
    result = result_text(overload)
    if name[0].isalpha() or name[0] == "_" or len(args) > 2 or name in ("[]", "[:]"):
        return f"`{name}({', '.join(args)}){result}`"
    return f"`{' '.join([*args[:-1], name, *args[-1:]])}{result}`"


def result_text(overload: Any) -> str:
    if hasattr(overload, "columns"):
        return "" if callable(overload.columns) else f" → {', '.join(n for n, _ in overload.columns)}"
    result = overload.result
    return f" → {type_text(result)}" if isinstance(result, Type) else ""


def signatures(name: str, overloads: Sequence[Any]) -> str:
    shown = [o for o in overloads if not any(arg.name in VECTORS for arg in o.args)]
    texts = list(dict.fromkeys(signature(name, overload) for overload in shown))
    if len(texts) <= SIGNATURES_MAX:
        return "<br>".join(texts)
    firsts = list(dict.fromkeys(type_text(o.args[0]) for o in overloads if o.args))
    return f"`{name}` of " + ", ".join(firsts)


def what(overloads: Sequence[Any]) -> str:
    """What the overloads' documentation says, each sentence once."""
    docs = [getattr(o, "doc", "") or getattr(o, "kernel", what).__doc__ or "" for o in overloads]
    return " ".join(dict.fromkeys(" ".join(doc.strip().split("\n\n")[0].split()) for doc in docs))


def functions_table(registry: dict[str, list[Any]], wanted: Callable[[str], bool] = lambda name: True) -> str:
    rows = [
        (signatures(name, overloads), what(overloads))
        for name, overloads in sorted(registry.items())
        if wanted(name)
    ]
    return table(("call", "gives"), rows)


def is_word(name: str) -> bool:
    return name[0].isalpha() or name[0] == "_"


def of_users(name: str) -> bool:
    """Functions of the catalogue are for clients' own queries, and too many to list."""
    overloads = [*SCALARS.get(name, ()), *TABLE_FUNCTIONS.get(name, ())]
    homes = {overload.kernel.__module__.rpartition(".") for overload in overloads}
    return is_word(name) and any(
        package != CATALOGUE or file == "sequence_functions" for package, _, file in homes
    )


def relations_table() -> str:
    rows = [
        (f"`millpond.{r.name}`", ", ".join(f"`{column.name}`" for column in r.schema), r.comment)
        for r in sorted(SYSTEM_RELATIONS, key=lambda r: r.name)
        if r.schema_name == "millpond"
    ]
    return table(("relation", "columns", "holds"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "types": types_table,
    "operators": lambda: functions_table(SCALARS, lambda name: not is_word(name)),
    "functions": lambda: functions_table(SCALARS, of_users),
    "aggregates": lambda: functions_table(AGGREGATES),
    "window functions": lambda: functions_table(WINDOW_FUNCTIONS),
    "table functions": lambda: functions_table(TABLE_FUNCTIONS, of_users),
    "relations": relations_table,
}


def generated(page: str) -> str:
    """The page with every table between its marks made anew."""
    for name, make in TABLES.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        assert pattern.search(page), f"no place for the table of {name}"
        text = f"{begin}\n{make()}\n{end}"
        page = pattern.sub(lambda _, text=text: text, page)
    return page


if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text()))
