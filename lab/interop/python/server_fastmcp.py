"""A server of FastMCP: `server_fastmcp.py stdio`, `http` or `sse`."""

import json

import mcp_types as types
from fastmcp import Context, FastMCP

import interop
from interop import FORMS, Month, Place, serve_http, transport

server = FastMCP("fastmcp", version="1.0.0")
stopped = interop.Stopped()

Asked = str | types.InputRequiredResult


def teller(ctx):
    return lambda step: ctx.report_progress(step, 3, f"step {step}")


def is_modern(ctx):
    """Whether a call ends with its questions, and is made again with the answers."""
    return ctx.session.protocol_version >= "2026"


def answers(ctx):
    """The answers of this round, and of those before: they travel in the state."""
    known = json.loads(ctx.request_state or "{}")
    for key, answer in (ctx.input_responses or {}).items():
        known[key] = answer.model_dump(by_alias=True, mode="json")
    return known


def ask(key, request, known):
    state = json.dumps(known)
    return types.InputRequiredResult(input_requests={key: request}, request_state=state)


def form_request(message, schema):
    params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    return types.ElicitRequest(params=params)


@server.tool
async def form(which: str, ctx: Context) -> Asked:
    """Does form"""
    message, schema = "Please fill this in.", FORMS[which]
    if not is_modern(ctx):
        answer = await ctx.session.elicit_form(message, schema, ctx.request_id)
        return json.dumps({"action": answer.action, "content": answer.content})
    known = answers(ctx)
    if "form" not in known:
        return ask("form", form_request(message, schema), known)
    return json.dumps(known["form"])


@server.tool
async def two(ctx: Context) -> Asked:
    """Does two"""
    if not is_modern(ctx):
        place = await ctx.elicit("Where to?", Place)
        if place.action != "accept":
            return f"no place: {place.action}"
        month = await ctx.elicit(f"When to {place.data.place}?", Month)
        if month.action != "accept":
            return f"no month: {month.action}"
        return f"{place.data.place} in {month.data.month}"
    known = answers(ctx)
    if "place" not in known:
        return ask("place", form_request("Where to?", Place.model_json_schema()), known)
    if known["place"]["action"] != "accept":
        return f"no place: {known['place']['action']}"
    place = known["place"]["content"]["place"]
    if "month" not in known:
        message = f"When to {place}?"
        return ask("month", form_request(message, Month.model_json_schema()), known)
    if known["month"]["action"] != "accept":
        return f"no month: {known['month']['action']}"
    return f"{place} in {known['month']['content']['month']}"


@server.tool
async def sampling(ctx: Context) -> Asked:
    """Does sampling"""
    question = types.TextContent(type="text", text="What is best?")
    messages = [types.SamplingMessage(role="user", content=question)]
    if not is_modern(ctx):
        answer = await ctx.session.create_message(
            messages, max_tokens=100, related_request_id=ctx.request_id
        )
        return f"the model said: {answer.content.text}"
    known = answers(ctx)
    if "model" not in known:
        params = types.CreateMessageRequestParams(messages=messages, max_tokens=100)
        return ask("model", types.CreateMessageRequest(params=params), known)
    return f"the model said: {known['model']['content']['text']}"


@server.tool
async def roots(ctx: Context) -> Asked:
    """Does roots"""
    if not is_modern(ctx):
        listed = await ctx.session.list_roots()
        return "\n".join(str(root.uri) for root in listed.roots)
    known = answers(ctx)
    if "roots" not in known:
        return ask("roots", types.ListRootsRequest(), known)
    return "\n".join(root["uri"] for root in known["roots"]["roots"])


@server.tool
async def progress(ctx: Context) -> str:
    """Does progress"""
    return await interop.progress(teller(ctx))


@server.tool
async def slow(ctx: Context) -> str:
    """Does slow"""
    return await stopped.slow(teller(ctx))


@server.tool(name="stopped")
async def told() -> str:
    """Does stopped"""
    return await stopped.told()


@server.tool
async def crash(ctx: Context) -> str:
    """Does crash"""
    await interop.crash(teller(ctx))
    return "still there"


@server.prompt
def greeting(name: str) -> str:
    """Greets"""
    return f"Greet {name}."


@server.completion
async def complete(ref, argument, context):
    return interop.completed(argument.value)


match transport():
    case "stdio":
        server.run("stdio", show_banner=False)
    case "http":
        serve_http(server.http_app(), "/mcp")
    case "sse":
        serve_http(server.http_app(transport="sse"), "/sse")
