"""Plain FastAPI, written with care: bodies are parsed where they arrive, and the net runs in one thread, so
that the event loop is never blocked. ``python -m leakrange.load.bench.peers.fastapi_server PORT``."""

from __future__ import annotations

import asyncio
import io
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import orjson
import uvicorn
from fastapi import FastAPI, Request, Response
from PIL import Image
from pydantic import BaseModel

from leakrange.load.bench.peers.net import from_base64, from_environment

app = FastAPI()
net = from_environment()
thread = ThreadPoolExecutor(1)


class Body(BaseModel):
    """An npy file in base64."""

    inputs: str


async def classify(images: Any) -> Any:
    """The logits, from the thread of the net."""
    return await asyncio.get_running_loop().run_in_executor(thread, net, images)


def in_json(values: Any) -> Response:
    """A JSON answer, by the fastest serialiser."""
    written = orjson.dumps({"values": values}, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(written, media_type="application/json")


@app.post("/base64")
async def as_base64(body: Body) -> Response:
    """JSON to JSON."""
    return in_json(await classify(from_base64(body.inputs)))


@app.post("/npy")
async def as_npy(request: Request) -> Response:
    """npy to npy."""
    written = io.BytesIO()
    np.save(written, await classify(np.load(io.BytesIO(await request.body()), allow_pickle=False)))
    return Response(written.getvalue(), media_type="application/x-npy")


@app.post("/png")
async def as_png(request: Request) -> Response:
    """A PNG file to JSON."""
    picture = np.array(Image.open(io.BytesIO(await request.body())).convert("RGB"))[np.newaxis]
    return in_json(await classify(picture))


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
