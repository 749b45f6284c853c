"""`ServerProcess`: a millpond server in a process of its own, to be killed and started again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg

START_SECONDS_MAX = 60


class ServerProcess:
    """A server on a data directory. `port` changes with each start."""

    def __init__(self, data: Path, *options: str) -> None:
        self.data = data
        self.port = 0
        self._options = options
        self._process: subprocess.Popen[str] | None = None
        self._errors = data.parent / f"{data.name}.stderr"

    def start(self) -> None:
        """Starts it and waits until it takes connections."""
        self._launch()
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        found = re.search(r"-p (\d+)", line)
        assert found, f"the server did not start: {line!r} {self.errors()}"
        self.port = int(found[1])

    def start_and_kill(self, seconds: float) -> None:
        """Starts it and kills it after so long, ready or not."""
        self._launch()
        time.sleep(seconds)
        self.kill()

    def _launch(self) -> None:
        command = [sys.executable, "-m", "millpond.server", "serve", "--data", str(self.data)]
        with self._errors.open("a") as errors:
            self._process = subprocess.Popen(
                [*command, "--listen", "127.0.0.1:0", *self._options],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    def errors(self) -> str:
        """What it wrote to stderr."""
        return self._errors.read_text()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.kill()
        return self._process.returncode

    @property
    def uri(self) -> str:
        return f"host=127.0.0.1 port={self.port} dbname=millpond user=tester"

    def connect(self, **options: object) -> psycopg.Connection:
        """An autocommit connection, unless told otherwise."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                return psycopg.connect(self.uri, **{"autocommit": True, **options})
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
