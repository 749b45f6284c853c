"""Settings of a server, as one frozen class: command line over environment over file over default.

Every field is an option `--field-name`, an environment variable `MILLPOND_FIELD_NAME` and a key
`field_name` of a TOML file (`--config FILE` or `MILLPOND_CONFIG`). Units stand in the names.
"""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from ..storage.errors import StartupError


def _setting(default: object, help_text: str) -> object:
    return field(default=default, metadata={"help": help_text})


@dataclass(frozen=True, slots=True)
class Config:
    """How one server runs. Every bound has its unit in its name (I7)."""

    data: str = _setting("millpond-data", "directory of state and log")  # pyright: ignore[reportAssignmentType]
    log: str = _setting("", "directory of the changelog, DATA/log when empty")  # pyright: ignore[reportAssignmentType]
    kafka: str = _setting("", "HOST:PORT of Kafka brokers: the changelog is there, not in a directory")  # pyright: ignore[reportAssignmentType]
    application: str = _setting("millpond", "with --kafka: what the names of its topics begin with")  # pyright: ignore[reportAssignmentType]
    kafka_properties: str = _setting("", "with --kafka: librdkafka's, as name=value;name=value")  # pyright: ignore[reportAssignmentType]
    listen: str = _setting("127.0.0.1:7432", "HOST:PORT to serve on")  # pyright: ignore[reportAssignmentType]
    users: str = _setting("", "file of user:password or user:verifier lines; empty trusts local clients")  # pyright: ignore[reportAssignmentType]
    tls_certificate: str = _setting("", "certificate file (PEM); with it TLS is offered")  # pyright: ignore[reportAssignmentType]
    tls_key: str = _setting("", "private key file (PEM) of the certificate")  # pyright: ignore[reportAssignmentType]
    max_connections: int = _setting(500, "connections beyond this are refused (53300)")  # pyright: ignore[reportAssignmentType]
    epoch_interval_ms: int = _setting(0, "shortest time between two epochs; 0 starts one at once")  # pyright: ignore[reportAssignmentType]
    epoch_rows_max: int = _setting(100_000, "source rows taken into one epoch")  # pyright: ignore[reportAssignmentType]
    fill_rows_min: int = _setting(100_000, "views over more rows are filled in chunks")  # pyright: ignore[reportAssignmentType]
    sink_outbox_rows_max: int = _setting(1_000_000, "changes a sink keeps unsent; beyond: 53400")  # pyright: ignore[reportAssignmentType]
    copy_mb_max: int = _setting(1024, "memory of one COPY FROM; more is refused (54000)")  # pyright: ignore[reportAssignmentType]
    write_mb_max: int = _setting(0, "rows one transaction writes; more: 53200; 0: a quarter of memory")  # pyright: ignore[reportAssignmentType]
    checkpoint_interval_s: int = _setting(30, "longest time between checkpoints")  # pyright: ignore[reportAssignmentType]
    checkpoint_kb: int = _setting(256 << 10, "changelog between checkpoints, to be replayed")  # pyright: ignore[reportAssignmentType]
    segment_kb: int = _setting(64 << 10, "size of a file of the changelog")  # pyright: ignore[reportAssignmentType]
    compact_kb: int = _setting(64 << 10, "changelog that is kept, however few rows are left of it")  # pyright: ignore[reportAssignmentType]
    memory: int = _setting(0, "MB for the whole process; 0: 60 % of the machine's or container's")  # pyright: ignore[reportAssignmentType]
    read_threads: int = _setting(2, "threads that answer long SELECTs")  # pyright: ignore[reportAssignmentType]
    name: str = _setting("", "name among the servers on one log; HOST:PORT when empty")  # pyright: ignore[reportAssignmentType]
    lease_ms: int = _setting(1500, "silence of a primary after which a standby takes over")  # pyright: ignore[reportAssignmentType]
    start_share: int = _setting(20, "% of a core for a standby that starts while others want it too")  # pyright: ignore[reportAssignmentType]
    metrics: str = _setting("", "HOST:PORT of /metrics, /health and /ready; empty: none")  # pyright: ignore[reportAssignmentType]
    log_level: str = _setting("info", "debug, info, warning or error")  # pyright: ignore[reportAssignmentType]
    log_format: str = _setting("text", "text, or json: an object a line")  # pyright: ignore[reportAssignmentType]

    @property
    def host_port(self) -> tuple[str, int]:
        """(host, port) of `listen`. Raises StartupError when it is not HOST:PORT."""
        return _host_port("listen", self.listen)

    @property
    def metrics_host_port(self) -> tuple[str, int] | None:
        """(host, port) of `metrics`, None when it is empty. Raises StartupError when it is not HOST:PORT."""
        return _host_port("metrics", self.metrics) if self.metrics else None

    @property
    def log_folder(self) -> Path:
        """Where the log lies."""
        return Path(self.log) if self.log else Path(self.data) / "log"

    @property
    def data_path(self) -> Path:
        return Path(self.data)


def add_options(parser: argparse.ArgumentParser) -> None:
    """One option for each field, and `--config`."""
    parser.add_argument("--config", metavar="FILE", help="TOML file with these settings")
    for item in fields(Config):
        name = "--" + item.name.replace("_", "-")
        text = (
            f"{item.metadata['help']} (default: {item.default})"
            if item.default != ""
            else item.metadata["help"]
        )
        metavar = item.name.split("_")[-1].upper()
        parser.add_argument(name, metavar=metavar, default=None, help=text.replace("%", "%%"))


def load_config(options: argparse.Namespace, environment: Mapping[str, str] = os.environ) -> Config:
    """The settings in force. Raises StartupError on an unknown key or a value of the wrong type."""
    file_name = getattr(options, "config", None) or environment.get("MILLPOND_CONFIG")
    from_file = _read_file(Path(file_name)) if file_name else {}
    values: dict[str, object] = {}
    for item in fields(Config):
        for found in (
            getattr(options, item.name, None),
            environment.get("MILLPOND_" + item.name.upper()),
            from_file.get(item.name),
        ):
            if found is not None:
                values[item.name] = _typed(item.name, type(item.default), found)
                break
    config = Config(**values)  # pyright: ignore[reportArgumentType]
    _ = config.host_port, config.metrics_host_port
    if config.log_format not in ("text", "json"):
        raise StartupError(f'log_format must be text or json, not "{config.log_format}"')
    if config.kafka and config.log:
        raise StartupError("the changelog is either in a directory (log) or on Kafka (kafka), not both")
    return config


def _host_port(name: str, address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise StartupError(f'{name} must be HOST:PORT, not "{address}"')
    return host.strip("[]") or "127.0.0.1", int(port)


def _read_file(path: Path) -> Mapping[str, object]:
    try:
        found = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise StartupError(f"cannot read the configuration {path}: {error}") from error
    unknown = sorted(set(found) - {item.name for item in fields(Config)})
    if unknown:
        raise StartupError(f"unknown key in {path}: {', '.join(unknown)}")
    return found


def _typed(name: str, kind: type, value: object) -> object:
    try:
        typed = kind(value)  # pyright: ignore[reportCallIssue]
    except (TypeError, ValueError) as error:
        raise StartupError(f"{name} must be of type {kind.__name__}, not {value!r}") from error
    if isinstance(typed, int) and typed < 0:
        raise StartupError(f"{name} must not be negative, and is {typed}")
    return typed


def option_names() -> Sequence[str]:
    return [item.name for item in fields(Config)]
