"""Inner joins written as a list are ordered so that each new relation is joined by an equality.

Inner joins commute and associate, so any order gives the same bag; this one avoids cross products:
starting from the first relation, the next is the first one left that an equality connects to those taken.
Without such a relation the next in the written order comes, as a cross product.
"""

from __future__ import annotations

from ...operators.expr import ColumnRef, Expr, columns_of, rewrite_expr
from ...operators.join import Join, JoinKind
from ...operators.node import Node
from ...operators.project import Project
from ...sql.catalog import Catalog
from ..conditions import condition_of, conjuncts, equality


def join_order(node: Node, catalog: Catalog) -> Node:
    if not node.inputs:
        return node
    if _is_plain(node):
        relations: list[Node] = []
        parts: list[Expr] = []
        _flatten(node, 0, relations, parts)
        relations = [join_order(relation, catalog) for relation in relations]
        if len(relations) > 2:
            return _ordered(relations, parts)
        assert isinstance(node, Join)
        return node.with_inputs(tuple(relations))
    inputs = tuple(join_order(child, catalog) for child in node.inputs)
    return node if all(a is b for a, b in zip(inputs, node.inputs, strict=True)) else node.with_inputs(inputs)


def _is_plain(node: Node) -> bool:
    return isinstance(node, Join) and node.kind is JoinKind.INNER and not node.left_keys


def _flatten(node: Node, offset: int, relations: list[Node], parts: list[Expr]) -> None:
    """Collects the relations under inner joins, and their conditions over all columns in written order."""
    if not _is_plain(node):
        relations.append(node)
        return
    assert isinstance(node, Join)
    _flatten(node.left, offset, relations, parts)
    _flatten(node.right, offset + len(node.left.schema), relations, parts)
    for part in conjuncts(node.condition) if node.condition is not None else []:
        parts.append(_moved(part, {i: i + offset for i in columns_of(part)}))


def _moved(part: Expr, positions: dict[int, int]) -> Expr:
    return rewrite_expr(
        part, lambda e: ColumnRef(positions[e.index], e.type) if isinstance(e, ColumnRef) else e
    )


def _ordered(relations: list[Node], parts: list[Expr]) -> Node:
    starts: list[int] = []
    total = 0
    for relation in relations:
        starts.append(total)
        total += len(relation.schema)
    owner = [i for i, relation in enumerate(relations) for _ in range(len(relation.schema))]
    order = _order(len(relations), [_relations_of(part, owner) for part in parts if equality(part)])
    if order == list(range(len(relations))):
        return _joined(relations, order, starts, list(parts))
    joined = _joined(relations, order, starts, list(parts))
    placed = _positions(relations, order, starts)
    exprs = tuple(ColumnRef(placed[i], _type(relations, owner, starts, i)) for i in range(total))
    names = tuple(name for relation in relations for name in relation.schema.names)
    hidden = tuple(column.hidden for relation in relations for column in relation.schema)
    return Project(joined, exprs, names, hidden if any(hidden) else ())


def _type(relations: list[Node], owner: list[int], starts: list[int], column: int):
    return relations[owner[column]].schema.types[column - starts[owner[column]]]


def _relations_of(part: Expr, owner: list[int]) -> set[int]:
    return {owner[i] for i in columns_of(part)}


def _order(count: int, links: list[set[int]]) -> list[int]:
    order = [0]
    left = list(range(1, count))
    while left:
        taken = set(order)
        chosen = next(
            (i for i in left if any(i in link and link & taken and link <= taken | {i} for link in links)),
            left[0],
        )
        order.append(chosen)
        left.remove(chosen)
    return order


def _positions(relations: list[Node], order: list[int], starts: list[int]) -> dict[int, int]:
    """Column in written order → column in the new order."""
    found: dict[int, int] = {}
    at = 0
    for i in order:
        for column in range(len(relations[i].schema)):
            found[starts[i] + column] = at
            at += 1
    return found


def _joined(relations: list[Node], order: list[int], starts: list[int], parts: list[Expr]) -> Node:
    """A left-deep tree in that order, each condition at the first join that has its columns."""
    positions = _positions(relations, order, starts)
    node = relations[order[0]]
    waiting = [_moved(part, positions) for part in parts]
    for i in order[1:]:
        width = len(node.schema) + len(relations[i].schema)
        ready = [part for part in waiting if not columns_of(part) or max(columns_of(part)) < width]
        waiting = [part for part in waiting if part not in ready]
        node = Join(node, relations[i], JoinKind.INNER, condition=condition_of(ready))
    assert not waiting
    return node
