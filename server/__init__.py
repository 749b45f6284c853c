"""The server floor."""
