"""Use cases: what a person or an agent can do, once for all surfaces, and who may do it."""
