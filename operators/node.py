"""`Node`, a frozen description of a relation, and `Operator`, a node at work.

Two equal nodes are the same relation, so their state can be shared. A node's children are its
dataclass fields that hold a `Node` or a tuple of them: walking, rewriting, EXPLAIN and equality
come from the fields, so a new node brings none of its own.

Each node has two forms in the same file, and they obey one law (I5):

* `plain(inputs, context)`: whole inputs in, whole output out, by library calls. It answers one-off
  SELECTs and is the oracle of the tests.
* `open(context) → Operator`, whose `step(deltas) → delta` is incremental:
  the sum of its outputs over all epochs equals `plain` of the summed inputs.

A query asks for `pieces` of the plain form, so that what it multiplies never lies in memory at once.

Neither reads a clock, draws a random number or does I/O (I4): `now()` is in the `EpochContext`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from ..storage.schema import Schema
from ..storage.table import StateTable, TableSpec
from .fields import field_names
from .pieces import collect
from .zset import ZSet


@dataclass(slots=True)
class RowError:
    """Rows of a delta whose expression failed (I9): they take no part, and are recorded.

    `rows` are the failing input rows with their weights; a negative weight withdraws the record.
    """

    operator: str
    code: str
    message: str
    rows: ZSet


@dataclass(slots=True)
class EpochContext:
    """What one epoch (or one SELECT) gives every operator.

    `now_us` is the epoch's time in µs since 1970 UTC. With `errors` None a failing expression raises
    its SqlError (one-off SELECT); with a list, failing rows are appended there and dropped.
    `cancelled`, when given, is polled between pieces of long work and raises QueryCanceled.
    """

    epoch: int
    now_us: int
    timezone: str = "UTC"
    errors: list[RowError] | None = None
    cancelled: Callable[[], None] | None = None
    session: dict[str, str] = field(default_factory=dict)
    """Session values functions may ask for: user, database, application_name, search_path, …"""
    surroundings: Any = None
    """What the functions of the floors above ask: names to OIDs, view definitions, sequences."""
    groupings: dict[tuple[object, ...], Any] = field(default_factory=dict)
    """What `grouping.py` found out about the epoch's rows."""
    computed: dict[tuple[object, ...], Any] = field(default_factory=dict)
    """Values of expressions that several views compute of the same rows (`shared_values.py`)."""
    chosen: dict[int, Any] = field(default_factory=dict)
    """Of columns that a filter let through, by identity, where they are from (`grouping.py`)."""


class OpenContext(Protocol):
    """How an operator obtains its state: by a name that is stable over restarts."""

    def table(self, suffix: str, spec: TableSpec) -> StateTable:
        """The operator's StateTable called `suffix`, empty or recovered."""
        ...


class Operator(Protocol):
    """A node at work. Owns its StateTables; nothing else in it outlives an epoch.

    It must tolerate the epoch being rolled back: state lives in StateTables (which roll back
    themselves) and not in attributes, unless derived afresh from them.
    """

    def step(self, deltas: Sequence[ZSet], context: EpochContext) -> ZSet:
        """The change of the output, given the change of each input (in the order of `inputs`)."""
        ...


@runtime_checkable
class PiecewiseOperator(Operator, Protocol):
    """An operator whose change can be far larger than those of its inputs."""

    def steps(self, deltas: Sequence[ZSet], context: EpochContext) -> Iterator[ZSet]:
        """What `step` gives, in parts; after each, the sum of all outputs is a possible content.

        The step is done when the iterator has ended. Other operators may be stepped meanwhile.
        """
        ...


class SettlingOperator(Operator, Protocol):
    """An operator that may still write to its tables when what comes out of a step is there."""

    def settle(self) -> None:
        """Returns when it has ended; called before the epoch goes on or is undone. Raises what went wrong."""
        ...


class DeferringOperator(Operator, Protocol):
    """An operator that can leave its output for later, because its state does not depend on it."""

    def deferred(self, deltas: Sequence[ZSet], context: EpochContext) -> Callable[[], ZSet]:
        """Does what `step` does; the output is what the result returns, whenever it is called.

        It records no errors and cannot fail.
        """
        ...


class Node:
    """Base of all nodes: a frozen dataclass whose Node-valued fields are its inputs."""

    @property
    def schema(self) -> Schema:
        """Columns of the output."""
        raise NotImplementedError

    @property
    def key(self) -> tuple[int, ...] | None:
        """Output columns that no two rows share (so every weight is 0 or 1), or None if unknown.

        `()` says: at most one row. Nullable key columns compare as IS NOT DISTINCT FROM.
        """
        return None

    @property
    def append_only(self) -> bool:
        """Whether no delta ever has a negative weight."""
        return False

    @property
    def exact(self) -> bool:
        """Whether every delta has each row once, never with weight 0, and a row going exactly as it came.

        Whoever integrates such deltas need neither consolidate them nor compare rows.
        """
        return False

    @property
    def inputs(self) -> tuple[Node, ...]:
        found: list[Node] = []
        for name in field_names(type(self)):
            value = getattr(self, name)
            if isinstance(value, Node):
                found.append(value)
            elif isinstance(value, tuple):
                found.extend(v for v in value if isinstance(v, Node))
        return tuple(found)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same node over other inputs, given in the order of `inputs`."""
        queue: Iterator[Node] = iter(inputs)
        changed: dict[str, object] = {}
        for name in field_names(type(self)):
            value = getattr(self, name)
            if isinstance(value, Node):
                changed[name] = next(queue)
            elif isinstance(value, tuple) and any(isinstance(v, Node) for v in value):
                changed[name] = tuple(next(queue) if isinstance(v, Node) else v for v in value)
        return replace(self, **changed)  # pyright: ignore[reportArgumentType,reportCallIssue,reportUnknownVariableType]

    def plain(self, inputs: Sequence[ZSet], context: EpochContext) -> ZSet:
        """The output for whole inputs."""
        raise NotImplementedError

    def pieces(self, inputs: Sequence[Iterator[ZSet]], context: EpochContext) -> Iterator[ZSet]:
        """The output of `plain` in pieces, given the inputs in pieces; see `pieces.py`."""
        whole = [collect(child, rows) for child, rows in zip(self.inputs, inputs, strict=True)]
        if context.cancelled is not None:
            context.cancelled()
        yield self.plain(whole, context)

    def open(self, context: OpenContext) -> Operator:
        """The incremental form, with its state obtained from `context`."""
        raise NotImplementedError


def rewrite(node: Node, change: Callable[[Node], Node]) -> Node:
    """`change` applied to every node, inputs first."""
    inputs = node.inputs
    changed = tuple(rewrite(child, change) for child in inputs)
    if any(a is not b for a, b in zip(inputs, changed, strict=True)):
        node = node.with_inputs(changed)
    return change(node)


def walk(node: Node) -> Iterator[Node]:
    """Every node of the tree, inputs first."""
    for child in node.inputs:
        yield from walk(child)
    yield node
