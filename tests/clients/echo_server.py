"""An MCP server with one tool, for the tests of clients: `python tests/clients/echo_server.py`."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("echo")


@server.tool()
def echo(text: str) -> str:
    """Say it the other way round."""
    return text[::-1]


if __name__ == "__main__":
    server.run()
