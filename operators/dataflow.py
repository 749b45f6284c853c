"""`Dataflow`: operators wired up, one epoch at a time; and `run`, a plan computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .node import EpochContext, Node, OpenContext
from .scan import Scan
from .zset import ZSet


class Dataflow:
    """The operators of all views, shared where two views contain an equal sub-plan."""

    def __init__(self, context: OpenContext) -> None:
        self._context = context

    def add(
        self, name: str, node: Node, backfill: Callable[[Scan], ZSet] | None, context: EpochContext
    ) -> ZSet:
        """Adds the view `name`; returns its first delta.

        `backfill` gives the whole content of the relation of a Scan (all its columns): the new
        operators are run once over it. None: the operators' tables already hold their state
        (restart), or the inputs are empty.
        """
        raise NotImplementedError

    def remove(self, name: str) -> list[str]:
        """Removes a view; returns the names of the tables nobody needs any longer."""
        raise NotImplementedError

    def step(self, context: EpochContext, inputs: Mapping[str, ZSet]) -> dict[str, ZSet]:
        """One epoch: the deltas of the relations in, the deltas of the views that changed out."""
        raise NotImplementedError


def run(node: Node, inputs: Callable[[Scan], ZSet], context: EpochContext) -> ZSet:
    """The whole output of `node`; `inputs` gives the whole content of a Scan's relation."""
    if isinstance(node, Scan):
        return node.plain((inputs(node),), context)
    return node.plain([run(child, inputs, context) for child in node.inputs], context)
