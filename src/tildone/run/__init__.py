"""tildone's own agent: a host that runs a model, its tools and its extensions in a conversation."""
