"""What the protocols cost: one net asked in each of them, of our provider, through our proxy, and of others.

    python -m leakrange.load.bench.protocols

Our provider answers npy, JSON, and the Open Inference Protocol in JSON and with binary tensors; so does our
proxy before it, with `round` and an exact budget; kserve answers both forms of the protocol, MLServer JSON.
All serve the net of `leakrange.load.bench.serve`, untrained, single 64 x 64 images; kserve and MLServer from
a file of TorchScript. They take turns, round by round, every other round in the opposite order. Told are
medians of the rounds, and medians of the rounds' ratios to npy at the same place.

``CPU ms`` is the time of the asked process for one answer: of the proxy, where it is asked, without the
provider's. It is what can be compared on a machine that does other work. ``share`` is answers a second over
what the net alone, as it was trained, does on that core in its best batches of 8 to 16. Servers have the
first core; the client, the proxy and its Redis the second: Linux with two cores or more. The others have
environments of their own (``make peers-env``).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import orjson
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from leakrange.allocator import ALLOCATOR
from leakrange.load.bench.contenders import peers_python
from leakrange.load.bench.gateways import ROOT, ours, prepare
from leakrange.load.bench.harness import cpu_seconds, free_port, machine, running
from leakrange.load.bench.light import ask
from leakrange.load.bench.peers.net import build
from leakrange.load.bench.peers.program import OUTPUT, VARIABLE
from leakrange.load.bench.serve import alone, answering, make_artifact, provider
from leakrange.nets.classifier import Classifier, to_input
from leakrange.nets.folded import folded
from leakrange.wire.open_inference import INPUT, tensor_request
from leakrange.wire.tensors import JSON, NPY, encode_npy

__all__ = ["main"]

SIZE: Final = 64
BATCH: Final = 16
SERVER, OTHERS = 0, 1
"""Cores of the servers, and of everything else."""
PACKAGES = ("torch", "numpy", "orjson", "uvicorn")
NAMES: Final = {"npy": "npy", "json": "JSON", "v2-binary": "/v2, binary", "v2-json": "/v2, JSON"}


@dataclass(frozen=True)
class ServedWay:
    """A net asked in one protocol at one place."""

    place: str
    protocol: str
    url: str
    pid: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class WayFigures:
    """Of one measurement: answers a second, the median wait in ms, CPU ms of an answer, and the ``share``."""

    rate: float
    p50: float
    cpu: float
    share: float


class _OfPictures(nn.Module):
    """A classifier that takes pictures as clients send them."""

    def __init__(self, classifier: Classifier) -> None:
        super().__init__()
        self.classifier = classifier

    def forward(self, pictures: Tensor) -> Tensor:
        """Logits of uint8 (B, H, W, C)."""
        logits: Tensor = self.classifier(to_input(pictures, self.classifier.spec))
        return logits


def write_program(path: Path) -> None:
    """The net that our provider serves, as it serves it, in a file of TorchScript."""
    net = folded(build("hbc", SIZE)).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is deprecated, and all that is traced is warned of
        example = torch.zeros(2, SIZE, SIZE, 3, dtype=torch.uint8)
        traced = torch.jit.trace(_OfPictures(net).eval(), example)  # type: ignore[no-untyped-call]
        torch.jit.save(traced, str(path))


def bodies(output: str) -> dict[str, tuple[dict[str, str], bytes]]:
    """Headers and body of a request for one image, by protocol."""
    pixels: NDArray[np.uint8] = np.random.default_rng(0).integers(0, 256, (1, SIZE, SIZE, 3), np.uint8)
    taken = {"name": INPUT, "shape": list(pixels.shape), "datatype": "UINT8", "data": pixels.ravel().tolist()}
    written, headers = tensor_request(INPUT, output, pixels)
    return {
        "npy": ({"Content-Type": NPY, "Accept": NPY}, encode_npy(pixels)),
        "json": ({"Content-Type": JSON, "Accept": JSON}, orjson.dumps({"inputs": pixels.tolist()})),
        "v2-binary": (headers, written),
        "v2-json": (
            {"Content-Type": JSON},
            orjson.dumps({"inputs": [taken], "outputs": [{"name": output}]}),
        ),
    }


@contextmanager
def peer(name: str, program: Path) -> Iterator[tuple[str, int]]:
    """kserve or MLServer: its URL and process id."""
    port = free_port()
    settings = {
        VARIABLE: str(program),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'shared'}",
        **ALLOCATOR,
    }
    interpreter = peers_python("mlserver" if name == "mlserver" else "peers")
    command = [interpreter, "-m", f"leakrange.load.bench.peers.{name}_server", str(port), str(BATCH)]
    with running(command, port, settings, core=SERVER) as pid:
        yield f"http://127.0.0.1:{port}", pid


def started(stack: ExitStack, *, peers: bool) -> list[ServedWay]:
    """All ways, each of which answers."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    make_artifact(folder, SIZE)
    url, pid = stack.enter_context(provider(folder, BATCH, SERVER))
    gateway = stack.enter_context(ours(OTHERS, OTHERS))
    asyncio.run(prepare(gateway, url))
    asyncio.run(gateway.bind("round"))
    allowed = {"Authorization": f"Bearer {gateway.key}"}
    paths = {
        protocol: "/v2/models/bench/infer" if protocol.startswith("v2") else "/v1/models/bench/logits"
        for protocol in NAMES
    }
    ways = [
        ServedWay(place, protocol, f"{base}{paths[protocol]}", process, more | headers, body)
        for place, base, process, more in (
            ("provider", url, pid, {}),
            ("proxy", gateway.url, gateway.pid, allowed),
        )
        for protocol, (headers, body) in bodies("logits").items()
    ]
    program = folder / "net.pt"
    write_program(program)
    for name, protocols in (
        (("kserve", ("v2-binary", "v2-json")), ("mlserver", ("v2-json",))) if peers else ()
    ):
        url, pid = stack.enter_context(peer(name, program))
        for protocol in protocols:
            headers, body = bodies(OUTPUT)[protocol]
            ways.append(ServedWay(name, protocol, f"{url}{paths[protocol]}", pid, headers, body))
    for way in ways:
        answering(way.url, way.headers, way.body)
    return ways


