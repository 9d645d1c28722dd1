"""Runs an agent: a conversation, the model that answers in it, its tools and its extensions."""
