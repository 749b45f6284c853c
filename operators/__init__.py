"""Operators: changes in, changes out. The nodes of plans, the expressions in them, the SQL functions.

    zset.py                     `ZSet`: rows with weights, what travels between operators
    node.py                     `Node` and `Operator`: the two forms of a relation, and the law between them
    scan.py, filter.py, …       a file for each kind of node; large ones have helpers beside (`join_….py`)
    dataflow.py                 the operators of all views, stepped once an epoch
    flow.py, pieces.py          a plan computed once, in pieces
    expr.py, evaluate….py       typed expressions, and their values over a batch
    functions/                  the functions and aggregates, by family

Every operator obeys the law: incremental = from scratch (I5).
"""
