"""The clients of a drill: some write without pause, one reads; what they saw, and when."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from itertools import pairwise

from .drill_nodes import ANSWER_S_MAX, GAP_S_MAX, Node, is_primary
from .simple_client import QueryFailed, SimpleClient


@dataclass(frozen=True, slots=True)
class Answer:
    """When a client had an answer, and from which node."""

    at: float
    node: Node


@dataclass(slots=True)
class Traffic:
    """What the writers and the reader did."""

    acknowledged: dict[int, int] = field(default_factory=dict)
    unknown: dict[int, int] = field(default_factory=dict)
    """Sent, and the answer was lost: each may be there or not."""
    written: list[Answer] = field(default_factory=list)
    read: list[Answer] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)


def on_any(
    nodes: list[Node], wanted: Callable[[SimpleClient], bool], stop: threading.Event
) -> tuple[Node, SimpleClient]:
    """Tries one node after the other, as a client with several hosts does."""
    while not stop.is_set():
        for node in nodes:
            with contextlib.suppress(OSError, QueryFailed):
                client = node.connect()
                if wanted(client):
                    return node, client
                client.close()
        time.sleep(0.005)
    raise ConnectionAbortedError


def keep_writing(nodes: list[Node], traffic: Traffic, first_id: int) -> None:
    """One row a transaction, each under an id of its own."""
    number = first_id
    with contextlib.suppress(ConnectionAbortedError):
        while not traffic.stop.is_set():
            node, client = on_any(nodes, is_primary, traffic.stop)
            with contextlib.suppress(OSError, QueryFailed):
                while not traffic.stop.is_set():
                    number += 1
                    amount = number % 1000
                    traffic.unknown[number] = amount
                    _ = client.query(f"INSERT INTO entry VALUES ({number}, {number % 97}, {amount})")
                    traffic.acknowledged[number] = traffic.unknown.pop(number)
                    traffic.written.append(Answer(time.monotonic(), node))
            client.close()


def keep_reading(nodes: list[Node], traffic: Traffic) -> None:
    """A client that takes any node, reading a view of one row."""
    with contextlib.suppress(ConnectionAbortedError):
        while not traffic.stop.is_set():
            node, client = on_any(nodes, lambda _: True, traffic.stop)
            with contextlib.suppress(OSError, QueryFailed):
                while not traffic.stop.is_set():
                    _ = client.query("SELECT n, amount FROM total")
                    traffic.read.append(Answer(time.monotonic(), node))
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


def first_elsewhere(answers: list[Answer], start: float, than: Node) -> float:
    """Waits for the first answer behind `start` that another node than `than` gave. Raises TimeoutError.

    One of `than` may come late: it was on its way.
    """
    seen = len(answers)
    while seen and answers[seen - 1].at > start:
        seen -= 1
    while True:
        while seen < len(answers):
            found = answers[seen]
            if found.at > start and found.node is not than:
                return found.at
            seen += 1
        if time.monotonic() > start + GAP_S_MAX:
            raise TimeoutError("no node took over")
        time.sleep(0.001)


def first_after(answers: list[Answer], moment: float) -> float:
    """Waits for an answer after `moment`. Raises TimeoutError."""
    while not answers or answers[-1].at <= moment:
        if time.monotonic() > moment + GAP_S_MAX:
            raise TimeoutError("no node answers")
        time.sleep(0.001)
    return answers[-1].at


def widest(answers: list[Answer], start: float, end: float) -> float:
    """The longest time without an answer that reaches into [start, end]."""
    near: list[float] = []
    for answer in reversed(answers):
        near.append(answer.at)
        if answer.at < start:
            break
    near = sorted(moment for moment in near if moment <= end)
    return max((b - a for a, b in pairwise(near)), default=0.0)


def rate(answers: list[Answer], start: float, end: float) -> float:
    """Answers a second within [start, end]."""
    return sum(start <= answer.at <= end for answer in answers) / max(end - start, 1e-9)
