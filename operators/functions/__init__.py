"""The operators/functions floor."""
