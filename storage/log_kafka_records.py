"""The records of a changelog on Kafka, and back.

In a store's topic a record is a row: its key bytes (`keycode.py`) and the bytes of the row (`rowcode.py`). A
key that is gone is a tombstone; its header has the key's columns, because key bytes are not taken apart. Two
keys that no row has, as all key bytes begin with 1 or 2 (or are none): the end of an epoch, and the word that
everything before is gone.

    rows of epoch 7 …   \\0epoch → 7   rows of epoch 9 …   \\0epoch → 9
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from .changelog import CHANGELOG_FORMAT, StoredSpec
from .errors import StartupError
from .keycode import encode_keys
from .keys import HASH_NAME
from .log import Frame, FrameKind, Payload
from .rowcode import ROW_FORMAT, RowCode
from .rowcode import Rows as RowBytes

EPOCH_KEY = b"\0epoch"
TRUNCATED_KEY = b"\0truncated"
LOG_KEY, CLAIM_KEY, COMMIT_KEY = b"log", b"claim", b"commit"
GONE_HEADER = "k"

ROWS_PER_FRAME = 1 << 18
"""Rows decoded at a time."""

REGISTRY = 0
"""In `Commit.touched`: the topic of stores. Stores have numbers from 1."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The first record of a log: which it is, and in what format."""

    identity: bytes
    format: int = CHANGELOG_FORMAT
    rows: int = ROW_FORMAT
    hash: str = HASH_NAME

    def encode(self) -> bytes:
        parts = {"identity": self.identity.hex(), "format": self.format, "rows": self.rows, "hash": self.hash}
        return json.dumps(parts).encode()

    @staticmethod
    def decode(value: bytes, where: str) -> Stamp:
        """Raises StartupError for what is not ours, or newer."""
        try:
            parts = json.loads(value)
            stamp = Stamp(bytes.fromhex(parts["identity"]), parts["format"], parts["rows"], parts["hash"])
        except (ValueError, KeyError, TypeError):
            raise StartupError(f"{where}: its topics are not millpond's") from None
        ours = Stamp(stamp.identity)
        if stamp != ours:
            raise StartupError(
                f"{where}: the changelog has format {stamp.format}.{stamp.rows} ({stamp.hash}), this version "
                f"reads {ours.format}.{ours.rows} ({ours.hash})"
            )
        return stamp


@dataclass(frozen=True, slots=True)
class Claim:
    """Who may write from here on; `token` is empty once it has let go."""

    writer: int
    token: str

    def encode(self) -> bytes:
        return json.dumps({"writer": self.writer, "token": self.token}).encode()

    @staticmethod
    def decode(value: bytes) -> Claim:
        parts = json.loads(value)
        return Claim(parts["writer"], parts["token"])


@dataclass(frozen=True, slots=True)
class Commit:
    """An epoch: under which claim, which stores (their numbers) it changed, the offsets of sources."""

    epoch: int
    claim: Claim
    touched: tuple[int, ...]
    meta: bytes

    def encode(self) -> bytes:
        head = [self.epoch, self.claim.writer, self.claim.token, self.touched]
        return json.dumps(head).encode() + b"\n" + self.meta

    @staticmethod
    def decode(value: bytes) -> Commit:
        head, _, meta = value.partition(b"\n")
        epoch, writer, token, touched = json.loads(head)
        return Commit(epoch, Claim(writer, token), tuple(touched), meta)


@dataclass(frozen=True, slots=True)
class StoreEntry:
    """A store, and the topic that has its rows; `topic_id` changes when a topic is made anew."""

    spec: StoredSpec
    topic: str
    topic_id: str

    def encode(self) -> bytes:
        spec = self.spec.encode().decode()
        return json.dumps({"topic": self.topic, "id": self.topic_id, "spec": spec}).encode()

    @staticmethod
    def decode(value: bytes) -> StoreEntry:
        parts = json.loads(value)
        return StoreEntry(StoredSpec.decode(parts["spec"].encode()), parts["topic"], parts["id"])


class Gone(bytes):
    """In place of a row: the columns of a key that is gone."""


class StoreCode:
    """Frames of one store as keys and values, and back."""

    def __init__(self, spec: StoredSpec) -> None:
        self._spec = spec
        self._rows = RowCode(spec.rows_schema.types)
        self._gone = RowCode(spec.keys_schema.types)

    def rows(self, payload: Payload) -> tuple[list[bytes], list[bytes]]:
        """(keys, rows) of a ROWS frame."""
        spec, batch = self._spec, _batch(payload, self._spec.rows_schema)
        columns, count = batch.columns, batch.num_rows
        keys = encode_keys([columns[i] for i in spec.key_columns], spec.key_types, count)
        return keys.to_bytes_list(), self._rows.encode(columns, count).to_list()

    def deleted(self, payload: Payload) -> tuple[list[bytes], list[bytes]]:
        """(keys, what the header says of them) of a DELETED frame."""
        spec, batch = self._spec, _batch(payload, self._spec.keys_schema)
        columns, count = batch.columns, batch.num_rows
        keys = encode_keys(columns if spec.key_columns else [], spec.key_types, count)
        return keys.to_bytes_list(), self._gone.encode(columns, count).to_list()

    def frames(self, name: str, values: Sequence[bytes]) -> Iterator[Frame]:
        """ROWS and DELETED frames of rows and `Gone`s, no key twice."""
        gone = [value for value in values if type(value) is Gone]
        rows = [value for value in values if type(value) is bytes] if gone else values
        yield from self._frames(name, FrameKind.DELETED, gone, self._gone, self._spec.keys_schema)
        yield from self._frames(name, FrameKind.ROWS, rows, self._rows, self._spec.rows_schema)

    def _frames(
        self, name: str, kind: FrameKind, values: Sequence[bytes], code: RowCode, schema: pa.Schema
    ) -> Iterator[Frame]:
        for start in range(0, len(values), ROWS_PER_FRAME):
            columns = code.decode(RowBytes.of(values[start : start + ROWS_PER_FRAME]))
            yield Frame(name, kind, pa.RecordBatch.from_arrays(columns, schema=schema).serialize())


def _batch(payload: Payload, schema: pa.Schema) -> pa.RecordBatch:
    buffer = payload if isinstance(payload, pa.Buffer) else pa.py_buffer(payload)
    return pa.ipc.read_record_batch(buffer, schema)
