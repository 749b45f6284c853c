"""The sql/system floor."""
