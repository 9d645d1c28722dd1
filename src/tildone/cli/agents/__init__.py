"""Verbs that connect coding agents to the plan and steer them."""
