"""The client of `mcp` 1."""

import mcp.types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from driver import Opened, drive


class One(Opened):
    def __init__(self, client, revision):
        super().__init__(client)
        self.negotiated = revision

    def revision(self):
        return self.negotiated

    async def page(self, method, cursor):
        params = types.PaginatedRequestParams(cursor=cursor)
        return await getattr(self.client, method)(params=params)

    async def call(self, tool, arguments, heard=None):
        return await self.client.call_tool(tool, arguments, progress_callback=heard)

    async def complete(self, prompt, argument, value):
        ref = types.PromptReference(type="ref/prompt", name=prompt)
        completed = await self.client.complete(ref, {"name": argument, "value": value})
        return completed.completion.values

    @staticmethod
    def named(field):
        first, *rest = field.split("_")
        return first + "".join(word.capitalize() for word in rest)


async def connect(connection, desk):
    async def elicit(context, params):
        action, content = desk.form(params.message, params.requestedSchema)
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
        transport = sse_client(connection["url"])
    elif connection.get("url"):
        transport = streamable_http_client(connection["url"])
    else:
        program, *arguments = connection["command"]
        transport = stdio_client(StdioServerParameters(command=program, args=arguments))
    async with transport as (read, write, *_):
        async with ClientSession(
            read,
            write,
            **callbacks,
        ) as session:
            opened = await session.initialize()
            yield One(session, opened.protocolVersion)


drive(connect)
