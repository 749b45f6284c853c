"""The planner floor."""
