"""`Database`: everything one server process has: the engine, the read threads, the sessions."""

from __future__ import annotations

import logging
import os
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
from ..runtime.standby import StandbyEngine
from ..storage.budget import MemoryBudget, default_bytes, keep_heap_small, resident_bytes
from ..storage.commit import Storage
from ..storage.errors import ConnectionFailure, DiskFull, SerializationFailure
from ..storage.fence import Fenced
from ..storage.limits import PROCESS_FROM_BYTES, StorageLimits
from ..storage.log import LogDamaged, LogTruncated
from ..storage.log_files import TAKEN_OVER
from ..storage.standby import Follower
from . import (
    run_copy,
    run_cursor,
    run_definition,
    run_explain,
    run_failover,
    run_jobs,
    run_query,
    run_session,
    run_show,
    run_transaction,
    run_write,
)
from .backend import Backend
from .client import Client, PreparedStatement
from .cluster import Cluster
from .config import Config
from .connectors import CONNECTORS
from .place import Place, place_of
from .settings import SessionSettings, milliseconds

log = logging.getLogger("millpond.database")

_REGISTERED = (functions, run_copy, run_cursor, run_definition, run_explain, run_failover, run_jobs,
               run_query, run_session, run_show, run_transaction, run_write)  # fmt: skip
"""Imported for the functions and executors they register."""

