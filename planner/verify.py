"""What must hold of every plan; run after each rule, so that a wrong rule is caught by its name.

Checked: columns read exist and have the type the reader believes; sides of keys have equal types;
branches agree; and, once decorrelated, no `Apply`, `Subquery` or `OuterColumn` is left.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..operators.aggregate import Aggregate, AggregateCall
from ..operators.expr import ColumnRef, Expr, OuterColumn, Subquery
from ..operators.fields import field_names
from ..operators.join import Join
from ..operators.node import Node, walk
from ..operators.set_operation import SetOperation
from ..operators.union import Union
from ..operators.window import WindowCall
from ..storage.schema import Schema
from .apply import Apply

_CALLS = (AggregateCall, WindowCall)
"""What holds expressions without being one."""


def verify(node: Node, after: str, decorrelated: bool = False) -> None:
    """Raises AssertionError naming the rule `after` which the plan is not sound."""
    for part in walk(node):
        try:
            _verify_node(part, decorrelated)
        except AssertionError as error:
            raise AssertionError(f"after {after}, {type(part).__name__}: {error}") from error


def _verify_node(node: Node, decorrelated: bool) -> None:
    if decorrelated:
        assert not isinstance(node, Apply), "Apply is left"
    if isinstance(node, Join):
        _verify_join(node, decorrelated)
        return
    if isinstance(node, Union | SetOperation):
        first = [t.arrow for t in node.inputs[0].schema.types]
        for branch in node.inputs[1:]:
            assert [t.arrow for t in branch.schema.types] == first, "branches differ in types"
    if isinstance(node, Apply):
        return
    schema = node.inputs[0].schema if len(node.inputs) == 1 else Schema(())
    for expr in expressions_of(node):
        _verify_expr(expr, schema, decorrelated)
    if isinstance(node, Aggregate):
        assert len(node.schema) == len(node.groups) + len(node.calls), "columns of the aggregate"


def _verify_join(node: Join, decorrelated: bool) -> None:
    assert len(node.left_keys) == len(node.right_keys), "key lists differ in length"
    for left, right in zip(node.left_keys, node.right_keys, strict=True):
        _verify_expr(left, node.left.schema, decorrelated)
        _verify_expr(right, node.right.schema, decorrelated)
        assert left.type.same(right.type), f"keys of types {left.type} and {right.type}"
    if node.condition is not None:
        _verify_expr(node.condition, node.left.schema.concat(node.right.schema), decorrelated)


def _verify_expr(expr: Expr, schema: Schema, decorrelated: bool) -> None:
    for part in _walk(expr):
        if isinstance(part, ColumnRef):
            assert 0 <= part.index < len(schema), f"column {part.index} of {len(schema)}"
            have = schema[part.index].type
            assert have.arrow == part.type.arrow, f"column {part.index} is {have}, read as {part.type}"
        if decorrelated:
            assert not isinstance(part, OuterColumn | Subquery), f"{type(part).__name__} is left"


def _walk(expr: Expr) -> Iterator[Expr]:
    """The expression and its parts; a subquery's test is over another row and is left out."""
    yield expr
    if not isinstance(expr, Subquery):
        for child in expr.children:
            yield from _walk(child)


def expressions_of(owner: object) -> Iterator[Expr]:
    """The expressions in the fields of a node, those in its calls included."""
    for name in field_names(type(owner)):
        yield from _expressions(getattr(owner, name))


def _expressions(value: object) -> Iterator[Expr]:
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _expressions(part)
    elif isinstance(value, _CALLS):
        yield from expressions_of(value)
