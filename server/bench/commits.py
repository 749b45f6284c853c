"""Line `commits`: single-row commits of clients that each wait for their answer, into a table under one view.

The clients are bare sockets of one thread, so that they cost little beside the server: each sends Bind,
Describe, Execute and Sync of a prepared INSERT, and the next when ReadyForQuery has come.
"""

from __future__ import annotations

import select
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from .figures import Figure, Line
from .process import Server
from .serving import percentiles

SECONDS = 5.0
SCHEMA = (
    "CREATE TABLE items (id bigint PRIMARY KEY, kind bigint, city text, amount bigint, price float8)",
    "CREATE MATERIALIZED VIEW kinds AS SELECT kind, count(*) AS n, sum(amount) AS s FROM items GROUP BY kind",
)
INSERT = b"s\0INSERT INTO items VALUES ($1, $2, $3, $4, $5)\0" + struct.pack("!H5I", 5, 20, 20, 25, 20, 701)
READY = b"Z\0\0\0\5I"
TARGETS = {100: ("3,500", "0.25"), 8: ("", "0.25"), 1: ("", "")}
"""Clients: what is wanted of their rate, and of what each commit costs."""


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


SYNC = _message(b"S", b"")
EXECUTE = _message(b"D", b"P\0") + _message(b"E", b"\0\0\0\0\0") + SYNC


def insertion(number: int) -> bytes:
    """The messages of one INSERT, values in binary."""
    city = b"city %d" % (number % 7)
    values = struct.pack("!iqiqi", 8, number, 8, number % 20, len(city)) + city
    values += struct.pack("!iqid", 8, number % 100, 8, number % 13 + 0.5)
    return _message(b"B", b"\0s\0" + struct.pack("!HHH", 1, 1, 5) + values + struct.pack("!H", 0)) + EXECUTE


class Clients:
    """Connections with the INSERT prepared."""

    def __init__(self, port: int, number: int) -> None:
        self._sockets = [self._connected(port) for _ in range(number)]

    def _connected(self, port: int) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", port))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        body = struct.pack("!I", 3 << 16) + b"user\0bench\0database\0millpond\0\0"
        for message in (struct.pack("!I", len(body) + 4) + body, _message(b"P", INSERT) + SYNC):
            client.sendall(message)
            reply = b""
            while not reply.endswith(READY):
                reply += client.recv(1 << 16)
        return client

    def commit(self, numbers: Iterator[int], seconds: float) -> list[float]:
        """Commits for so long; the seconds of each commit. Raises RuntimeError for an error of the server."""
        polled = select.epoll()
        clients = {client.fileno(): client for client in self._sockets}
        replies, sent, times = dict.fromkeys(clients, b""), dict.fromkeys(clients, 0.0), list[float]()
        end = time.perf_counter() + seconds
        for place, client in clients.items():
            polled.register(place, select.EPOLLIN)
            sent[place] = time.perf_counter()
            client.sendall(insertion(next(numbers)))
        busy = len(clients)
        while busy:
            for place, _ in polled.poll():
                replies[place] += clients[place].recv(1 << 16)
                if not replies[place].endswith(READY):
                    continue
                if b"INSERT 0 1" not in replies[place]:
                    raise RuntimeError(f"no INSERT: {replies[place]!r}")
                now, replies[place] = time.perf_counter(), b""
                times.append(now - sent[place])
                if now < end:
                    sent[place] = now
                    clients[place].sendall(insertion(next(numbers)))
                else:
                    busy -= 1
        polled.close()
        return times

    def close(self) -> None:
        for client in self._sockets:
            client.close()


def measure_commits(rows: int) -> Iterator[Figure]:
    """Of 100 clients, of 8, and of one alone."""
    seconds = SECONDS if rows >= 1_000_000 else 0.2
    numbers = count()
    with tempfile.TemporaryDirectory(prefix="millpond-bench-") as folder:
        server = Server(Path(folder) / "data")
        server.start()
        try:
            with server.connect() as connection:
                for statement in SCHEMA:
                    connection.execute(statement)
            for clients in TARGETS:
                yield from _measured(server, clients, numbers, seconds)
        finally:
            server.kill()


def _measured(server: Server, number: int, numbers: Iterator[int], seconds: float) -> Iterator[Figure]:
    clients = Clients(server.port, number)
    _ = clients.commit(numbers, seconds / 5)
    used, begin = server.processor_seconds(), time.perf_counter()
    times = clients.commit(numbers, seconds)
    used, passed = server.processor_seconds() - used, time.perf_counter() - begin
    clients.close()
    who = f"{number} clients" if number > 1 else "one client"
    half, most = percentiles(times)
    rate, cost = TARGETS[number]
    yield Figure("commits", f"single-row commits of {who}", len(times) / passed, "/s", None, rate)
    note = f"p50 {half:.2f} ms, p99 {most:.2f} ms"
    each = max(used, 0.01) / len(times) * 1000
    yield Figure("commits", "the server's processor time of each", each, "ms", None, cost, note)


LINES = (Line("commits", "single-row commits of many clients", measure_commits),)