SWITCH_INTERVAL_S = 0.0005
"""How long a thread may hold the interpreter while another waits; the default would let an epoch's
Python delay a point SELECT by 5 ms at a time."""
PREPARED_MAX = 2000
REBUILT = "MILLPOND_STORE_REBUILT"
"""In the environment of a server that came back without its store: when, in s since 1970."""
NOT_THE_STORE = (DiskFull, ConnectionFailure, LogDamaged, LogTruncated)
"""What may end a checkpoint of a store that is sound."""
REBUILT_AGAIN_S = 600
"""A store that fails again within this time is not given up: something else is wrong."""


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
        self,
        config: Config,
        connectors: Connectors = CONNECTORS,
        storage: Storage | None = None,
        standby: bool = False,
    ) -> None:
        """Recovers the directory, or what `storage` has open, or follows a primary. Raises StartupError."""
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        keep_heap_small()
        self.config = config
        self.connectors = connectors
        self.cluster: Cluster | None = None
        """This process among those on its log; None where there can be no others."""
        self.server_settings: dict[str, str] = {}
        self.end: Callable[..., None] = lambda rejoin=False, failure="": None
        """Ends the server: for good, to come back as a standby, or because of a failure. Any thread."""
        self.on_promoted: Callable[[], object] = lambda: None
        self._limits = EngineLimits(
            config.epoch_interval_ms, config.epoch_rows_max, config.sink_outbox_rows_max
        )
        self._place: Place | None = None
        self._leaving = False
        if storage is None:
            self._place = place_of(config)
            self.cluster = Cluster(self._place.presence, config.name or config.listen, config.listen)
        self.engine: Engine | StandbyEngine = self._follow() if standby else self._recover(storage)
        self.readers = ThreadPoolExecutor(config.read_threads, thread_name_prefix="reader")
        self.prepared = PreparedCache()
        self.clients: dict[int, Client] = {}
        self.end_session: Callable[[int], object] | None = None
        """Ends the connection of that number; whoever listens provides it."""
        self._lock = threading.Lock()
        self.started_us = self.clock_us()

    def _recover(self, storage: Storage | None) -> Engine:
        """The engine of a primary."""
        cluster, place = self.cluster, self._place
        if storage is None:
            assert cluster is not None and place is not None
            storage = Storage.open(
                self.config.data_path,
                place.log,
                limits=storage_limits(self.config),
                locked=lambda: cluster.start(0),
            )
        state = recover(
            storage, self.connectors, self.clock_us(), one_epoch_rows_max=self.config.fill_rows_min
        )
        state.write_bytes_max = write_bytes_max(self.config)
        engine = Engine(state, self._limits, self.clock_us)
        if cluster is not None:
            self._lead(engine, storage.writer)
        return engine

    def _follow(self) -> StandbyEngine:
        """The engine of a standby, which takes over when the primary is gone."""
        config, cluster, place = self.config, self.cluster, self._place
        assert cluster is not None and place is not None
        follower = Follower.open(config.data_path, place.log, limits=storage_limits(config))
        candidate = place.contender()
        engine = StandbyEngine(follower, self.connectors, self._limits, self.clock_us, candidate)
        engine.refusal_hint, engine.promoted = self.primary_hint, self._promoted
        engine.claimed = cluster.become_primary
        engine.unreadable = self._unreadable
        engine.failed = lambda reason: self.end(failure=reason)
        cluster.epoch, cluster.lag = (lambda: engine.published.epoch), engine.lag
        cluster.records = lambda: engine.records
        self.server_settings.update(in_hot_standby="on", transaction_read_only="on")
        cluster.start(None)
        return engine

    def _lead(self, engine: Engine, writer: int) -> None:
        """This process is the primary: it says so, and ends when it is replaced."""
        cluster = self.cluster
        assert cluster is not None
        engine.on_fenced = cluster.on_fenced = lambda: self.end(rejoin=True)
        cluster.epoch, cluster.fenced = (lambda: engine.published.epoch), engine.state.storage.fenced
        cluster.records = lambda: engine.records
        cluster.become_primary(writer)

    def _promoted(self, engine: Engine) -> None:
        """The standby has taken over: sources go on, writes are taken."""
        self._lead(engine, engine.state.storage.writer)
        engine.state.write_bytes_max = write_bytes_max(self.config)
        engine.start()
        self.engine = engine
        self.server_settings.clear()
        self.on_promoted()

    def _mind_store(self) -> None:
        """A store that cannot be written is made anew from the changelog while another server serves.

        So this one comes back as a standby without it. A full disk or a broker that is away is none of that;
        nor does a primary leave when nobody is there to take over, nor anyone whose store was made anew just
        now.
        """
        error = self.engine.store_error()
        if error is None or isinstance(error, NOT_THE_STORE) or self._leaving or _rebuilt_just_now():
            return
        others = self.cluster.rows() if self.cluster is not None else []
        wanted = "primary" if self.engine.standby else "standby"
        if not any(row[2] == wanted and row[3] == "running" for row in others):
            return
        self._give_up_store(str(error))

    def _give_up_store(self, reason: str) -> None:
        self._leaving = True
        log.error("the store is given up: %s", reason, extra={"event": "store_given_up"})
        self.end(rejoin=True, rebuild=True)

    def _unreadable(self, reason: str) -> None:
        """A standby cannot go on with its store."""
        if _rebuilt_just_now():
            self.end(failure=f"cannot follow the log: {reason}")
        else:
            self._give_up_store(reason)

    def primary_hint(self) -> str:
        """Where to write instead."""
        address = self.cluster.primary_address() if self.cluster is not None else ""
        return f"The primary is at {address}." if address else ""

    def check_fresh(self, max_staleness: str) -> None:
        """Refuses to read what is older than a session accepts, or what a replaced primary still has.

        Raises SerializationFailure, Fenced.
        """
        cluster = self.cluster
        if cluster is None:
            return
        engine = self.engine
        if not engine.standby:
            if cluster.slept(self.config.lease_ms / 2000) and cluster.look():
                raise Fenced(TAKEN_OVER, hint=self.primary_hint())
            return
        bound = milliseconds(max_staleness)
        lag = engine.lag().ms
        if bound and (lag is None or lag > bound):
            behind = "an unknown time" if lag is None else f"{lag:.0f} ms"
            fresher = cluster.fresher(float(bound))
            raise SerializationFailure(
                f"this standby is {behind} behind, more than max_staleness ({max_staleness})",
                hint=f"A fresher server is at {fresher}." if fresher else "",
            )

    def listening(self, address: str) -> None:
        """Where clients, and the other servers on the log, find this one."""
        if self.cluster is not None:
            if not self.config.name:
                self.cluster.rename(address)
            self.cluster.address = address
            self.cluster.beat()

    def start(self) -> None:
        self.engine.start()
        if self.cluster is not None:
            self.cluster.on_beat = self._mind_store

    def hand_over(self) -> None:
        """Finishes the running epoch and lets go of the log, for a standby to take it. Blocks."""
        if self.cluster is not None:
            self.cluster.stop()
        self.engine.hand_over()

    def close(self) -> None:
        """Ends all work, checkpoints, closes the files."""
        self.hand_over()
        self.readers.shutdown(wait=True, cancel_futures=True)
        engine = self.engine
        engine.stop()
        if self.engine is not engine:
            # It was just taking over.
            self.engine.stop()
        if self._place is not None:
            self._place.close()

    @staticmethod
    def clock_us() -> int:
        return time.time_ns() // 1000

    def connect(self, parameters: dict[str, str]) -> Backend:
        """The backend of a new connection (`backend.Connect`). Raises SqlError for a bad parameter."""
        settings = SessionSettings(server=self.server_settings)
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


def _rebuilt_just_now() -> bool:
    return time.time() - float(os.environ.get(REBUILT, "0")) < REBUILT_AGAIN_S


def write_bytes_max(config: Config) -> int:
    """What one transaction may write: a MB at least, however small the memory."""
    return config.write_mb_max << 20 or max(1 << 20, memory_bytes(config) // 4)


def memory_bytes(config: Config) -> int:
    """What the process may take."""
    return config.memory << 20 or default_bytes()


def storage_limits(config: Config) -> StorageLimits:
    """The bounds of log and store that the configuration sets."""
    return StorageLimits(
        segment_bytes=config.segment_kb << 10,
        checkpoint_bytes=config.checkpoint_kb << 10,
        checkpoint_s=config.checkpoint_interval_s,
        compact_bytes=config.compact_kb << 10,
        process_from_bytes=min(PROCESS_FROM_BYTES, config.checkpoint_kb << 8),
        memory=MemoryBudget(memory_bytes(config), fixed=resident_bytes()),
    )
