"""The server/connectors floor."""
