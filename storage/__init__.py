"""Storage: bytes and rows, kept and recoverable. It knows types, rows and files, and not what a relation is.

    types.py, schema.py         what a column may hold; `textform….py`, `binaryform.py`: its forms for clients
    keycode.py, rowcode.py      rows as bytes: keys that compare as their values do, and whole rows
    table.py, table_state.py    `StateTable`: rows in memory, by key and index, epoch by epoch
    versions.py, index.py       what it consists of; readers hold a `TableSnapshot` and never wait
    absent.py, coldview.py      tables of which some rows are in the store only
    commit.py                   `Storage`: all tables, committed together; recovery.py is its mirror image
    log.py                      the changelog's log, in files (`log_files.py`) or on Kafka (`log_kafka.py`)
    changelog.py, replay.py     what a table did, as frames of the log, and back
    store.py, rocks.py          the store, a cache of the log that mirror.py brings up in checkpoints
    standby.py                  the tables of a log that another process writes
    kernels….py                 compiled loops
    errors.py                   the one error family

What is promised after a crash: every committed epoch, whole, and nothing else (docs/durability.md).
"""
