"""Verbs that inspect and maintain the store."""
