"""The runtime: when an epoch happens, what it does, and who is told.

    engine.py         the thread that runs epochs one after the other
    work_queue.py     works that wait for an epoch; gathering.py: whether it waits for more
    works.py          what clients submit; row_writes.py: single rows of prepared statements, many at once
    epoch.py          one epoch: writes, definitions, dataflow, errors, commit
    state.py          what only the engine's thread touches; published.py: what everyone else reads
    writes.py         INSERT, UPDATE and DELETE with their constraints (constraints.py, conflicts.py)
    transaction.py    one client's transaction: snapshot, overlays (overlay.py), definitions, commit
    reader.py         rows of a relation for a query; relations.py: of those that are not stored
    source.py         what a connector delivers, and the thread that reads ahead of the engine
    sink.py           what goes out, and the thread that sends it; endpoints.py: those at work
    jobs.py, fill.py  views over much data, filled in many epochs
    stall.py          views that fail as a whole
    recovery.py       from stored catalogue and tables to a running dataflow
    standby.py        in the engine's place while another process is the primary

Life of a write: outside of a transaction `server` evaluates nothing itself. It submits a `Work` to the
engine; the engine's thread runs all waiting works in an epoch, steps the dataflow once, commits once (one
fsync), swaps `engine.published` and only then completes the works' futures (I2, I3).
"""
