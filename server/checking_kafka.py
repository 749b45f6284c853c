"""`millpond check --kafka`: whether a changelog on Kafka is sound, from its records up to the views' content.

A primary may be at work: what is checked is what it had committed when the check began. Nothing is written.
"""

from __future__ import annotations

from ..storage.errors import StartupError
from ..storage.log import LogDamaged, LogTruncated
from ..storage.log_kafka_check import check_topics_of
from ..storage.log_kafka_client import BrokerAway, KafkaTopics
from ..storage.log_kafka_source import KafkaSource
from ..storage.log_kafka_watch import EpochsWatch
from .checking import Contents, check_views
from .place import properties_of


def check_application(bootstrap: str, application: str, properties: str = "") -> int:
    """Prints what is wrong with an application's topics; 0 when nothing is, else 1. Raises StartupError."""
    topics = KafkaTopics(bootstrap, application, properties_of(properties))
    try:
        found = check_topics_of(topics)
        findings, views = found.findings, 0
        if not findings:
            views, findings = check_views(_contents(topics))
    except (LogDamaged, LogTruncated) as problem:
        print(problem)
        return 1
    except BrokerAway as error:
        raise StartupError(f"{topics}: {error}") from error
    for finding in findings:
        print(finding)
    if findings:
        return 1
    epochs = found.epochs
    print(
        f"{topics} is sound: epochs {epochs.first} to {epochs.last} follow one another, {found.stores} "
        f"stores with {found.records} records are whole, {views} materialized view(s) equal their queries"
    )
    return 0


def _contents(topics: KafkaTopics) -> Contents:
    watch = EpochsWatch(topics)
    source = KafkaSource(watch, follow=False)
    try:
        _ = source.identity
        return Contents.of_epochs(source.read(None))
    finally:
        source.close()
        watch.close()
