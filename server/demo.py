"""`millpond demo`: an auction site in a temporary directory, some views over it, and one of them shown live.

In a terminal it runs until interrupted; otherwise for some seconds, then it prints the result. Either
way nothing is left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
import tempfile
import time
from dataclasses import dataclass

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..storage.errors import StartupError
from .config import Config
from .database import Database
from .local import Answer, LocalSession
from .serve import make_listener, run_loop

SECONDS = 5.0
"""How long it runs when nobody watches."""
REFRESH_S = 0.5
EVENT_GAP_NS = 50_000

_SOURCE = (
    "CREATE SOURCE {name} WITH (connector = 'nexmark', nexmark.table.type = '{name}', "
    f"nexmark.min.event.gap.in.ns = '{EVENT_GAP_NS}')"
)
STATEMENTS = (
    *(_SOURCE.format(name=name) for name in ("person", "auction", "bid")),
    "CREATE MATERIALIZED VIEW bids_of_auction AS "
    "SELECT auction, count(*) AS bids, max(price) AS highest FROM bid GROUP BY auction",
    "CREATE MATERIALIZED VIEW hottest AS "
    "SELECT a.id, a.item_name AS item, p.name AS seller, p.city, b.bids, "
    "round(b.highest / 100.0, 2) AS highest_bid FROM bids_of_auction b "
    "JOIN auction a ON a.id = b.auction JOIN person p ON p.id = a.seller "
    "ORDER BY b.bids DESC, a.id LIMIT 10",
    "CREATE MATERIALIZED VIEW totals AS "
    "SELECT count(*) AS bids, count(DISTINCT bidder) AS bidders, round(sum(price) / 100.0, 2) AS worth "
    "FROM bid",
)
SHOWN = "SELECT * FROM hottest ORDER BY bids DESC, id"
TOTALS = "SELECT bids, bidders, worth FROM totals"


def demo(listen: str = "", seconds: float = 0.0) -> int:
    """Runs the demo; the exit status. `seconds` 0: until interrupted in a terminal, else 5."""
    logging.basicConfig(level="WARNING", stream=sys.stderr)
    console = Console()
    live = console.is_terminal and sys.stdin.isatty()
    if not seconds and not live:
        seconds = SECONDS
    # Until the loop takes signals over: whenever it is ended, the directory goes.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
    with tempfile.TemporaryDirectory(prefix="millpond-demo-") as folder:
        config = Config(data=folder, listen=listen or "127.0.0.1:7432")
        database = Database(config)
        try:
            run_loop(_run(database, config, console, live, seconds, bool(listen)))
        finally:
            database.close()
    return 0


async def _run(
    database: Database, config: Config, console: Console, live: bool, seconds: float, fixed: bool
) -> None:
    listener = make_listener(database, config)
    try:
        await listener.start()
    except StartupError:
        if fixed:
            raise
        listener = make_listener(database, Config(data=config.data, listen="127.0.0.1:0"))
        await listener.start()
    database.start()
    session = LocalSession(database)
    for statement in STATEMENTS:
        session.execute(statement)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    console.print("Three sources, three views over them, always up to date. Ask yourself:\n")
    console.print(f"    psql -h 127.0.0.1 -p {listener.port} -d millpond\n", highlight=False)
    board = Board(session, time.monotonic())
    if live:
        console.print("Ctrl-C ends it, and leaves nothing behind.\n")
        await _show(board, console, stop, seconds)
    else:
        await _pause(stop, seconds)
        console.print(board.draw())
    session.close()
    await listener.stop()


async def _show(board: Board, console: Console, stop: asyncio.Event, seconds: float) -> None:
    """Draws the view again and again until stopped, or for so long when `seconds` is not 0."""
    with Live(console=console, auto_refresh=False) as screen:
        while not stop.is_set() and not (seconds and board.age() >= seconds):
            screen.update(board.draw(), refresh=True)
            await _pause(stop, REFRESH_S)


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


@dataclass(slots=True)
class Board:
    """What is shown: the hottest auctions, and how much happened so far."""

    session: LocalSession
    started: float

    def age(self) -> float:
        return time.monotonic() - self.started

    def draw(self) -> Group:
        bids, bidders, worth = self.session.execute(TOTALS).texts()[0]
        summary = Text(
            f"after {self.age():.1f} s: {int(bids or 0):,} bids by {int(bidders or 0):,} bidders, "
            f"worth {float(worth or 0):,.2f}"
        )
        title = "The hottest auctions (materialized view hottest)"
        return Group(_table(title, self.session.execute(SHOWN)), summary)


def _table(title: str, answer: Answer) -> Table:
    table = Table(title=title)
    for column in answer.columns:
        table.add_column(column.name, justify="right" if column.type.category == "N" else "left")
    for row in answer.texts():
        table.add_row(*(value or "" for value in row))
    return table
