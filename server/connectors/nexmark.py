"""The Nexmark auction site: persons, auctions and bids in the proportion 1 : 3 : 46.

Tucker, Tufte, Papadimos & Maier, "NEXMark: A Benchmark for Queries over Data Streams" (2002), with the
proportions, hot keys and numberings of Apache Beam's generator. Event n is a function of the seed and n, so
a source is replayable. Its offset is the number of events before it, whatever their kind: three sources
with the same seed, one for each `nexmark.table.type`, are three views of one stream of events.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...runtime.source import SourceBatch
from ...storage.errors import InvalidParameterValue
from ...storage.schema import Schema
from ...storage.types import INT8, TIMESTAMP, VARCHAR, Type
from .base import check_options, connector, integer_option
from .randomness import Ints, Randomness

PERSONS, AUCTIONS, EVENTS = 1, 3, 50
"""Of each 50 events the first is a person, the next three are auctions, the rest bids."""
FIRST_PERSON, FIRST_AUCTION, FIRST_CATEGORY, CATEGORIES = 1000, 1000, 10, 5
PERSON_LEAD, AUCTION_LEAD = 10, 10
"""Ids drawn may be this far ahead of the last one made: a bid may come before its auction."""
HOT_SPAN = 100
"""Every hundredth auction, seller or bidder is the hot one of its hundred."""
BASE_TIME_US = 1_436_918_400_000_000
REPLAY_EVENTS = 500_000

OPTIONS = {
    "nexmark.table.type": "",
    "nexmark.event.num": "events in all, −1 for no end",
    "nexmark.min.event.gap.in.ns": "pace: nanoseconds between events, 0 for as fast as possible",
    "nexmark.max.chunk.size": "rows in one batch",
    "nexmark.split.num": "accepted: one reader makes all events",
    "nexmark.use.real.time": "accepted: event times follow the event number",
    "nexmark.active.people": "persons who may bid and sell at one time",
    "nexmark.in.flight.auctions": "auctions open at one time",
    "nexmark.hot.seller.ratio": "one seller in this many is not the hot one",
    "nexmark.hot.auction.ratio": "one bid in this many is not on the hot auction",
    "nexmark.hot.bidder.ratio": "one bid in this many is not by the hot bidder",
    "nexmark.seed": "another stream for another number",
}

_COLUMNS: dict[str, dict[str, Type]] = {
    "person": {"id": INT8, "name": VARCHAR, "email_address": VARCHAR, "credit_card": VARCHAR,
               "city": VARCHAR, "state": VARCHAR, "date_time": TIMESTAMP, "extra": VARCHAR},
    "auction": {"id": INT8, "item_name": VARCHAR, "description": VARCHAR, "initial_bid": INT8,
                "reserve": INT8, "date_time": TIMESTAMP, "expires": TIMESTAMP, "seller": INT8,
                "category": INT8, "extra": VARCHAR},
    "bid": {"auction": INT8, "bidder": INT8, "price": INT8, "channel": VARCHAR, "url": VARCHAR,
            "date_time": TIMESTAMP, "extra": VARCHAR},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NexmarkOptions:
    """The options of one source, checked."""

    kind: str
    events: int
    gap_ns: int
    rows: int
    people: int
    auctions: int
    hot_seller: int
    hot_auction: int
    hot_bidder: int
    seed: int


def parse_options(options: Mapping[str, str]) -> NexmarkOptions:
    """Raises InvalidParameterValue for an unknown option or a bad value."""
    check_options("nexmark", options, OPTIONS)
    kind = options.get("nexmark.table.type", "").lower()
    if kind not in _COLUMNS:
        raise InvalidParameterValue(
            "a nexmark source needs nexmark.table.type", hint="It is one of Person, Auction, Bid."
        )
    return NexmarkOptions(
        kind,
        integer_option(options, "nexmark.event.num", -1, -1),
        integer_option(options, "nexmark.min.event.gap.in.ns", 100_000),
        integer_option(options, "nexmark.max.chunk.size", 0),
        integer_option(options, "nexmark.active.people", 1000, 1),
        integer_option(options, "nexmark.in.flight.auctions", 100, 1),
        integer_option(options, "nexmark.hot.seller.ratio", 4, 1),
        integer_option(options, "nexmark.hot.auction.ratio", 2, 1),
        integer_option(options, "nexmark.hot.bidder.ratio", 4, 1),
        integer_option(options, "nexmark.seed", 0),
    )


@connector
class Nexmark:
    """`connector = 'nexmark'`."""

    name = "nexmark"
    stable_replay = True

    def columns(self, options: Mapping[str, str]) -> Schema:
        return Schema.of(**_COLUMNS[parse_options(options).kind])

    def open(self, schema: Schema, options: Mapping[str, str]) -> NexmarkReader:
        parsed = parse_options(options)
        known = _COLUMNS[parsed.kind]
        wanted = [column for column in schema if not column.hidden]
        for column in wanted:
            if column.name not in known:
                raise InvalidParameterValue(
                    f'nexmark\'s {parsed.kind} has no column "{column.name}"',
                    hint=f"It has: {', '.join(known)}.",
                )
            if column.type.arrow != known[column.name].arrow:
                raise InvalidParameterValue(
                    f'column "{column.name}" of nexmark\'s {parsed.kind} is of type {known[column.name]}'
                )
        return NexmarkReader(tuple(column.name for column in wanted), parsed)


class NexmarkReader:
    """Makes the events of one kind (`runtime.source.SourceReader`)."""

    def __init__(self, names: tuple[str, ...], options: NexmarkOptions) -> None:
        self._names = names
        self._options = options
        self._generate = Generator(options)
        self._started: tuple[int, float] | None = None

    def poll(self, offset: bytes | None, rows_max: int) -> SourceBatch | None:
        first = int(offset or b"0")
        if self._started is None:
            self._started = (first, time.monotonic())
        last = self._allowed(first, self._options.rows or rows_max)
        if last <= first:
            return None
        return SourceBatch(self._rows(first, last), b"%d" % last)

    def _allowed(self, first: int, rows: int) -> int:
        """The event number to stop before: by rows wanted, pace, and the end of the stream."""
        share = {"person": PERSONS, "auction": AUCTIONS, "bid": EVENTS - PERSONS - AUCTIONS}
        last = first + max(rows * EVENTS // share[self._options.kind], 1)
        if self._options.gap_ns:
            assert self._started is not None
            start, since = self._started
            due = start + int((time.monotonic() - since) * 1e9) // self._options.gap_ns
            last = min(last, due)
        return last if self._options.events < 0 else min(last, self._options.events)

    def _rows(self, first: int, last: int) -> list[pa.Array]:
        return [self._generate.column(name, first, last) for name in self._names]

    def replay(self, until: bytes) -> Iterator[SourceBatch]:
        end = int(until)
        for first in range(0, end, REPLAY_EVENTS):
            last = min(first + REPLAY_EVENTS, end)
            yield SourceBatch(self._rows(first, last), b"%d" % last)

    def close(self) -> None:
        pass


class Generator:
    """Columns of the events of one kind whose numbers lie in a range."""

    def __init__(self, options: NexmarkOptions) -> None:
        self._options = options
        self._random = Randomness(options.seed)
        self._columns: dict[str, Callable[[Ints], pa.Array]] = getattr(self, f"_{options.kind}")()

    def column(self, name: str, first: int, last: int) -> pa.Array:
        """The column's values for the events `first` ≤ n < `last` of this kind."""
        return self._columns[name](self._numbers(first, last))

    def _numbers(self, first: int, last: int) -> Ints:
        numbers = np.arange(first, last)
        place = numbers % EVENTS
        if self._options.kind == "person":
            return numbers[place < PERSONS]
        if self._options.kind == "auction":
            return numbers[(place >= PERSONS) & (place < PERSONS + AUCTIONS)]
        return numbers[place >= PERSONS + AUCTIONS]

    def _person(self) -> dict[str, Callable[[Ints], pa.Array]]:
        # Making the words takes some fifty milliseconds, which only who draws them pays.
        from . import nexmark_words as words

        r = self._random
        return {
            "id": lambda n: pa.array(FIRST_PERSON + last_person(n)),
            "name": lambda n: _word(words.NAMES, r, "name", n),
            "email_address": lambda n: _word(words.EXTRAS.emails, r, "email", n),
            "credit_card": lambda n: _word(words.EXTRAS.cards, r, "card", n),
            "city": lambda n: _word(words.CITIES, r, "city", n),
            "state": lambda n: _word(words.STATES, r, "state", n),
            "date_time": self._time,
            "extra": lambda n: _word(words.EXTRAS.padding, r, "person extra", n),
        }

    def _auction(self) -> dict[str, Callable[[Ints], pa.Array]]:
        # Making the words takes some fifty milliseconds, which only who draws them pays.
        from . import nexmark_words as words

        r = self._random
        return {
            "id": lambda n: pa.array(FIRST_AUCTION + last_auction(n)),
            "item_name": lambda n: _word(words.AUCTION_WORDS.items, r, "item", n),
            "description": lambda n: _word(words.AUCTION_WORDS.descriptions, r, "description", n),
            "initial_bid": lambda n: pa.array(self._price("initial", n)),
            "reserve": lambda n: pa.array(self._price("initial", n) + self._price("reserve", n)),
            "date_time": self._time,
            "expires": lambda n: self._time(n, self._length_us(n)),
            "seller": lambda n: pa.array(self._seller(n)),
            "category": lambda n: pa.array(FIRST_CATEGORY + r.below("category", n, CATEGORIES)),
            "extra": lambda n: _word(words.EXTRAS.padding, r, "auction extra", n),
        }

    def _bid(self) -> dict[str, Callable[[Ints], pa.Array]]:
        # Making the words takes some fifty milliseconds, which only who draws them pays.
        from . import nexmark_words as words

        r = self._random
        return {
            "auction": lambda n: pa.array(self._bid_auction(n)),
            "bidder": lambda n: pa.array(self._bidder(n)),
            "price": lambda n: pa.array(self._price("price", n)),
            "channel": lambda n: _word(words.CHANNELS, r, "channel", n),
            "url": lambda n: _word(words.URLS, r, "channel", n),
            "date_time": self._time,
            "extra": lambda n: _word(words.EXTRAS.padding, r, "bid extra", n),
        }

    def _time(self, n: Ints, plus_us: Ints | int = 0) -> pa.Array:
        gap_ns = self._options.gap_ns or 100_000
        return pa.array(BASE_TIME_US + n * gap_ns // 1000 + plus_us).cast(pa.timestamp("us"))

    def _length_us(self, n: Ints) -> Ints:
        """How long an auction runs: up to twice the time in which the open auctions come about."""
        gap_ns = self._options.gap_ns or 100_000
        horizon_us = self._options.auctions * EVENTS // AUCTIONS * gap_ns // 1000
        return 1000 + self._random.below("length", n, max(horizon_us * 2, 1))

    def _price(self, field: str, n: Ints) -> Ints:
        """Cents, log-uniform from 1 to 10⁶ units."""
        return np.round(10.0 ** (self._random.uniform(field, n) * 6) * 100).astype(np.int64)

    def _near(self, field: str, n: Ints, last: Ints, active: int, lead: int) -> Ints:
        """An id among the last `active` ones, or a little ahead."""
        count = np.minimum(last, active)
        return np.maximum(last - count, 0) + self._random.below(field, n, count + lead)

    def _hot(self, field: str, n: Ints, ratio: int) -> npt.NDArray[np.bool_]:
        return self._random.below(field, n, ratio) > 0

    def _seller(self, n: Ints) -> Ints:
        last = last_person(n)
        near = self._near("seller", n, last, self._options.people, PERSON_LEAD)
        hot = self._hot("hot seller", n, self._options.hot_seller)
        return FIRST_PERSON + np.where(hot, last // HOT_SPAN * HOT_SPAN, near)

    def _bid_auction(self, n: Ints) -> Ints:
        last = last_auction(n)
        near = self._near("auction", n, last, self._options.auctions, AUCTION_LEAD)
        hot = self._hot("hot auction", n, self._options.hot_auction)
        return FIRST_AUCTION + np.where(hot, last // HOT_SPAN * HOT_SPAN, near)

    def _bidder(self, n: Ints) -> Ints:
        last = last_person(n)
        near = self._near("bidder", n, last, self._options.people, PERSON_LEAD)
        hot = self._hot("hot bidder", n, self._options.hot_bidder)
        return FIRST_PERSON + np.where(hot, last // HOT_SPAN * HOT_SPAN + 1, near)


def last_person(n: Ints) -> Ints:
    """Number (from 0) of the last person made by event n."""
    return n // EVENTS


def last_auction(n: Ints) -> Ints:
    """Number (from 0) of the last auction made by event n; that of the person's event is the one before."""
    place = n % EVENTS
    done = np.clip(place - PERSONS, -1, AUCTIONS - 1)
    return np.maximum(n // EVENTS * AUCTIONS + done, 0)


def _word(words: pa.Array, random: Randomness, field: str, n: Ints) -> pa.Array:
    return words.take(pa.array(random.below(field, n, len(words))))
