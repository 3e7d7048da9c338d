"""The client of FastMCP."""

import mcp_types as types
from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport

from driver import Opened, drive


class Fast(Opened):
    def revision(self):
        return self.client.session.protocol_version

    async def page(self, method, cursor):
        return await getattr(self.client, f"{method}_mcp")(cursor=cursor)

    async def call(self, tool, arguments, heard=None):
        return await self.client.call_tool_mcp(tool, arguments, progress_handler=heard)

    async def complete(self, prompt, argument, value):
        ref = types.PromptReference(name=prompt)
        completed = await self.client.complete_mcp(ref, {"name": argument, "value": value})
        return completed.completion.values


async def connect(connection, desk):
    async def elicit(message, response_type, params, context):
        action, content = desk.form(message, params.requested_schema)
        return types.ElicitResult(action=action, content=content)

    async def sample(messages, params, context):
        return desk.sample(messages[0].role)

    async def roots(context):
        return [types.Root(uri=uri, name="interop") for uri in desk.roots()]

    handlers = {}
    if not connection.get("mute"):
        handlers = {"elicitation_handler": elicit, "sampling_handler": sample, "roots": roots}
    if connection.get("sse"):
        transport = SSETransport(connection["url"])
    elif connection.get("url"):
        transport = StreamableHttpTransport(connection["url"])
    else:
        program, *arguments = connection["command"]
        transport = StdioTransport(command=program, args=arguments)
    client = Client(
        transport,
        **handlers,
        mode="legacy" if connection.get("sse") else "auto",
    )
    async with client:
        yield Fast(client)


drive(connect)
