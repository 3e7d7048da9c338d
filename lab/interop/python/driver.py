"""What the clients of Python share: they are told as JSON what to do, and print a line of JSON for
each scenario."""

import json
import os
import signal
import sys
from contextlib import asynccontextmanager

import anyio


class Desk:
    """Who answers: by the scenario that is being run."""

    def __init__(self):
        self.scenario = {}
        self.asked = []

    def form(self, message, schema):
        """The action and the content."""
        self.asked.append(list(schema["properties"]))
        self._may_die()
        for answer in self.scenario.get("answers", []):
            if answer["message"] in message:
                return answer["action"], answer.get("content")
        raise ValueError(f"nobody answers: {message}")

    def sample(self, role):
        """The text a model would say."""
        self._may_die()
        self.asked.append([role])
        return self.scenario["sample"]

    def roots(self):
        return self.scenario["roots"]

    def _may_die(self):
        if self.scenario.get("die"):
            os.kill(os.getpid(), signal.SIGKILL)


class Opened:
    """A connection; each client says what is different with it."""

    def __init__(self, client):
        self.client = client

    def revision(self):
        raise NotImplementedError

    async def page(self, method, cursor):
        raise NotImplementedError

    async def call(self, tool, arguments, heard=None):
        raise NotImplementedError

    async def complete(self, prompt, argument, value):
        raise NotImplementedError

    async def items(self, method, field):
        items, cursor = [], None
        while True:
            page = await self.page(method, cursor)
            items.extend(getattr(page, field))
            cursor = page.model_dump(by_alias=True).get("nextCursor")
            if cursor is None:
                return items

    async def run(self, scenario, desk):
        desk.asked = []
        match scenario["do"]:
            case "list":
                tools = await self.items("list_tools", "tools")
                prompts = await self.items("list_prompts", "prompts")
                resources = await self.items("list_resources", "resources")
                field = "resource_templates"
                templates = await self.items("list_resource_templates", self.named(field))
                return {
                    "tools": [tool.name for tool in tools],
                    "prompts": [prompt.name for prompt in prompts],
                    "resources": [str(resource.uri) for resource in resources],
                    "templates": [getattr(it, self.named("uri_template")) for it in templates],
                }
            case "complete":
                given = (scenario["prompt"], scenario["argument"], scenario["value"])
                return await self.complete(*given)
            case "prompt":
                got = await self.client.get_prompt(scenario["prompt"], scenario["arguments"])
                return [message.content.text for message in got.messages]
            case "call":
                result = await self.call(scenario["tool"], scenario.get("arguments", {}))
                return outcome(result, desk)
            case "progress":
                heard = []

                async def hear(progress, total, message):
                    heard.append(progress)

                await self.call(scenario["tool"], {}, hear)
                return heard
            case "cancel":
                with anyio.CancelScope() as scope:

                    async def enough(progress, total, message):
                        scope.cancel()

                    await self.call(scenario["tool"], {}, enough)
                return "cancelled" if scope.cancelled_caught else "it ended by itself"
            case unknown:
                raise ValueError(f"unknown: {unknown}")

    @staticmethod
    def named(field):
        """How a field is called in Python."""
        return field


def outcome(result, desk):
    raw = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {
        "asked": desk.asked,
        "failed": raw.get("isError", False),
        "text": "\n".join(block.get("text", "") for block in raw["content"]),
        "structured": raw.get("structuredContent"),
    }


async def main(connect):
    job = json.loads(sys.argv[1])
    for connection in job["connections"]:
        desk = Desk()
        left = list(connection["scenarios"])
        try:
            async with connect(connection, desk) as opened:
                while left:
                    scenario = left.pop(0)
                    desk.scenario = scenario
                    try:
                        seen = await opened.run(scenario, desk)
                        line = {"revision": str(opened.revision()), "seen": seen}
                    except Exception as error:
                        line = {"error": in_words(error)}
                    say({"scenario": scenario["name"], **line})
        except Exception as error:
            for scenario in left:
                say({"scenario": scenario["name"], "error": in_words(error)})


def in_words(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def say(line):
    print(json.dumps(line), flush=True)


def drive(connect):
    """Runs `{connections: [{command, url, sse, mute, scenarios}]}` from the first argument; `connect`
    gives a connection within a context. A mute client declares that it cannot be asked."""
    anyio.run(main, asynccontextmanager(connect))
