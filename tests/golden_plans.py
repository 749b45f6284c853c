"""Golden plans: `golden/plans/<rule>/*.sql`.

Blocks parted by blank lines. A block that is a query or a CREATE MATERIALIZED VIEW is planned, and under
`----` stands its plan as translated and after each rule that changed it; other statements are run. One of
the rules shown must be the one the folder is named after.
"""

from __future__ import annotations

import re
from pathlib import Path

from millpond.planner.optimize import traced
from millpond.planner.translate import translate_query
from millpond.server.client import Client
from millpond.sql import statements as st
from millpond.sql.parse import parse

from .golden_targets import InProcess

PLANNED = re.compile(r"(SELECT|WITH|VALUES|CREATE MATERIALIZED VIEW)\b", re.IGNORECASE)


def run_plans(path: Path, target: InProcess, write: bool) -> list[str]:
    """The failures of one script; with `write` its plans are replaced."""
    failures: list[str] = []
    blocks = [block.strip("\n") for block in re.split(r"\n\s*\n", path.read_text()) if block.strip()]
    rules: set[str] = set()
    for number, block in enumerate(blocks):
        sql, _, expected = block.partition("\n----\n")
        code = re.sub(r"^--.*\n", "", sql, flags=re.MULTILINE).strip()
        if not PLANNED.match(code):
            outcome = target.run("main", code)
            assert not outcome.code, (code, outcome.message)
            continue
        steps = _trace(target, code.rstrip(";"))
        rules |= {step[0].removeprefix("-- ") for step in steps}
        found = "\n".join(line for step in steps for line in step)
        if not write and found != expected:
            failures.append(f"{path.name}: {sql}\nexpected:\n{expected}\ngot:\n{found}")
        blocks[number] = f"{sql}\n----\n{found}"
        if code.upper().startswith("CREATE"):
            assert not target.run("main", code).code
    if path.parent.name not in rules:
        failures.append(f"{path.name}: the rule {path.parent.name} changed nothing")
    if write:
        path.write_text("\n\n".join(blocks) + "\n")
    return failures


def _trace(target: InProcess, sql: str) -> list[list[str]]:
    client = target.session("main")
    assert isinstance(client, Client)
    (statement,) = parse(sql)
    for_view = isinstance(statement, st.CreateMaterializedView)
    assert isinstance(statement, (st.CreateMaterializedView, st.Select))
    ast = statement.query.ast if isinstance(statement, st.CreateMaterializedView) else statement.ast
    catalog = client.reading_catalog()
    translated = translate_query(ast, catalog, client.search_path, text=sql, for_view=for_view)
    return traced(translated.node, catalog, for_view)
