"""`millpond serve`: opens the data directory, listens, and ends cleanly on SIGINT and SIGTERM."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NoReturn

from ..storage.errors import StartupError
from ..storage.kernels_lazy import load_all
from .auth import Access, load_users
from .config import Config
from .database import REBUILT, Database, memory_bytes
from .listener import Listener, tls_context
from .logs import set_up
from .metrics import Metrics
from .minder import LOOK_S, Minder

log = logging.getLogger("millpond")

YOUNG_OBJECTS_MAX = 10_000
"""Objects made and not yet freed at which the collector looks at the newest."""


def serve(config: Config, standby: bool = False, caught_up: Callable[[], None] = lambda: None) -> int:
    """Runs a server, as the primary or as a standby, until it is told to stop; the exit status.

    `caught_up` is called once it has all that the log has, before it serves.
    A primary that handed over or was replaced comes back as a standby, in a fresh process image.
    """
    set_up(config.log_level, config.log_format)
    ending = Ending()
    metrics = make_metrics(config)
    try:
        if metrics is not None:
            metrics.start()
            ending.metrics_port = metrics.http.port
        _run_database(config, standby, ending, metrics, caught_up)
    except StartupError as error:
        print(f"millpond: {error}", file=sys.stderr)
        return 1
    finally:
        if metrics is not None:
            metrics.stop()
    if ending.failure:
        print(f"millpond: {ending.failure}", file=sys.stderr)
        return 1
    if ending.rejoin:
        if ending.rebuild:
            give_up_store(config)
        log.warning("coming back as a standby", extra={"event": "rejoining"})
        rejoin(config, ending.port, ending.metrics_port)
    return 0


def _run_database(
    config: Config, standby: bool, ending: Ending, metrics: Metrics | None, caught_up: Callable[[], None]
) -> None:
    """Opens the database, serves it until it is to end, and closes it. Raises StartupError."""
    started = time.monotonic()
    database = Database(config, standby=standby)
    caught_up()
    role, epoch = "standby" if standby else "primary", database.engine.published.epoch
    seconds = round(time.monotonic() - started, 3)
    log.info(
        "recovered epoch %d as %s in %.3f s", epoch, role, seconds,
        extra={"event": "recovered", "role": role, "epoch": epoch, "seconds": seconds},
    )  # fmt: skip
    try:
        run_loop(_run(database, config, ending, metrics))
    finally:
        if metrics is not None:
            metrics.stopping()
        close(database, ending)


def close(database: Database, ending: Ending) -> None:
    """Closes it; that a store which is given up cannot be closed is no matter."""
    try:
        database.close()
    except Exception as error:  # whatever RocksDB says of files that are gone
        if not ending.rebuild:
            raise
        log.warning("the store could not be closed: %s", error)


@dataclass(slots=True)
class Ending:
    """Why the server ends, and on which ports it was."""

    rejoin: bool = False
    rebuild: bool = False
    """Whether the store cannot be used any more: it is left out, to be made anew from the changelog."""
    failure: str = ""
    port: int = 0
    metrics_port: int = 0


def give_up_store(config: Config) -> None:
    """Removes the store, and remembers when: one that fails again soon is not the store's fault."""
    state = config.data_path / "state"
    shutil.rmtree(state, ignore_errors=True)
    with contextlib.suppress(OSError):
        # Something else has taken its place.
        state.unlink(missing_ok=True)
    os.environ[REBUILT] = str(int(time.time()))


def rejoin(config: Config, port: int, metrics_port: int = 0) -> NoReturn:
    """Replaces this process by a standby on the same directory, log and addresses."""
    host, _ = config.host_port
    values = {item.name: getattr(config, item.name) for item in fields(Config)}
    values |= {"listen": f"{host}:{port}", "log": "" if config.kafka else config.log_folder}
    if config.metrics_host_port is not None:
        values["metrics"] = f"{config.metrics_host_port[0]}:{metrics_port}"
    if properties := values.pop("kafka_properties"):
        # Secrets may be in it: not for the list of processes.
        os.environ["MILLPOND_KAFKA_PROPERTIES"] = properties
    options = [f"--{name.replace('_', '-')}={value}" for name, value in values.items() if value != ""]
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "millpond.server", "standby", *options])


def run_loop(main: object) -> None:
    """Runs the coroutine on uvloop where there is one."""
    try:
        import uvloop

        uvloop.run(main)  # pyright: ignore[reportArgumentType]
    except ImportError:
        asyncio.run(main)  # pyright: ignore[reportArgumentType]


async def _run(database: Database, config: Config, ending: Ending, metrics: Metrics | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end(rejoin: bool = False, failure: str = "", rebuild: bool = False) -> None:
        ending.rejoin, ending.failure = ending.rejoin or rejoin, ending.failure or failure
        ending.rebuild |= rebuild
        loop.call_soon_threadsafe(stop.set)

    database.end = end
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    listener = make_listener(database, config)
    await listener.start()
    host, _ = config.host_port
    ending.port = listener.port
    database.listening(f"{host}:{listener.port}")
    database.end_session = lambda number: loop.call_soon_threadsafe(listener.terminate, number)
    database.on_promoted = lambda: loop.call_soon_threadsafe(listener.announce, {"in_hot_standby": "off"})
    database.start()
    minder = Minder(database, listener, memory_bytes(config))
    minding = asyncio.create_task(mind(minder))
    threading.Thread(target=load_all, name="kernels", daemon=True).start()
    _calm_collector()
    if metrics is not None:
        metrics.running(database, listener, minder)
        log.info("metrics on port %d", metrics.http.port, extra={"event": "metrics"})
    log.info("listening on %s:%d, data in %s", host, listener.port, config.data, extra={"event": "listening"})
    print(f"millpond is ready: psql -h {host} -p {listener.port} -d millpond", flush=True)
    await stop.wait()
    _ = minding.cancel()
    log.info("stopping", extra={"event": "stopping"})
    if metrics is not None:
        metrics.stopping()
    # First of all the log: a standby takes over while the rest is put in order.
    await loop.run_in_executor(None, database.hand_over)
    await listener.stop()


async def mind(minder: Minder) -> None:
    """Looks again and again; a look that fails is no reason not to look again."""
    while True:
        await asyncio.sleep(LOOK_S)
        try:
            minder.look()
        except Exception:
            log.exception("looking after sessions failed")


def _calm_collector() -> None:
    """Leaves what is there by now out of cyclic garbage collection, and collects less often.

    Programs, plans and the catalogue stay. Walking them again would hold up every thread for a tenth of a
    second and more. Rows are no cyclic garbage: they go when nobody refers to them.
    """
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS_MAX, 20, 20)


def make_metrics(config: Config) -> Metrics | None:
    """What the configuration asks for, not yet started."""
    address = config.metrics_host_port
    return None if address is None else Metrics(*address)


def make_listener(database: Database, config: Config) -> Listener:
    """The listener of a server with this configuration. Raises StartupError for unusable files."""
    host, port = config.host_port
    access = Access(load_users(Path(config.users))) if config.users else Access()
    tls = None
    if config.tls_certificate:
        tls = tls_context(Path(config.tls_certificate), Path(config.tls_key or config.tls_certificate))
    return Listener(
        database.connect, access, host=host, port=port, tls=tls, connections_max=config.max_connections
    )
