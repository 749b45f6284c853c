"""`Dataflow`: operators wired up, one epoch at a time.

An operator is shared by all views that contain an equal sub-plan (equal fingerprint), unless it keeps the
rows of a view itself (`shown_aggregate`). The tables of
an operator are named by the fingerprint too, so that after a restart, with views added in any order or
some of them gone, an operator finds its state. Only the table of a view itself bears the view's name.

Operators with `steps` may put out their change in parts. Each part goes through the operators behind before
the next is made; of those with parts left, the last in order goes on first, so that none is stepped anew
before its step is done. An epoch is then several passes through the same operators, and their outputs add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

from ..storage.errors import InternalError, IoError, QueryCanceled, SqlError
from ..storage.schema import Schema
from ..storage.table import StateTable, TableSpec
from .batch import poll
from .deltas import Deltas
from .fingerprint import fingerprint
from .flow import run
from .materialize import VIEW_TABLE, Materialize, shown_aggregate
from .node import EpochContext, Node, OpenContext, Operator, PiecewiseOperator, SettlingOperator
from .scan import Scan
from .zset import ZSet

Backfill = Callable[[Scan], ZSet]
Output = TypeVar("Output")


class ViewFailure(SqlError):
    """A step failed for a reason that is not one row's: `views` cannot go on, others can.

    The epoch has to be rolled back; `cause` is the error itself.
    """

    def __init__(self, views: frozenset[str], cause: SqlError) -> None:
        super().__init__(cause.message, detail=cause.detail, hint=cause.hint)
        self.views = views
        self.cause = cause


@dataclass(eq=False, slots=True)
class _Entry:
    """An operator in place."""

    name: str
    node: Node
    operator: Operator
    inputs: tuple[_Entry, ...]
    schema: Schema
    tables: list[str]
    nothing: ZSet
    """An output without rows."""
    views: list[str] = field(default_factory=list)
    """The views that contain it, in the order they were added."""
    reads: tuple[str, ...] = ()
    """The names of `inputs`."""
    deferred: Callable[[Sequence[ZSet], EpochContext], Callable[[], ZSet]] | None = None
    """`DeferringOperator.deferred` of an operator whose output no other takes."""

    @property
    def piecewise(self) -> bool:
        """Whether the operator may put out its change in parts."""
        return hasattr(self.operator, "steps")

    @property
    def due(self) -> bool:
        return bool(getattr(self.operator, "due", False))


@dataclass(slots=True)
class _Named:
    """An OpenContext that prefixes table names and notes them."""

    context: OpenContext
    prefix: str
    view: str | None
    names: list[str] = field(default_factory=list)

    def table(self, suffix: str, spec: TableSpec) -> StateTable:
        name = self.view if self.view and suffix == VIEW_TABLE else f"{self.prefix}/{suffix}"
        table = self.context.table(name, spec)
        self.names.append(table.name)
        return table


class Dataflow:
    """The operators of all views. `context.table` is asked for whole table names.

    It keeps nothing between epochs but the wiring: after a step that raised, rolling back the tables
    is all there is to undo.
    """

    def __init__(self, context: OpenContext) -> None:
        self._context = context
        self._entries: dict[str, _Entry] = {}
        self._roots: dict[str, _Entry] = {}
        self._order: list[_Entry] = []
        self._settling: list[_Entry] = []
        self._tops: dict[str, tuple[str, ...]] = {}

    def add(
        self, name: str, node: Node, backfill: Backfill | None = None, context: EpochContext | None = None
    ) -> ZSet:
        """Adds the view `name`; returns its first delta.

        `backfill` gives the whole content of the relation of a Scan (all its columns), and `context`
        the epoch: the new operators are run once over it; what a shared operator has put out so far is
        derived again by its plain form. None: the operators' tables already hold their state (restart),
        or the inputs are empty. This class cannot tell a lost table from an empty one: whoever restarts
        compares `tables(name)` with what was stored, and fills a view anew if one is missing.

        On an error nothing is added; the tables made meanwhile go with the rollback of the epoch.
        """
        assert name not in self._roots, name
        fresh: list[_Entry] = []
        try:
            root = self._enter(node, name, name, fresh)
            first = ZSet.empty(root.schema)
            if backfill is not None:
                assert context is not None
                first = self._fill(root, fresh, backfill, context)
        except BaseException:
            self._forget(name)
            raise
        self._roots[name] = root
        self._arrange()
        return first

    def remove(self, name: str) -> list[str]:
        """Removes a view; returns the names of the tables nobody needs any longer."""
        del self._roots[name]
        dropped = self._forget(name)
        self._arrange()
        return dropped

    def adopt(self, name: str, other: Dataflow) -> None:
        """Takes over the view `name` that is at work in `other`, with its operators and their state.

        Of an operator that both have, this one's stays; its output so far must be the same (both have
        seen all of their inputs). The tables of the other's are the `surplus`.
        """
        taken: dict[str, _Entry] = {}
        for entry in other._order:
            mine = self._entries.get(entry.name)
            if mine is None:
                mine = replace(entry, inputs=tuple(taken[child.name] for child in entry.inputs), views=[])
                self._entries[entry.name] = mine
            if name not in mine.views:
                mine.views.append(name)
            taken[entry.name] = mine
        self._roots[name] = taken[other._roots[name].name]
        self._arrange()

    def surplus(self, other: Dataflow) -> list[str]:
        """The tables of operators in `other` that this dataflow has too."""
        return [t for entry in other._entries.values() if entry.name in self._entries for t in entry.tables]

    @property
    def stateful(self) -> set[str]:
        """Fingerprints of the operators that have tables."""
        return {entry.name for entry in self._entries.values() if entry.tables}

    def tables(self, name: str) -> list[str]:
        """The names of all tables the operators of view `name` use."""
        return [table for entry in self._entries.values() if name in entry.views for table in entry.tables]

    def owners(self) -> dict[str, tuple[str, str]]:
        """By name of a table, the first view with its operator, and the operator's node. From any thread."""
        found: dict[str, tuple[str, str]] = {}
        for entry in list(self._entries.values()):
            view = next(iter(tuple(entry.views)), "")
            found |= dict.fromkeys(tuple(entry.tables), (view, type(entry.node).__name__))
        return found

    @property
    def views(self) -> list[str]:
        return list(self._roots)

    def step(self, context: EpochContext, inputs: Mapping[str, ZSet]) -> Deltas:
        """One epoch: the deltas of the relations in, the deltas of the views that changed out.

        A view's delta reaches the Scans of that view in the same step. Raises ViewFailure.
        """
        return _Passes(self._order, self._settling, self._tops, inputs, context).outputs()

    def _fill(self, root: _Entry, fresh: list[_Entry], backfill: Backfill, context: EpochContext) -> ZSet:
        """Runs the new operators once over the whole content of their inputs."""
        silent = replace(context, errors=None if context.errors is None else [])
        if root not in fresh:
            return run(root.node, backfill, silent)
        known = {
            child.name: run(child.node, backfill, silent)
            for entry in fresh
            for child in entry.inputs
            if child not in fresh
        }
        for entry in fresh:
            if isinstance(entry.node, Scan):
                known[entry.name] = entry.node.cut(backfill(entry.node))
        if root.name in known:
            return known[root.name]
        order = [entry for entry in fresh if entry.name not in known]
        passes = _Passes(order, _settling(order), {root.name: (root.name,)}, {}, context)
        return passes.outputs(known).get(root.name) or ZSet.empty(root.schema)

    def _enter(self, node: Node, view: str, own: str | None, fresh: list[_Entry]) -> _Entry:
        """The entry of `node`, found or made; `own` is the view's name if `node` is its top."""
        top = node if own is not None and isinstance(node, Materialize) else None
        name = fingerprint(node) if top is None else f"view/{own}"
        entry = self._entries.get(name)
        shown = None if top is None else shown_aggregate(top)
        read = node.inputs if shown is None else shown.aggregate.inputs
        inputs = tuple(self._enter(child, view, None, fresh) for child in read)
        if entry is None:
            named = _Named(self._context, name, None if top is None else own)
            operator = node.open(named) if shown is None else shown.open(named, VIEW_TABLE)
            empty = ZSet.empty(node.schema)
            entry = _Entry(name, node, operator, inputs, node.schema, named.names, empty)
            self._entries[name] = entry
            fresh.append(entry)
        if view not in entry.views:
            entry.views.append(view)
        return entry

    def _forget(self, view: str) -> list[str]:
        """Takes `view` out of all entries and drops those left without any."""
        dropped: list[str] = []
        for entry in list(self._entries.values()):
            if view in entry.views:
                entry.views.remove(view)
            if not entry.views:
                dropped.extend(entry.tables)
                del self._entries[entry.name]
        return dropped

    def _arrange(self) -> None:
        """Orders the entries so that each comes after its inputs, a Scan of a view after that view."""
        order: dict[str, _Entry] = {}

        def visit(entry: _Entry) -> None:
            if entry.name in order:
                return
            for child in entry.inputs:
                visit(child)
            if isinstance(entry.node, Scan) and entry.node.relation in self._roots:
                visit(self._roots[entry.node.relation])
            order[entry.name] = entry

        for entry in self._entries.values():
            visit(entry)
        self._order = list(order.values())
        self._settling = _settling(self._order)
        tops: dict[str, list[str]] = {}
        for view, root in self._roots.items():
            tops.setdefault(root.name, []).append(view)
        self._tops = {name: tuple(views) for name, views in tops.items()}
        self._note_readers()

    def _note_readers(self) -> None:
        """Finds the entries whose output no other takes."""
        read = {child.name for entry in self._order for child in entry.inputs}
        scanned = {entry.node.relation for entry in self._order if isinstance(entry.node, Scan)}
        read |= {root.name for view, root in self._roots.items() if view in scanned}
        for entry in self._order:
            entry.reads = tuple(child.name for child in entry.inputs)
            entry.deferred = None if entry.name in read else getattr(entry.operator, "deferred", None)


