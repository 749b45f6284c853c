"""`millpond serve`: opens the data directory, listens, and ends cleanly on SIGINT and SIGTERM."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path

from ..storage.errors import StartupError
from .auth import Access, load_users
from .config import Config
from .database import Database
from .listener import Listener, tls_context

log = logging.getLogger("millpond")


def serve(config: Config) -> int:
    """Runs a server until it is told to stop; the exit status."""
    logging.basicConfig(
        level=config.log_level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s"
    )
    try:
        database = Database(config)
    except StartupError as error:
        print(f"millpond: {error}", file=sys.stderr)
        return 1
    try:
        run_loop(_run(database, config))
    except StartupError as error:
        print(f"millpond: {error}", file=sys.stderr)
        return 1
    finally:
        database.close()
    return 0


def run_loop(main: object) -> None:
    """Runs the coroutine on uvloop where there is one."""
    try:
        import uvloop

        uvloop.run(main)  # pyright: ignore[reportArgumentType]
    except ImportError:
        asyncio.run(main)  # pyright: ignore[reportArgumentType]


async def _run(database: Database, config: Config) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    listener = make_listener(database, config)
    await listener.start()
    database.end_session = lambda number: loop.call_soon_threadsafe(listener.terminate, number)
    database.start()
    host, _ = config.host_port
    log.info("listening on %s:%d, data in %s", host, listener.port, config.data)
    print(f"millpond is ready: psql -h {host} -p {listener.port} -d millpond", flush=True)
    await stop.wait()
    log.info("stopping")
    await listener.stop()


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
