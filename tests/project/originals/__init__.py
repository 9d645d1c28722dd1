"""The sections of the documents that describe the originals: for each, where it is implemented and what proves it.

`python -m tests.project.originals` writes the pages `docs/reference/originals.md` and `docs/reference/guide.md`.
"""
