"""The sections of the documents that describe the originals: for each, where it is implemented and what proves it."""
