"""The API of the board: plain functions from a request to an answer. `docs/reference/board-api.md` documents it."""
