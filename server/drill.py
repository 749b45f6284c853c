"""`millpond drill`: proves failover on this machine.

Brings up a primary and standbys in a temporary directory, loads them, writes and reads without pause, kills
the primary with SIGKILL again and again (and restarts it as a standby), and prints for each time how long no
write was committed and no read was answered; at the end, what was lost and what is there twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from ..storage.errors import StartupError
from .simple_client import QueryFailed, SimpleClient

HOST = "127.0.0.1"
START_S_MAX = 120.0
GAP_S_MAX = 60.0
STEADY_S = 0.3
"""Writes and reads go on undisturbed for so long before each kill, and up to twice as long."""
ANSWER_S_MAX = 5.0

SCHEMA = (
    "CREATE TABLE entry (id bigint PRIMARY KEY, account int NOT NULL, amount int NOT NULL)",
    "CREATE MATERIALIZED VIEW balance AS SELECT account, count(*) AS n, sum(amount) AS amount FROM entry "
    "GROUP BY account",
    "CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(amount) AS amount FROM entry",
)


class Node:
    """A server process on a port of its own."""

    def __init__(self, folder: Path, name: str, options: list[str]) -> None:
        self.name = name
        self._folder, self._options = folder, options
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            self.port: int = probe.getsockname()[1]

    def start(self, kind: str) -> None:
        command = [sys.executable, "-m", "millpond.server", kind, "--data", str(self._folder / self.name)]
        command += [
            "--log",
            str(self._folder / "log"),
            "--listen",
            f"{HOST}:{self.port}",
            "--name",
            self.name,
        ]
        with (self._folder / f"{self.name}.stderr").open("ab") as errors:
            self._process = subprocess.Popen(
                [*command, *self._options], stdout=subprocess.DEVNULL, stderr=errors
            )

    def connect(self, timeout_s: float = ANSWER_S_MAX) -> SimpleClient:
        return SimpleClient(HOST, self.port, timeout_s)

    def await_ready(self) -> None:
        """Raises StartupError when the server ends or does not answer."""
        deadline = time.monotonic() + START_S_MAX
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                break
            with contextlib.suppress(OSError, QueryFailed):
                self.connect().close()
                return
            time.sleep(0.05)
        raise StartupError((self._folder / f"{self.name}.stderr").read_text()[-2000:])

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()


@dataclass(slots=True)
class Gap:
    """One kill: seconds without a committed write, and without an answered read."""

    write_s: float
    read_s: float


@dataclass(slots=True)
class Traffic:
    """What the writers and the reader did."""

    acknowledged: dict[int, int] = field(default_factory=dict)
    unknown: dict[int, int] = field(default_factory=dict)
    """Sent, and the answer was lost: each may be there or not."""
    written_at: list[float] = field(default_factory=list)
    read_at: list[float] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)


def on_any(nodes: list[Node], wanted: Callable[[SimpleClient], bool], stop: threading.Event) -> SimpleClient:
    """Tries one node after the other, as a client with several hosts does."""
    while not stop.is_set():
        for node in nodes:
            with contextlib.suppress(OSError, QueryFailed):
                client = node.connect()
                if wanted(client):
                    return client
                client.close()
        time.sleep(0.005)
    raise ConnectionAbortedError


def is_primary(client: SimpleClient) -> bool:
    return client.parameters.get("in_hot_standby") == "off"


def keep_writing(nodes: list[Node], traffic: Traffic, first_id: int) -> None:
    """One row a transaction, each under an id of its own."""
    number = first_id
    with contextlib.suppress(ConnectionAbortedError):
        while not traffic.stop.is_set():
            client = on_any(nodes, is_primary, traffic.stop)
            with contextlib.suppress(OSError, QueryFailed):
                while not traffic.stop.is_set():
                    number += 1
                    amount = number % 1000
                    traffic.unknown[number] = amount
                    client.query(f"INSERT INTO entry VALUES ({number}, {number % 97}, {amount})")
                    traffic.acknowledged[number] = traffic.unknown.pop(number)
                    traffic.written_at.append(time.monotonic())
            client.close()


def keep_reading(nodes: list[Node], traffic: Traffic) -> None:
    """A client that takes any node, reading a view of one row."""
    with contextlib.suppress(ConnectionAbortedError):
        while not traffic.stop.is_set():
            client = on_any(nodes, lambda _: True, traffic.stop)
            with contextlib.suppress(OSError, QueryFailed):
                while not traffic.stop.is_set():
                    client.query("SELECT n, amount FROM total")
                    traffic.read_at.append(time.monotonic())
                    time.sleep(0.001)
            client.close()


@contextlib.contextmanager
def running(nodes: list[Node], writers: int) -> Generator[Traffic]:
    """Traffic in threads."""
    traffic = Traffic()
    threads = [threading.Thread(target=keep_reading, args=(nodes, traffic), daemon=True)]
    for number in range(writers):
        arguments = (nodes, traffic, (number + 1) << 40)
        threads.append(threading.Thread(target=keep_writing, args=arguments, daemon=True))
    for thread in threads:
        thread.start()
    try:
        yield traffic
    finally:
        traffic.stop.set()
        for thread in threads:
            thread.join(ANSWER_S_MAX * 2)


def first_after(moments: list[float], moment: float) -> float:
    """Waits for the first of `moments` after `moment`. Raises TimeoutError."""
    while not moments or moments[-1] <= moment:
        if time.monotonic() > moment + GAP_S_MAX:
            raise TimeoutError("no node took over")
        time.sleep(0.001)
    at = len(moments) - 1
    while at > 0 and moments[at - 1] > moment:
        at -= 1
    return moments[at]


def widest(moments: list[float], start: float, end: float) -> float:
    """The longest time between two of `moments` around [start, end]."""
    near = [m for m in moments if start - 1 <= m <= end + 0.2]
    return max((b - a for a, b in pairwise(near) if b >= start), default=0.0)


def primary_of(nodes: list[Node]) -> Node:
    """The node that takes writes. Raises TimeoutError."""
    deadline = time.monotonic() + GAP_S_MAX
    while time.monotonic() < deadline:
        for node in nodes:
            with contextlib.suppress(OSError, QueryFailed):
                client = node.connect()
                found = is_primary(client)
                client.close()
                if found:
                    return node
    raise TimeoutError("there is no primary")


def await_standbys(primary: Node, count: int) -> None:
    """Until so many standbys say that they are up to date."""
    client = primary.connect()
    deadline = time.monotonic() + START_S_MAX
    query = "SELECT count(*) FROM millpond.replicas WHERE role = 'standby' AND lag_ms < 1000"
    while client.query(query) != [(str(count),)]:
        if time.monotonic() > deadline:
            raise TimeoutError("a standby does not get up to date")
        time.sleep(0.05)
    client.close()


def kill_once(nodes: list[Node], traffic: Traffic) -> Gap:
    """Kills the primary, measures, and brings it back as a standby."""
    primary = primary_of(nodes)
    await_standbys(primary, len(nodes) - 1)
    time.sleep(random.uniform(STEADY_S, 2 * STEADY_S))
    primary.kill()
    killed = time.monotonic()
    written = first_after(traffic.written_at, killed)
    read = first_after(traffic.read_at, written)
    gap = Gap(written - killed, widest(traffic.read_at, killed, read))
    primary.start("standby")
    primary.await_ready()
    return gap


def verify(nodes: list[Node], traffic: Traffic, loaded: int) -> list[str]:
    """What is wrong with the rows and views on the primary; empty when nothing is."""
    client = primary_of(nodes).connect(START_S_MAX)
    found = {
        int(i or 0): int(a or 0) for i, a in client.query(f"SELECT id, amount FROM entry WHERE id > {loaded}")
    }
    wrong: list[str] = []
    lost = [i for i, amount in traffic.acknowledged.items() if found.get(i) != amount]
    if lost:
        wrong.append(f"{len(lost)} acknowledged rows are lost, the first {lost[0]}")
    unasked = [i for i in found if i not in traffic.acknowledged and i not in traffic.unknown]
    if unasked:
        wrong.append(f"{len(unasked)} rows nobody wrote, the first {unasked[0]}")
    n = loaded + len(found)
    counted = client.query("SELECT t.n, b.n FROM total t, (SELECT sum(n) AS n FROM balance) b")
    if counted != [(str(n), str(n))]:
        wrong.append("a view counts other rows than there are")
    client.close()
    return wrong


def drill(kills: int, standbys: int, rows: int, writers: int, as_json: bool) -> int:
    """Runs the drill; 0 when nothing was lost."""
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="millpond-drill-") as folder:
        options = ["--log-level", "warning"]
        nodes = [Node(Path(folder), f"node{number}", options) for number in range(standbys + 1)]
        try:
            return _drill(nodes, kills, rows, writers, as_json)
        finally:
            for node in nodes:
                node.kill()


def _drill(nodes: list[Node], kills: int, rows: int, writers: int, as_json: bool) -> int:
    say = (lambda text: None) if as_json else (lambda text: print(text, flush=True))
    nodes[0].start("serve")
    nodes[0].await_ready()
    client = nodes[0].connect(START_S_MAX)
    for statement in SCHEMA:
        client.query(statement)
    client.query(f"INSERT INTO entry SELECT i, i % 97, i % 1000 FROM generate_series(1, {rows}) i")
    client.close()
    for node in nodes[1:]:
        node.start("standby")
    for node in nodes[1:]:
        node.await_ready()
    say(f"primary and {len(nodes) - 1} standby(s), {rows} rows, two views over them; {writers} writer(s)")
    gaps: list[Gap] = []
    with running(nodes, writers) as traffic:
        for number in range(kills):
            gaps.append(kill_once(nodes, traffic))
            last = gaps[-1]
            write_ms, read_ms = last.write_s * 1000, last.read_s * 1000
            say(f"kill {number + 1:3}: no write for {write_ms:5.0f} ms, no read for {read_ms:5.0f} ms")
        time.sleep(STEADY_S)
    wrong = verify(nodes, traffic, rows)
    figures = {
        "kills": kills,
        "write_gap_p50_ms": round(share(gaps, 0.5, lambda g: g.write_s)),
        "write_gap_p99_ms": round(share(gaps, 0.99, lambda g: g.write_s)),
        "read_gap_p50_ms": round(share(gaps, 0.5, lambda g: g.read_s)),
        "read_gap_p99_ms": round(share(gaps, 0.99, lambda g: g.read_s)),
        "acknowledged": len(traffic.acknowledged),
        "in_doubt": len(traffic.unknown),
        "cores": os.cpu_count(),
        "wrong": wrong,
    }
    if as_json:
        print(json.dumps(figures))
        return 1 if wrong else 0
    say(f"write gap p50 {figures['write_gap_p50_ms']} ms, p99 {figures['write_gap_p99_ms']} ms")
    say(f"read gap  p50 {figures['read_gap_p50_ms']} ms, p99 {figures['read_gap_p99_ms']} ms")
    say(f"{len(traffic.acknowledged)} acknowledged writes, {len(traffic.unknown)} cut off without an answer")
    say("lost or there twice: " + ("; ".join(wrong) or "nothing"))
    return 1 if wrong else 0


def share(gaps: list[Gap], part: float, of: Callable[[Gap], float]) -> float:
    """The value in ms that `part` of the kills stayed within."""
    values = sorted(of(gap) * 1000 for gap in gaps) or [0.0]
    return values[min(len(values) - 1, int(part * len(values)))]
