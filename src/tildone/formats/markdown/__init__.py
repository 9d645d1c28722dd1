"""Plans as Markdown checklists.

`writer` writes a portable and a lossless form, `reader` parses both, and `importer` finds tasks in any other Markdown.

The lossless form adds an HTML comment with the exact JSON value to each element that the reader would not restore from
its visible text (`exact`). The reader uses a comment only while it matches the visible text next to it: an edit by a
person takes precedence.
"""
