"""`millpond bench`: what this machine makes of millpond, and of DuckDB beside it."""
