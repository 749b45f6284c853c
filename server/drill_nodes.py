"""The servers of a drill: processes on this machine over one log, in a directory or on Kafka."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from ..storage.errors import StartupError
from .simple_client import QueryFailed, SimpleClient

HOST = "127.0.0.1"
START_S_MAX = 600.0
ANSWER_S_MAX = 5.0
GAP_S_MAX = 60.0
ENDING_S_MAX = 30.0


class Node:
    """A server process on a port of its own. `log` are the options that say where the changelog is."""

    def __init__(self, folder: Path, name: str, log: list[str]) -> None:
        self.name = name
        self._folder, self._log = folder, log
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            self.port: int = probe.getsockname()[1]

    def start(self, kind: str) -> None:
        command = [sys.executable, "-m", "millpond.server", kind, "--data", str(self._folder / self.name)]
        command += ["--listen", f"{HOST}:{self.port}", "--name", self.name, "--log-level", "warning"]
        with (self._folder / f"{self.name}.stderr").open("ab") as errors:
            self._process = subprocess.Popen([*command, *self._log], stdout=subprocess.DEVNULL, stderr=errors)

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
        raise StartupError(self.errors()[-2000:] or f"{self.name} does not answer")

    def errors(self) -> str:
        """What it wrote to stderr, this time and earlier."""
        return (self._folder / f"{self.name}.stderr").read_text()

    def send(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def await_end(self) -> None:
        """After SIGTERM. Raises subprocess.TimeoutExpired."""
        assert self._process is not None
        _ = self._process.wait(ENDING_S_MAX)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        if self._process is not None:
            _ = self._process.wait()

    def forget(self) -> None:
        """Deletes the data directory."""
        shutil.rmtree(self._folder / self.name, ignore_errors=True)


def is_primary(client: SimpleClient) -> bool:
    return client.parameters.get("in_hot_standby") == "off"


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
        time.sleep(0.005)
    raise TimeoutError("there is no primary")


def await_standbys(primary: Node, count: int) -> None:
    """Until so many standbys say that they are up to date. Raises TimeoutError."""
    client = primary.connect()
    deadline = time.monotonic() + START_S_MAX
    query = "SELECT count(*) FROM millpond.replicas WHERE role = 'standby' AND lag_ms < 1000"
    while client.query(query) != [(str(count),)]:
        if time.monotonic() > deadline:
            raise TimeoutError("a standby does not get up to date")
        time.sleep(0.05)
    client.close()
