"""How fast a provider answers, beside other servers with the same net.

    python -m leakrange.load.bench.serve

Our provider, LitServe, BentoML and a plain FastAPI endpoint serve one untrained net, each on the first core;
the client is on the second. They take turns, round by round, and so does the net alone. Told are medians of
the rounds, and medians of the rounds' ratios: on a machine that does other work, only these can be compared.
``share`` is images a second over what the net alone, as it was trained, does on that core: in batches of that
size, or for single images in its best batches of 8 to 16. Linux with two cores or more; LitServe and BentoML
have an environment of their own (``make peers-env``).
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import torch

from leakrange.allocator import ALLOCATOR
from leakrange.jobs.recipe import DataSpec, NetSpec, TrainingRecipe
from leakrange.load.bench.contenders import ENCODINGS, PEERS, BenchRequest, peer, request_of
from leakrange.load.bench.harness import cpu_seconds, free_port, machine, running
from leakrange.load.bench.light import ask
from leakrange.nets import nets
from leakrange.providers import artifact
from leakrange.providers.decoder import Decoder
from leakrange.providers.training import TrainedModel
from leakrange.wire.samples import SampleSpec

__all__ = ["alone", "answering", "main", "make_artifact", "provider"]

PACKAGES = ("torch", "numpy", "fastapi", "uvicorn")
OURS = "leakrange"
SERVER, CLIENT = 0, 1
"""Cores of the server and of the client."""


def make_artifact(
    folder: Path, size: int, decoder: Decoder | None = None, channels: int = 3, net: str = "hbc"
) -> str:
    """Store an untrained classifier of two classes for `provider`, with a decoder where one is given; returns
    its digest."""
    torch.manual_seed(0)
    recipe = TrainingRecipe(
        data=DataSpec(name="digits", size=size),
        behaviour="honest" if decoder is None else "curious/parameterized",
        parameters={"target": "x"} if decoder is None else {"target": "x", "sensitive": "z"},
        net=NetSpec(name=net),
    )
    classifier = nets[recipe.net.name].build(SampleSpec.picture(size, size, channels), 2).eval()
    model = TrainedModel(recipe, classifier, decoder, [], {}, 0, ("no", "yes"), "logits", 0.0)
    artifact.save(folder / "models", model)
    return recipe.digest()


@contextmanager
def provider(
    folder: Path, batch: int, core: int | None = None, state_url: str = ""
) -> Iterator[tuple[str, int]]:
    """A running provider that serves the one artifact in ``folder`` as ``bench``, bound to a ``core`` if one
    is given: its URL and process id. All of one ``state_url`` are replicas."""
    port = free_port()
    key = secrets.token_hex(16)
    settings = {
        "LEAKRANGE_OPERATOR_KEY": key,
        "LEAKRANGE_PORT": str(port),
        "LEAKRANGE_MODELS_DIR": str(folder / "models"),
        "LEAKRANGE_STATE_DIR": str(folder / "state"),
        "LEAKRANGE_STATE_URL": state_url,
        "LEAKRANGE_LOG_LEVEL": "error",
        "LEAKRANGE_BATCH": str(batch),
    }
    command = [sys.executable, "-m", "leakrange.services.provider"]
    (digest,) = (path.name for path in (folder / "models").iterdir())
    with running(command, port, {**ALLOCATOR, **settings}, core=core) as pid:
        url = f"http://127.0.0.1:{port}"
        httpx.put(
            f"{url}/v1/operator/models/bench",
            json={"artifact": digest, "release": "logits"},
            headers={"Authorization": f"Bearer {key}"},
            timeout=60,
        ).raise_for_status()
        yield url, pid


Server = tuple[str, int, Callable[[BenchRequest], tuple[str, bytes]]]
"""URL, process id, and a function from a request to its path and body."""


def started(stack: ExitStack, names: list[str], options: argparse.Namespace) -> dict[str, Server]:
    """Our provider and the peers; those with a star have glibc's allocator as it ships."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    make_artifact(folder, options.size, net=options.net)
    url, pid = stack.enter_context(provider(folder, options.batch, SERVER))
    servers: dict[str, Server] = {OURS: (url, pid, lambda request: ("/v1/models/bench/logits", request.body))}
    for name in names:
        allocator = not name.endswith("*")
        running_peer = peer(
            name.rstrip("*"), options.net, options.size, options.batch, allocator=allocator, core=SERVER
        )
        servers[name] = stack.enter_context(running_peer)
    for url, _, wants in servers.values():
        request = request_of("base64", options.size, 1)
        path, body = wants(request)
        answering(url + path, request.headers, body)
    return servers


def answering(url: str, headers: dict[str, str], body: bytes) -> None:
    """Return once a server answers; end the process where it has not after a minute."""
    until = time.monotonic() + 60
    while not _answers(url, headers, body):
        if time.monotonic() > until:
            raise SystemExit(f"{url} answers nothing")
        time.sleep(0.2)


