"""`KafkaSource`: reads a changelog on Kafka; a `LogSource`.

A source that follows keeps its `Scan`, and so its place in every topic, from one read to the next. One for
occasional reads (`apart`) opens a scan each time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from .errors import StartupError
from .log import LogEpoch, Position
from .log_kafka_client import ANSWER_S, BrokerAway
from .log_kafka_records import StoreEntry
from .log_kafka_scan import Scan
from .log_kafka_watch import EpochsWatch

NEWS_S = 0.02
"""How long news are waited for; they come by themselves."""

LOOK_S = 1.0
"""How long the end mark may be waited for; a silent broker tells nothing."""


class KafkaSource:
    """`end_mark` and `identity` may be asked by any thread; `read` by one."""

    def __init__(self, watch: EpochsWatch, follow: bool) -> None:
        """`follow`: keep the place in the topics between two reads."""
        self._topics = watch.topics
        self._watch = watch
        self._follow = follow
        self._scan: Scan | None = None
        self._stores: dict[str, StoreEntry] = {}
        self._stores_at = -1

    @property
    def identity(self) -> bytes:
        try:
            self._watch.read(2 * ANSWER_S)
        except BrokerAway as error:
            raise StartupError(f"{self._topics}: {error}") from None
        if self._watch.stamp is None:
            raise StartupError(f"{self._topics} has no changelog: start its primary first (millpond serve)")
        return self._watch.stamp.identity

    def end_mark(self, settled: bool = False) -> Position | None:
        return self._watch.end if self._watch.refresh(LOOK_S, settled) else None

    def await_news(self) -> None:
        if self._scan is None:
            time.sleep(NEWS_S)
            return
        try:
            self._scan.listen(NEWS_S)
        except BaseException:
            self.close()
            raise

    def stores_at(self, epoch: int) -> dict[str, StoreEntry] | None:
        """The stores there were as of `epoch`, None if it is not the one read last."""
        return self._stores if self._stores_at == epoch else None

    def read(self, after: Position | None, until: Position | None = None) -> Iterator[LogEpoch]:
        """At most one: what all epochs up to `until` come to. Raises LogTruncated, LogDamaged, BrokerAway."""
        if until is None:
            self._watch.read(2 * ANSWER_S)
            until = self._watch.end
        if until is None or (after is not None and after.epoch >= until.epoch) or not until.epoch:
            return
        scan = self._scan_from(after, until)
        try:
            given = scan.advance(until)
        except BaseException:
            self.close()
            raise
        self._stores, self._stores_at = scan.stores, given.epoch
        if not self._follow:
            self.close()
        yield given

    def _scan_from(self, after: Position | None, until: Position) -> Scan:
        kept = self._scan
        if kept is None or after is None or kept.reached != after.epoch:
            self.close()
            kept = self._scan = Scan(self._topics, after, until)
        return kept

    @property
    def shared_folder(self) -> Path | None:
        return None

    def apart(self) -> KafkaSource:
        return KafkaSource(self._watch, follow=False)

    def close(self) -> None:
        """Gives up the place in the topics; a later read opens it again."""
        if self._scan is not None:
            self._scan.close()
            self._scan = None
