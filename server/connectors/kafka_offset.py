"""How far a topic has been read: the offset a Kafka source commits with its epoch, as JSON.

    {"topic_id": "…", "partitions": {"0": [first, next], …}}

Of each partition the first offset that belongs to the source and the next one to read. The topic's
id tells a topic from another one of the same name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field


@dataclass(slots=True)
class Offset:
    """`reset`: go on although records are gone (ALTER SOURCE … RESET)."""

    topic_id: str = ""
    first: dict[int, int] = field(default_factory=dict)
    next: dict[int, int] = field(default_factory=dict)
    reset: bool = False

    def encode(self) -> bytes:
        partitions = {str(p): [self.first[p], self.next[p]] for p in sorted(self.next)}
        content: dict[str, object] = {"topic_id": self.topic_id, "partitions": partitions}
        if self.reset:
            content["reset"] = True
        return json.dumps(content).encode()

    @staticmethod
    def decode(data: bytes | None) -> Offset:
        if not data:
            return Offset()
        content = json.loads(data)
        found = {int(p): bounds for p, bounds in content["partitions"].items()}
        return Offset(
            content["topic_id"],
            {p: first for p, (first, _) in found.items()},
            {p: next_ for p, (_, next_) in found.items()},
            bool(content.get("reset")),
        )

    def copy(self) -> Offset:
        return Offset(self.topic_id, dict(self.first), dict(self.next), self.reset)
