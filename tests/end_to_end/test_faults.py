"""Faults of the machine, with real processes: kill -9 at any work, full disks, damaged and missing files."""

from __future__ import annotations

import json
import random
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from psycopg import errors

from millpond.storage.commit import Storage
from millpond.storage.schema import Schema
from millpond.storage.table import TableSpec
from millpond.storage.types import INT8

from .server_process import ServerProcess
from .test_kill import Load, goes_on

SMALL = ("--checkpoint-kb", "32", "--segment-kb", "32", "--compact-kb", "64", "--fill-rows-min", "1000")
"""Checkpoints, compactions and fills all the time."""
ROWS = 40_000
QUERIES = (
    "SELECT k, count(*) AS n, sum(v) AS v FROM big GROUP BY k",
    "SELECT b.id, e.client FROM big b JOIN entry e ON e.amount = b.k WHERE b.id % 50 = 0",
    "SELECT k % 7 AS g, max(id) AS m FROM big GROUP BY k % 7",
    "SELECT DISTINCT v FROM big",
)


def prepare(server: ServerProcess) -> None:
    with server.connect() as connection:
        connection.execute(
            "CREATE TABLE entry (id bigint PRIMARY KEY, client int NOT NULL, amount int NOT NULL)"
        )
        connection.execute("CREATE TABLE big (id bigint PRIMARY KEY, k int, v bigint)")
        connection.execute(
            f"INSERT INTO big SELECT i, i % 1000, i % 97 FROM generate_series(1, {ROWS}) AS g(i)"
        )
        connection.execute(
            "CREATE MATERIALIZED VIEW per_client AS SELECT client, count(*) AS n, sum(amount) AS amount "
            "FROM entry GROUP BY client"
        )


def same(connection: psycopg.Connection, view: str, query: str) -> None:
    with connection.transaction():
        connection.execute("SET TRANSACTION READ ONLY")
        found = sorted(map(repr, connection.execute(f"SELECT * FROM {view}").fetchall()))
        assert found == sorted(map(repr, connection.execute(query).fetchall())), view


# kill -9.


class Definitions(threading.Thread):
    """Creates views over `big` and drops them, and changes `big`; knows what was acknowledged."""

    def __init__(self, server: ServerProcess, seed: int) -> None:
        super().__init__(daemon=True)
        self.server, self.chance = server, random.Random(seed)
        self.there: dict[str, str] = {}
        self.doubtful: dict[str, str] = {}
        self.gone: set[str] = set()
        self.stop = threading.Event()
        self.done = 0
        self._number = 0

    def run(self) -> None:
        while not self.stop.is_set():
            try:
                with psycopg.connect(self.server.uri, autocommit=True, connect_timeout=2) as connection:
                    while not self.stop.is_set():
                        self._one(connection)
            except psycopg.OperationalError:
                time.sleep(0.05)

    def _one(self, connection: psycopg.Connection) -> None:
        chance = self.chance
        if len(self.there) > 3:
            name = chance.choice(sorted(self.there))
            self.doubtful[name] = self.there.pop(name)
            connection.execute(f"DROP MATERIALIZED VIEW {name}")
            del self.doubtful[name]
            self.gone.add(name)
        else:
            self._number += 1
            name, query = f"v{self._number}", chance.choice(QUERIES)
            self.doubtful[name] = query
            connection.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
            self.there[name] = self.doubtful.pop(name)
        self.done += 1
        low = chance.randrange(ROWS)
        connection.execute(f"UPDATE big SET v = v + 1, k = k + 1 WHERE id BETWEEN {low} AND {low + 200}")

    def check(self) -> None:
        there, doubtful = self.there.copy(), self.doubtful.copy()
        with self.server.connect() as connection:
            rows = connection.execute("SELECT name FROM millpond.views WHERE state = 'running'").fetchall()
            found = {name for (name,) in rows}
            assert set(there) <= found, f"acknowledged views are lost: {set(there) - found}"
            assert not found & self.gone, f"dropped views are back: {found & self.gone}"
            assert found <= {*there, *doubtful, "per_client"}
            for name in found - {"per_client"}:
                same(connection, name, {**doubtful, **there}[name])


