"""Verbs that import and export plans and sessions."""
