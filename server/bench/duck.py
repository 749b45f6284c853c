"""The same computed from scratch by DuckDB on one thread, over the same rows in its own tables."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import pyarrow as pa


def available() -> bool:
    return importlib.util.find_spec("duckdb") is not None


class Duck:
    """An in-memory DuckDB with these tables loaded. duckdb is a development dependency: see `available`."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        import duckdb

        self._connection: Any = duckdb.connect(":memory:", config={"threads": 1})
        for name, rows in tables.items():
            self._connection.register("rows_of_it", rows)
            self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows_of_it")
            self._connection.unregister("rows_of_it")

    def __enter__(self) -> Duck:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def materialize(self, name: str, query: str) -> float:
        """Makes a table of a query's rows; the seconds it took."""
        started = time.perf_counter()
        self._connection.execute(f"CREATE OR REPLACE TABLE {name} AS {query}")
        return time.perf_counter() - started

    def row(self, query: str) -> tuple[object, ...]:
        return self._connection.execute(query).fetchone()
