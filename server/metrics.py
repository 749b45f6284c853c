"""`Metrics`: what Prometheus scrapes, and whether the server is fit to be asked.

    /metrics    all figures, gathered when they are asked for
    /health     200 while SELECTs are answered; 503 while recovering, once fenced, while stopping
    /ready      the same; a standby must also have been at the end of the log once

Gathering runs in the request's thread. It reads what is published, and copies of what is not.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector, CollectorRegistry

from .. import __version__
from .database import Database
from .listener import Listener
from .metrics_families import gauge
from .metrics_http import Answer, HttpServer, json_answer
from .metrics_state import (
    condition_families,
    replica_families,
    row_families,
    source_families,
    table_families,
)
from .metrics_work import client_families, epoch_families, log_families, memory_families, rest_families
from .minder import Minder

RECOVERING, RUNNING, STOPPING, FENCED = "recovering", "running", "stopping", "fenced"


class Metrics(Collector):
    """Serves from `start` on; `running` tells it what there is to be seen."""

    def __init__(self, host: str, port: int) -> None:
        self._phase = RECOVERING
        self._seen: tuple[Database, Listener, Minder] | None = None
        self._gathering = threading.Lock()
        """Scrapes that come together do not take the interpreter from the clients together."""
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        pages = {"/metrics": self._metrics, "/health": self._health, "/ready": self._ready}
        self.http = HttpServer(host, port, pages)

    def start(self) -> None:
        """Raises StartupError when the address cannot be had."""
        self.http.start()

    def running(self, database: Database, listener: Listener, minder: Minder) -> None:
        """The server takes clients from now on."""
        self._seen, self._phase = (database, listener, minder), RUNNING

    def stopping(self) -> None:
        """The server does not any more: nothing of it is looked at from now on."""
        with self._gathering:
            self._phase, self._seen = STOPPING, None

    def stop(self) -> None:
        self.http.stop()

    def phase(self) -> str:
        """What the server is doing, with one word."""
        seen = self._seen
        if seen is not None and self._phase == RUNNING:
            engine = seen[0].engine
            if not engine.standby and engine.state.storage.fenced():
                return FENCED
        return self._phase

    def collect(self) -> Iterator[Metric]:
        """All families, as Prometheus' client asks for them."""
        yield GaugeMetricFamily("millpond_up", "1 while SELECTs are answered.", self.phase() == RUNNING)
        info = GaugeMetricFamily("millpond_info", "What is running.", labels=["version"])
        info.add_metric([__version__], 1)
        yield info
        if self._seen is None:
            return
        database, listener, minder = self._seen
        watched = database.engine.state.storage.watch()
        yield gauge("start_timestamp_seconds", "When recovery had ended.", database.started_us / 1e6)
        yield from epoch_families(database, watched)
        yield from client_families(database, listener)
        yield from rest_families(minder)
        yield from table_families(database, watched)
        yield from row_families(database, watched)
        yield from condition_families(database)
        yield from source_families(database)
        yield from memory_families(watched)
        yield from log_families(watched)
        yield from replica_families(database)

    def _metrics(self, accept: str) -> Answer:
        encode, content_type = choose_encoder(accept)
        with self._gathering:
            return Answer(200, content_type, encode(self._registry))

    def _health(self, accept: str) -> Answer:
        return self._condition(caught_up=False)

    def _ready(self, accept: str) -> Answer:
        return self._condition(caught_up=True)

    def _condition(self, caught_up: bool) -> Answer:
        """`caught_up`: whether a standby must have been at the end of the log."""
        phase, seen = self.phase(), self._seen
        if seen is None or phase != RUNNING:
            return json_answer(503, {"status": phase})
        engine = seen[0].engine
        role = "standby" if engine.standby else "primary"
        content = {"status": phase, "role": role, "epoch": engine.published.epoch}
        if caught_up and engine.lag().ms is None:
            return json_answer(503, {**content, "status": "catching up"})
        return json_answer(200, content)