def _answers(url: str, headers: dict[str, str], body: bytes) -> bool:
    try:
        return httpx.post(url, headers=headers, content=body, timeout=30).is_success
    except httpx.TransportError:
        return False


def measured(server: Server, request: BenchRequest, connections: int, seconds: float) -> dict[str, float]:
    """Images per second, milliseconds of latency, and the server's CPU milliseconds per image."""
    url, pid, wants = server
    path, body = wants(request)
    ask(url + path, request.headers, body, connections, seconds / 5)  # to warm up
    before = cpu_seconds(pid)
    times, took = ask(url + path, request.headers, body, connections, seconds)
    if not times:
        raise SystemExit(f"{url} answered nothing in {seconds:g} s; give more --seconds")
    median, last = 1e3 * np.percentile(times, [50, 99])
    images = request.images * len(times)
    spent = 1e3 * (cpu_seconds(pid) - before) / images
    return {"images_per_second": images / took, "p50": median, "p99": last, "cpu": spent}


def alone(net: str, size: int, batches: list[int]) -> dict[str, dict[str, float]]:
    """Images per second of the net alone on the server's core, by its form and batch size."""
    command = [sys.executable, "-m", "leakrange.load.bench.peers.net", net, str(size), *map(str, batches)]
    pinned = lambda: os.sched_setaffinity(0, {SERVER})  # noqa: E731
    done = subprocess.run(
        command, env=os.environ | ALLOCATOR, preexec_fn=pinned, stdout=subprocess.PIPE, check=True
    )
    rates: dict[str, dict[str, float]] = json.loads(done.stdout)
    return rates


def compared(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One case after the other, each with the figures of all servers."""
    names = [name for name in options.peers if options.allocator != "shipped"]
    names += [f"{name}*" for name in options.peers if options.allocator != "ours"]
    with ExitStack() as stack:
        servers = started(stack, names, options)
        os.sched_setaffinity(0, {CLIENT})
        for encoding in options.encodings:
            for images in options.images if encoding != "png" else [1]:
                for connections in options.concurrency if images == 1 else [1]:
                    request = request_of(encoding, options.size, images)
                    case = {"encoding": encoding, "images": images, "connections": connections}
                    yield case | {"servers": _case(servers, request, connections, options)}


def _case(
    servers: dict[str, Server], request: BenchRequest, connections: int, options: argparse.Namespace
) -> dict[str, dict[str, float]]:
    rounds: list[dict[str, dict[str, float]]] = []
    batches = [8, 12, 16] if request.images == 1 else [request.images]
    for _ in range(options.rounds):
        bare = alone(options.net, options.size, batches)
        best = {form: max(rates.values()) for form, rates in bare.items()}
        turn = {
            name: measured(server, request, connections, options.seconds)
            for name, server in servers.items()
            if name == OURS or request.encoding in PEERS[name.rstrip("*")]
            if name == OURS or not (request.images > 1 and name.rstrip("*") != "fastapi")
        }
        for figures in turn.values():
            figures["share"] = figures["images_per_second"] / best["trained"]
            figures["share_of_folded"] = figures["images_per_second"] / best["folded"]
            figures["ours"] = turn[OURS]["images_per_second"] / figures["images_per_second"]
        rounds.append(turn)
    return {
        name: {figure: statistics.median(turn[name][figure] for turn in rounds) for figure in rounds[0][name]}
        for name in rounds[0]
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--peers", nargs="*", choices=sorted(PEERS), default=sorted(PEERS))
    parser.add_argument("--net", default="hbc", help="hbc, or wide-resnet, which is heavy")
    parser.add_argument("--encodings", nargs="+", choices=ENCODINGS, default=list(ENCODINGS))
    parser.add_argument("--images", type=int, nargs="+", default=[1, 32, 256], help="of one request")
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 16, 64], help="for single images")
    parser.add_argument(
        "--allocator",
        choices=("ours", "shipped", "both"),
        default="both",
        help="settings of glibc that the peers get; * marks those as shipped",
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", type=int, default=64, help="side of the images in pixels")
    parser.add_argument("--batch", type=int, default=16, help="cap of a batch on all servers")
    parser.add_argument("--json", action="store_true", help="one JSON object a case")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers are ended as well
    if options.json:
        for case in compared(options):
            print(json.dumps(case), flush=True)
        return
    with machine(*PACKAGES):
        print(
            f"{'':24} {'images/s':>9} {'p50 ms':>8} {'p99 ms':>8} {'CPU ms':>8} {'share':>6} {'ours/it':>8}"
        )
        for case in compared(options):
            print(f"{case['encoding']}, {case['images']} a request, {case['connections']} connections")
            for name, figures in case["servers"].items():
                print(
                    f"  {name:22} {figures['images_per_second']:9.0f} {figures['p50']:8.2f} "
                    f"{figures['p99']:8.2f} {figures['cpu']:8.3f} {figures['share']:6.2f} "
                    f"{figures['ours']:8.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
