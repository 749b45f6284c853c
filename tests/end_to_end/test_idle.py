"""Sessions that do nothing: ended when their settings say so, or when what they hold is needed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from millpond.storage.budget import resident_bytes

from .server_process import ServerProcess

BUDGET_MB = 450
ROWS = 300_000
PART = 30_000


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


def test_i7_old_snapshots_do_not_take_all_memory(tmp_path: Path) -> None:
    """Sessions idle in transactions, each with rows that everybody else has changed since."""
    server = ServerProcess(tmp_path / "data", "--memory", str(BUDGET_MB))
    server.start()
    with server.connect() as writer:
        writer.execute("CREATE TABLE big (id bigint PRIMARY KEY, note text)")
        for low in range(0, ROWS, PART):
            writer.execute(
                f"INSERT INTO big SELECT g, repeat('x', 300) FROM generate_series({low}, {low + PART - 1}) g"
            )
        holders: list[psycopg.Connection] = []
        most = 0
        for turn in range(10):
            holders.append(server.connect(autocommit=False))
            assert holders[-1].execute("SELECT min(id) FROM big").fetchone() == (0,)
            for low in range(0, ROWS, PART):
                writer.execute(
                    f"UPDATE big SET note = '{turn}' || note WHERE id BETWEEN {low} AND {low + PART - 1}"
                )
                most = max(most, resident_bytes(server.pid))
            time.sleep(1)
        print("most MB", most >> 20)
        refused: list[str | None] = []
        for holder in holders:
            try:
                assert holder.execute("SELECT count(*) FROM big").fetchone() == (ROWS,)
            except psycopg.Error as error:
                refused.append(error.sqlstate)
            holder.close()
        assert refused and set(refused) == {errors.lookup("OUT_OF_MEMORY").sqlstate}
        assert writer.execute("SELECT count(*), min(note) LIKE '98%' FROM big").fetchone() == (ROWS, True)
        assert resident_bytes(server.pid) < BUDGET_MB * 1.25 * (1 << 20)
    assert server.stop() == 0
