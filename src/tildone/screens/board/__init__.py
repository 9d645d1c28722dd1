"""The board: the sessions of a store as web pages, live and editable. It needs the extra `web` (Starlette, uvicorn)."""
