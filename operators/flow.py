"""`run`, a plan computed once by the plain forms, and `flow`, the same in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from ..storage.errors import OutOfMemory
from .node import EpochContext, Node
from .pieces import collect
from .recurse import Recurse
from .scan import Scan
from .zset import ZSet


def run(node: Node, inputs: Callable[[Scan], ZSet], context: EpochContext) -> ZSet:
    """The whole output of `node`; `inputs` gives the whole content of a Scan's relation.

    Raises OutOfMemory when there is no room for it.
    """
    return collect(node, flow(node, inputs, context))


def flow(node: Node, inputs: Callable[[Scan], ZSet], context: EpochContext) -> Iterator[ZSet]:
    """The output of `node` in pieces, each made when it is asked for.

    A sub-plan object that occurs twice is computed once.
    """
    twice = _occurring_twice(node)
    known: dict[int, ZSet] = {}

    def pieces(plan: Node) -> Iterator[ZSet]:
        if id(plan) not in twice:
            return fresh(plan)
        if id(plan) not in known:
            known[id(plan)] = collect(plan, fresh(plan))
        return iter((known[id(plan)],))

    def fresh(plan: Node) -> Iterator[ZSet]:
        if isinstance(plan, Recurse):
            return iter((plan.iterate(run, inputs, context),))
        if isinstance(plan, Scan):
            return iter((plan.plain((inputs(plan),), context),))
        return plan.pieces([pieces(child) for child in plan.inputs], context)

    return _explained(pieces(node))


def _explained(pieces: Iterator[ZSet]) -> Iterator[ZSet]:
    """The same pieces; a lack of memory is told in PostgreSQL's words."""
    try:
        yield from pieces
    except (MemoryError, pa.ArrowCapacityError) as error:
        raise OutOfMemory("out of memory", detail=str(error)) from error


def _occurring_twice(node: Node) -> set[int]:
    """The sub-plan objects that several nodes read, by id."""
    seen, twice = set[int](), set[int]()

    def visit(plan: Node) -> None:
        if id(plan) in seen:
            twice.add(id(plan))
            return
        seen.add(id(plan))
        if not isinstance(plan, Recurse):
            for child in plan.inputs:
                visit(child)

    visit(node)
    return twice
