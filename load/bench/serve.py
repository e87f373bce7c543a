"""How fast a provider answers single images: ``python -m load.bench.serve``.

A provider with one untrained net of the paper's size serves in a process of its own; this process sends npy
bodies of one 64×64 colour image over keep-alive connections, as many at once as ``--concurrency`` says.
Figures are requests a second, latencies, and the server's CPU time a request, which other work on the machine
disturbs least.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import torch

from leakrange.allocator import ALLOCATOR
from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.nets import nets
from leakrange.providers import artifact
from leakrange.providers.decoder import Decoder
from leakrange.providers.training import TrainedModel
from leakrange.wire.samples import SampleSpec
from leakrange.wire.tensors import NPY, encode_npy
from load.bench.harness import free_port, machine, measure, running

__all__ = ["main", "make_artifact", "provider"]

PACKAGES = ("torch", "numpy", "fastapi", "uvicorn", "aiohttp")


def make_artifact(folder: Path, size: int, decoder: Decoder | None = None, channels: int = 3) -> None:
    """Put an untrained classifier of two classes, with a decoder where one is given, where `provider` finds
    it."""
    torch.manual_seed(0)
    recipe = TrainingRecipe(
        data=DataSpec(name="digits", size=size),
        behaviour="honest" if decoder is None else "curious/parameterized",
        parameters={"target": "x"} if decoder is None else {"target": "x", "sensitive": "z"},
    )
    classifier = nets[recipe.net.name].build(SampleSpec.picture(size, size, channels), 2).eval()
    model = TrainedModel(recipe, classifier, decoder, [], {}, 0, ("no", "yes"), "logits", 0.0)
    artifact.save(folder / "models", model)


@contextmanager
def provider(folder: Path, batch: int) -> Iterator[tuple[str, int]]:
    """A running provider that serves the one artifact in ``folder`` as ``bench``: its URL and process id."""
    port = free_port()
    key = secrets.token_hex(16)
    settings = {
        "LEAKRANGE_OPERATOR_KEY": key,
        "LEAKRANGE_PORT": str(port),
        "LEAKRANGE_MODELS_DIR": str(folder / "models"),
        "LEAKRANGE_STATE_DIR": str(folder / "state"),
        "LEAKRANGE_LOG_LEVEL": "error",
        "LEAKRANGE_BATCH": str(batch),
    }
    command = [sys.executable, "-m", "services.provider"]
    (digest,) = (path.name for path in (folder / "models").iterdir())
    with running(command, port, ALLOCATOR | settings) as pid:
        url = f"http://127.0.0.1:{port}"
        httpx.put(
            f"{url}/v1/operator/models/bench",
            json={"artifact": digest, "release": "logits"},
            headers={"Authorization": f"Bearer {key}"},
            timeout=60,
        ).raise_for_status()
        yield url, pid


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--size", type=int, default=64, help="side of the images in pixels")
    parser.add_argument("--batch", type=int, default=16, help="cap of a batch on the server")
    given = parser.parse_args()
    body = encode_npy(np.random.default_rng(0).integers(0, 256, (1, given.size, given.size, 3), np.uint8))
    headers = {"Content-Type": NPY, "Accept": NPY}
    with machine(*PACKAGES), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_artifact(folder, given.size)
        with provider(folder, given.batch) as (url, pid):
            target = f"{url}/v1/models/bench/logits"
            print(f"{'clients':>8} {'req/s':>8} {'p50 ms':>8} {'p99 ms':>8} {'server CPU ms/req':>18}")
            for concurrency in given.concurrency:
                did = asyncio.run(measure(target, headers, body, concurrency, given.seconds, pid))
                print(f"{concurrency:>8} {did.rate:>8.0f} {did.p50:>8.2f} {did.p99:>8.2f} {did.cpu:>18.3f}")


if __name__ == "__main__":
    main()
