"""Parsing of the command line: the tables that describe verbs, and the parser that reads them."""
