"""The psql to test with: the machine's own, else the one that comes with the oracle's PostgreSQL."""

from __future__ import annotations

import shutil
from pathlib import Path

import pgserver

PSQL = shutil.which("psql") or str(next(Path(pgserver.__file__).parent.rglob("bin/psql")))
PG_DUMP = shutil.which("pg_dump") or str(next(Path(pgserver.__file__).parent.rglob("bin/pg_dump")))
