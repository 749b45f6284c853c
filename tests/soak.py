"""`make soak`: a server under everything at once, for as long as asked, watched all the while.

Nexmark sources, ten views, random DML, random SELECTs and definitions by several clients, kill -9 at random
moments. Prints, per minute: resident memory, open files, commits, and the latency of writes, point reads
and scans (p50 / p99, the time a server is down not counted). At the end every acknowledged row is there
once, every view equals its query and `millpond check` is content. With a memory budget the server must never
have taken a quarter more than that. Ends with status 1 when any of that is not so.

    python -m tests.soak [SECONDS] [SEED] [MEMORY_MB]
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

import psycopg

from .end_to_end.server_process import ServerProcess

SECONDS = 1800
KILL_EVERY_S = (15.0, 60.0)
EVENTS = {"bid": "Bid", "auction": "Auction", "person": "Person"}
ACCOUNTS = 5000

QUERIES = {
    "q_price": "SELECT auction % 1000 AS a, count(*) AS n, sum(price) AS p, max(price) AS m FROM bid "
    "GROUP BY auction % 1000",
    "q_channel": "SELECT channel, count(DISTINCT bidder % 5000) AS b, min(price) AS p FROM bid "
    "GROUP BY channel",
    "q_seller": "SELECT p.state, count(*) AS n, sum(a.reserve) AS r FROM auction a JOIN person p "
    "ON a.seller = p.id GROUP BY p.state",
    "q_category": "SELECT category, count(*) AS n, avg(initial_bid) AS i FROM auction GROUP BY category",
    "q_top": "SELECT id, amount FROM account ORDER BY amount DESC, id LIMIT 20",
    "q_branch": "SELECT branch, count(*) AS n, sum(amount) AS s FROM account GROUP BY branch",
    "q_moved": "SELECT a.branch, count(*) AS n, sum(t.amount) AS s FROM transfer t JOIN account a "
    "ON a.id = t.account GROUP BY a.branch",
    "q_idle": "SELECT a.id FROM account a LEFT JOIN transfer t ON t.account = a.id WHERE t.id IS NULL",
    "q_ranked": "SELECT branch, id, rank() OVER (PARTITION BY branch ORDER BY amount DESC) AS r FROM account "
    "WHERE id % 50 = 0",
    "q_of_view": "SELECT n, count(*) AS k FROM q_branch GROUP BY n",
}


class Figures:
    """Latencies in ms of this minute, by kind of work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: defaultdict[str, list[float]] = defaultdict(list)

    def add(self, kind: str, seconds: float) -> None:
        with self._lock:
            self._found[kind].append(seconds * 1000)

    def line(self) -> str:
        """The minute's figures; a new minute begins."""
        with self._lock:
            found, self._found = self._found, defaultdict(list)
        parts = []
        for kind in sorted(found):
            values = sorted(found[kind])
            middle, high = values[len(values) // 2], values[int(len(values) * 0.99)]
            parts.append(f"{kind} {len(values)} ({middle:.1f} / {high:.1f} ms)")
        return ", ".join(parts)


class Worker(threading.Thread):
    """One client doing random work; reconnects when the server is gone."""

    def __init__(self, server: ServerProcess, figures: Figures, number: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.server, self.figures, self.number = server, figures, number
        self.chance = random.Random(seed * 100 + number)
        self.stop = threading.Event()
        self.acknowledged: dict[int, int] = {}
        self.problems: list[str] = []
        self._next = number << 40
        self._drop_at = 0

    def run(self) -> None:
        while not self.stop.is_set():
            try:
                with psycopg.connect(self.server.uri, autocommit=True, connect_timeout=2) as connection:
                    while not self.stop.is_set():
                        self._one(connection)
            except psycopg.OperationalError:
                time.sleep(0.1)
            except psycopg.Error as error:
                self.problems.append(f"{type(error).__name__}: {error}")
                time.sleep(0.1)

    def _one(self, connection: psycopg.Connection) -> None:
        raise NotImplementedError

    def timed(
        self, kind: str, connection: psycopg.Connection, text: str, values: tuple | None = None
    ) -> list:
        started = time.perf_counter()
        cursor = connection.execute(text, values)
        rows = cursor.fetchall() if cursor.description else []
        self.figures.add(kind, time.perf_counter() - started)
        return rows


class Writer(Worker):
    """Transfers that are remembered, accounts that change, rows that go."""

    def _one(self, connection: psycopg.Connection) -> None:
        chance, account = self.chance, self.chance.randrange(ACCOUNTS)
        kind = chance.random()
        if kind < 0.6:
            self._next += 1
            amount = chance.randrange(1000)
            self.timed(
                "insert",
                connection,
                "INSERT INTO transfer VALUES (%s, %s, %s)",
                (self._next, account, amount),
            )
            self.acknowledged[self._next] = amount
        elif kind < 0.8:
            self.timed(
                "update", connection, "UPDATE account SET amount = amount + 1, branch = %s WHERE id = %s",
                (chance.randrange(50), account),
            )  # fmt: skip
        elif kind < 0.9 and self.acknowledged:
            gone = next(iter(self.acknowledged))
            amount = self.acknowledged.pop(gone)
            try:
                self.timed("delete", connection, "DELETE FROM transfer WHERE id = %s", (gone,))
            except psycopg.OperationalError:
                found = None
                while found is None and not self.stop.is_set():
                    found = self._is_there(gone)
                if found:
                    self.acknowledged[gone] = amount
                raise
        else:
            self._moves(connection)

    def _is_there(self, number: int) -> bool | None:
        try:
            with psycopg.connect(self.server.uri, autocommit=True, connect_timeout=2) as connection:
                return bool(connection.execute("SELECT 1 FROM transfer WHERE id = %s", (number,)).fetchall())
        except psycopg.OperationalError:
            time.sleep(0.1)
            return None

    def _moves(self, connection: psycopg.Connection) -> None:
        """Money from one account to another: the sum over all accounts changes by updates above only."""
        left, right = self.chance.sample(range(ACCOUNTS), 2)
        started = time.perf_counter()
        try:
            with connection.transaction():
                connection.execute("UPDATE account SET amount = amount - 5 WHERE id = %s", (left,))
                connection.execute("UPDATE account SET amount = amount + 5 WHERE id = %s", (right,))
        except psycopg.errors.SerializationFailure:
            return
        self.figures.add("transaction", time.perf_counter() - started)


class Reader(Worker):
    """Point reads, whole views, questions over several views at one moment."""

    def _one(self, connection: psycopg.Connection) -> None:
        chance = self.chance
        kind = chance.random()
        if kind < 0.8:
            account = chance.randrange(ACCOUNTS)
            rows = self.timed(
                "point", connection, "SELECT branch, amount FROM account WHERE id = %s", (account,)
            )
            if len(rows) != 1:
                self.problems.append(f"account {account} has {len(rows)} rows")
        elif kind < 0.95:
            self.timed("scan", connection, f"SELECT * FROM {chance.choice(sorted(QUERIES))}")
        else:
            together = "SELECT (SELECT sum(s) FROM q_branch), (SELECT sum(amount) FROM account)"
            left, right = self.timed("both", connection, together)[0]
            if left != right:
                self.problems.append(f"a view and its table of two moments: {left}, {right}")
        time.sleep(0.002)


class Definer(Worker):
    """Views that come and go."""

    def _one(self, connection: psycopg.Connection) -> None:
        query = self.chance.choice([q for name, q in QUERIES.items() if name != "q_of_view"])
        connection.execute("DROP MATERIALIZED VIEW IF EXISTS passing")
        self.timed("create", connection, f"CREATE MATERIALIZED VIEW passing AS {query}")
        self.stop.wait(self.chance.uniform(1, 5))


def prepare(server: ServerProcess, seconds: float) -> None:
    events = int(seconds * 2000) + 20_000
    with server.connect() as connection:
        for name, kind in EVENTS.items():
            connection.execute(
                f"CREATE SOURCE {name} WITH (connector = 'nexmark', nexmark.table.type = '{kind}', "
                f"nexmark.event.num = '{events}', nexmark.min.event.gap.in.ns = '500000')"
            )
        connection.execute("CREATE TABLE account (id int PRIMARY KEY, branch int, amount bigint)")
        connection.execute("CREATE TABLE transfer (id bigint PRIMARY KEY, account int, amount int)")
        connection.execute(
            f"INSERT INTO account SELECT i, i % 50, 1000 FROM generate_series(0, {ACCOUNTS - 1}) AS g(i)"
        )
        for name, query in QUERIES.items():
            connection.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")


def watched(server: ServerProcess) -> str:
    """Resident memory, its peak since the last start, and open files of the server."""
    try:
        status = Path(f"/proc/{server.pid}/status").read_text()
        files = len(list(Path(f"/proc/{server.pid}/fd").iterdir()))
    except OSError:
        return "down"
    sizes = dict(line.split(":", 1) for line in status.splitlines())
    now, peak = (int(sizes[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    return f"{now:.0f} MB (peak {peak:.0f}), {files} files"


def peak_mb(server: ServerProcess) -> float:
    """The most memory that the server had resident since its last start; 0 where that is not told."""
    try:
        status = Path(f"/proc/{server.pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(x.split()[1]) / 1024 for x in status.splitlines() if x.startswith("VmHWM")), 0.0)


def folder_size(folder: Path) -> float:
    sizes = (path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return sum(sizes) / (1 << 20)


def differences(server: ServerProcess, workers: list[Worker]) -> list[str]:
    """What is not as it must be."""
    wrong = [problem for worker in workers for problem in worker.problems]
    with server.connect(autocommit=False) as connection:
        found = dict(connection.execute("SELECT id, amount FROM transfer").fetchall())
        for name, query in QUERIES.items():
            view = sorted(map(repr, connection.execute(f"SELECT * FROM {name}").fetchall()))
            if view != sorted(map(repr, connection.execute(query).fetchall())):
                wrong.append(f"{name} differs from its query")
    for worker in workers:
        lost = [i for i, amount in worker.acknowledged.items() if found.get(i) != amount]
        if lost:
            wrong.append(f"{len(lost)} acknowledged rows are lost, {lost[:3]}")
    return wrong


def live(server: ServerProcess, seconds: float, seed: int, memory_mb: int) -> list[str]:
    """The run itself; what was wrong."""
    peak = 0.0
    chance, figures = random.Random(seed), Figures()
    workers: list[Worker] = [Writer(server, figures, number, seed) for number in (1, 2)]
    workers += [Reader(server, figures, 3, seed), Definer(server, figures, 4, seed)]
    for worker in workers:
        worker.start()
    started = time.monotonic()
    kill_at, minute_at, kills = started + chance.uniform(*KILL_EVERY_S), started + 60, 0
    while time.monotonic() < started + seconds:
        time.sleep(0.2)
        peak = max(peak, peak_mb(server))
        if time.monotonic() >= kill_at:
            server.kill()
            down = time.monotonic()
            server.start()
            kills += 1
            print(f"  kill -9: back after {time.monotonic() - down:.1f} s", flush=True)
            kill_at = time.monotonic() + chance.uniform(*KILL_EVERY_S)
        if time.monotonic() >= minute_at:
            at = (time.monotonic() - started) / 60
            log, state = folder_size(server.data / "log"), folder_size(server.data / "state")
            sizes = f"log {log:.0f} MB, state {state:.0f} MB"
            print(f"{at:5.1f} min  {watched(server)}, {sizes}; {figures.line()}", flush=True)
            minute_at += 60
    for worker in workers:
        worker.stop.set()
    for worker in workers:
        worker.join(30)
    print(
        f"{kills} kills, {sum(len(worker.acknowledged) for worker in workers)} rows, peak {peak:.0f} MB",
        flush=True,
    )
    exceeded = [f"{peak:.0f} MB of {memory_mb} were taken"] if memory_mb and peak > memory_mb * 1.25 else []
    return exceeded + differences(server, workers)


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
    memory_mb = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    print(f"seed {seed}, {seconds:.0f} s", flush=True)
    with tempfile.TemporaryDirectory(prefix="millpond-soak-") as folder:
        budget = ("--memory", str(memory_mb)) if memory_mb else ()
        server = ServerProcess(Path(folder) / "data", *budget)
        server.start()
        try:
            prepare(server, seconds)
            wrong = live(server, seconds, seed, memory_mb)
        finally:
            status = server.stop()
        checked = subprocess.run(
            [sys.executable, "-m", "millpond.server", "check", str(server.data)],
            capture_output=True,
            text=True,
        )
        print(checked.stdout.strip())
    if status:
        wrong.append(f"the server ended with status {status}")
    if checked.returncode:
        wrong.append("millpond check complains")
    for problem in wrong:
        print("WRONG:", problem)
    print("soak failed" if wrong else "soak passed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
