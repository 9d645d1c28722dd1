"""A person's edits: ops on the plan that they saw, applied to the plan as it is now."""
