"""Parsing of the command line: the tables that describe verbs, the parser that reads them, and help."""
