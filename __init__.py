"""millpond: a streaming SQL database you talk to with psql.

The repository root is the import package. Five floors, imports only downward:
`storage` → `operators` → `sql` → `planner` → `server`. Start reading at `storage/__init__.py`
for what survives a crash, or at `server/__init__.py` for the life of a statement.
"""

__version__ = "0.1.0"
