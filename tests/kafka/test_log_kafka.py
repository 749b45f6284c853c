"""What only Kafka brings: commits of unknown outcome, writers that wake up, positions too old."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from millpond.storage.errors import ConnectionFailure
from millpond.storage.fence import Fenced
from millpond.storage.log import LogTruncated, Position
from millpond.storage.log_kafka import KafkaLog
from millpond.storage.log_kafka_client import KafkaTopics
from millpond.storage.log_kafka_place import KafkaPlace
from millpond.storage.log_kafka_presence import Turn

from ..log_protocol import Content, Writer, read_all
from .broker import Broker

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("kafka")]


@pytest.fixture
def places(broker: Broker, topic: str) -> Iterator[list[KafkaPlace]]:
    """One application, as two processes see it."""
    topics = KafkaTopics(broker.bootstrap, topic)
    made = [KafkaPlace(topics), KafkaPlace(topics)]
    yield made
    for place in made:
        place.close()


class Unanswered:
    """A producer whose next commit gets no answer, though it may have been carried out."""

    def __init__(self, producer: Any, carried_out: bool) -> None:
        self._producer = producer
        self._carried_out = carried_out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def __len__(self) -> int:
        return len(self._producer)

    def commit_transaction(self, timeout_s: float) -> None:
        if self._carried_out:
            self._producer.commit_transaction(timeout_s)
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))


def writer_of(log: KafkaLog) -> Writer:
    writer = Writer(log, Content())
    writer.create("keyed", 1)
    writer.change("keyed", {(1, "a"): 1})
    _ = writer.commit()
    return writer


def test_a_commit_without_an_answer_is_asked_about(places: list[KafkaPlace]) -> None:
    log = places[0].open()
    writer = writer_of(log)
    log._producer = Unanswered(log._producer, carried_out=True)  # pyright: ignore[reportAttributeAccessIssue]
    writer.change("keyed", {(2, "carried out"): 1})
    assert writer.commit().epoch == 2
    before = copy.deepcopy(writer.content)
    log._producer = Unanswered(log._producer, carried_out=False)  # pyright: ignore[reportAttributeAccessIssue]
    writer.change("keyed", {(3, "lost"): 1})
    with pytest.raises(ConnectionFailure, match="could not write epoch 3"):
        _ = writer.commit()
    writer.content = before
    writer.change("keyed", {(4, "after"): 1})
    end = writer.commit()
    assert end.epoch == 3
    assert read_all(places[1].source(), end) == writer.content
    log.close()


def test_a_writer_that_wakes_up_writes_nothing_and_disturbs_nobody(places: list[KafkaPlace]) -> None:
    log = places[0].open()
    writer = writer_of(log)
    successor = places[1].take_over(Turn(), log.end)
    other = Writer(successor, copy.deepcopy(writer.content))
    # The old one has lost its producer and makes another, with the same transactional id.
    log._give_up()
    with pytest.raises(Fenced):
        log.ready()
    other.change("keyed", {(3, "mine"): 1})
    end = other.commit()
    assert read_all(places[1].source(), end) == other.content
    log.close()
    successor.close()


def test_a_writer_whose_id_was_initialised_by_mistake_goes_on(places: list[KafkaPlace]) -> None:
    log = places[0].open()
    writer = writer_of(log)
    before = copy.deepcopy(writer.content)
    places[1].topics.transactional().init_transactions(10)
    writer.change("keyed", {(2, "cut off"): 1})
    with pytest.raises(ConnectionFailure):
        _ = writer.commit()
    assert not log.fenced()
    writer.content = before
    writer.change("keyed", {(3, "after"): 1})
    end = writer.commit()
    assert read_all(places[1].source(), end) == before
    log.close()


class Unknowing:
    """A consumer that has lost sight of the topic."""

    def get_watermark_offsets(self, *_: object) -> None:
        raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))

    def close(self) -> None:
        pass


class Leaderless:
    """A consumer of a partition that has no leader for some questions."""

    def __init__(self, consumer: Any, questions: int) -> None:
        self._consumer, self.left = consumer, questions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def get_watermark_offsets(self, *asked: Any) -> tuple[int, int]:
        if self.left:
            self.left -= 1
            raise KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))
        return self._consumer.get_watermark_offsets(*asked)


def test_a_partition_whose_leader_is_being_found_is_asked_again(
    places: list[KafkaPlace], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = places[0].watch
    consumer = KafkaTopics.consumer
    asked: list[Leaderless] = []

    def leaderless(topics: KafkaTopics, isolation: str = "read_committed") -> Any:
        asked.append(Leaderless(consumer(topics, isolation), 3))
        return asked[-1]

    monkeypatch.setattr(KafkaTopics, "consumer", leaderless)
    log = places[0].open()
    assert watch.stamp is not None and any(not one.left for one in asked)
    log.close()


def test_reading_goes_on_with_another_consumer_when_one_fails_for_long(
    places: list[KafkaPlace], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some errors a client of Kafka never delivers again; a standby would stand still for ever."""
    log = places[0].open()
    writer = writer_of(log)
    watch = places[1].watch
    assert watch.refresh(10)
    at = watch._at
    monkeypatch.setattr(watch, "_consumer", Unknowing())
    end = writer.commit()
    monkeypatch.setattr("millpond.storage.log_kafka_watch.STUCK_S", 0.0)
    deadline = time.monotonic() + 30
    while not watch.refresh(5):
        assert time.monotonic() < deadline
    assert watch._at > at and watch.end == end
    log.close()


def test_a_position_behind_which_epochs_are_gone_is_refused(places: list[KafkaPlace]) -> None:
    log = places[0].open()
    writer = writer_of(log)
    [first] = places[1].source().read(None, log.end)
    writer.change("keyed", {(2, "b"): 1})
    _ = writer.commit()
    writer.change("keyed", {(3, "c"): 1})
    end = writer.commit()
    [rest] = places[1].source().read(first.position, end)
    assert rest.epoch == 3
    # As if the topic of epochs began behind epoch 2: compaction has taken it.
    [whole] = places[1].source().read(None, Position(2, 0, end.offset - 2))
    beyond = Position(first.epoch, 0, whole.position.offset, first.position.cursor)
    with pytest.raises(LogTruncated, match="compacted away"):
        _ = list(places[1].source().read(beyond, end))
    log.close()
