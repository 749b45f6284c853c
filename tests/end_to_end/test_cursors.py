"""Cursors and portals over results larger than one piece: made as they are read, of one moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from millpond.storage.budget import resident_bytes

from .server_process import ServerProcess

ROWS = 600_000
PEAK_MB_MAX = 60
"""What reading all of a large result through a cursor may take more."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("cursors") / "data")
    process.start()
    with process.connect() as connection:
        connection.execute("CREATE TABLE big (id bigint PRIMARY KEY, note text)")
        connection.execute(
            f"INSERT INTO big SELECT g, 'note ' || g || repeat('.', 200) FROM generate_series(1, {ROWS}) g"
        )
    yield process
    process.stop()


@pytest.fixture
def block(server: ServerProcess) -> Iterator[psycopg.Connection]:
    """A connection in a transaction block, rolled back in the end."""
    with server.connect(autocommit=False) as connection:
        yield connection
        connection.rollback()


def ids(connection: psycopg.Connection, sql: str) -> list[Any]:
    return [row[0] for row in connection.execute(sql).fetchall()]


def test_a_cursor_moves_forward_as_in_postgres(block: psycopg.Connection) -> None:
    block.execute("DECLARE c CURSOR FOR SELECT id FROM big")
    first = ids(block, "FETCH 3 FROM c")
    assert ids(block, "FETCH 0 FROM c") == first[2:] == ids(block, "FETCH RELATIVE 0 FROM c")
    tenth = ids(block, "FETCH ABSOLUTE 10 FROM c")
    assert block.execute("MOVE 400000 IN c").statusmessage == "MOVE 400000"
    assert ids(block, "FETCH ABSOLUTE 400010 FROM c") != tenth
    rest = ids(block, "FETCH ALL FROM c")
    assert len(rest) == ROWS - 400_010
    assert ids(block, "FETCH 5 FROM c") == [] == ids(block, "FETCH 0 FROM c")
    assert block.execute("MOVE ALL IN c").statusmessage == "MOVE 0"
    block.execute("DECLARE d CURSOR FOR SELECT id FROM big")
    seen = ids(block, "FETCH 400010 FROM d")
    assert seen[:3] == first and seen[9:10] == tenth
    assert sorted(seen + rest) == list(range(1, ROWS + 1))


def test_a_large_cursor_goes_back_only_if_it_may(block: psycopg.Connection) -> None:
    block.execute("DECLARE c SCROLL CURSOR FOR SELECT id FROM big ORDER BY id")
    assert ids(block, "FETCH LAST FROM c") == [ROWS]
    assert ids(block, "FETCH BACKWARD 2 FROM c") == [ROWS - 1, ROWS - 2]
    block.execute("DECLARE d NO SCROLL CURSOR FOR SELECT id FROM big")
    block.execute("FETCH 10 FROM d")
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="can only scan forward"):
        block.execute("FETCH PRIOR FROM d")


def test_what_is_written_later_is_not_fetched(block: psycopg.Connection) -> None:
    block.execute("INSERT INTO big VALUES (-1, 'before')")
    block.execute("DECLARE c CURSOR FOR SELECT id FROM big")
    block.execute("DECLARE d CURSOR FOR SELECT id FROM big WHERE id <> 7")
    assert len(ids(block, "FETCH 10 FROM c")) == 10
    block.execute("INSERT INTO big VALUES (-2, 'after')")
    block.execute("DELETE FROM big WHERE id > 1000")
    assert len(ids(block, "FETCH ALL FROM c")) == ROWS + 1 - 10
    found = ids(block, "FETCH ALL FROM d")
    assert len(found) == ROWS and min(found) == -1
    assert ids(block, "SELECT count(*) FROM big") == [1002]


def test_a_held_cursor_outlives_its_transaction(server: ServerProcess) -> None:
    with server.connect() as connection, server.connect() as other:
        with connection.transaction():
            connection.execute("DECLARE h CURSOR WITH HOLD FOR SELECT id FROM big")
        other.execute("INSERT INTO big VALUES (0, 'later')")
        assert len(ids(connection, "FETCH 100 FROM h")) == 100
        assert len(ids(connection, "FETCH ALL FROM h")) == ROWS - 100
        connection.execute("CLOSE h")
        other.execute("DELETE FROM big WHERE id = 0")
        assert ids(connection, "SELECT count(*) FROM pg_cursors") == [0]


def test_a_drivers_cursor_takes_little_memory(server: ServerProcess) -> None:
    with server.connect(autocommit=False) as connection:
        before = resident_bytes(server.pid)
        peak = count = 0
        with connection.cursor("named") as cursor:
            cursor.itersize = 5000
            cursor.execute("SELECT * FROM big")
            for _ in cursor:
                count += 1
                if count % 50_000 == 0:
                    peak = max(peak, resident_bytes(server.pid))
        assert count == ROWS
        assert peak - before < PEAK_MB_MAX << 20


@pytest.mark.parametrize("statement", ["FETCH ALL FROM h", "MOVE ALL IN h"])
def test_a_held_cursor_that_was_cut_off_says_so(server: ServerProcess, statement: str) -> None:
    with server.connect() as connection:
        with connection.transaction():
            connection.execute("DECLARE h CURSOR WITH HOLD FOR SELECT a.id FROM big a, big b")
        first = ids(connection, "FETCH 3 FROM h")
        timer = threading.Timer(0.3, connection.cancel)
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(statement)
        timer.join()
        for _ in range(2):
            with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="cannot be run"):
                connection.execute("FETCH 3 FROM h")
        connection.execute("CLOSE h")
        assert len(first) == 3 and ids(connection, "SELECT 1") == [1]


def test_an_error_on_the_way_comes_with_the_rows(block: psycopg.Connection) -> None:
    block.execute(f"DECLARE c CURSOR FOR SELECT id, note, 1 / (id - {ROWS}) FROM big")
    assert len(ids(block, "FETCH 10 FROM c")) == 10
    with pytest.raises(psycopg.errors.DivisionByZero):
        block.execute("FETCH ALL FROM c")
