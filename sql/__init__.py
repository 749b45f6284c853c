"""The sql floor."""
