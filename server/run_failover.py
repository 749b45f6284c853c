"""SHOW lag and ALTER SYSTEM FAILOVER."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ..sql import statements as st
from ..storage.errors import ObjectNotReady, WrongObjectType
from ..storage.types import FLOAT8, INT8, TEXT
from .backend import Result, ResultColumn
from .client import Client, PreparedStatement, executes

LAG_COLUMNS = (
    ResultColumn("role", TEXT),
    ResultColumn("epoch", INT8),
    ResultColumn("lag_epochs", INT8),
    ResultColumn("lag_records", INT8),
    ResultColumn("lag_ms", FLOAT8),
)


def show_lag(client: Client) -> Result:
    """One row: how far this server is behind the primary; NULL where nothing was measured."""
    engine = client.database.engine
    lag = engine.lag()
    role = "standby" if engine.standby else "primary"
    cluster = client.database.cluster
    records = cluster.lag_records(lag) if cluster is not None else lag.epochs
    ms = None if lag.ms is None else round(lag.ms, 1)
    row = (role, engine.published.epoch, lag.epochs, records, ms)
    arrays = [pa.array([v], column.type.arrow) for v, column in zip(row, LAG_COLUMNS, strict=True)]
    return Result("SHOW", LAG_COLUMNS, iter([arrays]))


@executes(st.Failover)
def run_failover(
    client: Client, prepared: PreparedStatement, values: Sequence[pa.Array], alone: bool
) -> Result:
    database = client.database
    if database.engine.standby or database.cluster is None:
        raise WrongObjectType("only the primary can hand over", hint=database.primary_hint())
    ready = [row for row in database.cluster.rows() if row[2] == "standby" and row[3] == "running"]
    if not ready:
        raise ObjectNotReady(
            "no standby is there to take over",
            hint="Start one: millpond standby --data OWN_DIR --log LOG_DIR --listen HOST:PORT",
        )
    database.end(rejoin=True)
    return Result("ALTER SYSTEM FAILOVER")
