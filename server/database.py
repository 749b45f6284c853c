"""`Database`: everything one server process has: the engine, the read threads, the sessions."""

from __future__ import annotations

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from ..operators import functions
from ..runtime.engine import Engine, EngineLimits
from ..runtime.recovery import recover
from ..runtime.source import Connectors
from ..storage.commit import Storage, StorageLimits
from . import (
    run_copy,
    run_cursor,
    run_definition,
    run_explain,
    run_query,
    run_session,
    run_show,
    run_transaction,
    run_write,
)
from .backend import Backend
from .client import Client, PreparedStatement
from .config import Config
from .connectors import CONNECTORS
from .settings import SessionSettings

_REGISTERED = (functions, run_copy, run_cursor, run_definition, run_explain, run_query, run_session, run_show,
               run_transaction, run_write)  # fmt: skip
"""Imported for the functions and executors they register."""

SWITCH_INTERVAL_S = 0.0005
"""How long a thread may hold the interpreter while another waits; the default would let an epoch's
Python delay a point SELECT by 5 ms at a time."""
PREPARED_MAX = 2000


class PreparedCache:
    """Prepared statements shared by all sessions, the least recently used going first."""

    def __init__(self) -> None:
        self._found: OrderedDict[object, PreparedStatement] = OrderedDict()

    def get(self, key: object) -> PreparedStatement | None:
        found = self._found.get(key)
        if found is not None:
            self._found.move_to_end(key)
        return found

    def put(self, key: object, prepared: PreparedStatement) -> None:
        self._found[key] = prepared
        if len(self._found) > PREPARED_MAX:
            self._found.popitem(last=False)


class Database:
    """The database of one data directory, open. `connect` makes the backend of a connection."""

    def __init__(
        self, config: Config, connectors: Connectors = CONNECTORS, storage: Storage | None = None
    ) -> None:
        """Recovers the directory, or what `storage` has open. Raises StartupError."""
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        self.config = config
        self.connectors = connectors
        if storage is None:
            limits = StorageLimits(checkpoint_s=config.checkpoint_interval_s)
            storage = Storage.open(config.data_path, config.log_path, limits=limits)
        state = recover(storage, connectors, self.clock_us())
        self.engine = Engine(
            state, EngineLimits(config.epoch_interval_ms, config.epoch_rows_max), self.clock_us
        )
        self.readers = ThreadPoolExecutor(config.read_threads, thread_name_prefix="reader")
        self.prepared = PreparedCache()
        self.clients: dict[int, Client] = {}
        self.end_session: Callable[[int], object] | None = None
        """Ends the connection of that number; whoever listens provides it."""
        self._lock = threading.Lock()
        self.started_us = self.clock_us()

    def start(self) -> None:
        self.engine.start()

    def close(self) -> None:
        """Ends all work, checkpoints, closes the files."""
        self.readers.shutdown(wait=True, cancel_futures=True)
        self.engine.stop()

    @staticmethod
    def clock_us() -> int:
        return time.time_ns() // 1000

    def connect(self, parameters: dict[str, str]) -> Backend:
        """The backend of a new connection (`backend.Connect`). Raises SqlError for a bad parameter."""
        settings = SessionSettings()
        user = parameters.get("user", "millpond")
        settings.startup["session_authorization"] = user
        for name, value in parameters.items():
            if name not in ("user", "database", "replication") and not name.startswith("_"):
                settings.set_startup(name, value)
        client = Client(
            self, user, int(parameters.get("_pid", "0")), parameters.get("_address", ""), settings
        )
        with self._lock:
            self.clients[client.pid] = client
        return client

    def forget(self, client: Client) -> None:
        with self._lock:
            self.clients.pop(client.pid, None)

    def control(self, action: str, pid: int) -> bool:
        """Does "cancel" or "terminate" to a session, on behalf of another; whether there is one."""
        with self._lock:
            client = self.clients.get(pid)
        if client is None:
            return False
        client.cancel()
        if action == "terminate" and self.end_session is not None:
            self.end_session(pid)
        return True

    def live(self, client: Client) -> Mapping[str, Callable[[], Iterable[tuple[object, ...]]]]:
        """The live facts that system relations show; see `live.py`."""
        from .live import live_facts

        return live_facts(self, client)
