"""`AggregateFunction`, the table `AGGREGATES`, and how an operator keeps an aggregate up to date.

Importing `operators.functions` fills `AGGREGATES[name]` with the overloads (chosen by argument types as
for scalar functions; "any", "anyelement" … as there). count(*) is the overload of count with no
arguments. There are two kinds.

**linear**: a group's state is a fixed number of accumulator columns, kept in the group's row and changed
by adding the contribution of a delta. Exact, whatever the order, so that taking rows away leaves what
was there before (I5). With `types` the argument types of the call::

    columns = function.accumulators(types)                 # Types of the accumulator columns, none nullable
    part = function.partial(args, weights, ids, groups, types)
    state = part                                           # for a group that was not there
    state = function.merge(old, part, types)               # for groups that were, row by row
    result = function.finish(state, types)                 # one array of the call's type, a row a group

    state = function.advance(args, weights, ids, groups, old, types)  # or both at once, if it has that

    least = function.write(args, weights, ids, positions, start, columns, types)   # or in place

    done = function.show(columns, start, stop, result)                # and its result

`old` of `advance` is of the first groups; the others were not there. `write` finds the state of group g in
row `positions[g]` of `columns` (−1: it was not there), makes room for row `start + g` and leaves it there; it
returns the least first accumulator, or None if `advance` must do it. `show` is for states none of which is
empty; False: `finish` must do it. `args` are Arrow arrays of
n rows (none for count(*)), `weights` int64[n] (any sign, any size), `ids` int64[n] the group of each row in
0 … groups−1. `partial` returns one array of `groups` rows an accumulator, zero where a group has no rows:
with no rows at all and groups=1 it gives the state, and `finish` the value, of the empty input. NULL
arguments are skipped inside: leave only FILTER, DISTINCT and the failing rows to the operator (DISTINCT:
feed +1 when a value comes to be, −1 when it ceases). The operator keeps count(*) of each group itself, to
know when a group ends.

**ordered**: the result depends on the group's bag of values, which the operator keeps and hands over,
for the groups that changed, as rows sorted by group and, within it, by the call's ORDER BY; when
there is none, by the arguments ascending, NULLs last (`storage.keycode` order)::

    result = function.whole(args, weights, offsets, types)

`weights` int64[n] > 0, `offsets` int64[groups+1]: group g is rows offsets[g] … offsets[g+1]−1, possibly
none. With `skips_null`, rows whose argument `value_argument` is NULL need not be kept.

Ordered functions with `monotone` (min, max …) also have accumulators, partial, merge and finish, to be
used as above as long as no weight is negative: append-only inputs and one-off SELECTs. Of some types they
have::

    state, lost = function.improve(args, weights, ids, groups, old, types)

    lost = function.renew(args, weights, ids, positions, start, column)   # or in place, as `write`

for a delta in which no value both comes and goes: the groups `lost`, which have NULL, have to be computed
from their values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage.columns import GrowingColumn, GrowingFixed
from ...storage.types import Type
from .registry import TypeRule

Int64 = npt.NDArray[np.int64]
Types = tuple[Type, ...]
State = list[pa.Array]

Accumulators = Callable[[Types], Types]
Partial = Callable[[Sequence[pa.Array], Int64, Int64, int, Types], State]
Merge = Callable[[Sequence[pa.Array], Sequence[pa.Array], Types], State]
Advance = Callable[[Sequence[pa.Array], Int64, Int64, int, Sequence[pa.Array], Types], State]
Write = Callable[[Sequence[pa.Array], Int64, Int64, Int64, int, Sequence[GrowingColumn], Types], int | None]
Show = Callable[[Sequence[GrowingColumn], int, int, GrowingFixed], bool]
Renew = Callable[[Sequence[pa.Array], Int64, Int64, Int64, int, GrowingFixed], Int64]
Improve = Callable[[Sequence[pa.Array], Int64, Int64, int, Sequence[pa.Array], Types], tuple[State, Int64]]
Finish = Callable[[Sequence[pa.Array], Types], pa.Array]
Whole = Callable[[Sequence[pa.Array], Int64, Int64, Types], pa.Array]


def _unavailable(*_: object) -> pa.Array:
    raise AssertionError("this aggregate has no such form")


@dataclass(frozen=True)
class AggregateFunction:
    """One overload of an aggregate; the module's docstring says how it is used."""

    name: str
    args: Types
    result: Type | TypeRule
    kind: str
    """"linear" or "ordered"."""
    accumulators: Accumulators = field(default=_unavailable, compare=False, repr=False)
    partial: Partial = field(default=_unavailable, compare=False, repr=False)
    merge: Merge = field(default=_unavailable, compare=False, repr=False)
    finish: Finish = field(default=_unavailable, compare=False, repr=False)
    whole: Whole = field(default=_unavailable, compare=False, repr=False)
    monotone: bool = False
    skips_null: bool = True
    value_argument: int = 0
    within_group: bool = False
    """An ordered-set aggregate: `f(direct) WITHIN GROUP (ORDER BY value)`, args = direct, value."""
    variadic: bool = False
    result_at: int | None = field(default=None, compare=False)
    """The accumulator that is the result itself."""
    total: bool = field(default=False, compare=False)
    """`finish` fails on no state that there can be."""
    advance: Advance | None = field(default=None, compare=False, repr=False)
    write: Write | None = field(default=None, compare=False, repr=False)
    adds: tuple[str, ...] = field(default=(), compare=False)
    """What becomes of each accumulator: weights are added ("count"), or weight · value, 128 bits ("sum")."""
    show: Show | None = field(default=None, compare=False, repr=False)
    improve: Improve | None = field(default=None, compare=False, repr=False)
    renew: Renew | None = field(default=None, compare=False, repr=False)
    shows: int | None = field(default=None, compare=False)
    """The accumulator that is the result of groups whose first accumulator is above 0; others have NULL."""
    doc: str = field(default="", compare=False)

    def result_type(self, args: Types) -> Type:
        return self.result if isinstance(self.result, Type) else self.result(args)


AGGREGATES: dict[str, list[AggregateFunction]] = {}


def register(function: AggregateFunction) -> None:
    """Adds an overload."""
    AGGREGATES.setdefault(function.name, []).append(function)
