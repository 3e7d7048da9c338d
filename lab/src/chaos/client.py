# Calls a tool with the SDK for Python: a line on the standard input for each call, and lines on the standard output.
#
#   URL EMAIL   ->  asked N      (waits for a line before it answers)
#               ->  done TEXT    or  failed TEXT
import asyncio
import json
import sys

import mcp.types as types
from mcp import ClientSession

try:
    from mcp.client.streamable_http import streamablehttp_client as connect
except ImportError:
    from mcp.client.streamable_http import streamable_http_client as connect


async def line():
    return (await asyncio.to_thread(sys.stdin.readline)).strip()


def say(word, text):
    print(word, json.dumps(str(text)), flush=True)


def content(schema, email):
    filled = {}
    for name, field in schema["properties"].items():
        if name == "email":
            filled[name] = email
        elif name == "name":
            filled[name] = "Ada"
        elif name == "confirm_booking":
            filled[name] = True
        elif "default" in field:
            filled[name] = field["default"]
    return filled


async def call(url, email):
    asked = 0

    async def elicit(_context, params):
        nonlocal asked
        asked += 1
        say("asked", asked)
        await line()
        schema = getattr(params, "requestedSchema", None) or params.requested_schema
        return types.ElicitResult(action="accept", content=content(schema, email))

    async with connect(url) as streams:
        async with ClientSession(streams[0], streams[1], elicitation_callback=elicit) as session:
            await session.initialize()
            trip = {"destination": "Lisbon", "depart": "2027-05-01"}
            result = await session.call_tool("book_holiday", trip)
            failed = getattr(result, "isError", None) or getattr(result, "is_error", False)
            say("failed" if failed else "done", result.content[0].text)


async def main():
    while words := (await line()).split():
        try:
            await asyncio.wait_for(call(*words), 90)
        except BaseException as error:
            say("failed", repr(error))


asyncio.run(main())
