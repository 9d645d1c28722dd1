"""Integrations: everything that tildone knows of the coding agents it works inside, one module for each."""
