"""`Recurse`: WITH RECURSIVE, the least fixed point reached by repeating a step.

Semi-naive evaluation (Bancilhon & Ramakrishnan 1986), which is also PostgreSQL's definition: the step
sees only the rows that the step before added. There is no incremental form: a view cannot contain it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..storage.room import refuse_beyond_room
from ..storage.schema import Schema
from .batch import poll
from .distinct import Distinct
from .node import EpochContext, Node
from .scan import Scan
from .set_operation import SetOperation
from .zset import ZSet, concat

Evaluate = Callable[[Node, Callable[[Scan], ZSet], EpochContext], ZSet]
"""`flow.run`."""


@dataclass(frozen=True)
class Recurse(Node):
    """`seed`, and `step` again and again; within `step` a Scan of `relation` is the rows added last.

    With `distinct` (UNION) only rows that are new count, otherwise (UNION ALL) all; it ends when a step adds
    none.
    """

    seed: Node
    step: Node
    relation: str
    distinct: bool

    @property
    def schema(self) -> Schema:
        return self.seed.schema.as_nullable()

    def iterate(self, evaluate: Evaluate, inputs: Callable[[Scan], ZSet], context: EpochContext) -> ZSet:
        """All rows; `inputs` gives the content of the other relations.

        Raises OutOfMemory when there is no room for them: a step may add rows without end.
        """
        added = self._new(evaluate(self.seed, inputs, context), ZSet.empty(self.schema), context)
        parts, held = [added], 0
        while len(added):
            poll(context)
            held += sum(column.nbytes for column in added.columns) + added.weights.nbytes
            refuse_beyond_room(held)
            last = added

            def content(scan: Scan, last: ZSet = last) -> ZSet:
                return last if scan.relation == self.relation else inputs(scan)

            rows = evaluate(self.step, content, context)
            added = self._new(rows, concat(self.schema, parts) if self.distinct else added, context)
            parts.append(added)
        return concat(self.schema, parts)

    def _new(self, rows: ZSet, known: ZSet, context: EpochContext) -> ZSet:
        """What counts of `rows`."""
        rows = ZSet(self.schema, rows.columns, rows.weights)
        if not self.distinct:
            return rows
        if not len(known):
            return Distinct(self.seed).plain([rows], context)
        return SetOperation(self.seed, self.seed, "except").plain([rows, known], context)
