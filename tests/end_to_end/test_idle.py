"""Sessions that do nothing: ended when their settings say so, or when what they hold is needed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from millpond.storage.budget import resident_bytes

from .server_process import ServerProcess

BUDGET_MB = 200
"""Less than the process takes for itself."""

ROWS = 100_000
PART = 20_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("idle") / "data")
    process.start()
    yield process
    process.stop()


def until(holds: Callable[[], bool], timeout_s: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def state_of(connection: psycopg.Connection, pid: int) -> str | None:
    found = connection.execute("SELECT state FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchone()
    return None if found is None else found[0]


@pytest.mark.parametrize(
    ("setting", "begin", "state", "code"),
    [
        ("idle_session_timeout", "SELECT 1", "idle", "57P05"),
        ("idle_in_transaction_session_timeout", "BEGIN", "idle in transaction", "25P03"),
        ("transaction_timeout", "BEGIN", "idle in transaction", "25P04"),
    ],
)
def test_a_session_at_rest_is_ended(
    server: ServerProcess, setting: str, begin: str, state: str, code: str
) -> None:
    with server.connect() as other, psycopg.connect(server.uri, autocommit=True) as resting:
        pid = resting.info.backend_pid
        resting.execute(f"SET {setting} = '500ms'")
        resting.execute(begin)
        assert state_of(other, pid) == state
        until(lambda: state_of(other, pid) is None)
        with pytest.raises(psycopg.Error) as refused:
            resting.execute("SELECT 1")
        assert refused.value.sqlstate == code


def test_a_session_at_work_is_not_ended(server: ServerProcess) -> None:
    with server.connect() as other, server.connect() as working:
        pid = working.info.backend_pid
        for setting in ("idle_session_timeout", "idle_in_transaction_session_timeout"):
            working.execute(f"SET {setting} = '600ms'")
        for _ in range(3):
            time.sleep(0.1)
            working.execute("SELECT pg_sleep(0.8)")
        with working.transaction(), psycopg.connect(server.uri, autocommit=True) as third:
            del third
            with working.pipeline():
                working.execute("SELECT pg_sleep(0.9)")
                time.sleep(0.4)
                assert state_of(other, pid) == "active"
        working.execute("RESET ALL")


def test_a_client_that_does_not_read_is_ended_at_once(server: ServerProcess) -> None:
    with server.connect() as other:
        stuck = psycopg.connect(server.uri, autocommit=True)
        pid = stuck.info.backend_pid
        stuck.pgconn.send_query(b"SELECT g, repeat('x', 200) FROM generate_series(1, 100000000) g")
        until(lambda: state_of(other, pid) == "active")
        time.sleep(1)
        assert other.execute("SELECT pg_terminate_backend(%s)", (pid,)).fetchone() == (True,)
        until(lambda: state_of(other, pid) is None, 2)
        stuck.close()


def test_i7_who_holds_old_rows_gives_way_when_memory_is_short(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", "--memory", str(BUDGET_MB))
    server.start()
    with server.connect() as writer, server.connect() as idle:
        writer.execute("CREATE TABLE big (id bigint PRIMARY KEY, note text)")
        holder = server.connect(autocommit=False)
        assert holder.execute("SELECT count(*) FROM big").fetchone() == (0,)
        with writer.transaction():
            writer.execute("DECLARE c CURSOR WITH HOLD FOR SELECT id FROM big")
        for low in range(0, ROWS, PART):
            writer.execute(
                f"INSERT INTO big SELECT g, repeat('x', 300) FROM generate_series({low}, {low + PART - 1}) g"
            )
        # More than the budget, whatever tables give back: a query in its middle holds rows, too.
        stuck = psycopg.connect(server.uri, autocommit=True)
        stuck.pgconn.send_query(b"SELECT a.id, b.note FROM big a, big b")
        began = time.monotonic()
        while state_of(idle, holder.info.backend_pid) is not None:
            if resident_bytes(server.pid) < BUDGET_MB * 1.1 * (1 << 20):
                pytest.fail("the process is within its budget: this test must take more")
            assert time.monotonic() - began < 60
            # At work again and again, so it holds nothing for long.
            assert writer.execute("FETCH 0 FROM c").fetchall() == []
            time.sleep(0.2)
        assert time.monotonic() - began > 3
        with pytest.raises(psycopg.Error, match="memory is short") as refused:
            holder.execute("SELECT 1")
        assert refused.value.sqlstate == "53200"
        until(lambda: state_of(idle, stuck.info.backend_pid) is None, 60)
        assert writer.execute("SELECT count(*) FROM big").fetchone() == (ROWS,)
        stuck.close()
    assert server.stop() == 0