def measured(way: ServedWay, connections: int, seconds: float, bare: float) -> WayFigures:
    """One measurement; ``bare`` is answers a second of the net alone."""
    ask(way.url, way.headers, way.body, connections, seconds / 5)  # to warm up
    before = cpu_seconds(way.pid)
    times, took = ask(way.url, way.headers, way.body, connections, seconds)
    if not times:
        raise SystemExit(f"{way.url} answered nothing in {seconds:g} s; give more --seconds")
    spent = 1e3 * (cpu_seconds(way.pid) - before) / len(times)
    rate = len(times) / took
    return WayFigures(rate, 1e3 * statistics.median(times), spent, rate / bare)


def shown(ways: list[ServedWay], rounds: list[list[WayFigures]]) -> None:
    """Print the medians of the rounds, and of their ratios to npy at the same place; to npy of the provider
    where a place has none."""
    first = {way.place: number for number, way in reversed(list(enumerate(ways)))}
    for number, way in enumerate(ways):
        npy = first[way.place] if way.place in ("provider", "proxy") else 0
        turns = [turn[number] for turn in rounds]
        rate, p50, cpu, share = (
            statistics.median(getattr(each, figure) for each in turns)
            for figure in ("rate", "p50", "cpu", "share")
        )
        to_npy = statistics.median(turn[number].cpu / turn[npy].cpu for turn in rounds)
        name = f"{way.place}, {NAMES[way.protocol]}"
        print(f"  {name:22} {rate:9.0f} {p50:8.2f} {cpu:8.3f} {to_npy:8.2f} {share:7.2f}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ours-alone", action="store_true", help="without kserve and MLServer")
    options = parser.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("this takes two cores")
    with machine(*PACKAGES), ExitStack() as stack:
        ways = started(stack, peers=not options.ours_alone)
        os.sched_setaffinity(0, {OTHERS})
        print(f"{'':24} {'answers/s':>9} {'p50 ms':>8} {'CPU ms':>8} {'to npy':>8} {'share':>7}")
        for connections in options.connections:
            rounds = []
            for number in range(options.rounds):
                bare = max(alone("hbc", SIZE, [8, 12, 16])["trained"].values())
                order = list(range(len(ways)))[:: -1 if number % 2 else 1]
                turn = {place: measured(ways[place], connections, options.seconds, bare) for place in order}
                rounds.append([turn[place] for place in range(len(ways))])
            print(f"{connections} connections")
            shown(ways, rounds)


if __name__ == "__main__":
    main()
