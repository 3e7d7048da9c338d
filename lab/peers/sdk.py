"""The server of `bench-server`: `sdk.py python` with the Python SDK, `sdk.py fastmcp` with FastMCP.

It serves HTTP, answers with JSON, and prints its address.
"""

import socket
import sys

import uvicorn


async def echo(message: str) -> str:
    """Says it back"""
    return message


if sys.argv[1] == "fastmcp":
    from fastmcp import FastMCP

    server = FastMCP("bench", version="1.0.0")
    server.tool(echo)
    app = server.http_app(json_response=True)
else:
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("bench", version="1.0.0", log_level="WARNING")
    server.tool()(echo)
    app = server.streamable_http_app(json_response=True)

listener = socket.socket()
listener.bind(("127.0.0.1", 0))
# The load connects as soon as it has read the line.
listener.listen()
print(f"127.0.0.1:{listener.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
