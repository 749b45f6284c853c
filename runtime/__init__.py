"""The runtime: when an epoch happens, what it does, and who is told.

    source.py       what a connector delivers, and the thread that reads ahead of the engine
    published.py    the state of the last committed epoch, as readers hold it
    reader.py       rows of a relation for a query: snapshot, replayed source, system relation
    overlay.py      a transaction's own uncommitted writes over a snapshot
    transaction.py  one client's transaction: snapshot, overlay, definitions, commit
    writes.py       INSERT, UPDATE and DELETE with their constraints
    definitions.py  CREATE, ALTER and DROP: a new catalogue and what must be done for it
    epoch.py        one epoch: writes, dataflow, errors, commit, publication
    work_queue.py   works that wait for an epoch
    endpoints.py    the sources and sinks at work
    engine.py       the thread that runs epochs one after the other
    recovery.py     from stored catalogue and tables to a running dataflow

Life of a write: `server` evaluates nothing itself. It submits a `Work` to the engine; the engine's
thread runs all waiting works in an epoch, steps the dataflow once, commits once (one fsync), swaps
`engine.published` and only then completes the works' futures (I2, I3).
"""
