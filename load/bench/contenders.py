"""The servers that `leakrange.load.bench.serve` compares: how each is started, and the requests to each."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image

from leakrange.allocator import ALLOCATOR
from leakrange.load.bench.harness import free_port, running
from leakrange.wire.tensors import JSON, NPY, encode_npy, to_text

__all__ = ["ENCODINGS", "PEERS", "BenchRequest", "peer", "peers_python", "request_of"]

ENCODINGS: Final = ("base64", "npy", "png")
PEERS: Final[Mapping[str, tuple[str, ...]]] = {
    "fastapi": ENCODINGS,
    "litserve": ("base64",),
    "bentoml": ("base64",),
}
"""The encodings for each peer: those that its documentation shows for pictures in requests."""


@dataclass(frozen=True)
class BenchRequest:
    """A request: the path at a peer, headers, body, and images in it."""

    encoding: str
    headers: dict[str, str]
    body: bytes
    images: int


def request_of(encoding: str, size: int, images: int) -> BenchRequest:
    """A request with so many images of random pixels; a PNG file holds one."""
    pixels = np.random.default_rng(0).integers(0, 256, (images, size, size, 3), np.uint8)
    if encoding == "npy":
        return BenchRequest(encoding, {"Content-Type": NPY, "Accept": NPY}, encode_npy(pixels), images)
    if encoding == "base64":
        body = json.dumps({"inputs": to_text(pixels)}).encode()
        return BenchRequest(encoding, {"Content-Type": JSON, "Accept": JSON}, body, images)
    file = io.BytesIO()
    Image.fromarray(pixels[0]).save(file, "PNG")
    return BenchRequest(encoding, {"Content-Type": "image/png", "Accept": JSON}, file.getvalue(), 1)


def peers_python(environment: str = "peers") -> str:
    """The interpreter of an environment of others, ``peers`` or ``mlserver``. Ends the process where there is
    none."""
    variable = f"LEAKRANGE_{environment.upper()}_PYTHON"
    path = Path(os.environ.get(variable, f".venv-{environment}/bin/python")).absolute()
    if not path.is_file():
        raise SystemExit(
            f"Servers of others need environments of their own, and {path} is not there.\n"
            f"Run 'make peers-env', or set {variable}; or leave these servers out."
        )
    return str(path)


@contextmanager
def peer(
    name: str, net: str, size: int, batch: int, *, allocator: bool, core: int | None
) -> Iterator[tuple[str, int, Callable[[BenchRequest], tuple[str, bytes]]]]:
    """A running peer: its URL, its process id, and a function from a request to its path and body."""
    port = free_port()
    root = Path(__file__).resolve().parents[2]
    settings = {
        "BENCH_NET": net,
        "BENCH_SIZE": str(size),
        "BENCH_BATCH": str(batch),
        "PYTHONPATH": f"{root}{os.pathsep}{root / 'shared'}",
        "OMP_NUM_THREADS": "1",
        "BENTOML_DO_NOT_TRACK": "True",
        "BENTOML_CONFIG_OPTIONS": "api_server.logging.access.enabled=false",
        **(ALLOCATOR if allocator else {}),
    }
    module = f"leakrange.load.bench.peers.{name}_server"
    if name == "fastapi":
        command = [sys.executable, "-m", module, str(port)]
    elif name == "litserve":
        command = [peers_python(), "-m", module, str(port), str(batch)]
    else:
        bentoml = str(Path(peers_python()).with_name("bentoml"))
        command = [bentoml, "serve", f"{module}:Classify", "--host", "127.0.0.1", "--port", str(port)]
    with running(command, port, settings, core=core) as pid:
        yield f"http://127.0.0.1:{port}", pid, _at_bentoml if name == "bentoml" else _at_peer


def _at_peer(request: BenchRequest) -> tuple[str, bytes]:
    return f"/{request.encoding}", request.body


def _at_bentoml(request: BenchRequest) -> tuple[str, bytes]:
    """The path and body for BentoML, whose batches are lists of requests' contents."""
    return "/base64", json.dumps({"inputs": [json.loads(request.body)["inputs"]]}).encode()
