"""COPY FROM STDIN of one session: gathers CopyData, decodes it in large pieces, hands rows on."""

from __future__ import annotations

from concurrent.futures import Future

from ..storage.errors import SqlError
from ..storage.textform import TextSettings
from .backend import CopyIn, CopyOptions, Result
from .copy_decoder import CopyDecoder
from .wire import as_sql_error

DECODE_BYTES = 512 << 10
"""CopyData gathered before it is decoded: large enough for columns, small enough for one turn of the loop."""


class CopyReceiver:
    """Receives one COPY. An error, of a row or of the client, is kept until `finish` raises it."""

    __slots__ = ("_bytes", "_copy_in", "_decoder", "_error", "_pieces", "format_code")

    def __init__(self, copy_in: CopyIn, options: CopyOptions, settings: TextSettings) -> None:
        self._copy_in = copy_in
        self._decoder = CopyDecoder(options, copy_in.columns, copy_in.relation, settings)
        self.format_code = self._decoder.format_code
        self._pieces: list[bytes] = []
        self._bytes = 0
        self._error: SqlError | None = None

    def receive(self, data: bytes) -> bool:
        """Takes the data of one CopyData message. False once the COPY has failed."""
        self._pieces.append(data)
        self._bytes += len(data)
        if self._bytes >= DECODE_BYTES:
            self._decode(last=False)
        return self._error is None

    def finish(self) -> Result | Future[Result]:
        """The client sent all. Raises the SqlError that this COPY failed with."""
        self._decode(last=True)
        if self._error is not None:
            raise self._error
        return self._copy_in.finish()

    def abandon(self, error: SqlError) -> None:
        """Gives up: nothing of this COPY remains."""
        if self._error is None:
            self._error = error
            self._copy_in.fail(error.message)

    def _decode(self, last: bool) -> None:
        if self._error is not None:
            return
        data = b"".join(self._pieces)
        self._pieces, self._bytes = [], 0
        try:
            for rows in self._decoder.decode(data, last):
                self._copy_in.write(rows)
        except Exception as error:
            self.abandon(as_sql_error(error))
