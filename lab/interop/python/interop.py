"""What the servers of Python share."""

import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Literal

import anyio
from pydantic import BaseModel

FORMS = json.loads((Path(__file__).parent.parent / "forms.json").read_text())
NAMES = ["Ada", "Adele", "Grace"]


class Place(BaseModel):
    place: str


class Month(BaseModel):
    month: Literal["June", "July"]


class Stopped:
    """How many slow calls were stopped."""

    def __init__(self):
        self.calls = 0

    async def slow(self, tell):
        try:
            await tell(1)
            await anyio.sleep(60)
        except anyio.get_cancelled_exc_class():
            self.calls += 1
            raise
        return "it was slow"

    async def told(self):
        for _ in range(100):
            if self.calls:
                break
            await anyio.sleep(0.05)
        return str(self.calls)


async def progress(tell):
    for step in (1, 2, 3):
        await tell(step)
    return "done"


async def crash(tell):
    await tell(1)
    await anyio.sleep(0.1)
    os.kill(os.getpid(), signal.SIGKILL)


def completed(typed):
    return [name for name in NAMES if name.startswith(typed)]


def serve_http(app, path):
    """Serves at a free port, and says where."""
    import uvicorn

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # Whoever reads the line may connect at once.
    listener.listen()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}{path}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


def transport():
    """`stdio`, `http` or `sse`."""
    return sys.argv[1]
