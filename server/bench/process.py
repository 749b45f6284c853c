"""A server in a process of its own, for what a client sees."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

START_SECONDS_MAX = 120


def _calm_client() -> None:
    """Leaves what this process has loaded out of its garbage collections.

    They take 80 ms, in which it could not note the answers to its clients.
    """
    import psycopg

    assert psycopg.__version__
    gc.collect()
    gc.freeze()


class Server:
    """A `millpond serve` on a data directory."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Starts it and waits until it listens. Raises RuntimeError."""
        command = [sys.executable, "-m", __name__.partition(".server")[0] + ".server", "serve"]
        self._process = subprocess.Popen(
            [*command, "--data", str(self.data), "--listen", "127.0.0.1:0", "--log-level", "error"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self._process.stdout is not None
        found = re.search(r"-p (\d+)", self._process.stdout.readline())
        if not found:
            raise RuntimeError("the server did not start")
        self.port = int(found[1])
        _calm_client()

    def connect(self) -> Any:
        """A psycopg connection in autocommit (psycopg is a development dependency)."""
        import psycopg

        return psycopg.connect(f"host=127.0.0.1 port={self.port} dbname=millpond user=bench", autocommit=True)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def resident_bytes(self) -> int:
        """Its resident set (0 where there is no /proc)."""
        assert self._process is not None
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text()
        except OSError:
            return 0
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) * 1024 if found else 0

    def processor_seconds(self) -> float:
        """Processor time it has used, in user and system mode (0 where there is no /proc)."""
        assert self._process is not None
        try:
            status = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return 0.0
        user, system = status.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        if not self.running:
            return
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(timeout=120)

    def forget_store(self) -> None:
        """Deletes the store of a stopped server: all must come from the changelog."""
        shutil.rmtree(self.data / "state")

    def first_answer(self, query: str) -> float:
        """Starts it; the seconds to the first answer."""
        started = time.perf_counter()
        self.start()
        with self.connect() as connection:
            connection.execute(query).fetchall()
        return time.perf_counter() - started

    def disk_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.data.rglob("*") if path.is_file())
