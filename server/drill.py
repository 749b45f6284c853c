"""`millpond drill`: proves failover on this machine.

Brings up a primary and standbys in a temporary directory, loads them, writes and reads without pause, kills
the primary with SIGKILL again and again (and restarts it as a standby), asks it to hand over, lets a new
standby come up from nothing, and prints for each how long no write was committed and no read was answered,
or how much slower writes were; at the end, what was lost and what is there twice. With `kafka` the changelog
is in topics of an application of its own, which are deleted afterwards.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import secrets
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from .drill_nodes import START_S_MAX, Node, await_standbys, primary_of
from .drill_traffic import Traffic, first_after, first_elsewhere, rate, running, widest
from .place import properties_of

STEADY_S = 0.3
"""Writes and reads go on undisturbed for so long before each event, and up to twice as long."""
RATE_S = 5.0
"""How long writes are counted before a new standby comes, and after it has caught up."""

SCHEMA = (
    "CREATE TABLE entry (id bigint PRIMARY KEY, account int NOT NULL, amount int NOT NULL)",
    "CREATE MATERIALIZED VIEW balance AS SELECT account, count(*) AS n, sum(amount) AS amount FROM entry "
    "GROUP BY account",
    "CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(amount) AS amount FROM entry",
)


@dataclass(frozen=True, slots=True)
class Drill:
    """What is to be done."""

    kills: int = 5
    handovers: int = 0
    """Planned ones, alternately by SIGTERM and by ALTER SYSTEM FAILOVER."""
    warmups: int = 0
    """New standbys, each beginning with an empty directory."""
    standbys: int = 1
    rows: int = 100_000
    writers: int = 2
    kafka: str = ""
    kafka_properties: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """Seconds without a committed write, and without an answered read."""

    write_s: float
    read_s: float


@dataclass(frozen=True, slots=True)
class Warmup:
    """A new standby: seconds until it was up to date; writes a second without that, and meanwhile."""

    took_s: float
    otherwise: float
    """Before and after it: a machine does not do the same all the time."""
    meanwhile: float

    @property
    def slower_percent(self) -> float:
        return 100 * (1 - self.meanwhile / self.otherwise)


@dataclass(slots=True)
class Outcome:
    """What a drill measured, and what was wrong in the end."""

    kills: list[Gap] = field(default_factory=list)
    handovers: list[Gap] = field(default_factory=list)
    warmups: list[Warmup] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    acknowledged: int = 0
    in_doubt: int = 0

    def figures(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for name, gaps in (("", self.kills), ("handover_", self.handovers)):
            for kind, values in (("write", [g.write_s for g in gaps]), ("read", [g.read_s for g in gaps])):
                for part in (50, 99):
                    if values:
                        found[f"{name}{kind}_gap_p{part}_ms"] = round(share(values, part / 100) * 1000)
        if self.warmups:
            found["warmup_slower_percent"] = round(share([w.slower_percent for w in self.warmups], 0.5), 1)
        counts = {"kills": len(self.kills), "handovers": len(self.handovers), "warmups": len(self.warmups)}
        counts |= {"acknowledged": self.acknowledged, "in_doubt": self.in_doubt}
        return {**counts, **found, "cores": os.cpu_count(), "wrong": self.wrong}


def drill(wanted: Drill, as_json: bool) -> int:
    """Runs the drill; 0 when nothing was lost. Raises StartupError when servers do not start.

    SIGINT ends it after the event at hand: what was done until then is verified and summed up.
    """
    enough = threading.Event()
    _ = signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))
    _ = signal.signal(signal.SIGINT, lambda _number, _frame: enough.set())
    with tempfile.TemporaryDirectory(prefix="millpond-drill-") as name, _log(wanted, Path(name)) as log:
        nodes = [Node(Path(name), f"node{number}", log) for number in range(wanted.standbys + 1)]
        try:
            outcome = _run(nodes, wanted, enough, _silent if as_json else _say)
        finally:
            for node in nodes:
                node.kill()
    if as_json:
        print(json.dumps(outcome.figures()))
    else:
        _summarise(outcome)
    return 1 if outcome.wrong else 0


def _say(text: str) -> None:
    print(text, flush=True)


def _silent(_text: str) -> None:
    pass


@contextlib.contextmanager
def _log(wanted: Drill, folder: Path) -> Generator[list[str]]:
    """The options of every server that say where the log is; topics go afterwards."""
    if not wanted.kafka:
        yield ["--log", str(folder / "log")]
        return
    # The client is loaded by those who use it.
    from ..storage.log_kafka_client import KafkaTopics, TopicAdmin

    application = f"drill-{secrets.token_hex(4)}"
    if wanted.kafka_properties:
        # Secrets may be in it: not for the list of processes.
        os.environ["MILLPOND_KAFKA_PROPERTIES"] = wanted.kafka_properties
    admin = TopicAdmin(KafkaTopics(wanted.kafka, application, properties_of(wanted.kafka_properties)))
    try:
        yield ["--kafka", wanted.kafka, "--application", application]
    finally:
        with contextlib.suppress(OSError):
            admin.delete(admin.existing(), wait=True)


def _run(nodes: list[Node], wanted: Drill, enough: threading.Event, say: Callable[[str], None]) -> Outcome:
    _load(nodes, wanted.rows)
    standbys = len(nodes) - 1
    say(
        f"primary and {standbys} standby(s), {wanted.rows} rows, two views over them; "
        f"{wanted.writers} writer(s)"
    )
    outcome = Outcome()
    with running(nodes, wanted.writers) as traffic:
        for number in until(enough, wanted.kills):
            outcome.kills.append(kill_once(nodes, traffic))
            say(f"kill {number + 1:3}: {_told(outcome.kills[-1])}")
        for number in until(enough, wanted.handovers):
            gap = hand_over_once(nodes, traffic, by_signal=number % 2 == 0)
            outcome.handovers.append(gap)
            say(f"{'FAILOVER' if number % 2 else 'SIGTERM'} {number + 1:3}: {_told(gap)}")
        for number in until(enough, wanted.warmups):
            warmup = warm_up_once(nodes, traffic)
            outcome.warmups.append(warmup)
            say(f"new standby {number + 1}: {_told_warmup(warmup)}")
        time.sleep(STEADY_S)
    outcome.wrong = verify(nodes, traffic, wanted.rows)
    outcome.acknowledged, outcome.in_doubt = len(traffic.acknowledged), len(traffic.unknown)
    return outcome


def until(enough: threading.Event, count: int) -> Iterator[int]:
    """0 up to `count`, or until it is enough."""
    return takewhile(lambda _: not enough.is_set(), range(count))


def _load(nodes: list[Node], rows: int) -> None:
    nodes[0].start("serve")
    nodes[0].await_ready()
    client = nodes[0].connect(START_S_MAX)
    for statement in SCHEMA:
        _ = client.query(statement)
    _ = client.query(f"INSERT INTO entry SELECT i, i % 97, i % 1000 FROM generate_series(1, {rows}) i")
    client.close()
    for node in nodes[1:]:
        node.start("standby")
    for node in nodes[1:]:
        node.await_ready()


def _steady(nodes: list[Node]) -> Node:
    """Waits until all standbys follow and writes have gone on for a while; the primary."""
    primary = primary_of(nodes)
    await_standbys(primary, len(nodes) - 1)
    time.sleep(random.uniform(STEADY_S, 2 * STEADY_S))
    return primary


def kill_once(nodes: list[Node], traffic: Traffic) -> Gap:
    """Kills the primary, measures, and brings it back as a standby."""
    primary = _steady(nodes)
    primary.kill()
    killed = time.monotonic()
    written = first_elsewhere(traffic.written, killed, primary)
    read = first_after(traffic.read, written)
    gap = Gap(written - killed, widest(traffic.read, killed, read))
    primary.start("standby")
    primary.await_ready()
    return gap


def hand_over_once(nodes: list[Node], traffic: Traffic, by_signal: bool) -> Gap:
    """Stops the primary as planned, measures, and sees it come back as a standby.

    The gap is the longest time without an acknowledged write around the hand-over: the old primary takes
    some while it is being told.
    """
    primary = _steady(nodes)
    started = time.monotonic()
    if by_signal:
        primary.send(signal.SIGTERM)
    else:
        client = primary.connect()
        _ = client.query("ALTER SYSTEM FAILOVER")
        client.close()
    written = first_elsewhere(traffic.written, started, primary)
    read = first_after(traffic.read, written)
    gap = Gap(widest(traffic.written, started, written), widest(traffic.read, started, read))
    if by_signal:
        primary.await_end()
        primary.start("standby")
    primary.await_ready()
    return gap


def warm_up_once(nodes: list[Node], traffic: Traffic) -> Warmup:
    """Takes a standby and its directory away, and starts it anew: what that costs those who write."""
    primary = _steady(nodes)
    standby = next(node for node in nodes if node is not primary)
    standby.kill()
    standby.forget()
    time.sleep(STEADY_S)
    before = time.monotonic()
    time.sleep(RATE_S)
    started = time.monotonic()
    standby.start("standby")
    standby.await_ready()
    await_standbys(primary, len(nodes) - 1)
    ready = time.monotonic()
    time.sleep(RATE_S)
    around = rate(traffic.written, before, started), rate(traffic.written, ready, ready + RATE_S)
    return Warmup(ready - started, sum(around) / 2, rate(traffic.written, started, ready))


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


def _summarise(outcome: Outcome) -> None:
    for name, gaps in (("kills", outcome.kills), ("hand-overs", outcome.handovers)):
        for kind, values in (("write", [g.write_s for g in gaps]), ("read", [g.read_s for g in gaps])):
            if values:
                shares = ", ".join(f"p{p} {share(values, p / 100) * 1000:.0f} ms" for p in (50, 99))
                print(f"{name}: {kind} gap {shares}, longest {max(values) * 1000:.0f} ms")
    print(f"{outcome.acknowledged} acknowledged writes, {outcome.in_doubt} cut off without an answer")
    print("lost or there twice: " + ("; ".join(outcome.wrong) or "nothing"))


def _told(gap: Gap) -> str:
    return f"no write for {gap.write_s * 1000:5.0f} ms, no read for {gap.read_s * 1000:5.0f} ms"


def _told_warmup(warmup: Warmup) -> str:
    return (
        f"up to date after {warmup.took_s:.1f} s; writes/s otherwise {warmup.otherwise:.0f}, meanwhile "
        f"{warmup.meanwhile:.0f}, {warmup.slower_percent:.1f} % fewer"
    )


def share(values: Sequence[float], part: float) -> float:
    """The value that `part` of them stay within, by nearest rank."""
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]
