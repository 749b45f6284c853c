"""`run`, a plan computed once by the plain forms, and `flow`, the same in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

import pyarrow as pa

from ..storage.errors import OutOfMemory
from .node import EpochContext, Node
from .pieces import collect
from .recurse import Recurse
from .scan import Scan
from .zset import ZSet

Inputs = Callable[[Scan], ZSet]
"""The whole content of a Scan's relation."""


@runtime_checkable
class PartedInputs(Protocol):
    """`Inputs` that can also give a relation in parts, so that not all of it is in memory at once."""

    def __call__(self, scan: Scan) -> ZSet: ...

    def parts(self, scan: Scan) -> Iterator[ZSet]:
        """What calling it gives, in parts, in the same order."""
        ...


def run(node: Node, inputs: Inputs, context: EpochContext) -> ZSet:
    """The whole output of `node`; `inputs` gives the whole content of a Scan's relation.

    Raises OutOfMemory when there is no room for it.
    """
    return collect(node, flow(node, inputs, context))


def flow(node: Node, inputs: Inputs, context: EpochContext) -> Iterator[ZSet]:
    """The output of `node` in pieces, each made when it is asked for.

    A sub-plan object that occurs twice is computed once.
    """
    return _explained(_Flow(_occurring_twice(node), inputs, context).pieces(node))


class _Flow:
    """One computation of a plan.

    Not closures that call each other: such a cycle would keep the rows of `inputs` until a collection.
    """

    __slots__ = ("_context", "_inputs", "_known", "_twice")

    def __init__(self, twice: set[int], inputs: Inputs, context: EpochContext) -> None:
        self._twice, self._inputs, self._context = twice, inputs, context
        self._known: dict[int, ZSet] = {}
        """Whole outputs of sub-plans that occur twice, by id."""

    def pieces(self, plan: Node) -> Iterator[ZSet]:
        if id(plan) not in self._twice:
            return self._fresh(plan)
        if id(plan) not in self._known:
            self._known[id(plan)] = collect(plan, self._fresh(plan))
        return iter((self._known[id(plan)],))

    def _fresh(self, plan: Node) -> Iterator[ZSet]:
        if isinstance(plan, Recurse):
            return iter((plan.iterate(run, self._inputs, self._context),))
        if isinstance(plan, Scan):
            return self._scan(plan)
        return plan.pieces([self.pieces(child) for child in plan.inputs], self._context)

    def _scan(self, scan: Scan) -> Iterator[ZSet]:
        inputs, context = self._inputs, self._context
        if isinstance(inputs, PartedInputs):
            return (scan.plain((part,), context) for part in inputs.parts(scan))
        return iter((scan.plain((inputs(scan),), context),))


def _explained(pieces: Iterator[ZSet]) -> Iterator[ZSet]:
    """The same pieces; a lack of memory is told in PostgreSQL's words."""
    try:
        yield from pieces
    except (MemoryError, pa.ArrowCapacityError) as error:
        raise OutOfMemory("out of memory", detail=str(error)) from error


def _occurring_twice(node: Node) -> set[int]:
    """The sub-plan objects that several nodes read, by id."""
    seen, twice = set[int](), set[int]()
    _visit(node, seen, twice)
    return twice


def _visit(plan: Node, seen: set[int], twice: set[int]) -> None:
    if id(plan) in seen:
        twice.add(id(plan))
        return
    seen.add(id(plan))
    if not isinstance(plan, Recurse):
        for child in plan.inputs:
            _visit(child, seen, twice)
