"""What happened to a plan: changes, differences, timelines, blame, branches, durations and statistics."""
