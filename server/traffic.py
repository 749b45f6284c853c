"""What clients asked for and how long it took, counted where it passes.

Everything is raised by the event loop's thread, and costs well under a microsecond a statement.
"""

from __future__ import annotations

from ..storage.measures import Timing

KINDS = frozenset({
    "SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "COPY", "FETCH", "BEGIN", "COMMIT", "ROLLBACK",
    "CREATE", "ALTER", "DROP", "SET", "SHOW", "EXPLAIN",
})  # fmt: skip
"""First words of command tags that have a count of their own."""

OTHER = "OTHER"


class Traffic:
    """`statements`: those that were completed, by kind; the time is from their execution to the last row
    given to the connection. `errors`: answers by class of SQLSTATE, its first two characters."""

    __slots__ = ("errors", "received_bytes", "sent_bytes", "statements")

    def __init__(self) -> None:
        self.statements: dict[str, Timing] = {}
        self.errors: dict[str, int] = {}
        self.received_bytes = 0
        self.sent_bytes = 0

    def completed(self, tag: str, seconds: float) -> None:
        """A statement with this command tag is done."""
        word = tag.partition(" ")[0]
        timing = self.statements.get(word)
        if timing is None:
            kind = word if word in KINDS else OTHER
            timing = self.statements.setdefault(kind, Timing())
        timing.note(seconds)

    def failed(self, code: str) -> None:
        """A client was answered with an error of this SQLSTATE."""
        self.errors[code[:2]] = self.errors.get(code[:2], 0) + 1