def kill_at_any_work(folder: Path, kills: int, seed: int) -> None:
    """Kills land in commits, definitions, fills, checkpoints, compactions and recoveries."""
    print("seed", seed)
    chance = random.Random(seed)
    server = ServerProcess(folder / "data", *SMALL)
    server.start()
    prepare(server)
    loads = [Load(server, client) for client in (1, 2)]
    definitions = Definitions(server, seed)
    for thread in (*loads, definitions):
        thread.start()
    for number in range(kills):
        time.sleep(chance.uniform(0.2, 2.0))
        server.kill()
        if chance.random() < 0.4:
            server.start_and_kill(chance.uniform(0.3, 2.5))
        server.start()
        if number % 5 == 4:
            definitions.stop.set()
            definitions.join(30)
            definitions.check()
            definitions.stop.clear()
            more = Definitions(server, chance.randrange(1 << 30))
            more.there, more.doubtful, more.gone = definitions.there, definitions.doubtful, definitions.gone
            more._number, more.done = definitions._number, definitions.done
            definitions = more
            definitions.start()
    # Each kill may have left a view to be filled, and the next waits for its turn behind them.
    goes_on(lambda: definitions.done > 0 and all(load.acknowledged for load in loads), 120 + 10 * kills)
    for thread in (*loads, definitions):
        thread.stop.set()
    for thread in (*loads, definitions):
        thread.join(30)
    definitions.check()
    found = acknowledged(server)
    for load in loads:
        assert {i: a for i, a in load.acknowledged.items() if found.get(i) != a} == {}
    with server.connect() as connection:
        same(connection, "per_client", "SELECT client, count(*), sum(amount) FROM entry GROUP BY client")
    print(definitions.done, "definitions", sum(len(load.acknowledged) for load in loads), "rows")
    assert server.stop() == 0
    checked = subprocess.run(
        [sys.executable, "-m", "millpond.server", "check", str(server.data)], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout


def acknowledged(server: ServerProcess) -> dict[int, int]:
    with server.connect() as connection:
        return dict(connection.execute("SELECT id, amount FROM entry").fetchall())


def test_i6_kill_in_definitions_fills_and_checkpoints(tmp_path: Path) -> None:
    kill_at_any_work(tmp_path, 2, random.randrange(1 << 30))


@pytest.mark.slow
def test_i6_kill_in_definitions_fills_and_checkpoints_often(tmp_path: Path) -> None:
    kill_at_any_work(tmp_path, 60, random.randrange(1 << 30))


# A full disk.


def test_a_full_disk_refuses_writes_only(tmp_path: Path) -> None:
    """RLIMIT_FSIZE stands for the full disk: no file grows beyond it."""
    server = ServerProcess(tmp_path / "data", "--fill-rows-min", "1000")
    server.start()
    try:
        prepare(server)
        with server.connect() as connection:
            connection.execute("INSERT INTO entry VALUES (1, 1, 1)")
            full(server)
            for statement in (
                "INSERT INTO entry VALUES (2, 1, 1)",
                "DELETE FROM big",
                "CREATE TABLE c (a int)",
            ):
                with pytest.raises(errors.DiskFull):
                    connection.execute(statement)
            assert acknowledged(server) == {1: 1}
            assert connection.execute("SELECT count(*) FROM big").fetchone() == (ROWS,)
            same(connection, "per_client", "SELECT client, count(*), sum(amount) FROM entry GROUP BY client")
            roomy(server)
            connection.execute("INSERT INTO entry VALUES (100000, 2, 5)")
            connection.execute(f"CREATE MATERIALIZED VIEW v AS {QUERIES[0]}")
            same(connection, "v", QUERIES[0])
        server.kill()
        server.start()
        assert acknowledged(server) == {1: 1, 100000: 5}
        with server.connect() as connection:
            same(connection, "v", QUERIES[0])
    finally:
        server.stop()


def full(server: ServerProcess) -> None:
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (50, resource.RLIM_INFINITY))


def roomy(server: ServerProcess) -> None:
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


