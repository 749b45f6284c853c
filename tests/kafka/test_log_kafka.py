"""What only Kafka brings: commits of unknown outcome, writers that wake up, positions too old."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from millpond.storage import log_kafka_client, log_kafka_registry
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

    consume = get_watermark_offsets

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


@pytest.mark.parametrize("failing", ["_consumer", "_asker"])
def test_reading_goes_on_with_another_consumer_when_one_fails_for_long(
    places: list[KafkaPlace], monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """After some errors a client of Kafka never delivers again; a standby would stand still for ever."""
    log = places[0].open()
    writer = writer_of(log)
    watch = places[1].watch
    assert watch.refresh(10)
    at = watch._at
    monkeypatch.setattr(watch, failing, Unknowing())
    end = writer.commit()
    monkeypatch.setattr("millpond.storage.log_kafka_watch.STUCK_S", 0.0)
    deadline = time.monotonic() + 30
    while not watch.refresh(5, settled=True) or watch.end != end:
        assert time.monotonic() < deadline
    assert watch._at > at
    log.close()


def test_asking_for_the_end_does_not_wait_for_a_fetch(
    places: list[KafkaPlace], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker answers one connection in turn, and lets a fetch wait for something to come."""
    log = places[0].open()
    monkeypatch.setitem(log_kafka_client._CONSUMER, "fetch.wait.max.ms", 2000)
    watch = places[1].watch
    assert watch.refresh(30)
    for _ in range(5):
        assert watch.refresh(1)
    log.close()


class Busy:
    """A producer whose id another writer's transaction keeps for some questions."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)

    def init_transactions(self, timeout_s: float) -> None:
        assert timeout_s < 0.5
        if self.answers:
            raise KafkaException(KafkaError(self.answers[0], retriable=self.answers.pop(0) in RETRIABLE))


RETRIABLE = (KafkaError.CONCURRENT_TRANSACTIONS, KafkaError._TIMED_OUT)


def test_the_transactional_id_is_asked_for_again_soon() -> None:
    """Left to itself the client waits half a second after CONCURRENT_TRANSACTIONS."""
    producer: Any = Busy(KafkaError._TIMED_OUT, KafkaError.CONCURRENT_TRANSACTIONS)
    log_kafka_client.initialise(producer, 60)
    assert not producer.answers
    producer = Busy(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, KafkaError._TIMED_OUT)
    with pytest.raises(KafkaException):
        log_kafka_client.initialise(producer, 60)
    assert len(producer.answers) == 1
    producer = Busy(*[KafkaError.CONCURRENT_TRANSACTIONS] * 1000)
    with pytest.raises(KafkaException):
        log_kafka_client.initialise(producer, 0)


def test_a_standby_that_takes_over_knows_the_stores_it_has_followed(
    places: list[KafkaPlace], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = places[0].open()
    writer, standby = writer_of(log), Content()
    source = places[1].source()
    position = standby.follow(source.read(None, log.end))
    assert position is not None
    writer.create("bag", 2)
    writer.change("bag", {(1, "x"): 2})
    _ = writer.commit()
    successor = places[1].take_over(Turn(), position)
    _ = standby.follow(source.read(position, successor.end))
    source.close()
    monkeypatch.setattr(log_kafka_registry, "read_registry", lambda _topics: pytest.fail("it was read"))
    other = Writer(successor, standby)
    other.change("bag", {(2, "y"): 1})
    other.drop("keyed")
    end = other.commit()
    assert read_all(places[0].source(), end) == standby
    log.close()
    successor.close()


def test_news_are_told_before_the_time_is_up(
    places: list[KafkaPlace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millpond.storage.log_kafka_source.NEWS_S", 300.0)
    log = places[0].open()
    writer, source = writer_of(log), places[1].source()
    _ = list(source.read(None, log.end))
    writer.change("keyed", {(2, "b"): 1})
    end = writer.commit()
    while not source._scan or not source._scan._commits:
        source.await_news()
    assert source._scan._commits[-1][0].epoch == end.epoch
    source.close()
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
