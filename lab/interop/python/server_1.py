"""A server of `mcp` 1: `server_1.py stdio`, `http` or `sse`."""

import json

import mcp.types as types
from mcp.server.fastmcp import Context, FastMCP

import interop
from interop import FORMS, Month, Place, serve_http, transport

server = FastMCP("python-1", log_level="WARNING")
stopped = interop.Stopped()


def teller(ctx):
    return lambda step: ctx.report_progress(step, 3, f"step {step}")


async def ask(ctx, message, schema):
    # What makes a form of a class knows no choices.
    return await ctx.session.elicit(message, schema, ctx.request_id)


@server.tool()
async def form(which: str, ctx: Context) -> str:
    """Does form"""
    answer = await ask(ctx, "Please fill this in.", FORMS[which])
    return json.dumps({"action": answer.action, "content": answer.content})


@server.tool()
async def two(ctx: Context) -> str:
    """Does two"""
    answer = await ask(ctx, "Where to?", Place.model_json_schema())
    if answer.action != "accept":
        return f"no place: {answer.action}"
    place = answer.content["place"]
    answer = await ask(ctx, f"When to {place}?", Month.model_json_schema())
    if answer.action != "accept":
        return f"no month: {answer.action}"
    return f"{place} in {answer.content['month']}"


@server.tool()
async def link(ctx: Context) -> str:
    """Does link"""
    session, page = ctx.session, "https://example.com/pay"
    answer = await session.elicit_url("Please pay.", page, "pay", ctx.request_id)
    return f"the link: {answer.action}"


@server.tool()
async def sampling(ctx: Context) -> str:
    """Does sampling"""
    question = types.TextContent(type="text", text="What is best?")
    messages = [types.SamplingMessage(role="user", content=question)]
    answer = await ctx.session.create_message(
        messages, max_tokens=100, related_request_id=ctx.request_id
    )
    return f"the model said: {answer.content.text}"


@server.tool()
async def roots(ctx: Context) -> str:
    """Does roots"""
    listed = await ctx.session.list_roots()
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
