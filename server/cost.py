"""`cost`: about how much work a query is, to decide who does it."""

from __future__ import annotations

from math import prod

from ..operators.expr import Call, Expr
from ..operators.join import Join
from ..operators.node import Node, walk
from ..operators.recurse import Recurse
from ..operators.scan import Scan
from ..operators.table_function import TableFunctionNode
from ..planner.key_lookup import KeyLookup
from ..planner.rewriting import replace_node
from ..runtime.reader import SnapshotReader
from ..storage.types import TEXT

INLINE_ROWS_MAX = 2000
"""A query over fewer rows is answered in the event loop: cheaper than to hand it to a thread."""

_UNKNOWN = INLINE_ROWS_MAX + 1
_SYSTEM_ROWS = 50
"""What a system relation counts for in a product."""

_LASTING = frozenset({"pg_sleep", "~", "!~", "~*", "!~*", "repeat", "lpad", "rpad", "array_fill"})


def cost(node: Node, reader: SnapshotReader) -> int:
    """About how many rows a plan reads and multiplies; more than INLINE_ROWS_MAX where nobody knows."""
    if isinstance(node, KeyLookup):
        return len(node.keys)
    if isinstance(node, Scan):
        return _stored(node, reader)
    if isinstance(node, Recurse | TableFunctionNode):
        return _UNKNOWN
    costs = [cost(child, reader) for child in node.inputs]
    if isinstance(node, Join) and not node.left_keys:
        return max(sum(costs), prod(max(one, _SYSTEM_ROWS if _reads(child) else 1)
                                    for one, child in zip(costs, node.inputs, strict=True)))  # fmt: skip
    return sum(costs)


def may_last(node: Node) -> bool:
    """Whether a function in the plan may take long however few rows there are."""
    found = False

    def look(expr: Expr, _level: int) -> Expr | None:
        nonlocal found
        found = found or (isinstance(expr, Call) and _lasts(expr))
        return None

    for part in walk(node):
        if isinstance(part, Recurse | TableFunctionNode):
            return True
        replace_node(part, look)
    return found


def _lasts(call: Call) -> bool:
    """pg_sleep, backtracking regular expressions, and what makes much of little."""
    name = call.function.name
    if name == "substring":
        return len(call.function.args) > 1 and call.function.args[1] == TEXT
    return name in _LASTING or name.startswith("regexp_")


def _reads(node: Node) -> bool:
    """Whether any relation is read."""
    return isinstance(node, Scan) or any(_reads(child) for child in node.inputs)


def _stored(scan: Scan, reader: SnapshotReader) -> int:
    overlaid = INLINE_ROWS_MAX // 4 if scan.relation in reader.overlays else 0
    table = reader.published.tables.get(scan.relation)
    if table is not None:
        return len(table) + overlaid
    return _UNKNOWN if scan.relation in reader.published.offsets else overlaid
