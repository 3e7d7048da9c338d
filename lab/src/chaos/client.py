# The clients of `mcp` 1 and 2. Each line of the standard input is an order as JSON, or lets a question be answered. Each
# line of the standard output has the token of a call, and says that its person is asked, or how it ended.
import asyncio
import json
import sys
import threading
from contextlib import asynccontextmanager

try:
    import mcp_types as types
    from mcp import Client

    import httpx2 as httpx
except ImportError:
    import httpx
    import mcp.types as types
    from mcp import ClientSession

    Client = None

from mcp.client.streamable_http import streamable_http_client

# It says nothing when it has given up, so waiting longer is of no use.
PATIENCE = 75


def say(**line):
    print(json.dumps(line), flush=True)


def content(schema, answers):
    filled = {}
    for name, field in schema["properties"].items():
        if name in answers:
            filled[name] = answers[name]
        elif "default" in field:
            filled[name] = field["default"]
    return filled


@asynccontextmanager
async def connect(order, elicit):
    timeout = httpx.Timeout(30, read=300)
    headers = {"Authorization": f"Bearer {order['token']}"}
    async with httpx.AsyncClient(headers=headers, timeout=timeout) as http:
        transport = streamable_http_client(order["url"], http_client=http)
        if Client:
            mode = "legacy" if order["era"] == "handshake" else "auto"
            async with Client(transport, elicitation_callback=elicit, mode=mode) as client:
                yield client
        else:
            async with transport as (read, write, _):
                async with ClientSession(read, write, elicitation_callback=elicit) as session:
                    await session.initialize()
                    yield session


async def call(order, may_answer):
    async def elicit(_context, params):
        say(token=order["token"], asked=params.message)
        await may_answer.get()
        schema = getattr(params, "requestedSchema", None) or params.requested_schema
        return types.ElicitResult(action="accept", content=content(schema, order["answers"]))

    async with connect(order, elicit) as client:
        name = order["name"]
        match order["do"]:
            case "prompt":
                result = await client.get_prompt(name)
                return result.messages[0].content.text
            case "resource":
                result = await client.read_resource(name)
                return result.contents[0].text
        result = await client.call_tool(name, order["arguments"])
        text = result.content[0].text
        if getattr(result, "isError", None) or getattr(result, "is_error", False):
            raise RuntimeError(text)
        return text


def in_words(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return repr(error)


async def main():
    orders, may_answer = asyncio.Queue(), asyncio.Queue()
    loop = asyncio.get_running_loop()

    def read():
        for line in sys.stdin:
            line = json.loads(line)
            queue = may_answer if line == "answer" else orders
            loop.call_soon_threadsafe(queue.put_nowait, line)
        loop.call_soon_threadsafe(orders.put_nowait, None)

    threading.Thread(target=read, daemon=True).start()
    while order := await orders.get():
        while not may_answer.empty():
            may_answer.get_nowait()
        try:
            text = await asyncio.wait_for(call(order, may_answer), PATIENCE)
            say(token=order["token"], done=text)
        except BaseException as error:
            say(token=order["token"], failed=in_words(error))


asyncio.run(main())
