"""`Broker`: one real Kafka broker (KRaft, one node) in a temporary directory, on free ports of its own.

`make kafka` fetches the jars. The broker dies with `close`, and with the process that started it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

LIBS = Path(__file__).resolve().parents[2] / ".kafka" / "libs"
START_SECONDS_MAX = 90
HEAP = "512m"

_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
num.partitions=1
num.network.threads=2
num.io.threads=2
background.threads=2
log.cleaner.dedupe.buffer.size=8388608
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=2
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=2
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.backoff.ms=1000
log.retention.check.interval.ms=500
broker.session.timeout.ms=1500
broker.heartbeat.interval.ms=300
"""


def missing() -> str:
    """Why no broker can be started here, empty when one can."""
    if shutil.which("java") is None:
        return "there is no java"
    if not any(LIBS.glob("kafka_*.jar")):
        return f"{LIBS} has no Kafka: run `make kafka`"
    return ""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _die_with_parent() -> None:
    """In the child before exec: SIGKILL when the parent goes (Linux), so that no broker is left behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Security(Protocol):
    """What a broker needs for a listener that asks who is there (`secure.py`)."""

    @property
    def format_options(self) -> tuple[str, ...]: ...

    def add_listener(self, properties: str) -> str: ...


class Broker:
    """A running broker. `stop` and `start` keep its port and what it has stored."""

    def __init__(self, security: Security | None = None) -> None:
        """`security`: a second listener, beside the open one."""
        self.folder = Path(tempfile.mkdtemp(prefix="millpond-kafka-"))
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._config = self.folder / "server.properties"
        text = _PROPERTIES.format(port=self.port, controller=free_port(), data=self.folder / "data")
        if security is not None:
            text = security.add_listener(text)
        self._config.write_text(text)
        self._format(security.format_options if security is not None else ())
        self.start()

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _java(self, *arguments: str) -> list[str]:
        options = [f"-Xmx{HEAP}", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        quiet = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        return ["java", *options, *quiet, "-cp", f"{LIBS}/*", *arguments]

    def _format(self, options: tuple[str, ...]) -> None:
        command = self._java(
            "kafka.tools.StorageTool", "format", "--standalone", "-t", "millpondmillpondmillpA"
        )
        done = subprocess.run(
            [*command, "-c", str(self._config), *options], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        with (self.folder / "broker.log").open("ab") as output:
            self._process = subprocess.Popen(
                self._java("kafka.Kafka", str(self._config)),
                stdout=output,
                stderr=output,
                preexec_fn=_die_with_parent,
            )
        (self.folder / "pid").write_text(str(self._process.pid))
        self._wait()

    def _wait(self) -> None:
        admin = self.admin()
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            assert self._process is not None and self._process.poll() is None, self.output()
            try:
                admin.list_topics(timeout=2)
                return
            except Exception:
                time.sleep(0.2)
        raise AssertionError(f"the broker did not answer: {self.output()}")

    def output(self) -> str:
        return (self.folder / "broker.log").read_text(errors="replace")[-4000:]

    def stop(self, force: bool = False) -> None:
        """SIGTERM, or kill -9."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGKILL if force else signal.SIGTERM)
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def close(self) -> None:
        self.stop(force=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Broker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # What tests do with it.
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0, "logger": _silent()})

    def create(self, topic: str, partitions: int = 1, **config: str) -> None:
        made = NewTopic(topic, partitions, 1, config={k.replace("_", "."): v for k, v in config.items()})
        admin = self.admin()
        admin.create_topics([made])[topic].result(20)

    def delete(self, topic: str) -> None:
        admin = self.admin()
        admin.delete_topics([topic])[topic].result(20)

    def producer(self, **config: Any) -> Producer:
        changed = {name.replace("_", "."): value for name, value in config.items()}
        return Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5, "log_level": 0, **changed})

    def produce(self, topic: str, *records: Any, partition: int = 0) -> None:
        """Each record is a value, or (key, value); texts or bytes, None for a tombstone or no key."""
        producer = self.producer()
        for record in records:
            key, value = record if isinstance(record, tuple) else (None, record)
            producer.produce(topic, value, key, partition)
        assert producer.flush(30) == 0


def _silent() -> Any:
    import logging

    logger = logging.getLogger("kafka.tests")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


def main() -> None:
    """`python tests/kafka/broker.py`: a broker for development, until it is interrupted."""
    why = missing()
    if why:
        sys.exit(why)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with Broker() as broker:
        print(f"bootstrap {broker.bootstrap}  pid {os.getpid()}  folder {broker.folder}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()
