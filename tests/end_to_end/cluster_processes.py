"""`ClusterProcesses`: a primary and standbys on one log, each a process of its own on a fixed port.

The log is a folder, unless the options say --kafka.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psycopg

from .server_process import ServerProcess

WAIT_SECONDS_MAX = 60


T = TypeVar("T")


class Node(ServerProcess):
    """A server on a shared log. It can be started as the primary or as a standby."""

    def __init__(self, folder: Path, name: str, log: Path | None, *options: str) -> None:
        super().__init__(folder / name, *options)
        self.name = name
        self.log = log
        self.kind = "standby"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.fixed_port = probe.getsockname()[1]

    def _launch(self) -> None:
        command = [sys.executable, "-m", "millpond.server", self.kind, "--data", str(self.data)]
        command += ["--listen", f"127.0.0.1:{self.fixed_port}", "--name", self.name]
        if self.log is not None:
            command += ["--log", str(self.log)]
        with self._errors.open("a") as errors:
            self._process = subprocess.Popen(
                [*command, *self._options],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def ended(self) -> int:
        """The exit status, once it has ended by itself."""
        assert self._process is not None
        return self._process.wait(timeout=WAIT_SECONDS_MAX)

    def await_ready(self) -> None:
        """Waits for the next line that says so (after a process came back as a standby)."""
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        assert "is ready" in line, (line, self.errors())


class ClusterProcesses:
    """`names` nodes; the first is started as the primary, the others follow."""

    def __init__(self, folder: Path, names: str, *options: str) -> None:
        self.log = folder / "log"
        log = None if "--kafka" in options else self.log
        self.nodes = {name: Node(folder, name, log, *options) for name in names}

    def start(self) -> None:
        first, *others = self.nodes.values()
        first.kind = "serve"
        first.start()
        first.kind = "standby"
        for node in others:
            node._launch()
        for node in others:
            node.await_ready()
            node.port = node.fixed_port

    def __enter__(self) -> ClusterProcesses:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """kill -9 for those that still run."""
        for node in self.nodes.values():
            if node._process is not None and node._process.poll() is None:
                node.kill()

    def hosts(self, wanted: str) -> str:
        """A connection string with all nodes; libpq looks for one that is as wanted."""
        ports = [str(node.fixed_port) for node in self.nodes.values()]
        hosts = ",".join("127.0.0.1" for _ in ports)
        return (
            f"host={hosts} port={','.join(ports)} dbname=millpond user=tester "
            f"target_session_attrs={wanted} connect_timeout=2"
        )

    @property
    def uri(self) -> str:
        return self.hosts("read-write")

    def connect(self, wanted: str = "read-write", **options: object) -> psycopg.Connection:
        return eventually(
            lambda: psycopg.connect(self.hosts(wanted), **{"autocommit": True, **options}),
            psycopg.OperationalError,
        )

    def node_of(self, connection: psycopg.Connection) -> Node:
        return next(n for n in self.nodes.values() if n.fixed_port == connection.info.port)

    def primary(self) -> Node:
        with self.connect() as connection:
            return self.node_of(connection)


def eventually(attempt: Callable[[], T], *errors: type[Exception]) -> T:
    """What `attempt` returns once it succeeds."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while True:
        try:
            return attempt()
        except errors:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
