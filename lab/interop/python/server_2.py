"""A server of `mcp` 2: `server_2.py stdio`, `http` or `sse`."""

import json
from typing import Annotated

import mcp_types as types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult

import interop
from interop import FORMS, Month, Place, serve_http, transport

server = MCPServer("python-2", version="1.0.0", log_level="WARNING")
stopped = interop.Stopped()


def teller(ctx):
    return lambda step: ctx.report_progress(step, 3, f"step {step}")


@server.tool()
async def form(which: str, ctx: Context) -> str | types.InputRequiredResult:
    """Does form"""
    message, schema = "Please fill this in.", FORMS[which]
    if ctx.protocol_version < "2026":
        answer = await ctx.session.elicit_form(message, schema, ctx.request_id)
    elif ctx.input_responses is None:
        params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
        return types.InputRequiredResult(input_requests={"form": types.ElicitRequest(params=params)})
    else:
        answer = ctx.input_responses["form"]
    return json.dumps({"action": answer.action, "content": answer.content})


def where() -> Elicit[Place]:
    return Elicit("Where to?", Place)


def when(place: Annotated[Place, Resolve(where)]) -> Elicit[Month]:
    return Elicit(f"When to {place.place}?", Month)


@server.tool()
async def two(
    place: Annotated[Place, Resolve(where)],
    month: Annotated[ElicitationResult[Month], Resolve(when)],
) -> str:
    """Does two"""
    if not isinstance(month, AcceptedElicitation):
        return f"no month: {month.action}"
    return f"{place.place} in {month.data.month}"


def ask_model() -> Sample:
    question = types.TextContent(type="text", text="What is best?")
    return Sample([types.SamplingMessage(role="user", content=question)], max_tokens=100)


@server.tool()
async def sampling(
    answer: Annotated[types.CreateMessageResult, Resolve(ask_model)],
) -> str:
    """Does sampling"""
    return f"the model said: {answer.content.text}"


def ask_roots() -> ListRoots:
    return ListRoots()


@server.tool()
async def roots(listed: Annotated[types.ListRootsResult, Resolve(ask_roots)]) -> str:
    """Does roots"""
    return "\n".join(str(root.uri) for root in listed.roots)


@server.tool()
async def progress(ctx: Context) -> str:
    """Does progress"""
    return await interop.progress(teller(ctx))


@server.tool()
async def slow(ctx: Context) -> str:
    """Does slow"""
    return await stopped.slow(teller(ctx))


@server.tool(name="stopped")
async def told() -> str:
    """Does stopped"""
    return await stopped.told()


@server.tool()
async def crash(ctx: Context) -> str:
    """Does crash"""
    await interop.crash(teller(ctx))
    return "still there"


@server.prompt()
def greeting(name: str) -> str:
    """Greets"""
    return f"Greet {name}."


@server.completion()
async def complete(ref, argument, context):
    return types.Completion(values=interop.completed(argument.value))


match transport():
    case "stdio":
        server.run("stdio")
    case "http":
        serve_http(server.streamable_http_app(), "/mcp")
    case "sse":
        serve_http(server.sse_app(), "/sse")
