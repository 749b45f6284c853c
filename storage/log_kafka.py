"""`KafkaLog`: the changelog in topics of Kafka, written by one transactional producer.

An epoch is one transaction: rows and tombstones in the topics of their stores, a mark in each of these, the
stores that came and went in the topic of stores, the commit record in the topic of epochs.

*Who may write.* A writer initialises the application's transactional id, which fences every earlier producer
and ends its open transaction, and then writes a claim. Whoever initialises the id again, be it after a
failure, looks at the last claim before it writes anything: if it is another's, this process is fenced. So an
epoch of an earlier writer is either before the claim, where its successor reads it, or nowhere.

*A failure.* Before the end of the transaction is asked for, nothing is in the log. Afterwards nobody knows;
then the id is initialised anew, which settles it, and the topic of epochs says how. The producer is given up
every time: librdkafka lacks transactions of the second version (KIP-890), in which late answers are told
apart.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from .changelog import StoredSpec
from .errors import ConnectionFailure, SqlError
from .fence import Fenced, OutcomeUnknown
from .log import Frame, FrameKind, LogEpoch, Position
from .log_files import TAKEN_OVER
from .log_kafka_client import (
    ANSWER_S,
    BrokerAway,
    KafkaTopics,
    initialise,
    kafka_error,
)
from .log_kafka_records import (
    CLAIM_KEY,
    COMMIT_KEY,
    EPOCH_KEY,
    GONE_HEADER,
    LOG_KEY,
    REGISTRY,
    TRUNCATED_KEY,
    Claim,
    Commit,
    Stamp,
    StoreCode,
    StoreEntry,
)
from .log_kafka_registry import Registry
from .log_kafka_source import KafkaSource
from .log_kafka_watch import EpochsWatch
from .log_reader import START

COMMIT_S = 10.0
"""How long a transaction may get no answer before its writer gives it up."""

LOOK_S = 1.0
"""How long a look at the claim may take."""

SETTLE_S = 30.0
"""How long a commit of unknown outcome is asked about."""

REST_S = 0.2
"""Between two attempts to reach the broker."""


class CommitUnknown(SqlError, code="08007"):
    """The broker went away while the epoch was committed: it may be part of the log or not."""


class KafkaLog:
    """The writer of an application's topics; implements `Log`."""

    def __init__(
        self,
        watch: EpochsWatch,
        token: str,
        producer: Producer | None = None,
        followed: KafkaSource | None = None,
    ) -> None:
        """Becomes the writer. Raises StartupError; ConnectionFailure or Fenced when that may pass.

        `followed`: a source that will have read up to the end before anything is committed; it knows which
        stores there are.
        """
        self._topics: KafkaTopics = watch.topics
        self._watch = watch
        self._token = token
        self._producer: Producer | None = None
        self._spare = producer
        self._writer = 0
        self._fenced: Fenced | None = None
        self._unsettled = 0
        self._commit_offset = 0
        self._refused: KafkaError | None = None
        self._frames: list[Frame] = []
        self._codes: dict[int, StoreCode] = {}
        self._open_producer(claimed=False)
        self._claim()
        self._end = watch.end or START
        self._followed = followed
        self._registry = None if followed is not None else Registry(self._topics)

    @property
    def reader(self) -> KafkaSource:
        return KafkaSource(self._watch, follow=False)

    @property
    def end(self) -> Position:
        return self._end

    @property
    def identity(self) -> bytes:
        assert self._watch.stamp is not None
        return self._watch.stamp.identity

    @property
    def writer(self) -> int:
        return self._writer

    def fenced(self) -> bool:
        """Whether another process has claimed the log, as far as the broker says."""
        if self._fenced is None and self._watch.refresh(LOOK_S):
            self._look_at_claim()
        return self._fenced is not None

    def ready(self) -> int:
        if self._fenced is not None:
            raise self._fenced
        if self._producer is None:
            self._open_producer(claimed=True)
        if self._unsettled:
            self._look_back()
        return self._writer

    def append(self, frames: Sequence[Frame]) -> None:
        self._frames.extend(frames)

    def rollback(self) -> None:
        self._frames.clear()

    def commit(self, epoch: int, meta: bytes) -> Position:
        assert epoch == self._end.epoch + 1, (epoch, self._end)
        frames, self._frames = self._frames, []
        self.ready()
        doing = f"write epoch {epoch} to the changelog"
        try:
            self._stores().prepare(frames)
            touched = self._produce(epoch, frames, meta)
            self._flush()
        except (KafkaException, BrokerAway) as error:
            self._abandon()
            self._give_up()
            raise self._told(error, doing) from error
        try:
            self._require().commit_transaction(COMMIT_S)
        except KafkaException as error:
            self._give_up()
            self._settle(epoch, kafka_error(self._topics, error, doing))
        registry = self._stores()
        registry.settle()
        self._end = Position(epoch, 0, self._commit_offset + 1)
        if REGISTRY in touched:
            registry.collect()
        return self._end

    def read(self, after: Position | None) -> Iterator[LogEpoch]:
        """The epochs behind `after` up to the end. Raises as `LogSource.read`."""
        source = self.reader
        self._watch.read(ANSWER_S)
        return source.read(after, self._watch.end)

    def sizes(self) -> tuple[int, int, int]:
        """Nothing to cut: the broker compacts."""
        return 0, 0, 0

    def begin_segment(self) -> Position:
        raise AssertionError("a log on Kafka has no segments")

    def write_base(self, position: Position, meta: bytes, frames: Iterable[Frame]) -> None:
        raise AssertionError("a log on Kafka has no bases")

    def close(self) -> None:
        """Lets go of the log, saying so, if there is a broker to hear it."""
        producer, self._producer = self._producer, None
        if producer is not None and self._fenced is None:
            try:
                self._write_claim(producer, "", 1.0)
            except KafkaException:
                _purge(producer)
        self._fenced = self._fenced or Fenced("the log is closed")

    # The producer.
    def _require(self) -> Producer:
        assert self._producer is not None
        return self._producer

    def _open_producer(self, claimed: bool) -> None:
        """Initialises the transactional id. With `claimed`, looks whether the claim is still ours.

        Raises ConnectionFailure, Fenced.
        """
        try:
            if claimed:
                # Whether there is a broker is soon told; and one who is fenced does not fence the successor.
                self._check_claim(LOOK_S)
            producer, self._spare = self._spare or self._topics.transactional(), None
            initialise(producer, COMMIT_S)
            if claimed:
                self._check_claim(COMMIT_S)
            else:
                self._watch.read(COMMIT_S)
        except (KafkaException, BrokerAway) as error:
            raise kafka_error(self._topics, error, "become the writer of the changelog") from None
        self._producer = producer

    def _check_claim(self, timeout_s: float) -> None:
        """Raises Fenced when it is not ours any more, BrokerAway."""
        self._watch.read(timeout_s)
        self._look_at_claim()
        if self._fenced is not None:
            raise self._fenced

    def _look_at_claim(self) -> None:
        claim = self._watch.claim
        if claim is not None and claim.token != self._token and claim.writer >= self._writer > 0:
            self._fenced = Fenced(TAKEN_OVER)

    def _claim(self) -> None:
        self._writer = self._watch.writer + 1
        try:
            self._write_claim(self._require(), self._token, COMMIT_S)
            self._watch.await_claim(self._token, COMMIT_S)
        except (KafkaException, BrokerAway) as error:
            raise self._told(error, "become the writer of the changelog") from None

    def _write_claim(self, producer: Producer, token: str, timeout_s: float) -> None:
        producer.begin_transaction()
        if self._watch.stamp is None:
            producer.produce(self._topics.epochs, Stamp(os.urandom(16)).encode(), LOG_KEY)
        producer.produce(self._topics.epochs, Claim(self._writer, token).encode(), CLAIM_KEY)
        producer.commit_transaction(timeout_s)

    def _give_up(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            _purge(producer)

    def _told(self, error: BaseException, doing: str) -> SqlError:
        """What to say of a failure that left nothing in the log."""
        if isinstance(error, KafkaException) and self._writer and self.fenced():
            assert self._fenced is not None
            return self._fenced
        return kafka_error(self._topics, error, doing)

    # After a commit of unknown outcome.
    def _settle(self, epoch: int, failure: SqlError) -> None:
        """Returns if the epoch was committed; raises `failure` if not, CommitUnknown if nobody says."""
        self._unsettled = epoch
        deadline = time.monotonic() + SETTLE_S
        while time.monotonic() < deadline:
            try:
                self._open_producer(claimed=True)
            except Fenced:
                raise OutcomeUnknown(
                    f"{TAKEN_OVER}: whether epoch {epoch} was committed is unknown"
                ) from failure
            except ConnectionFailure:
                time.sleep(REST_S)
                continue
            self._unsettled = 0
            if self._committed(epoch):
                assert self._watch.end is not None
                self._commit_offset = self._watch.end.offset - 1
                return
            self._abandon()
            raise failure
        self._abandon()
        raise CommitUnknown(f"{failure.message}; whether it was committed is unknown") from failure

    def _committed(self, epoch: int) -> bool:
        """Whether the last commit in the log is ours of this epoch."""
        last = self._watch.commit
        return last is not None and last.epoch == epoch and last.claim.token == self._token

    def _look_back(self) -> None:
        """What became of the epoch that was given up; if it is in the log, this process is behind."""
        epoch, self._unsettled = self._unsettled, 0
        if self._committed(epoch):
            self._fenced = Fenced(
                f"epoch {epoch} was committed after all: the server comes back with what the changelog has"
            )
            raise self._fenced

    # An epoch.
    def _stores(self) -> Registry:
        """Raises as `Registry`."""
        if self._registry is None:
            known = self._followed.stores_at(self._end.epoch) if self._followed is not None else None
            self._registry, self._followed = Registry(self._topics, known), None
        return self._registry

    def _abandon(self) -> None:
        if self._registry is not None:
            self._registry.abandon()

    def _produce(self, epoch: int, frames: Sequence[Frame], meta: bytes) -> set[int]:
        """Hands the records of an epoch to the producer; the numbers of the stores touched."""
        producer, topics, registry = self._require(), self._topics, self._stores()
        producer.begin_transaction()
        mark = epoch.to_bytes(8, "big")
        touched: dict[int, str] = {}
        for frame in frames:
            if frame.kind in (FrameKind.SPEC, FrameKind.COUNT):
                # A compacted topic says what each key is, not how many there are as of an epoch.
                continue
            if frame.kind != FrameKind.DROPPED:
                entry = registry.entry(frame.store)
                touched[entry.spec.number] = entry.topic
                self._produce_frame(entry, frame)
        for name, value in registry.changes():
            self._put(topics.stores, [name.encode()], [value])
            touched[REGISTRY] = topics.stores
        for topic in touched.values():
            self._put(topic, [EPOCH_KEY], [mark])
        commit = Commit(epoch, Claim(self._writer, self._token), tuple(touched), meta)
        self._put(topics.epochs, [COMMIT_KEY], [commit.encode()], on_delivery=self._delivered)
        return set(touched)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        self._refused = error
        self._commit_offset = message.offset() or 0

    def _produce_frame(self, entry: StoreEntry, frame: Frame) -> None:
        coder = self._code(entry.spec)
        if frame.kind == FrameKind.TRUNCATED:
            self._put(entry.topic, [TRUNCATED_KEY], [b"1"])
        elif frame.kind == FrameKind.DELETED:
            for key, columns in zip(*coder.deleted(frame.payload), strict=True):
                self._put(entry.topic, [key], [None], headers=[(GONE_HEADER, columns)])
        else:
            self._put(entry.topic, *coder.rows(frame.payload))

    def _code(self, spec: StoredSpec) -> StoreCode:
        found = self._codes.get(spec.number)
        if found is None:
            found = self._codes[spec.number] = StoreCode(spec)
        return found

    def _put(self, topic: str, keys: Sequence[bytes], values: Sequence[bytes | None], **more: Any) -> None:
        """Raises KafkaException; BrokerAway when the queue stays full."""
        produce, poll = self._require().produce, self._require().poll
        for key, value in zip(keys, values, strict=True):
            while True:
                try:
                    produce(topic, value, key, 0, **more)
                    break
                except BufferError:
                    self._wait_for_room(poll)

    def _wait_for_room(self, poll: Callable[[float], int]) -> None:
        producer, deadline = self._require(), time.monotonic() + COMMIT_S
        before = len(producer)
        while len(producer) >= before:
            if time.monotonic() > deadline:
                raise BrokerAway(f"kafka at {self._topics.bootstrap} takes no records")
            _ = _serve(poll, 0.02)

    def _flush(self) -> None:
        """Waits until the broker has all records; gives up when their number does not go down."""
        producer = self._require()
        left, deadline = len(producer), time.monotonic() + COMMIT_S
        while (now := _serve(producer.flush, 0.5)) > 0:
            if now < left:
                left, deadline = now, time.monotonic() + COMMIT_S
            elif time.monotonic() > deadline:
                raise BrokerAway(f"kafka at {self._topics.bootstrap} does not answer")
        if self._refused is not None:
            raise KafkaException(self._refused)


def _serve(serve: Callable[[float], int], timeout_s: float) -> int:
    """`serve(timeout_s)`, which runs callbacks. Raises KafkaException."""
    try:
        return serve(timeout_s)
    except SystemError as error:
        # A fatal error is raised by the client and then runs into the callback that comes next.
        # Or gets lost on the way.
        raise error.__cause__ or KafkaException(KafkaError(KafkaError._FATAL)) from None


def _purge(producer: Producer) -> None:
    """Lets go of a producer and of what it was to send."""
    producer.purge()
