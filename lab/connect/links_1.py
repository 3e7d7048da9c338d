"""A client of `mcp` 1 whose person opens links: it says each in a line of JSON, and then what a tool said.

Its arguments are the URL of the server and a token for it.
"""

import asyncio
import json
import sys

import httpx
import mcp.types as types
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

URL, TOKEN = sys.argv[1:]


def say(**line):
    print(json.dumps(line), flush=True)


async def elicit(context, params):
    say(link=params.url)
    return types.ElicitResult(action="accept")


async def main():
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(headers=headers, timeout=120) as http:
        async with streamable_http_client(URL, http_client=http) as (read, write, *_):
            async with ClientSession(read, write, elicitation_callback=elicit) as session:
                opened = await session.initialize()
                result = await session.call_tool("my_miles", {})
                say(revision=str(opened.protocolVersion), said=result.content[0].text)


asyncio.run(main())
