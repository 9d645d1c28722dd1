"""Verbs that show the plan and change it."""
