"""What an epoch does with the works it took: each is run, and none that fails harms another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..operators.dataflow import ViewFailure
from ..planner.row_template import RowTemplate
from ..storage.errors import SqlError, StatementTooComplex
from .epoch import Epoch
from .row_writes import Answer, RowWork, run_rows
from .works import Work


def run_works(works: Sequence[Work], epoch: Epoch) -> Iterator[Answer]:
    """Runs the works in their order; those of one template together, where the first of them stands.

    Works of one epoch are of clients that wait for their answers: any order is one they could have come in. A
    solo work that fails may have changed things: its error is raised, and the epoch is then undone.
    """
    alike: dict[RowTemplate, list[RowWork]] = {}
    order: list[Work | list[RowWork]] = []
    for work in works:
        if not isinstance(work, RowWork):
            order.append(work)
        elif (group := alike.get(work.template)) is not None:
            group.append(work)
        else:
            alike[work.template] = [work]
            order.append(alike[work.template])
    for part in order:
        if isinstance(part, list):
            yield from run_rows(part, epoch)
        else:
            yield run_one(part, epoch)


def run_one(work: Work, epoch: Epoch) -> Answer:
    """Runs one work, with its error or its result."""
    try:
        return work, work.run(epoch), None
    except ViewFailure:
        raise
    except SqlError as error:
        if work.solo:
            raise
        return work, None, error
    except RecursionError:
        too_deep = StatementTooComplex("stack depth limit exceeded")
        if work.solo:
            raise too_deep from None
        return work, None, too_deep
