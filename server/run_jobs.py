"""CANCEL JOBS and SHOW JOBS: views that are being filled."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ..runtime.engine import Engine
from ..sql import statements as st
from .backend import Result, ResultColumn
from .client import Client, PreparedStatement, describes, executes
from .run_session import TEXT, text_rows


@describes(st.CancelJobs)
def describe_cancel_jobs(client: Client, statement: st.CancelJobs) -> tuple[ResultColumn, ...]:
    return (ResultColumn("Id", TEXT),)


@executes(st.CancelJobs)
def run_cancel_jobs(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result:
    """Returns the numbers of the jobs that are asked to end."""
    assert isinstance(prepared.statement, st.CancelJobs)
    engine = client.database.engine
    numbers = prepared.statement.numbers if isinstance(engine, Engine) else ()
    found = [number for number in numbers if isinstance(engine, Engine) and engine.jobs.cancel(number)]
    return text_rows("CANCEL JOBS", ("Id",), [(str(number),) for number in found])


def shown_jobs(client: Client) -> list[tuple[str, str, str]]:
    """(Id, Statement, Progress) as SHOW JOBS has them."""
    rows: list[tuple[str, str, str]] = []
    for number, text, fed, total, state in client.database.live(client)["jobs"]():
        share = f"{100 * int(str(fed)) / int(str(total)):.2f}%" if total else f"{fed} rows"
        rows.append((str(number), str(text), share if state == "running" else str(state)))
    return rows
