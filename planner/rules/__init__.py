"""The planner/rules floor."""