# Damaged and missing files.


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with several segments, as kill -9 left it: the last of its log is in no store."""
    server = ServerProcess(tmp_path_factory.mktemp("killed") / "data", "--segment-kb", "32")
    server.start()
    prepare(server)
    with server.connect() as connection:
        connection.execute(f"CREATE MATERIALIZED VIEW v AS {QUERIES[0]}")
        for number in range(40):
            values = f"SELECT {number} * 100 + i, {number % 3}, i FROM generate_series(1, 100) AS g(i)"
            connection.execute(f"INSERT INTO entry {values}")
    server.kill()
    return server.data


@pytest.fixture
def ended(killed: Path, tmp_path: Path) -> ServerProcess:
    """A server that was killed, on a copy of its directory."""
    shutil.copytree(killed, tmp_path / "data")
    return ServerProcess(tmp_path / "data")


def refused(server: ServerProcess) -> str:
    """The server does not start: exit status 1 and one line."""
    command = [sys.executable, "-m", "millpond.server", "serve", "--listen", "127.0.0.1:0", "--data"]
    done = subprocess.run([*command, str(server.data)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done
    lines = [line for line in done.stderr.splitlines() if line.startswith("millpond: ")]
    assert len(lines) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return lines[0]


def complete(server: ServerProcess) -> None:
    """It starts, and everything is there."""
    server.start()
    try:
        with server.connect() as connection:
            assert connection.execute("SELECT count(*) FROM entry").fetchone() == (4000,)
            assert connection.execute("SELECT count(*) FROM big").fetchone() == (ROWS,)
            same(connection, "v", QUERIES[0])
            connection.execute("INSERT INTO big VALUES (0, 5, 5)")
            same(connection, "v", QUERIES[0])
    finally:
        assert server.stop() == 0


def delete(state: Path) -> None:
    shutil.rmtree(state)


def garbage(state: Path) -> None:
    for path in state.iterdir():
        if path.is_file():
            path.write_bytes(b"\x5a" * (path.stat().st_size or 100))


def foreign(state: Path) -> None:
    """The store of another database."""
    other = Storage.open(state.parent.parent / "other")
    other.begin()
    columns = [pa.array([1, 2]), pa.array([3, 4])]
    other.table("r16384", TableSpec(Schema.of(id=INT8, client=INT8), (0,))).upsert(columns)
    other.commit({})
    other.close()
    shutil.rmtree(state)
    shutil.copytree(state.parent.parent / "other" / "state", state)


def truncated(state: Path) -> None:
    for path in state.glob("MANIFEST*"):
        path.write_bytes(path.read_bytes()[:20])


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "damage", [delete, pytest.param(garbage, marks=SLOW), foreign, pytest.param(truncated, marks=SLOW)]
)
def test_a_lost_store_is_rebuilt_from_the_log(ended: ServerProcess, damage: Callable[[Path], None]) -> None:
    damage(ended.data / "state")
    complete(ended)


def test_a_lost_store_is_rebuilt_after_compaction(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", *SMALL)
    server.start()
    prepare(server)
    with server.connect() as connection:
        for _ in range(30):
            connection.execute("UPDATE big SET v = v + 1 WHERE id <= 2000")
    assert server.stop() == 0
    shutil.rmtree(server.data / "state")
    server.start()
    with server.connect() as connection:
        total = connection.execute("SELECT sum(v) FROM big").fetchone()
        assert total == (sum(i % 97 for i in range(1, ROWS + 1)) + 30 * 2000,)
    assert server.stop() == 0


def segments(server: ServerProcess) -> list[Path]:
    return sorted((server.data / "log").glob("*.seg"))


def test_a_flipped_bit_in_the_log_is_refused(ended: ServerProcess) -> None:
    shutil.rmtree(ended.data / "state")
    path = segments(ended)[1]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    assert "lost" in refused(ended)


def test_a_segment_missing_in_the_middle_is_refused(ended: ServerProcess) -> None:
    shutil.rmtree(ended.data / "state")
    found = segments(ended)
    assert len(found) > 2
    found[1].unlink()
    assert "lost" in refused(ended)


@SLOW
def test_a_torn_tail_is_cut(ended: ServerProcess) -> None:
    """What was not committed when all ended is no damage."""
    with segments(ended)[-1].open("ab") as file:
        file.write(bytes(1000))
    complete(ended)


def test_a_newer_format_is_refused(ended: ServerProcess) -> None:
    path = ended.data / "FORMAT"
    stamp = json.loads(path.read_text())
    number = next(name for name, value in stamp.items() if isinstance(value, int))
    path.write_text(json.dumps({**stamp, number: 99}))
    assert "99" in refused(ended)
    path.write_text(json.dumps(stamp))
    complete(ended)


def test_two_servers_on_one_directory(ended: ServerProcess) -> None:
    ended.start()
    try:
        assert "in use" in refused(ended)
        with ended.connect() as connection:
            connection.execute("INSERT INTO entry VALUES (100000, 2, 5)")
    finally:
        assert ended.stop() == 0


def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    assert "cannot use the data directory" in refused(ServerProcess(Path("/proc/nothing")))
    (tmp_path / "file").write_text("")
    assert "cannot use the data directory" in refused(ServerProcess(tmp_path / "file" / "data"))
