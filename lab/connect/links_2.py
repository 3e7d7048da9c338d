"""The same as `links_1.py` with `mcp` 2."""

import asyncio
import json
import sys

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

URL, TOKEN = sys.argv[1:]


def say(**line):
    print(json.dumps(line), flush=True)


async def elicit(context, params):
    say(link=params.url)
    return types.ElicitResult(action="accept")


async def main():
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(headers=headers, timeout=120) as http:
        server = streamable_http_client(URL, http_client=http)
        async with Client(server, elicitation_callback=elicit) as client:
            result = await client.call_tool("my_miles", {})
            say(revision=str(client.protocol_version), said=result.content[0].text)


asyncio.run(main())
