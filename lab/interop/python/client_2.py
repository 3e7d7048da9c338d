"""The client of `mcp` 2."""

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client

from driver import Opened, drive


class Two(Opened):
    def revision(self):
        return self.client.protocol_version

    async def page(self, method, cursor):
        return await getattr(self.client, method)(cursor=cursor)

    async def call(self, tool, arguments, heard=None):
        return await self.client.call_tool(tool, arguments, progress_callback=heard)

    async def complete(self, prompt, argument, value):
        ref = types.PromptReference(name=prompt)
        completed = await self.client.complete(ref, {"name": argument, "value": value})
        return completed.completion.values


async def connect(connection, desk):
    async def elicit(context, params):
        action, content = desk.form(params.message, params.requested_schema)
        return types.ElicitResult(action=action, content=content)

    async def sample(context, params):
        content = types.TextContent(type="text", text=desk.sample(params.messages[0].role))
        return types.CreateMessageResult(role="assistant", content=content, model="interop")

    async def roots(context):
        roots = [types.Root(uri=uri, name="interop") for uri in desk.roots()]
        return types.ListRootsResult(roots=roots)

    callbacks = {}
    if not connection.get("mute"):
        callbacks = {
            "elicitation_callback": elicit,
            "sampling_callback": sample,
            "list_roots_callback": roots,
        }
    if connection.get("sse"):
        server = sse_client(connection["url"])
    elif connection.get("url"):
        server = connection["url"]
    else:
        program, *arguments = connection["command"]
        server = StdioServerParameters(command=program, args=arguments)
    client = Client(
        server,
        **callbacks,
        mode="legacy" if connection.get("sse") else "auto",
    )
    async with client:
        yield Two(client)


drive(connect)
