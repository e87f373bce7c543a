"""How long a hostile body makes the others wait: ``python -m leakrange.load.bench.bodies [proxy|provider]``.

One client sends a body of so many megabytes; another asks for something small every few milliseconds. Each
line has the answer that the body got and after how long, the longest wait of the other client, by how much
the process grew at most, and what it still held a second later. The first line is without any body.
"""

from __future__ import annotations

import argparse
import http.client
import secrets
import struct
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import numpy as np

from leakrange.load.bench.harness import machine
from leakrange.wire.tensors import JSON, NPY, encode_npy

__all__ = ["main"]

SIDE = 16
"""Side of the images that the model takes."""


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(chunks: bytes) -> bytes:
    header = _chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 0, 0, 0, 0))
    pixels = _chunk(b"IDAT", zlib.compress(bytes(SIDE * (SIDE + 1))))
    return b"\x89PNG\r\n\x1a\n" + header + chunks + pixels + _chunk(b"IEND", b"")


def _json(element: bytes, size: int) -> bytes:
    return b'{"inputs": [' + b",".join([element] * (size // (len(element) + 1) - 8)) + b"]}"


def _image(size: int, floats: bool) -> bytes:
    random = np.random.default_rng(0).integers(0, 256, SIDE * SIDE)
    pixels = [f"{value / 255:.6f}" if floats else str(value) for value in random]
    rows = [
        "[" + ",".join(f"[{pixel}]" for pixel in pixels[at : at + SIDE]) + "]"
        for at in range(0, SIDE * SIDE, SIDE)
    ]
    return _json(f"[{','.join(rows)}]".encode(), size)


Make = Callable[[int], bytes]
"""A function that makes a body of about so many bytes."""

LOGITS: dict[str, dict[str, Make]] = {
    JSON: {
        "flat list of ones": lambda size: _json(b"1", size),
        "flat list of 0.1": lambda size: _json(b"0.1", size),
        "flat list of long floats": lambda size: _json(b"0.12345678901234567", size),
        "lists of one number": lambda size: _json(b"[1]", size),
        "images of integers": lambda size: _image(size, floats=False),
        "images of floats": lambda size: _image(size, floats=True),
        "tiny images": lambda size: _json(b"[[[1]]]", size),
        "empty lists": lambda size: _json(b"[]", size),
        "empty objects": lambda size: _json(b"{}", size),
        "one deep list": lambda size: b'{"inputs": ' + b"[" * (size - 20),
        "deep lists": lambda size: _json(b"[" * 60 + b"1" + b"]" * 60, size),
        "texts": lambda size: _json(b'"a"', size),
        "one long text": lambda size: b'{"inputs": "%b"}' % (b"a" * (size - 20)),
        "one member many times": lambda size: b"{" + b",".join([b'"inputs":[1]'] * (size // 13)) + b"}",
        "blanks": lambda size: b'{"inputs": [' + b" " * (size - 20) + b"1]}",
        "one long number": lambda size: b'{"inputs": [' + b"1" * (size - 20) + b"]}",
    },
    NPY: {
        "uint8 npy": lambda size: encode_npy(np.zeros((size // 256 - 9, 16, 16, 1), np.uint8)),
        "float64 npy": lambda size: encode_npy(np.zeros((size // 2048 - 9, 16, 16, 1))),
    },
    "image/png": {
        "PNG of tEXt": lambda size: _png(_chunk(b"tEXt", b"a\0b") * (size // 15 - 9)),
        "PNG of one tEXt": lambda size: _png(_chunk(b"tEXt", b"a\0" + b"b" * size)),
        "PNG of zTXt": lambda size: _png(
            _chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(10**6))) * (size // 1010)
        ),
        "PNG of iTXt": lambda size: _png(_chunk(b"iTXt", b"a\0\0\0\0\0b") * (size // 19 - 9)),
        "PNG of empty IDAT": lambda size: _png(_chunk(b"IDAT", b"") * (size // 12 - 9)),
    },
    "image/jpeg": {
        "JPEG of COM": lambda size: b"\xff\xd8" + b"\xff\xfe\0\2" * (size // 4),
        "JPEG of filling": lambda size: b"\xff\xd8" + b"\xff" * (size - 2),
    },
    "multipart/form-data; boundary=b": {
        "multipart that nearly ends": lambda size: (
            b"--b\r\n\r\n" + b"\r\n--" * (size // 4 - 9) + b"\r\n--b--"
        ),
        "multipart of many parts": lambda size: b"--b\r\n\r\n\r\n" * (size // 9 - 2) + b"--b--",
        "multipart with a long header": lambda size: b"--b\r\n" + b"a" * (size - 20) + b":b\r\n\r\n\r\n--b--",
    },
}
"""Bodies that ask for logits, by their media type."""


def _upload(size: int) -> bytes:
    return b'{"release": "logits", "values": [' + b",".join([b"[1,1]"] * (size // 6 - 8)) + b"]}"


BODIES = [("logits", media, name, make) for media, bodies in LOGITS.items() for name, make in bodies.items()]
BODIES.append(("outputs", JSON, "upload of ones", _upload))


def _megabytes(pid: int, name: str) -> float:
    """``VmRSS`` or ``VmHWM`` of a process and its children."""
    total = 0
    tasks = Path(f"/proc/{pid}/task").iterdir()
    children = {int(child) for task in tasks for child in (task / "children").read_text().split()}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            total += int(line.split()[1])
    return total / 1024 + sum(_megabytes(child, name) for child in children)


def _post(url: httpx.URL, body: bytes, headers: dict[str, str], outcomes: list[str]) -> None:
    began = time.perf_counter()
    client = http.client.HTTPConnection(url.host, url.port, timeout=120)
    try:
        client.request("POST", url.raw_path.decode(), body, headers)
        answer = client.getresponse()
        content = answer.read()
        slug = content.partition(b"problems/")[2].partition(b'"')[0].decode()
        outcomes.append(f"{answer.status} {slug} after {time.perf_counter() - began:.2f} s")
    except OSError as error:
        outcomes.append(f"{type(error).__name__} after {time.perf_counter() - began:.2f} s")
    finally:
        client.close()


def measure(
    name: str, pid: int, ping: Callable[[], bool], url: str, headers: dict[str, str], body: bytes | None
) -> None:
    """Send ``body`` once while ``ping`` is called every few milliseconds, and print one line."""
    before = _megabytes(pid, "VmRSS")
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak starts anew
    outcomes: list[str] = []
    target = (httpx.URL(url), body or b"", headers, outcomes)
    sender = threading.Thread(target=_post if body is not None else time.sleep, args=target if body else (2,))
    sender.start()
    waits: list[float] = []
    failed = 0
    while sender.is_alive():
        began = time.perf_counter()
        failed += not ping()
        waits.append(time.perf_counter() - began)
        time.sleep(0.003)
    peak = _megabytes(pid, "VmHWM") - before
    time.sleep(1)
    held = _megabytes(pid, "VmRSS") - before
    others = f"; {failed} of the other's requests failed" if failed else ""
    print(
        f"{name:30} {max(waits) * 1e3:8.0f} {peak:9.0f} {held:8.0f}   {''.join(outcomes)}{others}", flush=True
    )


@contextmanager
def the_proxy() -> Iterator[tuple[str, int, str, str]]:
    """A proxy with a provider that answers at once: URL, process, a key with a large budget and one of budget
    0."""
    from leakrange.load.bench.gateways import running_proxy

    with running_proxy() as (url, upstream, operator, pid):
        admin = httpx.Client(base_url=f"{url}/admin", headers={"Authorization": f"Bearer {operator}"})

        def put(path: str, body: object) -> None:
            admin.put(path, json=body).raise_for_status()

        put("/routes/bench", {"upstream": upstream})
        # A sticky policy has the proxy look at every sample.
        put("/policies/sticky", {"chain": [{"noise": {"scale": 0.1, "sticky": True}}]})
        put("/bindings", {"policy": "sticky"})
        keys = [
            admin.post("/keys", json={"name": f"budget {budget}", "budget": budget}).json()["key"]
            for budget in (10**12, 0)
        ]
        yield url, pid, *keys


@contextmanager
def the_provider() -> Iterator[tuple[str, int, str, str]]:
    """A provider with an untrained net, which needs no keys."""
    from leakrange.load.bench.serve import make_artifact, provider

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_artifact(folder, SIDE, channels=1)
        with provider(folder, 16) as (url, pid):
            yield url, pid, "", ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("party", choices=("proxy", "provider"), nargs="?", default="proxy")
    parser.add_argument("--size", type=float, default=30, help="of each body in MB")
    parser.add_argument("--only", default="", help="bodies whose name holds this")
    options = parser.parse_args()
    size = round(options.size * 1e6)
    with machine(), ExitStack() as stack:
        url, pid, rich, poor = stack.enter_context(
            the_proxy() if options.party == "proxy" else the_provider()
        )
        small = encode_npy(np.zeros((1, SIDE, SIDE, 1), np.uint8))
        client = httpx.Client(headers={"Authorization": f"Bearer {rich or 'none'}", "Content-Type": NPY})
        target = f"{url}/v1/models/bench/softmax"

        def ping() -> bool:
            return client.post(target, content=small, timeout=120).is_success

        for _ in range(50):
            ping()
        print(f"{'body':30} {'wait ms':>8} {'peak MiB':>9} {'kept MiB':>8}   answer")
        measure("(none)", pid, ping, url, {}, None)
        for endpoint, media, name, make in BODIES:
            if options.only in name:
                headers = {"Authorization": f"Bearer {rich or 'none'}", "Content-Type": media}
                measure(name, pid, ping, f"{url}/v1/models/bench/{endpoint}", headers, make(size))
        operated = f"{url}/admin/keys" if poor else f"{url}/v1/operator/models/bench"
        body = _json(b"[]", size)
        headers = {"Content-Type": JSON}
        measure("no key at the operator's", pid, ping, operated, headers, body)
        if poor:
            headers = {"Authorization": f"Bearer {poor}", "Content-Type": JSON}
            measure("key of budget 0", pid, ping, f"{url}/v1/models/bench/logits", headers, body)
            headers |= {"Authorization": f"Bearer {secrets.token_hex()}"}
            measure("unknown key", pid, ping, f"{url}/v1/models/bench/logits", headers, body)


if __name__ == "__main__":
    main()
