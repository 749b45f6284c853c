"""The operators floor."""
