"""`Registry`: the stores of an application and their topics, as its writer knows them.

A topic is made before the transaction that names it, and deleted some time after the one that forgets it:
readers may still be on their way. What is left over by a crash in between, nobody reads; the next writer
deletes it, once it changes stores itself.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

from .changelog import StoredSpec
from .log import Frame, FrameKind
from .log_kafka_client import BrokerAway, KafkaTopics, TopicAdmin
from .log_kafka_records import StoreEntry
from .log_kafka_scan import check_topics, read_registry

KEPT_S = 60.0
"""How long the topic of a dropped store is kept for readers on their way."""

ATTEMPTS = 100
"""Names tried for a topic; those taken are left over from crashes."""


class Registry:
    """Used by the writer's thread."""

    def __init__(self, topics: KafkaTopics, known: dict[str, StoreEntry] | None = None) -> None:
        """Reads the topic of stores, unless they are `known`.

        Raises LogDamaged when a store's topic is gone, BrokerAway.
        """
        self._topics = topics
        self._admin = TopicAdmin(topics)
        self._durable = read_registry(topics) if known is None else dict(known)
        self._entries = dict(self._durable)
        if known is None:
            check_topics(topics, list(self._durable.values()))
        self._garbage: list[tuple[float, str]] = []
        self._searched = False
        """Whether topics left over by earlier writers were looked for."""

    def entry(self, store: str) -> StoreEntry:
        return self._entries[store]

    def prepare(self, frames: Sequence[Frame]) -> None:
        """Takes over what the frames say of stores; makes topics. Raises KafkaException, BrokerAway."""
        wanted: dict[str, StoredSpec] = {}
        for frame in frames:
            if frame.kind == FrameKind.DROPPED:
                self._entries.pop(frame.store, None)
                wanted.pop(frame.store, None)
            elif frame.kind == FrameKind.SPEC:
                spec = StoredSpec.decode(bytes(frame.payload))
                known = self._entries.get(frame.store)
                if known is None or known.spec.number != spec.number:
                    wanted[frame.store] = spec
        if wanted:
            self._make(wanted)

    def changes(self) -> Iterator[tuple[str, bytes | None]]:
        """What the open epoch changes: (store, its entry or None)."""
        if self._entries == self._durable:
            return
        for name in self._durable.keys() - self._entries.keys():
            yield name, None
        for name, entry in self._entries.items():
            if self._durable.get(name) != entry:
                yield name, entry.encode()

    def settle(self) -> None:
        """The epoch is committed."""
        if self._entries != self._durable:
            used = {entry.topic for entry in self._entries.values()}
            now = time.monotonic()
            self._garbage += [(now, e.topic) for e in self._durable.values() if e.topic not in used]
            self._durable = dict(self._entries)

    def abandon(self) -> None:
        """It is not; topics made for it are left over."""
        if self._entries != self._durable:
            used = {entry.topic for entry in self._durable.values()}
            now = time.monotonic()
            self._garbage += [(now, e.topic) for e in self._entries.values() if e.topic not in used]
            self._entries = dict(self._durable)

    def collect(self) -> None:
        """Deletes topics that nobody reads any more."""
        if not self._searched:
            # An epoch is committed whether or not they are found.
            with contextlib.suppress(BrokerAway):
                self._search()
        old = time.monotonic() - KEPT_S
        self._admin.delete(name for since, name in self._garbage if since < old)
        self._garbage = [one for one in self._garbage if one[0] >= old]

    def _search(self) -> None:
        known = {entry.topic for entry in (*self._durable.values(), *self._entries.values())}
        known |= {name for _, name in self._garbage}
        left = [n for n in self._admin.existing() if self._topics.is_store(n) and n not in known]
        now = time.monotonic()
        self._garbage += [(now, name) for name in left]
        self._searched = True

    def _make(self, wanted: dict[str, StoredSpec]) -> None:
        names = dict.fromkeys(wanted, "")
        for attempt in range(ATTEMPTS):
            tried = {
                s: self._topics.of_store(s, wanted[s].number, attempt) for s, n in names.items() if not n
            }
            taken = set(self._admin.create(tried.values()))
            names |= {store: name for store, name in tried.items() if name not in taken}
            if all(names.values()):
                break
        ids = self._admin.ids(names.values())
        for store, name in names.items():
            if name not in ids:
                raise BrokerAway(f"kafka at {self._topics.bootstrap}: topic {name} was not made")
            self._entries[store] = StoreEntry(wanted[store], name, ids[name])
