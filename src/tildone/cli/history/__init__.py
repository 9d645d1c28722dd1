"""Verbs that show the history of the plan and move in it."""
