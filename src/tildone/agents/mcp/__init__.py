"""The MCP server: a plan's tools, resources and prompt, over stdio or HTTP."""
