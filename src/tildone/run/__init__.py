"""Composition of a host: its conversations, tools, extensions, questions and subagents; the shell agent's process."""
