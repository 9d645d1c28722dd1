"""Runs an agent: the conversation, the model behind it, the tools it calls and the extensions that plug in."""
