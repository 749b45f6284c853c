"""Standbys on Kafka whose store is of no use any more: too old for the topics, or broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.storage.log_kafka_records import COMMIT_KEY, Commit

from ..end_to_end.cluster_processes import ClusterProcesses
from ..end_to_end.test_standby_behind import comes_back_from_behind
from ..end_to_end.test_store_lost import made_anew, spoil_store
from .broker import Broker
from .test_changelog import compact_soon, on_kafka
from .waiting import committed_records

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("kafka")]


def test_a_standby_behind_which_epochs_were_compacted_reads_the_topics_anew(
    broker: Broker, topic: str, tmp_path: Path
) -> None:
    options = (*on_kafka(broker, topic), "--checkpoint-interval-s", "1")
    with ClusterProcesses(tmp_path, "ab", *options) as cluster:
        epochs = f"{topic}-epochs-changelog"
        eager = False

        def epoch_left() -> int:
            nonlocal eager
            if not eager:
                compact_soon(broker, [epochs])
                eager = True
            commits = [value for key, value in committed_records(broker, epochs) if key == COMMIT_KEY]
            return Commit.decode(commits[0]).epoch

        comes_back_from_behind(cluster, epoch_left)


@pytest.mark.parametrize("whose", ["standby", "primary"])
def test_a_spoilt_store_is_made_anew_while_another_serves(
    broker: Broker, topic: str, tmp_path: Path, whose: str
) -> None:
    options = (*on_kafka(broker, topic), "--checkpoint-interval-s", "1")
    made_anew(ClusterProcesses(tmp_path, "ab", *options), whose, spoil_store)