class _Passes:
    """The passes of one epoch through the operators of `order`."""

    def __init__(
        self,
        order: Sequence[_Entry],
        settling: Sequence[_Entry],
        tops: Mapping[str, tuple[str, ...]],
        inputs: Mapping[str, ZSet],
        context: EpochContext,
    ) -> None:
        """`settling`: those that settle. `tops`: by name of an operator, the views whose top it is."""
        self._order, self._tops, self._inputs, self._context = order, tops, inputs, context
        self._settling = settling
        self._waiting: list[tuple[int, Iterator[ZSet]]] = []
        """Operators with parts left, by place in the order, ascending."""
        self._outputs = Deltas()

    def outputs(self, known: dict[str, ZSet] | None = None) -> Deltas:
        """The change of each view that changed. With `known` outputs of operators before, all are stepped."""
        try:
            self._all_passes(known)
        except BaseException:
            for entry in self._settling:
                with suppress(Exception):
                    _settle(entry)
            raise
        for entry in self._settling:
            _guarded(entry, self._context, _settle, entry)
        return self._outputs

    def _all_passes(self, known: dict[str, ZSet] | None) -> None:
        self._pass(0, {} if known is None else known, self._inputs, known is not None)
        while self._waiting:
            place, parts = self._waiting[-1]
            part = _guarded(self._order[place], self._context, _next, parts)
            if part is None:
                self._waiting.pop()
                continue
            deltas, changed = dict[str, ZSet](), dict[str, ZSet]()
            self._note(self._order[place], part, deltas, changed)
            self._pass(place + 1, deltas, changed)

    def _pass(
        self, start: int, deltas: dict[str, ZSet], inputs: Mapping[str, ZSet], every: bool = False
    ) -> None:
        """Steps the operators from a place on that something reaches."""
        changed = dict(inputs)
        for place in range(start, len(self._order)):
            entry = self._order[place]
            if isinstance(entry.node, Scan):
                delta = changed.get(entry.node.relation)
                if delta is not None and len(delta):
                    self._note(entry, entry.node.cut(delta), deltas, changed)
            elif not deltas.keys().isdisjoint(entry.reads) or every or entry.due:
                arguments = [deltas.get(child.name, child.nothing) for child in entry.inputs]
                delta = self._step(place, entry, arguments)
                if delta is not None and len(delta):
                    self._note(entry, delta, deltas, changed)

    def _step(self, place: int, entry: _Entry, deltas: list[ZSet]) -> ZSet | None:
        """What comes out first; the rest waits."""
        operator, context = entry.operator, self._context
        if entry.deferred is not None:
            self._defer(entry, _guarded(entry, context, entry.deferred, deltas, context))
            return None
        if not entry.piecewise:
            return _guarded(entry, context, operator.step, deltas, context)
        assert isinstance(operator, PiecewiseOperator)
        parts = operator.steps(deltas, context)
        part = _guarded(entry, context, _next, parts)
        if part is not None:
            self._waiting.append((place, parts))
        return part

    def _note(self, entry: _Entry, delta: ZSet, deltas: dict[str, ZSet], changed: dict[str, ZSet]) -> None:
        deltas[entry.name] = delta
        for view in self._tops.get(entry.name, ()):
            changed[view] = delta
            self._outputs.add(view, delta)

    def _defer(self, entry: _Entry, delta: Callable[[], ZSet]) -> None:
        for view in self._tops.get(entry.name, ()):
            self._outputs.add(view, delta)


def _settling(order: Sequence[_Entry]) -> list[_Entry]:
    return [entry for entry in order if hasattr(entry.operator, "settle")]


def _settle(entry: _Entry) -> None:
    cast(SettlingOperator, entry.operator).settle()


def _next(parts: Iterator[ZSet]) -> ZSet | None:
    return next(parts, None)


def _guarded(entry: _Entry, context: EpochContext, work: Callable[..., Output], *arguments: object) -> Output:
    """An operator's work; its row errors are put down to each view that contains it."""
    poll(context)
    known = len(context.errors) if context.errors is not None else 0
    try:
        delta = work(*arguments)
    except (QueryCanceled, IoError):
        raise  # The operator is not to blame.
    except SqlError as error:
        raise ViewFailure(frozenset(entry.views), error) from error
    except Exception as error:  # our own mistake, but other views must not suffer from it
        cause = InternalError(f"{type(entry.node).__name__}: {type(error).__name__}: {error}")
        raise ViewFailure(frozenset(entry.views), cause) from error
    if context.errors is not None and len(context.errors) > known:
        found = context.errors[known:]
        context.errors[known:] = [
            replace(error, operator=f"{view}: {error.operator}") for view in entry.views for error in found
        ]
    return delta
